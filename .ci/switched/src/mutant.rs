//! The list of mutants, as `cargo mutants --list --json` prints it.

use serde::Deserialize;
use std::ops::Range;
use std::path::Path;

/// One change of one place of the source.
#[derive(Deserialize)]
pub(crate) struct Mutant {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) genre: Genre,
    /// What stands in place of the span.
    pub(crate) replacement: String,
    span: Span,
    function: Option<Function>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq, Debug)]
pub(crate) enum Genre {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Function {
    span: Span,
}

#[derive(Deserialize)]
struct Span {
    start: Position,
    end: Position,
}

/// Line and column, both from 1; the column counts characters.
#[derive(Deserialize, Clone, Copy)]
struct Position {
    line: usize,
    column: usize,
}

impl Mutant {
    /// The bytes of `source` that it replaces.
    pub(crate) fn bytes(&self, source: &str) -> Range<usize> {
        self.span.bytes(source)
    }

    pub(crate) fn is_in_function(&self) -> bool {
        self.function.is_some()
    }

    /// The bytes of the function that it changes; of the place itself where there is no function.
    pub(crate) fn function_bytes(&self, source: &str) -> Range<usize> {
        self.function
            .as_ref()
            .map_or(&self.span, |function| &function.span)
            .bytes(source)
    }
}

impl Span {
    fn bytes(&self, source: &str) -> Range<usize> {
        self.start.byte(source)..self.end.byte(source)
    }
}

impl Position {
    fn byte(self, source: &str) -> usize {
        let line = source
            .split_inclusive('\n')
            .take(self.line - 1)
            .map(str::len)
            .sum::<usize>();
        let text = &source[line..];
        line + text
            .char_indices()
            .nth(self.column - 1)
            .map_or(text.len(), |(at, _)| at)
    }
}

/// The mutants in the order of the list. Number 0 is none: the first is number 1.
pub(crate) fn read(list: &Path) -> Result<Vec<Mutant>, Box<dyn std::error::Error>> {
    Ok(serde_json::from_str(&std::fs::read_to_string(list)?)?)
}
