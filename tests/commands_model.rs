//! Random commands, compared with the same changes made directly on another world when the commands are applied.

use ecs::{Component, Entity, Storage, Value, World, json};

macro_rules! components {
    ($($name:ident $type_name:literal $storage:ident;)*) => {$(
        #[derive(Clone, Debug, PartialEq)]
        struct $name(u64);

        impl Component for $name {
            fn type_name() -> &'static str {
                $type_name
            }

            fn export(&self) -> Value {
                json!(self.0)
            }

            fn storage() -> Storage {
                Storage::$storage
            }
        }
    )*};
}

// The last two take a name that another one has.
components! {
    A "A" Table; B "B" Table; Loose "Loose" Sparse; OtherA "A" Table; OtherLoose "Loose" Table;
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// One change, of the entity with this number, with this value.
#[derive(Clone, Copy, Debug)]
struct Change {
    what: u64,
    of: usize,
    value: u64,
}

const SPAWNS: u64 = 4;
const CHANGES: usize = 14;

/// The same as commands.
fn queue(world: &mut World, change: Change, ids: &mut Vec<Entity>) {
    let Change { what, of, value } = change;
    let mut commands = world.commands();
    match what {
        0 => ids.push(commands.spawn((A(value), B(value)))),
        1 => ids.push(commands.spawn((Loose(value), OtherA(value)))),
        2 => ids.push(commands.spawn_empty()),
        3 => ids.push(commands.spawn_named(format!("n{value}"), B(value))),
        4 => commands.despawn(ids[of]),
        5 => commands.insert(ids[of], (B(value), A(value))),
        6 => commands.insert(ids[of], OtherA(value)),
        7 => commands.insert(ids[of], Loose(value)),
        8 => commands.insert(ids[of], (OtherLoose(value), B(value))),
        9 => commands.remove::<A>(ids[of]),
        10 => commands.remove::<Loose>(ids[of]),
        11 => commands.insert_resource(value),
        12 => {
            let id = ids[of];
            commands.queue(move |world| twice(world, id));
        }
        _ => commands.remove::<B>(ids[of]),
    }
}

/// The same at once.
fn make(world: &mut World, change: Change, ids: &mut Vec<Entity>) {
    let Change { what, of, value } = change;
    match what {
        0 => ids.push(world.spawn((A(value), B(value)))),
        1 => ids.push(world.spawn((Loose(value), OtherA(value)))),
        2 => ids.push(world.spawn(())),
        3 => ids.push(world.spawn_named(&format!("n{value}"), B(value)).unwrap()),
        4 => _ = world.despawn(ids[of]),
        5 => _ = world.insert(ids[of], (B(value), A(value))),
        6 => _ = world.insert(ids[of], OtherA(value)),
        7 => _ = world.insert(ids[of], Loose(value)),
        8 => _ = world.insert(ids[of], (OtherLoose(value), B(value))),
        9 => _ = world.remove::<A>(ids[of]),
        10 => _ = world.remove::<Loose>(ids[of]),
        11 => _ = world.insert_resource(value),
        12 => twice(world, ids[of]),
        _ => _ = world.remove::<B>(ids[of]),
    }
}

fn twice(world: &mut World, id: Entity) {
    if let Some(a) = world.get_mut::<A>(id) {
        a.0 = a.0.wrapping_mul(2);
    } else {
        let new = world.spawn(A(1));
        world.despawn(new);
    }
}

type All = (
    Option<A>,
    Option<B>,
    Option<Loose>,
    Option<OtherA>,
    Option<OtherLoose>,
);

fn all_of(world: &World, id: Entity) -> Option<All> {
    world.contains(id).then(|| {
        (
            world.get(id).cloned(),
            world.get(id).cloned(),
            world.get(id).cloned(),
            world.get(id).cloned(),
            world.get(id).cloned(),
        )
    })
}

/// What of a world's entity the waiting changes leave, as far as they tell.
fn foreseen(waiting: &[Change], spawned: usize, of: usize) -> Option<bool> {
    let mut number = spawned;
    let (mut answer, mut ends) = (None, false);
    for change in waiting {
        if change.what < SPAWNS {
            if number == of {
                answer = Some(change.what == 0);
            }
            number += 1;
        } else if change.of == of {
            match change.what {
                4 => ends = true,
                // The removal of an `A` leaves another type of the name alone; there is no `A` either way.
                6 | 9 => answer = Some(false),
                5 => answer = Some(true),
                _ => {}
            }
        }
    }
    if ends { Some(false) } else { answer }
}

#[test]
fn random_commands_come_to_the_same_as_the_changes_themselves() {
    let mut seen = [0; CHANGES];
    for seed in 1..=300 {
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let (mut queued, mut direct) = (World::new(), World::new());
        let (mut ids, mut twins) = (Vec::new(), Vec::new());
        let mut waiting: Vec<Change> = Vec::new();
        for step in 0..300 {
            let kinds = if ids.is_empty() {
                SPAWNS
            } else {
                CHANGES as u64
            };
            let what = dice.roll(kinds);
            let of = usize::try_from(dice.roll(ids.len().max(1) as u64)).unwrap();
            let value = step;
            let change = Change { what, of, value };
            seen[usize::try_from(what).unwrap()] += 1;
            if dice.roll(4) == 0 && ids.len() == twins.len() {
                // Directly on both, past what waits.
                make(&mut queued, change, &mut ids);
                make(&mut direct, change, &mut twins);
            } else {
                queue(&mut queued, change, &mut ids);
                waiting.push(change);
            }
            if !ids.is_empty() && waiting.len() < 40 {
                let of = usize::try_from(dice.roll(ids.len() as u64)).unwrap();
                // spec: CMD-03
                assert_eq!(
                    queued.commands().has::<A>(ids[of]),
                    foreseen(&waiting, twins.len(), of),
                    "seed {seed}, step {step}: {waiting:?}"
                );
                assert_eq!(queued.commands().is_pending(ids[of]), of >= twins.len());
            }
            if dice.roll(12) == 0 {
                queued.apply_commands().unwrap();
                for change in waiting.drain(..) {
                    make(&mut direct, change, &mut twins);
                }
                assert_eq!(ids.len(), twins.len());
                assert_eq!(queued.len(), direct.len(), "seed {seed}, step {step}");
                assert_eq!(queued.resource::<u64>(), direct.resource::<u64>());
                for (id, twin) in ids.iter().zip(&twins) {
                    // spec: CMD-01, CMD-04
                    assert_eq!(
                        all_of(&queued, *id),
                        all_of(&direct, *twin),
                        "seed {seed}, step {step}"
                    );
                }
            }
        }
        let mut distinct = ids.clone();
        distinct.sort_unstable();
        distinct.dedup();
        // spec: CMD-02
        assert_eq!(distinct.len(), ids.len());
    }
    assert!(seen.iter().all(|count| *count > 1_000), "{seen:?}");
}
