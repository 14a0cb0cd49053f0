//! What the owner pinned in a text, by the same rules as the cutter.

use chela_core::cut::{CutLimit, CutRequest, PinOutcome, cut};

/// The pinned parts of a text, one after the other; empty when nothing is pinned.
pub(crate) fn pinned_text(text: &str, pinned_headings: &[String]) -> String {
    let at = |limit| {
        let limit = CutLimit::Chars(limit);
        cut(&CutRequest {
            name: "",
            first_line: 1,
            text,
            limit,
            pinned_headings,
        })
    };
    match at(0).pinned {
        // With exactly the room that the pins need, they are all that stays.
        PinOutcome::OverLimit { needed } => at(needed).text.into_owned(),
        PinOutcome::Kept => String::new(),
    }
}

/// Whether every pinned line of `before` is still in `after`, in the same order and with nothing
/// put between lines that followed each other.
pub(crate) fn are_kept(before: &str, after: &str, pinned_headings: &[String]) -> bool {
    let pinned = pinned_text(before, pinned_headings);
    let (mut old, mut new) = (before.lines(), after.lines());
    let mut is_first = true;
    pinned.lines().all(|line| {
        let follows = !std::mem::take(&mut is_first) && old.clone().next() == Some(line);
        match follows {
            true => old.next().is_some() && new.next() == Some(line),
            false => old.any(|other| other == line) && new.any(|other| other == line),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{are_kept, pinned_text};

    const RULES: &str = "# Rules\nbe nice\n<!-- keep -->\nnever A\nnever B\n<!-- /keep -->\n## Limits\n10 euros\n## Rest\nchatter\n";

    #[test]
    fn pins_are_comments_and_headings() {
        assert_eq!(pinned_text("nothing here", &[]), "");
        assert_eq!(
            pinned_text(RULES, &[]),
            "<!-- keep -->\nnever A\nnever B\n<!-- /keep -->\n"
        );
        assert!(pinned_text(RULES, &["Limits".into()]).ends_with("## Limits\n10 euros\n"));
    }

    #[test]
    fn taking_out_or_splitting_what_is_pinned_is_noticed() {
        let limits = ["limits".to_owned()];
        assert!(are_kept(RULES, RULES, &limits));
        assert!(are_kept(
            RULES,
            &RULES.replace("chatter", "less").replace("be nice", "x\ny"),
            &limits
        ));
        assert!(!are_kept(RULES, &RULES.replace("never B\n", ""), &[]));
        assert!(!are_kept(
            RULES,
            &RULES.replace("never B", "not today\nnever B"),
            &[]
        ));
        assert!(!are_kept(
            RULES,
            &RULES.replace("10 euros", "1000 euros"),
            &limits
        ));
        assert!(are_kept(
            RULES,
            &RULES.replace("10 euros", "1000 euros"),
            &[]
        ));
        assert!(!are_kept(RULES, "", &[]));
        assert!(are_kept("plain", "", &[]));
    }
}
