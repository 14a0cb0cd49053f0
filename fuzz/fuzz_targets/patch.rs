//! Patches: whatever a model writes, reading it never panics; what only adds loses no line that
//! was there, and the same patch does the same twice.
#![no_main]

use chela_tools::fuzzing::patch_text;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &str)| {
    let (body, patch) = input;
    // Most inputs are no patch at all; with the envelope around them they get further.
    for patch in [
        patch.to_owned(),
        format!("*** Begin Patch\n{patch}\n*** End Patch"),
        format!("*** Begin Patch\n*** Update File: a\n@@\n{patch}\n*** End Patch"),
    ] {
        let found = patch_text(&patch, body);
        assert_eq!(found, patch_text(&patch, body));
        for patched in found.into_iter().flatten().filter(|patched| patched.adds_only) {
            let Some(text) = patched.text else { continue };
            // Blanks and quotes of a line may become those of the patch.
            let letters = |line: &str| line.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
            let mut lines = text.split('\n').map(letters);
            for line in body.split('\n').map(letters) {
                assert!(lines.any(|kept| kept == line), "{line:?} is gone from {text:?}");
            }
        }
    }
});
