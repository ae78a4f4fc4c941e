//! Puts mutants into a file so that each can be switched on at run time.
//!
//! One mutant is on at a time, so each way through a switch is either the original or one mutant's text as it would
//! stand in a tree of its own: what is nested in a mutant's text needs no switches.

use crate::edits::{Edits, Marked, Piece};
use crate::mutant::{Genre, Mutant};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr};

/// The module that knows which mutant is on.
const SWITCH: &str = "crate::mutant_switch";

/// `source` with a switch for each of `mutants` that can have one. A function of one of the names in `stay_const` stays
/// `const`, and has none.
pub(crate) fn switch<'a>(
    source: &str,
    mutants: impl Iterator<Item = (usize, &'a Mutant)>,
    stay_const: &BTreeSet<String>,
) -> Result<(Marked, Vec<usize>), syn::Error> {
    let mut at = BTreeMap::<usize, Vec<_>>::new();
    for (number, mutant) in mutants {
        at.entry(mutant.bytes(source).start)
            .or_default()
            .push((number, mutant));
    }
    let mut switches = Switches {
        source,
        at,
        stay_const,
        edits: Edits::default(),
        switched: Vec::new(),
    };
    switches.visit_file(&syn::parse_file(source)?);
    Ok((switches.edits.apply(source), switches.switched))
}

struct Switches<'a> {
    source: &'a str,
    /// By their first byte.
    at: BTreeMap<usize, Vec<(usize, &'a Mutant)>>,
    stay_const: &'a BTreeSet<String>,
    edits: Edits,
    switched: Vec<usize>,
}

impl<'a> Switches<'a> {
    fn take(&mut self, genre: Genre, at: usize) -> Vec<(usize, &'a Mutant)> {
        let all = self.at.get(&at).into_iter().flatten();
        let found: Vec<_> = all
            .filter(|(_, mutant)| mutant.genre == genre)
            .copied()
            .collect();
        self.switched.extend(found.iter().map(|(number, _)| number));
        found
    }

    /// Around an expression: as it is, or one of the other texts.
    fn choose(&mut self, around: Range<usize>, others: Vec<(usize, String)>) {
        if others.is_empty() {
            return;
        }
        let numbers: Vec<_> = others
            .iter()
            .map(|(number, _)| number.to_string())
            .collect();
        let open = format!("(match {SWITCH}::pick(&[{}]) {{ 0 => ", numbers.join(", "));
        self.edits.before(around.start, vec![Piece::plain(open)]);
        let mut close = vec![Piece::plain(",")];
        for (place, (number, text)) in others.into_iter().enumerate() {
            close.push(Piece::of(number, format!("\n{} => {text},", place + 1)));
        }
        close.push(Piece::plain("\n_ => unreachable!() })"));
        self.edits.after(around.end, close);
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        if let Some(keyword) = signature.constness {
            if self.stay_const.contains(&signature.ident.to_string()) {
                return;
            }
            let inside = keyword.span.byte_range().start..block.span().byte_range().end;
            if self.at.range(inside).next().is_some() {
                self.edits.remove(keyword.span.byte_range());
            }
        }
        self.bodies(signature, block);
        visit::visit_block(self, block);
    }

    /// A switch for what stands in place of a whole body.
    fn bodies(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let Some(first) = block.stmts.first() else {
            return;
        };
        let hidden = is_hidden(&signature.output);
        if hidden && leaves_early(block) {
            return;
        }
        let bodies = self.take(Genre::FnValue, first.span().byte_range().start);
        if bodies.is_empty() {
            return;
        }
        let (open, close) = (
            block.brace_token.span.open(),
            block.brace_token.span.close(),
        );
        // A value of each mutant's own type, and one more for the body: Old(body), New(Old(first)), …, New(New(last)).
        let last = bodies.len() - 1;
        let mut pieces = Vec::new();
        for (place, (number, mutant)) in bodies.into_iter().enumerate() {
            let mut value = mutant.replacement.clone();
            if hidden {
                let depth = if place < last { place + 1 } else { last };
                let variant = if place < last { "Old" } else { "New" };
                value = format!("{SWITCH}::Either::{variant}({value})");
                for _ in 0..depth {
                    value = format!("{SWITCH}::Either::New({value})");
                }
            }
            let text = format!("\nif {SWITCH}::is_on({number}) {{ return {value}; }}");
            pieces.push(Piece::of(number, text));
        }
        if hidden {
            pieces.push(Piece::plain(format!("\n{SWITCH}::Either::Old({{")));
            self.edits
                .before(close.byte_range().start, vec![Piece::plain("})")]);
            // An error about the whole is one about the types.
            let all = pieces.iter().flat_map(|piece| &piece.mutants);
            let of_all = Piece::mark(all.copied().collect());
            if let syn::ReturnType::Type(_, output) = &signature.output {
                self.edits
                    .before(output.span().byte_range().start, vec![of_all]);
            }
        }
        self.edits.after(open.byte_range().end, pieces);
    }

