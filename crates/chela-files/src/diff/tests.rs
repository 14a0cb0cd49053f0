use proptest::prelude::{prop, proptest};

use super::{DiffLabels, LineChange, line_changes, unified_diff};

const LABELS: DiffLabels<'_> = DiffLabels { old: "a", new: "b" };

#[test]
fn hunks_are_those_of_diff_u() {
    let old: String = (1..=20).map(|line| format!("{line}\n")).collect();
    let new = old.replace("\n4\n", "\nfour\n").replace("\n18\n", "\n");
    assert_eq!(
        unified_diff(LABELS, &old, &new, 2),
        "--- a\n+++ b\n@@ -2,5 +2,5 @@\n 2\n 3\n-4\n+four\n 5\n 6\n@@ -16,5 +16,4 @@\n 16\n 17\n-18\n 19\n 20\n"
    );
    assert_eq!(
        unified_diff(LABELS, "", "x\n", 2),
        "--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n"
    );
    assert_eq!(
        unified_diff(LABELS, "x\ny", "x\ny\n", 3),
        "--- a\n+++ b\n@@ -1,2 +1,2 @@\n x\n-y\n\\ No newline at end of file\n+y\n"
    );
    assert_eq!(unified_diff(LABELS, "x\n", "x\n", 3), "");
}

#[test]
fn line_ends_are_not_compared_where_only_lines_count() {
    assert!(
        line_changes("a\r\nb", "a\nb\n")
            .iter()
            .all(|change| !change.is_change())
    );
    assert_eq!(
        line_changes("a\nb\n", "a\nc\n"),
        [
            LineChange::Same("a"),
            LineChange::Removed("b"),
            LineChange::Added("c")
        ]
    );
}

proptest! {
    /// What is kept and removed is the old text, what is kept and added the new one.
    #[test]
    fn both_texts_can_be_read_out_of_the_changes(
        old in prop::collection::vec("[a-c]?", 0..40),
        new in prop::collection::vec("[a-c]?", 0..40),
    ) {
        let (old, new) = (old.join("\n"), new.join("\n"));
        let changes = line_changes(&old, &new);
        let side = |absent| -> Vec<&str> {
            changes.iter().filter(|change| change.mark() != absent).map(|change| change.line()).collect()
        };
        assert_eq!(side('+'), old.lines().collect::<Vec<_>>());
        assert_eq!(side('-'), new.lines().collect::<Vec<_>>());
    }
}
