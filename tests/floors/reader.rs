//! Reads which paths a Rust source names, well enough for this project's sources and without a parser as dependency.

/// A path that a source names, from the crate's root.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Named {
    pub(crate) path: Vec<String>,
    /// The name under which a `use` brings it in; `*` for all names.
    pub(crate) alias: Option<String>,
    /// A `pub use` or `pub(…) use`: the file shows it to others and needs not use it itself.
    pub(crate) shown: bool,
    /// In a module under `#[cfg(test)]`.
    pub(crate) in_test: bool,
    pub(crate) line: usize,
}

type Token<'a> = (&'a str, usize);

/// All paths of `source` that stay in the crate. `module` is the source's own module path, `is_module` knows the
/// modules that have a file.
pub(crate) fn named(
    source: &str,
    module: &[String],
    is_module: impl Fn(&[String]) -> bool,
) -> Vec<Named> {
    let tokens = tokens(source);
    let mut reader = Reader {
        at: 0,
        depth: 0,
        module: module.to_vec(),
        inline: Vec::new(),
        is_module: &is_module,
        found: Vec::new(),
        tokens: &tokens,
    };
    while reader.at < tokens.len() {
        reader.step();
    }
    reader.found
}

struct Reader<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    depth: usize,
    /// The path of the module around `at`, inline modules included.
    module: Vec<String>,
    /// Of each inline module the depth inside it, and whether it or one around it is a test.
    inline: Vec<(usize, bool)>,
    is_module: &'a dyn Fn(&[String]) -> bool,
    found: Vec<Named>,
}

impl Reader<'_> {
    fn token(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |(text, _)| text)
    }

    fn before(&self, back: usize) -> &str {
        self.at.checked_sub(back).map_or("", |at| self.token(at))
    }

    fn in_test(&self) -> bool {
        self.inline.last().is_some_and(|(_, test)| *test)
    }

    fn step(&mut self) {
        match self.token(self.at) {
            "{" => self.depth += 1,
            "}" => {
                self.depth = self.depth.saturating_sub(1);
                while self
                    .inline
                    .last()
                    .is_some_and(|(depth, _)| *depth > self.depth)
                {
                    self.inline.pop();
                    self.module.pop();
                }
            }
            "mod" if self.token(self.at + 2) == "{" => {
                let test = self.in_test() || self.is_after_cfg_test();
                self.module.push(self.token(self.at + 1).to_owned());
                self.depth += 1;
                self.inline.push((self.depth, test));
                self.at += 2;
            }
            // `use<'a, T>` in a type captures and brings nothing in.
            "use" if self.token(self.at + 1) != "<" => {
                let shown = matches!(self.before(1), "pub" | ")");
                self.at += 1;
                if self.token(self.at) == "::" {
                    self.at += 1;
                } else {
                    self.tree(&mut Vec::new(), shown);
                }
                return;
            }
            _ => {
                let starts = is_word(self.token(self.at))
                    && self.token(self.at + 1) == "::"
                    && !matches!(self.before(1), "::" | ".")
                    // `pub(in crate::x)` says who may see, not what is used.
                    && !(self.before(1) == "in" && self.before(2) == "(");
                if starts {
                    self.expression();
                    return;
                }
            }
        }
        self.at += 1;
    }

    /// Whether an attribute before the `mod` at `at` speaks of tests.
    fn is_after_cfg_test(&self) -> bool {
        let mut back = 1;
        while !matches!(self.before(back), "" | ";" | "{" | "}") {
            if self.before(back) == "test" {
                return true;
            }
            back += 1;
        }
        false
    }

    /// A path in an expression or a type.
    fn expression(&mut self) {
        let line = self.tokens[self.at].1;
        let mut path = vec![self.token(self.at).to_owned()];
        self.at += 1;
        while self.token(self.at) == "::" && is_word(self.token(self.at + 1)) {
            path.push(self.token(self.at + 1).to_owned());
            self.at += 2;
        }
        self.keep(&path, None, false, line);
    }

    /// One branch of a `use`, from `at` to the `,`, `}` or `;` behind it.
    fn tree(&mut self, prefix: &mut Vec<String>, shown: bool) {
        let length = prefix.len();
        loop {
            let line = self.tokens.get(self.at).map_or(0, |(_, line)| *line);
            match self.token(self.at) {
                "{" => {
                    self.at += 1;
                    while !matches!(self.token(self.at), "}" | "") {
                        self.tree(prefix, shown);
                        if self.token(self.at) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    break;
                }
                "*" => {
                    self.at += 1;
                    self.keep(prefix, Some("*"), shown, line);
                    break;
                }
                word if is_word(word) => {
                    if word != "self" || prefix.is_empty() {
                        prefix.push(word.to_owned());
                    }
                    self.at += 1;
                    if self.token(self.at) == "::" {
                        self.at += 1;
                        continue;
                    }
                    let mut alias = prefix.last().cloned();
                    if self.token(self.at) == "as" {
                        alias = Some(self.token(self.at + 1).to_owned());
                        self.at += 2;
                    }
                    self.keep(prefix, alias.as_deref(), shown, line);
                    break;
                }
                _ => {
                    self.at += 1;
                    break;
                }
            }
        }
        prefix.truncate(length);
    }

    fn keep(&mut self, path: &[String], alias: Option<&str>, shown: bool, line: usize) {
        let Some(path) = self.full_path(path) else {
            return;
        };
        let alias = alias.map(str::to_owned);
        self.found.push(Named {
            path,
            alias,
            shown,
            in_test: self.in_test(),
            line,
        });
    }

    /// The path from the crate's root, or nothing when it leads to another crate or to a local name.
    fn full_path(&self, path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let mut full = match first.as_str() {
            "crate" => Vec::new(),
            "self" => self.module.clone(),
            "super" => self.module.split_last()?.1.to_vec(),
            child => {
                let full = [self.module.as_slice(), &[child.to_owned()]].concat();
                (self.is_module)(&full).then_some(full)?
            }
        };
        for segment in rest {
            if segment == "super" {
                full.pop();
            } else {
                full.push(segment.clone());
            }
        }
        Some(full)
    }
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Words, `::` and single characters with their lines; no comments, no texts, no lifetimes.
fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (source, 1);
    while let Some(first) = rest.chars().next() {
        let length = blank_length(rest).unwrap_or_else(|| {
            let length = if is_word(rest) {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_')
                    .unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            tokens.push((&rest[..length], line));
            length
        });
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

/// The length of what names nothing and stands at the start of `text`: white space, a comment, a text, a lifetime.
fn blank_length(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    if first.is_whitespace() {
        return Some(first.len_utf8());
    }
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(comment_length(text));
    }
    let unprefixed = text.trim_start_matches(['b', 'c']);
    let prefix = text.len() - unprefixed.len();
    if prefix <= 1 {
        if let Some(raw) = unprefixed.strip_prefix('r') {
            let hashes = raw.len() - raw.trim_start_matches('#').len();
            if let Some(inside) = raw[hashes..].strip_prefix('"') {
                let end = format!("\"{}", "#".repeat(hashes));
                let until = inside.find(&end).map_or(inside.len(), |at| at + end.len());
                return Some(prefix + 1 + hashes + 1 + until);
            }
        }
        if unprefixed.starts_with('"') {
            return Some(prefix + quoted_length(unprefixed, '"'));
        }
    }
    if first == '\'' {
        let mut following = text.chars().skip(1);
        let is_letter = following.next() == Some('\\') || following.next() == Some('\'');
        let word = text[1..].find(|c: char| !c.is_alphanumeric() && c != '_');
        let lifetime = 1 + word.unwrap_or(text.len() - 1);
        return Some(if is_letter {
            quoted_length(text, '\'')
        } else {
            lifetime.max(1)
        });
    }
    None
}

fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if !escaped && character == quote {
            return at + 1;
        }
        escaped = !escaped && character == '\\';
    }
    text.len()
}

