//! Cleaning: done once is done, counts add up, nothing that must go survives.
#![no_main]

use chela_core::sanitize::{RemovedCharacters, content, literal};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (once, removed) = content(text);
    let (twice, nothing) = content(&once);
    assert_eq!(once, twice);
    assert_eq!(nothing, RemovedCharacters::default());
    let mark = usize::from(removed.byte_order_mark);
    assert_eq!(
        once.chars().count() + removed.total() + mark,
        text.chars().count()
    );
    assert!(removed.first_lines.len() <= 8 && removed.first_lines.is_sorted());
    let always_hidden = |c: char| {
        matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}')
            || (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
    };
    assert!(!once.contains(always_hidden));

    let line = literal(text);
    assert_eq!(literal(&line), line);
    let unfit = |c: char| {
        c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{E0000}'..='\u{E007F}')
    };
    assert!(!line.contains(unfit));
});
