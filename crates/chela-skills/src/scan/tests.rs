use std::os::unix::fs::symlink;

use crate::fixture::{SkillsHome, names};
use crate::{RootState, SkillSource, SkipReason};

fn reason(home: &SkillsHome, name: &str) -> SkipReason {
    let library = home.open();
    let skipped = library.catalog().skipped_by_name(name).next();
    skipped
        .unwrap_or_else(|| panic!("{name} is not skipped: {:?}", library.catalog().skipped))
        .reason
        .clone()
}

#[test]
fn every_place_is_searched_and_the_nearer_wins() {
    let mut home = SkillsHome::new();
    home.settings.load.extra_dirs = vec!["~/extra".to_owned()];
    home.settings.load.packages = vec!["@me/kit".to_owned()];
    home.project = Some(home.path("project"));
    let places = [
        "extra",
        ".chela/skills",
        ".pi/agent/skills",
        ".agents/skills",
        ".chela/workspace/node_modules/@me/kit/skills",
        ".chela/workspace/.agents/skills",
        ".chela/workspace/skills",
    ];
    for (at, place) in places.iter().enumerate() {
        home.skill(&format!("{place}/same"), &format!("from {place}"));
        home.skill(&format!("{place}/only-{at}"), "alone here");
    }
    for place in [".agents", ".pi", ".claude"] {
        home.skill(
            &format!("project/{place}/skills/foreign-{}", &place[1..]),
            "from the project",
        );
    }
    let library = home.open();
    let catalog = library.catalog();
    let same = catalog.get("same").unwrap();
    assert_eq!(
        (&same.skill.source, same.skill.description.as_str()),
        (&SkillSource::Workspace, "from .chela/workspace/skills")
    );
    assert_eq!(catalog.shadowed_by_name("same").count(), places.len() - 1);
    let mut levels: Vec<_> = catalog
        .shadowed_by_name("same")
        .map(|shadowed| (shadowed.skill.level, &shadowed.skill.source))
        .collect();
    levels.sort();
    let order: Vec<String> = levels
        .iter()
        .map(|(_, source)| source.to_string())
        .collect();
    assert_eq!(
        order,
        [
            "extra",
            "managed",
            "personal",
            "personal",
            "package @me/kit",
            "workspace .agents"
        ]
    );
    for name in ["foreign-agents", "foreign-pi", "foreign-claude"] {
        assert_eq!(
            catalog.get(name).unwrap().trust.state,
            crate::TrustState::Quarantined
        );
    }
}

#[test]
fn skills_nest_six_levels_and_keep_flat_names() {
    let home = SkillsHome::new();
    home.skill(".agents/skills/a/b/c/d/e/six", "at the sixth level");
    home.skill(".agents/skills/a/b/c/d/e/f/seven", "too deep");
    home.skill(".agents/skills/outer", "a skill");
    home.skill(".agents/skills/outer/inner", "part of outer");
    home.skill(".agents/skills/.hidden/x", "hidden");
    home.skill(".agents/skills/node_modules/y", "generated");
    let library = home.open();
    assert_eq!(names(&library), ["outer", "six"]);
    assert_eq!(reason(&home, "seven"), SkipReason::TooDeep { levels: 6 });
    let outer = library.catalog().get("outer").unwrap();
    let files: Vec<_> = outer
        .skill
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(files, ["SKILL.md", "inner/SKILL.md"]);
}

#[test]
fn skips_have_true_reasons() {
    let home = SkillsHome::new();
    home.write(".agents/skills/no-head/SKILL.md", "# hello");
    home.write(
        ".agents/skills/no-description/SKILL.md",
        "---\nname: x\n---\n",
    );
    home.write(
        ".agents/skills/blank/SKILL.md",
        "---\nname: x\ndescription: \"\u{200b}\"\n---\n",
    );
    home.write(".agents/skills/big/SKILL.md", "x".repeat(256_001));
    home.write(
        ".agents/skills/latin/SKILL.md",
        b"---\nname: x\ndescription: caf\xe9\n---\n",
    );
    home.write("outside/secret.md", "---\nname: x\ndescription: d\n---\n");
    std::fs::create_dir_all(home.path(".agents/skills/linked")).unwrap();
    symlink(
        home.path("outside/secret.md"),
        home.path(".agents/skills/linked/SKILL.md"),
    )
    .unwrap();
    symlink(home.path("outside"), home.path(".agents/skills/escape")).unwrap();

    assert_eq!(
        reason(&home, "no-head"),
        SkipReason::FrontMatter(crate::FrontMatterError::Missing)
    );
    assert_eq!(reason(&home, "no-description"), SkipReason::NoDescription);
    assert_eq!(reason(&home, "blank"), SkipReason::NoDescription);
    assert_eq!(
        reason(&home, "big"),
        SkipReason::TooLarge {
            bytes: 256_001,
            limit: 256_000
        }
    );
    assert_eq!(
        reason(&home, "latin").to_string(),
        "line 3 is not UTF-8; save the file as UTF-8"
    );
    assert!(matches!(
        reason(&home, "linked"),
        SkipReason::FileOutside { .. }
    ));
    let escape = reason(&home, "escape").to_string();
    assert!(
        escape.starts_with("symlink-escape") && escape.contains("allowSymlinkTargets"),
        "{escape}"
    );
    assert!(names(&home.open()).is_empty());
}

