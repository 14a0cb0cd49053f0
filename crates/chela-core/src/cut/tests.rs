use std::borrow::Cow;

use proptest::prelude::*;

use super::{CutLimit, CutRequest, CutText, PinOutcome, cut};
use crate::tokens;

fn cut_to(text: &str, limit: CutLimit) -> CutText<'_> {
    cut(&CutRequest {
        name: "NOTES.md",
        first_line: 1,
        text,
        limit,
        pinned_headings: &[],
    })
}

fn cut_pinned<'a>(text: &'a str, limit: CutLimit, pins: &'a [String]) -> CutText<'a> {
    cut(&CutRequest {
        name: "NOTES.md",
        first_line: 1,
        text,
        limit,
        pinned_headings: pins,
    })
}

fn pins(headings: &[&str]) -> Vec<String> {
    headings
        .iter()
        .map(|heading| (*heading).to_owned())
        .collect()
}

fn cost(text: &str, limit: CutLimit) -> (usize, usize) {
    match limit {
        CutLimit::Chars(limit) => (text.chars().count(), limit),
        CutLimit::Tokens(limit) => (tokens::count(text), limit),
    }
}

fn numbered(lines: std::ops::RangeInclusive<usize>) -> String {
    lines
        .map(|line| format!("line {line} of the notes\n"))
        .collect()
}

#[test]
fn what_fits_comes_back_without_a_copy() {
    for limit in [CutLimit::Chars(5), CutLimit::Tokens(2)] {
        let cut = cut_to("héllo", limit);
        assert!(matches!(cut.text, Cow::Borrowed("héllo")));
        assert_eq!(
            (cut.raw_chars, cut.dropped.len(), cut.pinned),
            (5, 0, PinOutcome::Kept)
        );
    }
}

#[test]
fn head_and_tail_stay_and_the_marker_says_what_is_missing() {
    let text = format!(
        "# Notes\n\n{}## Setup\n{}## Usage\n{}## End\n{}",
        numbered(1..=60),
        numbered(61..=100),
        numbered(101..=140),
        numbered(141..=154)
    );
    let cut = cut_to(&text, CutLimit::Chars(2000));
    let (head, rest) = cut.text.split_once('[').unwrap();
    let (marker, tail) = rest.split_once("]\n").unwrap();
    assert_eq!(
        marker,
        "Cut from NOTES.md: lines 63-144, 1739 characters, with the headings “Setup”, “Usage”. \
         To see them: read NOTES.md, lines 63-144."
    );
    assert!(
        head.ends_with("line 60 of the notes\n"),
        "the head stops before a heading: {head}"
    );
    assert!(
        tail.starts_with("## End\n"),
        "the tail starts with a heading: {tail}"
    );
    assert_eq!(cut.dropped.len(), 1);
    assert_eq!(cut.dropped[0].lines, 63..=144);
    assert_eq!(cut.dropped[0].headings, ["Setup", "Usage"]);
    let missing: Vec<&str> = text.lines().skip(62).take(82).collect();
    assert_eq!(cut.dropped[0].chars, missing.join("\n").chars().count() + 1);
}

#[test]
fn shares_are_about_seven_and_two_tenths() {
    let text = numbered(1..=5000);
    for limit in [CutLimit::Chars(20_000), CutLimit::Tokens(5_000)] {
        let cut = cut_to(&text, limit);
        let at = cut.text.find("[Cut").unwrap();
        let end = at + cut.text[at..].find('\n').unwrap() + 1;
        let (head, all) = cost(&cut.text[..at], limit);
        let (tail, _) = cost(&cut.text[end..], limit);
        assert!(
            (all * 69 / 100..=all * 70 / 100).contains(&head),
            "{head} of {all}"
        );
        assert!(
            (all * 19 / 100..=all * 20 / 100).contains(&tail),
            "{tail} of {all}"
        );
    }
}

