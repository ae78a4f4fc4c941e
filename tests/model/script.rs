//! Reads choices from bytes; when they are used up, every choice is the first one.

pub(crate) struct Script<'s>(&'s [u8]);

impl<'s> Script<'s> {
    pub(crate) fn new(bytes: &'s [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    pub(crate) fn chance(&mut self, of_256: u8) -> bool {
        self.byte() >= 255 - of_256
    }

    pub(crate) fn pick<'t, T>(&mut self, choices: &'t [T]) -> Option<&'t T> {
        let at = self.below(choices.len());
        choices.get(at)
    }
}
