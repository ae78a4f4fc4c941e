//! What may overlap and what may not, to look at: conflicts as a list, the whole pass as a picture.

use std::any::TypeId;
use std::fmt::Write;
use std::sync::Arc;

use super::arrangement::Arrangement;
use super::beside::{access_of, floats, may_overlap_own};
use super::commit::CommitPoint;
use super::context::Context;
use super::policy::Policy;
use super::unit::OwnState;
use crate::parallel::access::{AccessSet, SystemAccess};

/// Two systems that cannot overlap although nobody ordered them: they run in the order of their registration. See
/// [`Context::conflicts`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    /// The one that runs first.
    pub first: Arc<str>,
    /// The one that waits.
    pub second: Arc<str>,
    /// What is in the way, with what each does to it: `component "Position": writes, reads`. A run condition, which may
    /// look at everything, reads `run condition`.
    pub over: Vec<String>,
}

/// A system as the graph knows it.
struct Node {
    handle: Arc<str>,
    /// `None`: it may do anything.
    access: Option<AccessSet>,
    role: Role,
}

/// What a system is in the picture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    System,
    /// Waits for nobody.
    Floating,
    /// Is never updated.
    Storage,
    CommitPoint,
}

impl Node {
    fn new(own: &OwnState, arrangement: &Arrangement) -> Self {
        Self {
            handle: Arc::clone(&own.cold.handle),
            access: may_overlap_own(own).then(|| access_of(own)),
            role: if own.cold.policy == Policy::Storage {
                Role::Storage
            } else if own.cold.of.id == TypeId::of::<CommitPoint>() {
                Role::CommitPoint
            } else if floats(own) && !arrangement.waits(&own.cold.handle) {
                Role::Floating
            } else {
                Role::System
            },
        }
    }

    /// Whether it has a place among the updates.
    fn has_place(&self) -> bool {
        matches!(self.role, Role::System | Role::CommitPoint)
    }

    /// What keeps the two from overlapping, as text.
    fn over(&self, other: &Self) -> Vec<String> {
        let (Some(first), Some(second)) = (&self.access, &other.access) else {
            return Vec::new();
        };
        let verb = |access: &SystemAccess| if access.writes() { "writes" } else { "reads" };
        let mut over: Vec<String> = first
            .conflicts(second)
            .map(|(a, b)| format!("{} \"{}\": {}, {}", a.what(), a.name(), verb(a), verb(b)))
            .collect();
        if (first.sees_all && second.writes()) || (second.sees_all && first.writes()) {
            over.push("run condition".to_owned());
        }
        over
    }
}