fn comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let (step, change) = match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (2, 1),
            [b'*', b'/', ..] => (2, -1),
            _ => (1, 0),
        };
        at += step;
        depth += change;
        if depth == 0 {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> Vec<String> {
        let module = ["store".to_owned(), "column".to_owned()];
        let child = ["store", "column", "erased"].map(str::to_owned);
        named(source, &module, |path| path == child)
            .iter()
            .map(|named| named.path.join("::"))
            .collect()
    }

    #[test]
    fn grouped_uses_are_taken_apart() {
        assert_eq!(
            read("use crate::{base::{self, name::Name as N}, time::*}; use super::entity;"),
            ["base", "base::name::Name", "time", "store::entity"]
        );
        assert_eq!(read("use super::super::query::Fetch;"), ["query::Fetch"]);
        assert_eq!(
            read("use std::fmt; use ::crate_like::x; use serde_json::Value;"),
            [""; 0]
        );
    }

    #[test]
    fn paths_in_code_are_found() {
        assert_eq!(
            read("fn f(x: crate::base::Id) -> crate::world::World<'_> { erased::make::<u8>(x) }"),
            ["base::Id", "world::World", "store::column::erased::make"]
        );
        assert_eq!(
            read("macro_rules! m { () => { $crate::base::hash() } }"),
            ["base::hash"]
        );
        assert_eq!(
            read("pub(crate) fn f() {} pub(in crate::store) struct S;"),
            [""; 0]
        );
        assert_eq!(
            read("fn f() -> impl Sized + use<'_> { x.crate_() }"),
            [""; 0]
        );
    }

    #[test]
    fn comments_and_texts_name_nothing() {
        let source = r##"
            //! See [`crate::world::World`].
            /* crate::a /* crate::b */ crate::c */
            const A: &str = "crate::d \" crate::e";
            const B: &str = r#"crate::f " crate::g"#;
            const C: (char, u8) = ('"', b'\'');
            fn f<'crate_>(x: &'crate_ str) -> char { '\u{2014}' }
            use crate::base::Real;
        "##;
        assert_eq!(read(source), ["base::Real"]);
        let found = named(source, &[], |_| false);
        assert_eq!(found[0].line, 8);
    }

    #[test]
    fn inline_modules_shift_what_super_means() {
        let source = "mod a { mod b { use super::super::super::X; } use super::Y; } use super::Z;";
        assert_eq!(read(source), ["store::X", "store::column::Y", "store::Z"]);
        let source = "use crate::a::A; #[cfg(all(test, unix))] #[a] mod tests { use crate::b::B; } use crate::c::C;";
        let found = named(source, &[], |_| false);
        assert_eq!(
            found.iter().map(|named| named.in_test).collect::<Vec<_>>(),
            [false, true, false]
        );
    }

    #[test]
    fn what_is_shown_to_others_is_told_apart() {
        let found = named(
            "pub use crate::a::A; pub(crate) use crate::b::B as C; use crate::d::D;",
            &[],
            |_| false,
        );
        assert_eq!(
            found.iter().map(|named| named.shown).collect::<Vec<_>>(),
            [true, true, false]
        );
        assert_eq!(found[1].alias.as_deref(), Some("C"));
    }
}
