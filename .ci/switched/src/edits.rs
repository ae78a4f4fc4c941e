//! Changes of one text, noted while it is walked and made all at once.

use std::ops::Range;

/// A bit of new text, and the mutants it stands for.
#[derive(Clone)]
pub(crate) struct Piece {
    pub(crate) mutants: Vec<usize>,
    pub(crate) text: String,
}

impl Piece {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self {
            mutants: Vec::new(),
            text: text.into(),
        }
    }

    /// No text, but a place that an error may be about.
    pub(crate) fn mark(mutants: Vec<usize>) -> Self {
        Self {
            mutants,
            text: String::new(),
        }
    }

    pub(crate) fn of(mutant: usize, text: impl Into<String>) -> Self {
        Self {
            mutants: vec![mutant],
            text: text.into(),
        }
    }
}

struct Edit {
    old: Range<usize>,
    /// Among those at one place.
    rank: isize,
    new: Vec<Piece>,
}

/// What is noted for a node has to be noted before what is noted for the nodes inside it.
#[derive(Default)]
pub(crate) struct Edits(Vec<Edit>);

/// Where the mutants stand in the new text.
pub(crate) struct Marked {
    pub(crate) text: String,
    pub(crate) places: Vec<(Range<usize>, Vec<usize>)>,
}

impl Edits {
    /// In front of a node, and so of the nodes inside it that begin at the same place.
    pub(crate) fn before(&mut self, at: usize, new: Vec<Piece>) {
        let rank = self.next();
        self.push(at..at, rank, new);
    }

    /// Behind a node, and so behind the nodes inside it that end at the same place.
    pub(crate) fn after(&mut self, at: usize, new: Vec<Piece>) {
        let rank = -self.next();
        self.push(at..at, rank, new);
    }

    pub(crate) fn remove(&mut self, old: Range<usize>) {
        let rank = self.next();
        self.push(old, rank, Vec::new());
    }

    fn next(&self) -> isize {
        isize::try_from(self.0.len()).expect("fewer edits than bytes") + 1
    }

    fn push(&mut self, old: Range<usize>, rank: isize, new: Vec<Piece>) {
        self.0.push(Edit { old, rank, new });
    }

    pub(crate) fn apply(mut self, source: &str) -> Marked {
        self.0.sort_by_key(|edit| (edit.old.start, edit.rank));
        let mut text = String::new();
        let mut places = Vec::new();
        let mut done = 0;
        for edit in self.0 {
            text += &source[done..edit.old.start];
            done = edit.old.end;
            for piece in edit.new {
                let begin = text.len();
                text += &piece.text;
                if !piece.mutants.is_empty() {
                    places.push((begin..text.len(), piece.mutants));
                }
            }
        }
        text += &source[done..];
        Marked { text, places }
    }
}
