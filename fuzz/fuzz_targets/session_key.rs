//! Session keys: whatever is read is printed back exactly, and reads the same again.
#![no_main]

use chela_core::SessionKey;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(key) = SessionKey::parse(text) {
        let printed = key.to_string();
        assert_eq!(printed, text);
        assert_eq!(SessionKey::parse(&printed).as_ref(), Ok(&key));
        let _ = (
            key.kind(),
            key.chat_type(),
            key.audience(),
            key.is_reserved(),
        );
        assert!(key.subagent_depth() == 0 || key.is_subagent());
    }
});
