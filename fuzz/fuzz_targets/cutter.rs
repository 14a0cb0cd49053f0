//! Cutting: the limit holds, what fits is untouched, pins that fit survive, and what is left over
//! and what was dropped add up.
#![no_main]

use chela_core::cut::{CutRequest, CutLimit, PinOutcome, cut};
use chela_core::tokens;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, bool, &str)| {
    let (number, in_tokens, text) = input;
    // Small limits, so that short inputs are cut; pins get a line no input is likely to have.
    let number = usize::from(number % 512);
    let limit = if in_tokens {
        CutLimit::Tokens(number)
    } else {
        CutLimit::Chars(number)
    };
    let pinned = "<!-- keep -->\nPIN 7c1e\n<!-- /keep -->\n";
    let text = format!("{pinned}{text}\n# Pinned section\nPIN 9f2a\n");
    let headings = ["## pinned SECTION".to_owned()];
    let request = CutRequest {
        name: "NOTES.md",
        first_line: 1,
        text: &text,
        limit,
        pinned_headings: &headings,
    };

    let result = cut(&request);
    let cost = |text: &str| {
        if in_tokens {
            tokens::count(text)
        } else {
            text.chars().count()
        }
    };
    assert!(cost(&result.text) <= number, "over the limit");
    assert_eq!(result.raw_chars, text.chars().count());
    if cost(&text) <= number {
        assert_eq!(result.text, text);
        assert!(result.dropped.is_empty());
    } else if result.pinned == PinOutcome::Kept {
        assert!(result.text.contains(pinned));
    }
    let dropped: usize = result.dropped.iter().map(|part| part.chars).sum();
    assert!(dropped <= result.raw_chars);
    assert!(
        result
            .dropped
            .is_sorted_by(|one, next| one.lines.end() <= next.lines.start())
    );
    assert_eq!(cut(&request), result);
});
