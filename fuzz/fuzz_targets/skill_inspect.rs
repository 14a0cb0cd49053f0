//! No package, whatever its files hold, makes the scanner crash; what it says fits together and is
//! the same each time.

#![no_main]

use chela_config::Severity;
use chela_skills::{SkillPackage, ScanVerdict, inspect};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|files: Vec<(&str, &[u8])>| {
    let package = SkillPackage::of_files(files.iter().copied());
    let report = inspect(&package);
    assert_eq!(inspect(&package), report);
    assert!(report.findings.len() <= 60);
    let worst = report.findings.iter().map(|finding| finding.severity).max();
    assert_eq!(
        report.verdict == ScanVerdict::Dangerous,
        worst == Some(Severity::Error)
    );
    assert_eq!(
        report.verdict == ScanVerdict::Suspicious,
        worst == Some(Severity::Warning)
    );
    // The same bytes as what most files of a skill are.
    for (_, bytes) in files {
        inspect(&SkillPackage::of_files([
            ("SKILL.md", bytes),
            ("scripts/run.py", bytes),
        ]));
    }
});
