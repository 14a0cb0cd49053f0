//! Whatever comes from outside: wrapping it leaves exactly one block, which its text cannot
//! close, and cleaning what is clean changes nothing.
#![no_main]

use chela_core::FixedEntropy;
use chela_guard::{ExternalSource, clean, wrap};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let wrapped = wrap(text, &ExternalSource::Unknown, &FixedEntropy(7));
    assert_eq!(wrapped.matches("<<<EXTERNAL_UNTRUSTED_CONTENT").count(), 1);
    assert_eq!(
        wrapped.matches("<<<END_EXTERNAL_UNTRUSTED_CONTENT").count(),
        1
    );
    let (once, _) = clean(text);
    let (twice, found) = clean(&once);
    assert_eq!(once, twice);
    assert_eq!(found.forged_markers, 0);
});
