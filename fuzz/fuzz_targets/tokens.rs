//! Counting: tokens give back their text, and limits are kept.
#![no_main]

use chela_core::tokens;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, &str)| {
    let (limit, text) = (usize::from(input.0), input.1);
    let encoded = tokens::encode(text);
    assert_eq!(tokens::decode(&encoded).as_deref(), Some(text.as_bytes()));
    assert_eq!(tokens::count(text), encoded.len());
    let within = (encoded.len() <= limit).then_some(encoded.len());
    assert_eq!(tokens::count_at_most(text, limit), within);
    let end = tokens::prefix_within(text, limit);
    assert!(tokens::count(&text[..end]) <= limit);
    assert!(within.is_none() || end == text.len());
});