#[test]
fn a_cut_moves_out_of_a_code_fence() {
    for (open, close) in [
        ("```rust", "```"),
        ("~~~~", "~~~~~"),
        ("  ````md", "  ````"),
    ] {
        let code = "```\n# not a heading\n<!-- keep -->\n"
            .replace("```", if open == "```rust" { "~~~" } else { "```" });
        let text = format!(
            "{}{open}\n{}{close}\n{}",
            numbered(1..=20),
            code.repeat(20),
            numbered(21..=200)
        );
        let cut = cut_to(&text, CutLimit::Chars(1200));
        assert!(cut.text.contains("line 20 of"), "{}", cut.text);
        assert!(!cut.text.contains(open), "{}", cut.text);
    }
}

#[test]
fn a_fence_larger_than_the_limit_loses_lines_and_stays_closed() {
    let code: String = (1..=400)
        .map(|line| format!("let x{line} = {line};\n"))
        .collect();
    let text = format!("Intro\n```rust\n{code}```\n{}", numbered(1..=60));
    let cut = cut_to(&text, CutLimit::Chars(2000));
    assert!(
        cut.text.starts_with("Intro\n```rust\nlet x1 = 1;\n"),
        "{}",
        cut.text
    );
    assert!(
        cut.text.contains("]\n```\n"),
        "the marker stands before the closing line"
    );
    assert!(cut.text.ends_with("line 60 of the notes\n"));
    assert!(fences_are_balanced(&cut.text));

    let all_code = format!("```\n{code}```\n");
    let cut = cut_to(&all_code, CutLimit::Tokens(500));
    assert!(
        cut.text.contains("let x400"),
        "the tail lies in the same fence: {}",
        cut.text
    );
    assert!(fences_are_balanced(&cut.text));
}

#[test]
fn pinned_sections_and_kept_lines_survive_in_order() {
    let text = format!(
        "# A\n{}## Rules ##\nnever lie\n### Detail\nalways check\n## B\n{}<!-- keep -->\nkept line\n<!-- /keep -->\n{}# C#\nsharp\n# D\n{}",
        numbered(1..=100),
        numbered(101..=200),
        numbered(201..=300),
        numbered(301..=400),
    );
    for limit in [
        CutLimit::Chars(1500),
        CutLimit::Tokens(400),
        CutLimit::Chars(220),
        CutLimit::Tokens(70),
    ] {
        let headings = pins(&["## rules", " C# "]);
        let cut = cut_pinned(&text, limit, &headings);
        assert_eq!(cut.pinned, PinOutcome::Kept);
        let places: Vec<usize> = [
            "## Rules ##\nnever lie\n### Detail\nalways check\n",
            "<!-- keep -->\nkept line\n<!-- /keep -->\n",
            "# C#\nsharp\n",
        ]
        .iter()
        .map(|part| {
            cut.text
                .find(part)
                .unwrap_or_else(|| panic!("{part} in {}", cut.text))
        })
        .collect();
        assert!(places.is_sorted());
        assert!(
            !cut.text.contains("# D\nline 301"),
            "the pinned section ends where D begins"
        );
        assert!(
            cut.text.lines().filter(|line| is_marker(line)).count() >= 3,
            "{}",
            cut.text
        );
        assert!(cut.dropped.is_sorted_by_key(|part| *part.lines.start()));
    }
}

#[test]
fn keep_that_is_never_closed_holds_to_the_end_of_its_section() {
    let text = format!(
        "# A\n{}## B\n<!-- keep -->\nheld\n### C\nalso held\n## D\n{}",
        numbered(1..=100),
        numbered(101..=200)
    );
    let cut = cut_to(&text, CutLimit::Chars(400));
    assert!(
        cut.text.contains("<!-- keep -->\nheld\n### C\nalso held\n"),
        "{}",
        cut.text
    );
    assert!(!cut.text.contains("## D"));
    assert_eq!(cut.pinned, PinOutcome::Kept);
}

