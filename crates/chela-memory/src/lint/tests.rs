use super::{FindingKind, LintLimits, LintedNote, lint, propose_move};
use crate::day::CalendarDay;

fn today() -> CalendarDay {
    CalendarDay::find("2026-11-15").unwrap()
}

const MEMORY: &str = "\
# Memory
- The wifi password is hunter2
- Ann likes long walks in the rain
- Moved flat on 2024-05-01
- Berlin office: 3rd floor
";
const NOTE: &str = "\
- Ann likes long walks in the rain.
- The wifi password is swordfish
- Ann: hi
- Berlin office: 3rd floor
";

#[test]
fn findings_name_their_places() {
    let notes = [
        LintedNote {
            label: "MEMORY.md",
            text: MEMORY,
        },
        LintedNote {
            label: "memory/2026-01-01.md",
            text: NOTE,
        },
    ];
    let found = lint(&notes, today(), &LintLimits::default());
    let shown: Vec<(FindingKind, Vec<String>)> = found
        .iter()
        .map(|f| {
            (
                f.kind,
                f.places
                    .iter()
                    .map(|p| format!("{}:{}", p.label, p.line))
                    .collect(),
            )
        })
        .collect();
    let both = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
    assert_eq!(
        shown,
        [
            (
                FindingKind::Duplicate,
                both("MEMORY.md:3", "memory/2026-01-01.md:1")
            ),
            (
                FindingKind::Duplicate,
                both("MEMORY.md:5", "memory/2026-01-01.md:4")
            ),
            (
                FindingKind::Contradiction,
                both("MEMORY.md:2", "memory/2026-01-01.md:2")
            ),
            (FindingKind::StaleDate, vec!["MEMORY.md:4".to_owned()]),
        ]
    );
}

#[test]
fn a_move_is_proposed_as_a_diff() {
    let notes = [LintedNote {
        label: "MEMORY.md",
        text: MEMORY,
    }];
    let proposal = propose_move(&notes, today(), &LintLimits::default()).unwrap();
    insta::assert_snapshot!(proposal.diff, @r"
    --- MEMORY.md
    +++ MEMORY.md
    @@ -2,4 +2,3 @@
     - The wifi password is hunter2
     - Ann likes long walks in the rain
    -- Moved flat on 2024-05-01
     - Berlin office: 3rd floor
    --- memory/2026-11-15-from-memory.md
    +++ memory/2026-11-15-from-memory.md
    @@ -0,0 +1,3 @@
    +# Moved from MEMORY.md
    +
    +- Moved flat on 2024-05-01
    ");
    assert!(!proposal.memory.contains("Moved flat"));
}

#[test]
fn too_large_a_file_shrinks_below_the_limit() {
    let text: String = (0..200)
        .map(|i| format!("- entry number {i} about something\n"))
        .collect();
    let notes = [LintedNote {
        label: "MEMORY.md",
        text: &text,
    }];
    let limits = LintLimits {
        memory_chars: 2_000,
        stale_days: 180,
    };
    assert_eq!(
        lint(&notes, today(), &limits)[0].kind,
        FindingKind::Oversized
    );
    let proposal = propose_move(&notes, today(), &limits).unwrap();
    assert!(proposal.memory.chars().count() <= 2_000);
    assert_eq!(
        proposal.memory.lines().count() + proposal.note.lines().count(),
        200 + 2
    );
}
