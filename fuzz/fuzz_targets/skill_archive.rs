//! Archives are looked into within bounds, or said to stay closed; one inside another is never
//! opened.

#![no_main]

use chela_skills::{SkillPackage, inspect};
use libfuzzer_sys::fuzz_target;

/// What a tar archive has in its first block, where unpackers look for it.
fn tar(bytes: &[u8]) -> Vec<u8> {
    let mut block = vec![0; 512];
    block[..5].copy_from_slice(b"a.txt");
    block[257..265].copy_from_slice(b"ustar\x0000");
    block.extend(bytes);
    block
}

fuzz_target!(|bytes: &[u8]| {
    let framed = [
        ("plain.bin", bytes.to_vec()),
        ("a.zip", [b"PK\x03\x04", bytes].concat()),
        (
            "a.gz",
            [b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", bytes].concat(),
        ),
        ("a.tar", tar(bytes)),
    ];
    for (path, bytes) in &framed {
        let report = inspect(&SkillPackage::of_files([(*path, bytes.as_slice())]));
        for finding in &report.findings {
            let file = finding.file.as_str();
            assert!(file.matches("!/").count() <= 1 || bytes.windows(2).any(|two| two == b"!/"));
        }
    }
});
