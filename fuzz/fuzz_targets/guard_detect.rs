//! Whatever is looked through: a finding has a place in the text, and an explanation of one line.
#![no_main]

use chela_guard::detect::detect;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let found = detect(text);
    assert!((0.0..=1.0).contains(&found.score));
    for finding in &found.findings {
        assert!(finding.range.start <= finding.range.end && finding.range.end <= text.len());
    }
    assert!(!found.explain(text).contains('\n'));
});