    /// The operators of an expression that no brackets part: as text, so that what binds tighter is what it is in a tree
    /// of the mutant's own.
    fn operators(
        &mut self,
        expression: &Expr,
        whole: &Range<usize>,
        others: &mut Vec<(usize, String)>,
    ) {
        let Expr::Binary(binary) = expression else {
            return;
        };
        let operator = binary.op.span().byte_range();
        for (number, mutant) in self.take(Genre::BinaryOperator, operator.start) {
            let (before, after) = (whole.start..operator.start, operator.end..whole.end);
            let text = [
                &self.source[before],
                &mutant.replacement,
                &self.source[after],
            ]
            .concat();
            others.push((number, text));
        }
        self.operators(&binary.left, whole, others);
        self.operators(&binary.right, whole, others);
    }

    /// What binary operators join, from where the switches are whole expressions again.
    fn operands(&mut self, expression: &Expr) {
        if let Expr::Binary(binary) = expression {
            self.operands(&binary.left);
            self.operands(&binary.right);
        } else {
            self.visit_expr(expression);
        }
    }
}

impl<'ast> Visit<'ast> for Switches<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.function(&function.sig, &function.block);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.function(&function.sig, &function.block);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.function(&function.sig, block);
        }
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        if matches!(binary.op, BinOp::And(_) | BinOp::Or(_))
            && (has_let(&binary.left) || has_let(&binary.right))
        {
            // No value. Another operator in place of this one does not compile.
            visit::visit_expr_binary(self, binary);
            return;
        }
        let whole = binary.span().byte_range();
        let mut others = Vec::new();
        let expression = Expr::Binary(binary.clone());
        self.operators(&expression, &whole, &mut others);
        self.choose(whole, others);
        self.operands(&binary.left);
        self.operands(&binary.right);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let whole = unary.span().byte_range();
        let operator = unary.op.span().byte_range();
        let mutants = self.take(Genre::UnaryOperator, whole.start);
        let others = mutants.into_iter().map(|(number, mutant)| {
            let rest = &self.source[operator.end..whole.end];
            (number, [&mutant.replacement, rest].concat())
        });
        let others = others.collect();
        self.choose(whole, others);
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        let mut gone = Vec::new();
        for arm in &expression.arms {
            gone.extend(self.arm(arm));
        }
        // An error about the whole is one about an arm that is needed.
        let of_all = Piece::mark(gone);
        self.edits
            .before(expression.expr.span().byte_range().start, vec![of_all]);
        visit::visit_expr_match(self, expression);
    }

    // What the compiler works out has no switches.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_variant(&mut self, _: &'ast syn::Variant) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }
}

impl Switches<'_> {
    /// Returns the number of the mutant that is without this arm.
    fn arm(&mut self, arm: &syn::Arm) -> Option<usize> {
        let guard = arm.guard.as_ref().map(|(_, guard)| &**guard);
        if guard.is_some_and(has_let) {
            return None;
        }
        let mut conditions = Vec::new();
        let gone = self.take(Genre::MatchArm, arm.span().byte_range().start);
        for (number, _) in &gone {
            conditions.push(Piece::of(
                *number,
                format!("!{SWITCH}::is_on({number}) && "),
            ));
        }
        if let Some(guard) = guard {
            let whole = guard.span().byte_range();
            let mutants = self.take(Genre::MatchArmGuard, whole.start);
            let others = mutants
                .into_iter()
                .map(|(number, mutant)| (number, mutant.replacement.clone()));
            let others = others.collect();
            if !conditions.is_empty() {
                conditions.push(Piece::plain("("));
                self.edits.before(whole.start, conditions);
                self.edits.after(whole.end, vec![Piece::plain(")")]);
            }
            self.choose(whole, others);
        } else if !conditions.is_empty() {
            conditions.insert(0, Piece::plain(" if "));
            conditions.push(Piece::plain("true"));
            self.edits
                .after(arm.pat.span().byte_range().end, conditions);
        }
        gone.first().map(|(number, _)| *number)
    }
}

/// Whether the type is one that has no name.
fn is_hidden(output: &syn::ReturnType) -> bool {
    struct Found(bool);
    impl Visit<'_> for Found {
        fn visit_type_impl_trait(&mut self, _: &syn::TypeImplTrait) {
            self.0 = true;
        }
    }
    let mut found = Found(false);
    found.visit_return_type(output);
    found.0
}

/// Whether it has more ends than one; those of closures in it count as well.
fn leaves_early(block: &syn::Block) -> bool {
    struct Found(bool);
    impl Visit<'_> for Found {
        fn visit_expr_return(&mut self, _: &syn::ExprReturn) {
            self.0 = true;
        }
        fn visit_expr_try(&mut self, _: &syn::ExprTry) {
            self.0 = true;
        }
    }
    let mut found = Found(false);
    found.visit_block(block);
    found.0
}

fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
