//! Any bytes as a facts document: reading never panics, and whatever can be rendered has spans
//! that tile it and a boundary on an edge.
#![no_main]

use chela_core::Zone;
use chela_prompt::{PromptInput, TokenCount, render};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(input) = PromptInput::from_facts(text) else {
        return;
    };
    let Ok(prompt) = render(&input) else { return };

    let mut at = 0;
    for section in &prompt.sections {
        assert_eq!(section.range.start, at);
        assert!(section.range.end > at && prompt.text.is_char_boundary(section.range.end));
        assert_eq!(
            section.range.start >= prompt.boundary,
            section.zone == Zone::Volatile
        );
        at = section.range.end;
    }
    assert_eq!(at, prompt.text.len());

    let mut end = 0;
    for part in &prompt.parts {
        assert!(part.range.start >= end && part.range.end >= part.range.start);
        assert!(prompt.text.is_char_boundary(part.range.start));
        assert!(prompt.text.is_char_boundary(part.range.end));
        end = part.range.end;
    }

    for line in prompt.text.split('\n') {
        assert_eq!(line, line.trim_end());
    }
    assert!(!prompt.text.contains('\r'));
    assert_eq!(render(&input).as_ref(), Ok(&prompt));
    prompt.to_json(TokenCount::Without);
});