impl Context<'_> {
    /// The typed systems that cannot overlap although they stand together and nobody ordered them, and why: pair by pair,
    /// in order.
    ///
    /// ```
    /// # use ecs::{Component, Matches, OwnedContainer, Value, json};
    /// # struct Position(f32);
    /// # impl Component for Position { fn type_name() -> &'static str { "Position" } fn export(&self) -> Value { json!(self.0) } }
    /// # let container = OwnedContainer::new("main")?;
    /// # let mut claim = container.claim()?;
    /// claim.add_system(ecs::parallel("move", |_: Matches<&mut Position>| ()))?;
    /// claim.add_system(ecs::parallel("draw", |_: Matches<&Position>| ()))?;
    /// let conflicts = claim.context().conflicts();
    /// assert_eq!((&*conflicts[0].first, &*conflicts[0].second), ("move", "draw"));
    /// assert_eq!(conflicts[0].over, ["component \"Position\": writes, reads"]);
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    pub fn conflicts(&self) -> Vec<Conflict> {
        let nodes = self.nodes();
        let mut conflicts = Vec::new();
        let placed: Vec<&Node> = nodes.iter().filter(|node| node.has_place()).collect();
        for segment in placed.split(|node| node.access.is_none()) {
            for (at, second) in segment.iter().enumerate() {
                for first in &segment[..at] {
                    let over = first.over(second);
                    if !over.is_empty() && !self.is_wished(first, second) {
                        conflicts.push(Conflict {
                            first: Arc::clone(&first.handle),
                            second: Arc::clone(&second.handle),
                            over,
                        });
                    }
                }
            }
        }
        conflicts
    }

    /// One pass as a graph in the language of `GraphViz`: `dot -Tsvg` makes a picture of it.
    ///
    /// Boxes are systems that run alone, diamonds commit points, ellipses systems that may overlap, dotted ones such as
    /// wait for nobody, cylinders such as are never updated; a thick arrow is an order that somebody asked for,
    /// a dashed one a conflict with what it is about, a thin one leads to or from what runs alone. A conflict that
    /// follows from others is left out. Same registrations, same text.
    pub fn graph(&self) -> String {
        let nodes = self.nodes();
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = self.write_graph(&nodes, &mut text);
        text
    }

    fn write_graph(&self, nodes: &[Node], text: &mut String) -> std::fmt::Result {
        writeln!(text, "digraph {} {{", quoted(&self.shared.handle))?;
        writeln!(text, "  rankdir=LR;")?;
        writeln!(text, "  \"\" [shape=box, label=\"root step\"];")?;
        for node in nodes {
            let shape = match (node.role, &node.access) {
                (Role::CommitPoint, _) => "diamond",
                (Role::Storage, _) => "cylinder",
                (Role::Floating, _) => "ellipse, style=dotted",
                (Role::System, None) => "box",
                (Role::System, Some(_)) => "ellipse",
            };
            writeln!(text, "  {} [shape={shape}];", quoted(&node.handle))?;
        }
        for wish in &self.lent.rest.arrangement.wishes {
            let (first, second) = (quoted(&wish.first), quoted(&wish.second));
            writeln!(text, "  {first} -> {second} [style=bold];")?;
        }
        let mut alone = String::from("\"\"");
        let placed: Vec<&Node> = nodes.iter().filter(|node| node.has_place()).collect();
        let mut rest = placed.as_slice();
        while !rest.is_empty() {
            let end = rest.iter().position(|node| node.access.is_none());
            let (segment, after) = rest.split_at(end.unwrap_or(rest.len()));
            for node in segment {
                writeln!(text, "  {alone} -> {};", quoted(&node.handle))?;
            }
            self.write_conflicts(segment, text)?;
            let Some((next, after)) = after.split_first() else {
                break;
            };
            let next = quoted(&next.handle);
            if segment.is_empty() {
                writeln!(text, "  {alone} -> {next};")?;
            }
            for node in segment {
                writeln!(text, "  {} -> {next};", quoted(&node.handle))?;
            }
            alone = next;
            rest = after;
        }
        writeln!(text, "}}")
    }

    fn write_conflicts(&self, segment: &[&Node], text: &mut String) -> std::fmt::Result {
        let excludes = |first: &Node, second: &Node| match (&first.access, &second.access) {
            (Some(first), Some(second)) => first.excludes(second),
            _ => true,
        };
        for (at, second) in segment.iter().enumerate() {
            for (place, first) in segment[..at].iter().enumerate() {
                if !excludes(first, second) || self.is_wished(first, second) {
                    continue;
                }
                let mut between = segment[place + 1..at].iter();
                if between.any(|node| excludes(first, node) && excludes(node, second)) {
                    continue;
                }
                let over = quoted(&first.over(second).join("\n"));
                let (first, second) = (quoted(&first.handle), quoted(&second.handle));
                writeln!(text, "  {first} -> {second} [style=dashed, label={over}];")?;
            }
        }
        Ok(())
    }

    fn nodes(&self) -> Vec<Node> {
        let arrangement = &self.lent.rest.arrangement;
        let nodes = self
            .systems()
            .map(|system| Node::new(system.own, arrangement));
        nodes.collect()
    }

    fn is_wished(&self, first: &Node, second: &Node) -> bool {
        let arrangement = &self.lent.rest.arrangement;
        arrangement.orders(&first.handle, &second.handle)
    }
}

/// A text in quotes, as `GraphViz` reads it.
fn quoted(text: &str) -> String {
    let text = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{text}\"")
}
