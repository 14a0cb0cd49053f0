//! Whatever a text is written in: its plain form and its hidden texts keep their places, and
//! what is shown in a question can neither move nor hide.
#![no_main]

use chela_guard::approval::shown;
use chela_guard::detect::views;
use chela_guard::flow::atoms;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for view in views(text) {
        let place = view.original(&(0..view.text.len()));
        assert!(place.start <= place.end && place.end <= text.len());
    }
    for atom in atoms(text) {
        assert!(text.get(atom.range).is_some());
    }
    assert!(
        !shown(text)
            .chars()
            .any(|c| c.is_control()
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
    );
});
