//! Operations that make entities.

use ecs::{Entity, EntityError};

use crate::interpreter::{State, cells_only, dropping};
use crate::kinds::{A, Cell, O64, TestBundle, TestKind, Z, caught};
use crate::script::Script;

impl State {
    pub(crate) fn spawn<T: TestBundle>(&mut self, script: &mut Script<'_>) {
        let (bundle, cells) = self.fresh::<T>(script);
        if self.naive.remaining() > 0 {
            let entity = self.world.spawn(bundle);
            self.born(entity, cells);
        } else {
            let gone = cells_only(cells);
            let refused = dropping(&gone, || self.world.try_spawn(bundle));
            if let Some(refused) = refused {
                // spec: ENT-03
                assert!(matches!(refused, Err(EntityError::OutOfSlots { .. })));
            }
        }
    }

    pub(crate) fn spawn_named<T: TestBundle>(&mut self, script: &mut Script<'_>) {
        let handle = self.text(script);
        let (bundle, cells) = self.fresh::<T>(script);
        let free = self.naive.is_free(&handle);
        if free && self.naive.remaining() > 0 {
            let entity = self.world.spawn_named(&handle, bundle).unwrap();
            self.born(entity, cells);
            self.naive.name(entity, &handle);
            // spec: ENT-01
            assert_eq!(self.world.find(&handle), Some(entity));
            return;
        }
        let gone = cells_only(cells);
        let refused = dropping(&gone, || self.world.spawn_named(&handle, bundle));
        let Some(refused) = refused else { return };
        match refused.unwrap_err() {
            // spec: ENT-05
            EntityError::EmptyHandle { .. } => assert!(handle.is_empty()),
            // spec: ENT-01, ENT-10
            EntityError::HandleTaken { .. } => assert!(self.naive.find(&handle).is_some()),
            EntityError::HandleNotIssued { .. } => assert!(!free && !handle.is_empty()),
            // spec: ENT-03
            EntityError::OutOfSlots { .. } => assert!(free && self.naive.remaining() == 0),
            other => panic!("{other}"),
        }
    }

    pub(crate) fn entity(&mut self, script: &mut Script<'_>) {
        let handle = self.text(script);
        let known = self.naive.find(&handle);
        match self.world.entity(&handle) {
            // spec: ENT-01
            Ok(entity) if known.is_some() => assert_eq!(Some(entity), known),
            Ok(entity) => {
                // spec: ENT-01, ENT-05, ENT-10
                assert!(self.naive.is_free(&handle));
                self.born(entity, Vec::new());
                self.naive.name(entity, &handle);
            }
            Err(fault) => {
                let full = matches!(fault, EntityError::OutOfSlots { .. });
                // spec: ENT-01, ENT-05, ENT-10
                assert!(
                    known.is_none() && full == self.naive.is_free(&handle),
                    "{fault}"
                );
            }
        }
    }

    pub(crate) fn spawn_batch<T: TestBundle>(&mut self, script: &mut Script<'_>) {
        let count = script.below(6);
        let remaining = self.naive.remaining();
        let made: Vec<_> = (0..count).map(|_| self.fresh::<T>(script)).collect();
        let (bundles, cells): (Vec<T>, Vec<_>) = made.into_iter().unzip();
        // An iterator that does not know its length is refused only when the slots run out.
        let known = script.chance(160);
        let armed = cells.iter().flatten().filter(|(_, cell)| cell.armed);
        let bearable = armed.count() < 2;
        if count <= remaining || (!known && bearable) {
            let mut kinds = Vec::new();
            T::kinds(&mut kinds);
            self.naive.archetype_of_bundle(&kinds);
        }
        if count <= remaining {
            let ids: Vec<Entity> = self.world.spawn_batch(bundles).collect();
            // spec: ENT-06
            assert_eq!(ids.len(), count);
            for (entity, cells) in ids.into_iter().zip(cells) {
                self.born(entity, cells);
            }
        } else if bearable {
            let gone: Vec<Cell> = cells.into_iter().flat_map(cells_only).collect();
            let before = self.world.statistics();
            let refused = dropping(&gone, || {
                if known {
                    self.world.try_spawn_batch(bundles).map(|_| ())
                } else {
                    let unknown = bundles.into_iter().filter(|_| true);
                    self.world.try_spawn_batch(unknown).map(|_| ())
                }
            });
            // spec: ENT-06
            assert!(
                !known || self.world.statistics() == before,
                "a refusal changes nothing"
            );
            if let Some(refused) = refused {
                // spec: ENT-06
                assert!(matches!(refused, Err(EntityError::OutOfSlots { .. })));
            }
        } else {
            // Two armed bundles left in one vector abort in plain Rust too.
            for bundle in bundles {
                let _: Option<()> = caught(|| drop(bundle));
            }
        }
    }

    pub(crate) fn spawn_columns(&mut self, script: &mut Script<'_>) {
        let (count, uneven) = (script.below(5), script.chance(40));
        let mut cells = vec![Vec::new(); count];
        let mut first = Vec::new();
        let mut second = Vec::new();
        let mut third = Vec::new();
        for cells in &mut cells {
            first.push(<A as TestBundle>::make(&mut self.maker, cells));
            second.push(<Z as TestBundle>::make(&mut self.maker, cells));
            third.push(<O64 as TestBundle>::make(&mut self.maker, cells));
        }
        if uneven {
            second.push(<Z as TestBundle>::make(&mut self.maker, &mut Vec::new()));
        }
        let before = self.world.statistics();
        let remaining = self.naive.remaining();
        match self.world.spawn_columns((first, second, third)) {
            Ok(spawned) => {
                let ids: Vec<Entity> = spawned.collect();
                // spec: ENT-06
                assert!(!uneven && ids.len() == count && count <= remaining);
                let kinds = [("A", A::TAG), ("Z", Z::TAG), ("O64", O64::TAG)];
                self.naive.archetype_of_bundle(&kinds);
                for (entity, cells) in ids.into_iter().zip(cells) {
                    self.born(entity, cells);
                }
            }
            Err(fault) => {
                let full = matches!(fault, EntityError::OutOfSlots { .. });
                // spec: ENT-06
                assert!(uneven != full, "{fault}");
                // spec: ENT-06
                assert_eq!(self.world.statistics(), before, "a refusal changes nothing");
            }
        }
    }

    pub(crate) fn reserve_entity(&mut self) {
        let remaining = self.naive.remaining();
        match self.world.reserve_entity() {
            Ok(entity) => {
                // spec: ENT-06
                assert!(!self.ids.contains(&entity) && !self.world.contains(entity));
                self.naive.reserved.push(entity);
                self.ids.push(entity);
            }
            // spec: ENT-03
            Err(_) => assert_eq!(remaining, 0),
        }
    }

    pub(crate) fn spawn_reserved<T: TestBundle>(&mut self, script: &mut Script<'_>) {
        let entity = match self.naive.reserved.last() {
            Some(reserved) if script.chance(200) => *reserved,
            _ => self.id(script),
        };
        let (bundle, cells) = self.fresh::<T>(script);
        if let Some(at) = self.naive.reserved.iter().position(|id| *id == entity) {
            self.naive.reserved.remove(at);
            self.world.spawn_reserved(entity, bundle).unwrap();
            self.born(entity, cells);
            return;
        }
        let gone = cells_only(cells);
        let refused = dropping(&gone, || self.world.spawn_reserved(entity, bundle));
        if let Some(refused) = refused {
            // spec: ENT-03, ENT-06
            assert!(matches!(refused, Err(EntityError::NotReserved { .. })));
        }
    }
}