#[test]
fn a_link_that_leads_back_doubles_nothing() {
    let home = SkillsHome::new();
    home.skill(".agents/skills/kit/deploy", "one");
    home.skill(".agents/skills/.store/kept", "kept out of sight");
    symlink(".", home.path(".agents/skills/loop")).unwrap();
    symlink("..", home.path(".agents/skills/kit/up")).unwrap();
    symlink("kit/deploy", home.path(".agents/skills/again")).unwrap();
    symlink(".store/kept", home.path(".agents/skills/kept")).unwrap();
    let library = home.open();
    assert_eq!(names(&library), ["deploy", "kept"]);
    assert_eq!(library.catalog().shadowed.len(), 0);
}

#[test]
fn the_file_may_be_written_in_other_letters() {
    let home = SkillsHome::new();
    for (at, file) in ["Skill.md", "skill.md", "SKILL.MD", "SKILLS.md", "skills.md"]
        .iter()
        .enumerate()
    {
        home.write(
            &format!(".agents/skills/s{at}/{file}"),
            format!("---\nname: s{at}\ndescription: d\n---\n"),
        );
    }
    let library = home.open();
    assert_eq!(names(&library), ["s0", "s1", "s2", "s3", "s4"]);
    let odd = &library.catalog().get("s3").unwrap().skill;
    assert!(
        odd.findings
            .iter()
            .any(|finding| finding.code == "file-name")
    );
    assert!(odd.file.ends_with("s3/SKILLS.md"));
}

#[test]
fn links_are_followed_where_they_are_allowed() {
    let mut home = SkillsHome::new();
    home.skill("shared/team/deploy", "from elsewhere");
    std::fs::create_dir_all(home.path(".agents/skills")).unwrap();
    symlink(home.path("shared/team"), home.path(".agents/skills/team")).unwrap();
    symlink(
        home.path(".agents/skills"),
        home.path(".agents/skills/round"),
    )
    .unwrap();
    assert!(names(&home.open()).is_empty());
    home.settings.load.allow_symlink_targets = vec!["~/shared".to_owned()];
    assert_eq!(names(&home.open()), ["deploy"]);
    home.settings.load.allow_symlink_targets = vec!["~".to_owned(), "/".to_owned()];
    assert!(
        names(&home.open()).is_empty(),
        "targets as wide as the home folder allow nothing"
    );
}

#[test]
fn limits_are_told_and_never_silent() {
    let mut home = SkillsHome::new();
    for at in 0..7 {
        home.skill(&format!(".agents/skills/s{at}"), "one of many");
    }
    home.settings.limits.max_candidates_per_root = Some(5);
    let library = home.open();
    assert_eq!(names(&library).len(), 5);
    assert_eq!(reason(&home, "s6"), SkipReason::OverLimit { limit: 5 });
    let root = library
        .catalog()
        .roots
        .iter()
        .find(|root| root.candidates > 0 && root.root.source == SkillSource::Personal)
        .unwrap();
    assert_eq!((root.candidates, &root.state), (7, &RootState::Read));
}

#[test]
fn a_folder_that_cannot_be_found_is_not_missing() {
    let home = SkillsHome::new();
    let folder = home.path(".chela/skills");
    std::fs::create_dir_all(home.path(".chela")).unwrap();
    symlink(&folder, &folder).unwrap();
    let library = home.open();
    let mut roots = library.catalog().roots.iter();
    let root = roots.find(|root| root.root.dir == folder).unwrap();
    assert!(
        matches!(root.state, RootState::Unreadable(_)),
        "{:?}",
        root.state
    );
}

#[test]
fn a_pipe_in_a_skill_hangs_nobody() {
    let home = SkillsHome::new();
    let folder = home.skill(".agents/skills/piped", "has a pipe");
    let fifo = std::ffi::CString::new(folder.join("pipe").to_str().unwrap()).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let library = home.open();
    let skill = &library.catalog().get("piped").unwrap().skill;
    assert!(
        skill
            .findings
            .iter()
            .any(|finding| finding.code == "special-file")
    );
}

#[test]
fn lower_case_file_names_and_missing_names_load() {
    let home = SkillsHome::new();
    home.write(
        ".agents/skills/quiet/skill.md",
        "---\ndescription: lower case\n---\n",
    );
    home.write(
        ".agents/skills/odd/SKILL.md",
        "---\nname: Image Generation\ndescription: spaces\n---\n",
    );
    let library = home.open();
    assert_eq!(names(&library), ["Image Generation", "quiet"]);
    let codes: Vec<_> = library
        .catalog()
        .get("quiet")
        .unwrap()
        .skill
        .findings
        .iter()
        .map(|finding| finding.code)
        .collect();
    assert_eq!(codes, ["no-name", "file-name"]);
}
