//! Asking for an order: on the container, and on the way into it.

use std::any::TypeId;
use std::sync::Arc;

use super::SystemError;
use super::arrangement::{Asked, Other, Wish};
use super::context::Context;
use super::system::{System, SystemType, Which};
use crate::base::origin::Origin;

impl Context<'_> {
    /// Lets one system run after another in every pass, whichever was registered first.
    ///
    /// ```
    /// let container = ecs::OwnedContainer::new("main")?;
    /// let mut claim = container.claim()?;
    /// claim.add_system(ecs::system("draw", |_| Ok(())))?;
    /// claim.add_system(ecs::system("move", |_| Ok(())))?;
    /// claim.context().succeeds("draw", "move")?;
    /// let order: Vec<_> = claim.context().systems().map(|system| system.handle().to_string()).collect();
    /// assert_eq!(order, ["move", "draw"]);
    /// # Ok::<(), ecs::BoxError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SystemError::NotFound`], and [`SystemError::Cycle`] with the systems that would wait for each other. Nothing has
    /// changed then.
    pub fn succeeds(&mut self, later: impl Which, earlier: impl Which) -> Result<(), SystemError> {
        let first = self.handle_of(&earlier, "succeeds")?;
        let second = self.handle_of(&later, "succeeds")?;
        self.wish(&[Wish { first, second }], "succeeds")
    }

    /// Lets one system run before another in every pass. See [`succeeds`](Self::succeeds).
    ///
    /// # Errors
    ///
    /// As [`succeeds`](Self::succeeds).
    pub fn precedes(&mut self, earlier: impl Which, later: impl Which) -> Result<(), SystemError> {
        let first = self.handle_of(&earlier, "precedes")?;
        let second = self.handle_of(&later, "precedes")?;
        self.wish(&[Wish { first, second }], "precedes")
    }

    /// Lets every system of the Rust type `L` run after every one of type `E`, as far as they are registered now.
    ///
    /// # Errors
    ///
    /// [`SystemError::NotFound`] when there is none of a type, and [`SystemError::Cycle`]. Nothing has changed then.
    pub fn succeeds_type<L: System, E: System>(&mut self) -> Result<(), SystemError> {
        let later = self.handles_of(SystemType::of::<L>(), "succeeds_type")?;
        let earlier = self.handles_of(SystemType::of::<E>(), "succeeds_type")?;
        let pairs = earlier.iter().flat_map(|first| {
            later.iter().map(|second| Wish {
                first: Arc::clone(first),
                second: Arc::clone(second),
            })
        });
        let wishes: Vec<Wish> = pairs.collect();
        self.wish(&wishes, "succeeds_type")
    }

    /// The wishes that a registration asks for, resolved.
    pub(crate) fn resolve(
        &self,
        asked: &[Asked],
        handle: &Arc<str>,
    ) -> Result<Vec<Wish>, SystemError> {
        let mut wishes = Vec::new();
        for Asked { other, other_first } in asked {
            let others = match other {
                Other::Handle(other) => vec![self.handle_of(other, "add_system")?],
                Other::Type(of) => self.handles_of(*of, "add_system")?,
            };
            for other in others {
                let (first, second) = if *other_first {
                    (other, Arc::clone(handle))
                } else {
                    (Arc::clone(handle), other)
                };
                wishes.push(Wish { first, second });
            }
        }
        Ok(wishes)
    }

    pub(crate) fn wish(
        &mut self,
        wishes: &[Wish],
        function: &'static str,
    ) -> Result<(), SystemError> {
        let added = self.lent.rest.arrangement.add(wishes);
        added.map_err(|cycle| SystemError::Cycle {
            origin: Origin::new(Some(&self.shared.handle), function),
            systems: cycle,
        })?;
        self.lent.rest.order.touch();
        Ok(())
    }

    fn handle_of(
        &self,
        which: &impl Which,
        function: &'static str,
    ) -> Result<Arc<str>, SystemError> {
        let key = self.lent.rest.key(which);
        let own = key.and_then(|key| self.own(key));
        own.map(|own| Arc::clone(&own.cold.handle))
            .ok_or_else(|| self.not_found(which.text(), function))
    }

    fn handles_of(
        &self,
        of: SystemType,
        function: &'static str,
    ) -> Result<Vec<Arc<str>>, SystemError> {
        let is_of = |id: TypeId| id == of.id;
        let handles: Vec<Arc<str>> = self
            .systems()
            .filter(|system| is_of(system.own.cold.of.id))
            .map(|system| Arc::clone(system.handle()))
            .collect();
        if handles.is_empty() {
            return Err(self.not_found(of.name.into(), function));
        }
        Ok(handles)
    }

    fn not_found(&self, system: Arc<str>, function: &'static str) -> SystemError {
        SystemError::NotFound {
            origin: Origin::new(Some(&self.shared.handle), function),
            system,
        }
    }
}
