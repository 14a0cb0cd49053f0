//! No SKILL.md, whatever its bytes, makes the reader crash or hang; what it accepts is bounded.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = chela_skills::read_skill_text(bytes);
    // Most bytes are no head at all; put the same ones where one belongs.
    let framed = [b"---\n", bytes, b"\n---\nBody\n"].concat();
    if let Ok(text) = chela_skills::read_skill_text(&framed) {
        assert!(framed.ends_with(text.body.as_bytes()));
        assert!(text.body_line > 1);
    }
});
