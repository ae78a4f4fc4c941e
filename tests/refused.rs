//! What the compiler refuses stands in `refused.md`, and is compiled as the documentation is. A program that does not
//! compile proves little: it could be for a slip. So each stands behind a twin that does, and differs in one line.

/// The blocks of code, with what stands behind the opening fence.
fn blocks(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            let code = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((kind, code));
        }
    }
    blocks
}

/// What is wrong with the pairs of a text.
fn faults(text: &str) -> Vec<String> {
    let blocks = blocks(text);
    let mut faults = Vec::new();
    for pair in blocks.chunks(2) {
        let [("", good), (kind, bad)] = pair else {
            let kinds: Vec<_> = pair.iter().map(|(kind, _)| *kind).collect();
            faults.push(format!(
                "no pair of a program and its refused twin: {kinds:?}"
            ));
            continue;
        };
        let code = kind.strip_prefix("compile_fail,E");
        if !code.is_some_and(|code| code.len() == 4 && code.parse::<u32>().is_ok()) {
            faults.push(format!("no code of an error: {kind:?}"));
        }
        let differ = good.iter().zip(bad).filter(|(good, bad)| good != bad);
        if good.len() != bad.len() || differ.count() != 1 {
            faults.push(format!("more than one line, or none:\n{good:#?}\n{bad:#?}"));
        }
    }
    faults
}

#[test]
fn what_is_refused_differs_from_what_is_not_in_one_line() {
    let text = include_str!("refused.md");
    assert_eq!(faults(text), [""; 0]);
    let pairs = blocks(text).len() / 2;
    assert!(pairs >= 30, "{pairs} pairs");
}

#[test]
fn the_comparison_sees_what_is_no_pair() {
    let good = "```\na\nb\n```\n";
    let fine = format!("{good}```compile_fail,E0499\na\nc\n```\n");
    assert_eq!(faults(&fine), [""; 0]);
    for (text, said) in [
        (good.to_owned(), "no pair"),
        (format!("{good}{good}"), "no code"),
        (fine.replace("\na\nc", "\nc\nc"), "more than one line"),
        (fine.replace("\na\nc", "\na\nb"), "more than one line"),
        (fine.replace("\na\nc", "\na\nc\nd"), "more than one line"),
        (fine.replace(",E0499", ""), "no code"),
        (format!("{fine}text\n{good}"), "no pair"),
    ] {
        let faults = faults(&text);
        assert!(
            faults.iter().any(|fault| fault.contains(said)),
            "{text}: {faults:?}"
        );
    }
}
