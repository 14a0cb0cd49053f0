//! What skills cost: finding them, looking again, listing and ranking them.
//!
//! `cargo bench -p chela-skills`. The skills are made up but of a real size: about 5 KB of text,
//! a script and a reference each for every third.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use chela_core::{Clock, Host};
use chela_skills::{
    ListingRequest, RefreshOutcome, Skill, SkillLibrary, SkillLimits, SkillPackage, SkillPlaces,
    SkillRanking, SkillUses, SkillsSettings, inspect, list,
};
use chela_testkit::bench::{BenchEffort, measure};

struct Now;

impl Clock for Now {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

#[expect(clippy::unwrap_used, reason = "a benchmark may stop")]
fn main() {
    let dir = tempfile::tempdir().unwrap();
    let large = BenchEffort::asked().pick(5_000, 400);
    let mut host = Host::fixed(dir.path());
    host.clock = Arc::new(Now);
    for (name, count) in [("small", 300), ("large", large)] {
        for at in 0..count {
            write_skill(&dir.path().join(name).join("workspace/skills"), at);
        }
    }
    // Files that were just written are read again to be sure; let them grow old.
    std::thread::sleep(std::time::Duration::from_millis(60));
    let settings = SkillsSettings::default();
    let open = |name: &str| {
        let state_dir = dir.path().join(name);
        let places = SkillPlaces {
            workspace: state_dir.join("workspace"),
            state_dir,
            project: None,
        };
        SkillLibrary::open(&host, places, settings.clone())
    };
    let signed = signed_set(dir.path());
    let reading = measure("read and hash 1,000 files", 0, || read_and_hash(&signed));
    reading.print(None);
    let verifying = measure("verify a signed set of 1,000 files", 0, || {
        chela_skills::verify(&signed)
    });
    verifying.print(Some(&reading));
    let package = dir.path().join("small/workspace/skills");
    let package = fs::read_dir(package)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    measure("scan one package", 0, || {
        inspect(&SkillPackage::read(&package))
    })
    .print(None);
    measure("discover 300 cold", 0, || open("small")).print(None);
    measure(&format!("discover {large} cold"), 0, || open("large")).print(None);

    let mut library = open("small");
    let again = measure("look again at 300, unchanged", 0, || library.refresh());
    again.print(None);
    assert_eq!(library.refresh(), RefreshOutcome::Unchanged);
    let mut many = open("large");
    measure(&format!("look again at {large}, unchanged"), 0, || {
        many.refresh()
    })
    .print(None);

    let skills: Vec<&Skill> = library
        .catalog()
        .entries()
        .iter()
        .map(|entry| entry.skill.as_ref())
        .collect();
    let uses = SkillUses::default();
    let limits = SkillLimits::default();
    let request = ListingRequest {
        skills: &skills,
        limits: &limits,
        ranking: SkillRanking::Auto,
        uses: &uses,
        now: host.unix_time(),
    };
    let text = list(&request).text;
    measure("list 300", text.len(), || list(&request)).print(None);
    measure("gate and snapshot 300", 0, || library.for_agent(&|_| false)).print(None);
}

#[expect(clippy::unwrap_used, reason = "a benchmark may stop")]
fn write_skill(root: &Path, at: usize) {
    let folder = root.join(format!("skill-{at:04}"));
    fs::create_dir_all(&folder).unwrap();
    let description = "Works with documents of one kind and turns them into another. Use when the owner asks to convert, clean or compare such files, or mentions their format by name. ".repeat(1 + at % 3);
    let body = "## Step\n\nRead the file, check each line and write down what was found before going on.\n\n```sh\npython scripts/run.py --input FILE\n```\n\n".repeat(36);
    let head = format!(
        "---\nname: skill-{at:04}\ndescription: {description}\nlicense: MIT\nmetadata:\n  openclaw:\n    emoji: \"x\"\n    requires:\n      bins: [sh]\n---\n\n# Skill {at}\n\n"
    );
    fs::write(folder.join("SKILL.md"), head + &body).unwrap();
    if at.is_multiple_of(3) {
        fs::create_dir_all(folder.join("scripts")).unwrap();
        fs::write(folder.join("scripts/run.py"), "print('ok')\n".repeat(40)).unwrap();
        fs::write(folder.join("reference.md"), "Some text.\n".repeat(100)).unwrap();
    }
}

/// What no check of 1,000 files can do without.
#[expect(clippy::unwrap_used, reason = "a benchmark may stop")]
fn read_and_hash(folder: &Path) -> usize {
    let mut hashes = 0;
    for dir in [folder.to_owned(), folder.join("references")] {
        for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                std::hint::black_box(chela_core::ContentHash::of(fs::read(entry.path()).unwrap()));
                hashes += 1;
            }
        }
    }
    hashes
}

/// A skill of 1,000 files of 4 KB, signed.
#[expect(clippy::unwrap_used, reason = "a benchmark may stop")]
fn signed_set(dir: &Path) -> std::path::PathBuf {
    let folder = dir.join("signed");
    fs::create_dir_all(folder.join("references")).unwrap();
    fs::write(
        folder.join("SKILL.md"),
        "---\nname: signed\ndescription: many files\n---\n",
    )
    .unwrap();
    for at in 1..1_000 {
        fs::write(
            folder.join(format!("references/{at}.md")),
            format!("{at} ").repeat(1_000),
        )
        .unwrap();
    }
    let key = dir.join("key");
    chela_skills::new_key(&key, "bench", &Host::fixed(dir)).unwrap();
    let key = chela_skills::SecretKey::parse(&fs::read_to_string(key).unwrap()).unwrap();
    assert_eq!(chela_skills::sign(&folder, &key).unwrap(), 1_000);
    assert!(matches!(
        chela_skills::verify(&folder),
        chela_skills::SkillSignature::Valid(_)
    ));
    folder
}
