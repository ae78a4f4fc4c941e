use super::*;
use serde_json::json;

/// A mutant of a text of one line.
fn mutant(source: &str, genre: &str, old: &str, new: &str) -> Mutant {
    let place = |at: usize| json!({ "line": 1, "column": at + 1 });
    let begin = source.find(old).unwrap();
    let mutant = json!({
        "name": "", "file": "", "genre": genre, "replacement": new,
        "span": { "start": place(begin), "end": place(begin + old.len()) },
    });
    serde_json::from_value(mutant).unwrap()
}

/// The new text without line breaks, and the numbers of the mutants in it.
fn switched(source: &str, mutants: &[(&str, &str, &str)]) -> (String, Vec<usize>) {
    let mutants = mutants
        .iter()
        .map(|(genre, old, new)| mutant(source, genre, old, new));
    let mutants: Vec<_> = mutants.collect();
    let (new, mut numbers) = switch(
        source,
        (1..).zip(&mutants),
        &BTreeSet::from(["stays".to_owned()]),
    )
    .unwrap();
    numbers.sort_unstable();
    let text = new.text.replace("crate::mutant_switch::", "");
    (text.replace('\n', ""), numbers)
}

#[test]
fn a_mutant_is_the_text_that_it_would_be_alone() {
    let (text, numbers) = switched(
        "const fn f(a: u8) -> u8 { a + a * 2 }",
        &[
            ("FnValue", "a + a * 2", "0"),
            ("BinaryOperator", "+", "*"),
            ("BinaryOperator", "*", "-"),
        ],
    );
    assert_eq!(
        text,
        " fn f(a: u8) -> u8 {if is_on(1) { return 0; } \
         (match pick(&[2, 3]) { 0 => a + a * 2,1 => a * a * 2,2 => a + a - 2,_ => unreachable!() }) }"
    );
    assert_eq!(numbers, [1, 2, 3]);
}

#[test]
fn switches_stand_inside_of_switches() {
    let (text, numbers) = switched(
        "fn f(a: bool) -> bool { a || !(a && a) }",
        &[
            ("BinaryOperator", "||", "&&"),
            ("UnaryOperator", "!", ""),
            ("BinaryOperator", "&&", "||"),
        ],
    );
    let inner = "(match pick(&[3]) { 0 => a && a,1 => a || a,_ => unreachable!() })";
    let unary =
        format!("(match pick(&[2]) {{ 0 => !({inner}),1 => (a && a),_ => unreachable!() }})");
    assert_eq!(
        text,
        format!(
            "fn f(a: bool) -> bool {{ (match pick(&[1]) {{ 0 => a || {unary},1 => a && !(a && a),\
             _ => unreachable!() }}) }}"
        )
    );
    assert_eq!(numbers, [1, 2, 3]);
}

#[test]
fn arms_go_by_their_conditions() {
    let (text, numbers) = switched(
        "fn f(a: u8) { match a { 1 => {} 2 if a > 1 => {} _ => {} } }",
        &[
            ("MatchArm", "1 => {}", ""),
            ("MatchArm", "2 if a > 1 => {}", ""),
            ("MatchArmGuard", "a > 1", "true"),
        ],
    );
    assert_eq!(
        text,
        "fn f(a: u8) { match a { 1 if !is_on(1) && true => {} \
         2 if !is_on(2) && ((match pick(&[3]) { 0 => a > 1,1 => true,_ => unreachable!() })) => {} _ => {} } }"
    );
    assert_eq!(numbers, [1, 2, 3]);
}

#[test]
fn types_without_a_name_have_one_for_each_way() {
    let (text, numbers) = switched(
        "fn f() -> impl Iterator<Item = u8> { [1].into_iter() }",
        &[
            ("FnValue", "[1].into_iter()", "empty()"),
            ("FnValue", "[1].into_iter()", "once(1)"),
        ],
    );
    assert_eq!(
        text,
        "fn f() -> impl Iterator<Item = u8> {\
         if is_on(1) { return Either::New(Either::Old(empty())); }\
         if is_on(2) { return Either::New(Either::New(once(1))); }\
         Either::Old({ [1].into_iter() })}"
    );
    assert_eq!(numbers, [1, 2]);
}

#[test]
fn what_is_no_value_at_run_time_has_no_switch() {
    for (source, old) in [
        ("const A: u8 = 1 + 2;", "+"),
        ("const fn stays() -> u8 { 1 + 2 }", "+"),
        ("fn f(a: [u8; 1 + 2]) {}", "+"),
        ("fn f(a: bool) { if a && let Some(_) = b {} }", "&&"),
    ] {
        let (text, numbers) = switched(source, &[("BinaryOperator", old, "-")]);
        assert_eq!((text, numbers), (source.to_owned(), vec![]));
    }
}