#[test]
fn talk_about_keeping_keeps_nothing() {
    let text = format!(
        "{}Write `<!-- keep -->` around it.\n```\n<!-- keep -->\n```\n<!-- /keep -->\n{}",
        numbered(1..=100),
        numbered(101..=200)
    );
    assert_eq!(cut_to(&text, CutLimit::Chars(600)).dropped.len(), 1);
}

#[test]
fn pins_beyond_the_limit_are_reported_and_the_first_that_fit_are_kept() {
    let text = format!(
        "# One\n{}# Two\nshort\n# Three\n{}",
        numbered(1..=30),
        numbered(31..=60)
    );
    let headings = pins(&["one", "two"]);
    let cut = cut_pinned(&text, CutLimit::Chars(300), &headings);
    let needed = text.find("# Three").unwrap();
    assert_eq!(cut.pinned, PinOutcome::OverLimit { needed });
    assert!(cut.text.contains("# Two\nshort\n"), "{}", cut.text);
    assert!(cut.text.chars().count() <= 300);
    let enough = cut_pinned(&text, CutLimit::Chars(needed), &headings);
    assert_eq!(enough.pinned, PinOutcome::Kept);
    assert!(enough.text.contains(&text[..needed]));
}

#[test]
fn a_line_larger_than_the_limit_is_cut_between_words() {
    let text = "wörter und noch mehr ".repeat(4000);
    for limit in [CutLimit::Chars(1000), CutLimit::Tokens(300)] {
        let cut = cut_to(&text, limit);
        let (cost, most) = cost(&cut.text, limit);
        assert!(cost <= most && cost > most * 8 / 10, "{cost} of {most}");
        let head = cut.text.split('[').next().unwrap().trim_end();
        assert!(
            ["wörter", "und", "noch", "mehr"]
                .iter()
                .any(|word| head.ends_with(word))
        );
    }
    let unbroken = "é".repeat(50_000);
    let cut = cut_to(&unbroken, CutLimit::Chars(1000));
    assert!(cut.text.starts_with("éé") && cut.text.ends_with("éé"));
}

#[test]
fn a_kept_part_of_a_huge_line_does_not_pin_the_line() {
    let text = format!(
        "{}<!-- keep -->vital<!-- /keep -->{}",
        "x".repeat(9000),
        "y".repeat(9000)
    );
    let cut = cut_to(&text, CutLimit::Chars(500));
    assert_eq!(cut.pinned, PinOutcome::Kept);
    assert!(
        cut.text.contains("<!-- keep -->vital<!-- /keep -->"),
        "{}",
        cut.text
    );
}

#[test]
fn tiny_limits_are_never_exceeded() {
    let text = numbered(1..=50);
    for limit in 0..120 {
        assert!(cut_to(&text, CutLimit::Chars(limit)).text.chars().count() <= limit);
        assert!(tokens::count(&cut_to(&text, CutLimit::Tokens(limit)).text) <= limit);
    }
    assert_eq!(cut_to(&text, CutLimit::Chars(0)).text, "");
}

#[test]
fn the_name_cannot_break_out_of_the_marker() {
    let text = numbered(1..=500);
    let request = CutRequest {
        name: "evil\n# Heading\u{202E}.md",
        first_line: 1,
        text: &text,
        limit: CutLimit::Chars(3000),
        pinned_headings: &[],
    };
    let cut = cut(&request);
    assert!(
        cut.text.contains("[Cut from evil# Heading.md: lines "),
        "{}",
        cut.text
    );
}

fn is_marker(line: &str) -> bool {
    line.starts_with("[Cut") || line == "[…]"
}

/// A second, simpler reading of fences: every one that opens is closed.
fn fences_are_balanced(text: &str) -> bool {
    let mut open: Option<String> = None;
    for line in text.lines().map(str::trim) {
        let sign = if line.starts_with('~') { '~' } else { '`' };
        let run: String = line.chars().take_while(|c| *c == sign).collect();
        match &open {
            _ if run.len() < 3 => {}
            Some(opening) if line == run && run.starts_with(opening.as_str()) => open = None,
            Some(_) => {}
            None => open = Some(run),
        }
    }
    open.is_none()
}

