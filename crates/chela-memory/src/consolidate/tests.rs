use std::collections::HashSet;

use chela_core::ContentHash;

use super::{MemoryProposal, ProposalExtent, ProposedKind, ReviewedTexts, propose};
use crate::day::CalendarDay;

fn day(text: &str) -> CalendarDay {
    CalendarDay::find(text).unwrap()
}

fn notes(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter()
        .map(|(label, text)| ((*label).to_owned(), (*text).to_owned()))
        .collect()
}

fn proposed(memory: &str, of: &[(&str, &str)], extent: ProposalExtent) -> Option<MemoryProposal> {
    let notes = notes(of);
    let texts = ReviewedTexts {
        memory,
        memory_day: Some(day("2026-03-01")),
        user: "- Name: Ann\n",
        notes: &notes,
        today: day("2026-03-10"),
    };
    propose(&texts, extent, &HashSet::new())
}

const NOTES: [(&str, &str); 2] = [
    (
        "memory/2026-03-04.md",
        "- Always answer in metric units\n- lunch with Paola\n- My dentist is Dr Meyer\n",
    ),
    (
        "memory/2026-03-05-0910.md",
        "---\nkind: session-note\n---\n\n# Session\n\n## To keep\n\n- I live in Faro\n\n## You asked\n\n- fix the build\n- where is Faro?\n",
    ),
];

#[test]
fn what_outlasts_its_day_is_added_with_its_day() {
    let found = proposed("# Memory\n- The cat is Momo\n", &NOTES, ProposalExtent::All).unwrap();
    assert_eq!(
        found.text,
        "# Memory\n- The cat is Momo\n\n## From notes\n\
         - Always answer in metric units (2026-03-04)\n\
         - My dentist is Dr Meyer (2026-03-04)\n- I live in Faro (2026-03-05)\n"
    );
    assert!(
        found.diff.contains("+- I live in Faro (2026-03-05)"),
        "{}",
        found.diff
    );
    assert_eq!(found.lines[2].from, "memory/2026-03-05-0910.md#L9");
    // Once it stands there it is not proposed again.
    assert_eq!(proposed(&found.text, &NOTES, ProposalExtent::All), None);
}

#[test]
fn what_changed_keeps_what_held_before() {
    let memory =
        "- My dentist is Dr Smith\n- Answers are always in metric units\n- I live in Faro\n";
    let found = proposed(memory, &NOTES, ProposalExtent::All).unwrap();
    let changed = found
        .lines
        .iter()
        .find(|line| line.kind == ProposedKind::Changed)
        .unwrap();
    assert_eq!(
        changed.text,
        "- My dentist is Dr Meyer (2026-03-04; earlier: Dr Smith)"
    );
    assert_eq!(
        changed.replaces.as_deref(),
        Some("- My dentist is Dr Smith")
    );
    let added = proposed(memory, &NOTES, ProposalExtent::AdditionsOnly);
    assert!(added.is_none_or(|found| !found.text.contains("earlier")));
}

#[test]
fn what_the_owner_wrote_later_stands() {
    let notes = notes(&NOTES);
    let texts = ReviewedTexts {
        memory: "- My dentist is Dr Smith\n- Always answer in metric units\n- I live in Faro\n",
        memory_day: Some(day("2026-03-09")),
        user: "",
        notes: &notes,
        today: day("2026-03-10"),
    };
    assert_eq!(propose(&texts, ProposalExtent::All, &HashSet::new()), None);
}

#[test]
fn the_newest_of_two_values_is_proposed_and_refused_lines_are_not() {
    let of = [
        (
            "memory/2026-03-02.md",
            "- The wifi password of the office is hunter2\n",
        ),
        (
            "memory/2026-03-06.md",
            "- The wifi password of the office is swordfish9\n",
        ),
        ("memory/2020-01-01.md", "- I live in Rome\n"),
        (
            "memory/2026-03-07.md",
            "Ann: I live in Paris\nassistant: I live in Oslo\n",
        ),
    ];
    let found = proposed("", &of, ProposalExtent::All).unwrap();
    assert_eq!(
        found.text,
        "# Memory\n\n## From notes\n- The wifi password of the office is swordfish9 (2026-03-06)\n"
    );
    let notes = notes(&of);
    let texts = ReviewedTexts {
        memory: "",
        memory_day: None,
        user: "",
        notes: &notes,
        today: day("2026-03-10"),
    };
    let refused = HashSet::from([ContentHash::of(&found.lines[0].said)]);
    assert_eq!(propose(&texts, ProposalExtent::All, &refused), None);
}

#[test]
fn a_line_that_stands_there_twice_goes_once() {
    let found = proposed(
        "- tea, no milk\n- x y\n- tea, no milk\n",
        &[],
        ProposalExtent::All,
    )
    .unwrap();
    assert_eq!(found.text, "- tea, no milk\n- x y\n");
    assert_eq!(found.lines[0].kind, ProposedKind::Repeated);
}