/// A document of headings, prose, fences and kept blocks; every pinned line is unmistakable.
/// Made of few numbers, which is much faster than drawing each character.
fn document() -> impl Strategy<Value = String> {
    let block = (0_usize..12, 1_usize..30, 0_usize..1000);
    prop::collection::vec(block, 1..60).prop_map(|blocks| {
        blocks
            .into_iter()
            .map(|(kind, size, seed)| document_block(kind, size, seed))
            .collect()
    })
}

fn document_block(kind: usize, size: usize, seed: usize) -> String {
    const WORDS: [&str; 7] = ["note", "größe", "日本語", "🙂", "a", "[see]", "`code`"];
    const CODE: [&str; 5] = ["let x = 1;", "# not a title", "<!-- keep -->", "", "~~ ``"];
    const FENCES: [&str; 5] = ["```", "````", "~~~", "  ```", "~~~~~"];
    let pick = |from: &[&str], at: usize| from[(seed + at * 7) % from.len()].to_owned();
    match kind {
        0..=4 => {
            let words: Vec<String> = (0..size).map(|at| pick(&WORDS, at)).collect();
            format!("{}\n{}", words.join(" "), "\n".repeat(seed % 2))
        }
        5 | 6 => format!("{} Title {seed}\n", "#".repeat(1 + seed % 4)),
        7..=9 => {
            let fence = pick(&FENCES, 0);
            let lines: String = (0..size).map(|at| pick(&CODE, at) + "\n").collect();
            format!("{fence}\n{lines}{fence}\n")
        }
        10 => format!("<!-- keep -->\nPIN {seed}\n<!-- /keep -->\n"),
        _ => format!("## Pinned\nPIN {seed}\n## After\n"),
    }
}

fn limit() -> impl Strategy<Value = CutLimit> {
    prop_oneof![
        (0_usize..3000).prop_map(CutLimit::Chars),
        (0_usize..900).prop_map(CutLimit::Tokens),
        (0_usize..150).prop_map(CutLimit::Chars),
        (0_usize..60).prop_map(CutLimit::Tokens),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn nothing_promised_is_broken(text in document(), limit in limit()) {
        let headings = pins(&["# pinned"]);
        let cut = cut_pinned(&text, limit, &headings);
        let (cost_after, most) = cost(&cut.text, limit);
        prop_assert!(cost_after <= most, "{cost_after} > {most}:\n{}", cut.text);
        if cost(&text, limit).0 <= most {
            prop_assert_eq!(&cut.text, &text);
        } else {
            prop_assert!(!cut.dropped.is_empty());
        }
        if cut.pinned == PinOutcome::Kept {
            let pinned = |text: &str| -> Vec<String> {
                text.lines().filter(|line| line.starts_with("PIN")).map(str::to_owned).collect()
            };
            prop_assert_eq!(pinned(&cut.text), pinned(&text));
        }
        prop_assert!(fences_are_balanced(&text));
        prop_assert!(fences_are_balanced(&cut.text), "torn fence:\n{}", cut.text);
        prop_assert_eq!(&cut, &cut_pinned(&text, limit, &headings));
    }

    #[test]
    fn what_stays_are_lines_of_the_text_in_order(text in document(), limit in 600_usize..3000) {
        // Longer than any line of a document, so that no line has to be cut.
        let cut = cut_to(&text, CutLimit::Chars(limit));
        let mut lines = text.lines();
        for line in cut.text.lines().filter(|line| !is_marker(line)) {
            prop_assert!(lines.any(|original| original == line), "{line:?} in\n{}", cut.text);
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_cut_within_its_limit(text in "(\\PC|[\n`~#]){0,200}", limit in limit()) {
        let cut = cut_to(&text, limit);
        let (cost, most) = cost(&cut.text, limit);
        prop_assert!(cost <= most);
        let dropped: usize = cut.dropped.iter().map(|part| part.chars).sum();
        prop_assert!(dropped <= cut.raw_chars);
    }
}
