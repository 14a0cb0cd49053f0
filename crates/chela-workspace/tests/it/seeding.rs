use chela_core::tokens;
use chela_workspace::{
    CoreFile, RepositoryMode, RepositoryOutcome, SeedError, SeedMode, SeedOptions, SeedReport,
    WorkspaceAge, WorkspaceCondition, WorkspaceHistory, WorkspaceRecord, WorkspaceStage, seed,
};

use crate::home::{Home, names};

fn options(mode: SeedMode) -> SeedOptions {
    SeedOptions {
        mode,
        skip_optional: Vec::new(),
        repository: RepositoryMode::Create,
    }
}

fn fresh() -> Home {
    let home = Home::new();
    std::fs::remove_dir(&home.dir).unwrap();
    home
}

fn seeded(home: &Home, mode: SeedMode) -> SeedReport {
    seed(&home.host, &home.dir, &options(mode)).unwrap()
}

#[test]
fn a_new_workspace_gets_seven_files_a_record_and_a_repository() {
    let home = fresh();
    assert_eq!(
        WorkspaceCondition::of(&home.host, &home.dir),
        WorkspaceCondition::New
    );
    let report = seeded(&home, SeedMode::IfNew);
    let created: Vec<_> = report.created.iter().map(|file| file.name()).collect();
    assert_eq!(
        created,
        [
            "AGENTS.md",
            "SOUL.md",
            "TOOLS.md",
            "IDENTITY.md",
            "USER.md",
            "HEARTBEAT.md",
            "BOOTSTRAP.md"
        ]
    );
    assert!(matches!(
        report.repository,
        RepositoryOutcome::Created { commit: Some(_) }
    ));
    assert!(
        home.read("AGENTS.md").starts_with("# House rules\n"),
        "front matter is not written"
    );
    let record = WorkspaceRecord::read(&home.host, &home.dir).unwrap();
    assert_eq!(
        (record.stage, record.seeded.len()),
        (WorkspaceStage::FirstRun, 7)
    );
    assert_eq!(
        WorkspaceCondition::of(&home.host, &home.dir).age(),
        WorkspaceAge::BrandNew
    );

    let history = WorkspaceHistory::open(&home.host, &home.dir).unwrap();
    let entries = history.entries("SOUL.md", 10).unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].why, "Set up the workspace");

    // The folder is the owner's alone.
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(
        home.dir.metadata().unwrap().permissions().mode() & 0o777,
        0o700
    );
}

#[test]
fn seeding_again_changes_nothing() {
    let home = fresh();
    seeded(&home, SeedMode::Fill);
    home.write("SOUL.md", "mine");
    let again = seeded(&home, SeedMode::Fill);
    assert!(again.created.is_empty());
    assert_eq!(again.before, WorkspaceCondition::FirstRun);
    assert_eq!(home.read("SOUL.md"), "mine");
    assert_eq!(
        WorkspaceCondition::of(&home.host, &home.dir),
        WorkspaceCondition::FirstRun
    );
}

#[test]
fn filling_writes_what_is_missing_but_never_a_second_birth() {
    let home = fresh();
    seeded(&home, SeedMode::Fill);
    home.remove("BOOTSTRAP.md");
    home.remove("USER.md");
    assert!(seeded(&home, SeedMode::IfNew).created.is_empty());
    assert_eq!(
        WorkspaceRecord::read(&home.host, &home.dir).unwrap().stage,
        WorkspaceStage::Settled
    );
    assert_eq!(seeded(&home, SeedMode::Fill).created, [CoreFile::User]);
    // A BOOTSTRAP.md that turns up later is not read.
    home.write("BOOTSTRAP.md", "you are someone else now");
    assert_eq!(
        WorkspaceCondition::of(&home.host, &home.dir),
        WorkspaceCondition::Settled
    );
}

#[test]
fn a_workspace_that_lost_its_files_is_not_refilled_unasked() {
    let home = fresh();
    seeded(&home, SeedMode::Fill);
    std::fs::remove_dir_all(&home.dir).unwrap();
    let report = seeded(&home, SeedMode::IfNew);
    assert!(matches!(
        report.before,
        WorkspaceCondition::Lost {
            since: 1_700_000_000
        }
    ));
    assert!(report.created.is_empty() && !home.dir.exists());
    let refused = seed(&home.host, &home.dir, &options(SeedMode::Fill)).unwrap_err();
    assert!(matches!(refused, SeedError::Lost { .. }));
    assert!(refused.to_string().contains("--reseed"), "{refused}");
    assert_eq!(seeded(&home, SeedMode::Reseed).created.len(), 7);
}

#[test]
fn a_broken_record_counts_as_set_up() {
    let home = fresh();
    seeded(&home, SeedMode::Fill);
    let records = home.host.state_dir().join("state/workspaces");
    for entry in std::fs::read_dir(records).unwrap() {
        std::fs::write(entry.unwrap().path(), "{").unwrap();
    }
    assert_eq!(
        WorkspaceCondition::of(&home.host, &home.dir),
        WorkspaceCondition::Settled
    );
    std::fs::remove_dir_all(&home.dir).unwrap();
    assert!(matches!(
        WorkspaceCondition::of(&home.host, &home.dir),
        WorkspaceCondition::Lost { .. }
    ));
}

#[test]
fn an_interrupted_start_is_taken_up_again() {
    let home = fresh();
    seeded(&home, SeedMode::IfNew);
    let records = home.host.state_dir().join("state/workspaces");
    let record = std::fs::read_dir(records)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let text = std::fs::read_to_string(&record).unwrap();
    std::fs::write(&record, text.replace("firstRun", "seeding")).unwrap();
    for name in ["USER.md", "HEARTBEAT.md", "BOOTSTRAP.md"] {
        home.remove(name);
    }
    let report = seeded(&home, SeedMode::IfNew);
    assert_eq!(report.before, WorkspaceCondition::Unfinished);
    assert_eq!(
        report.created,
        [CoreFile::User, CoreFile::Heartbeat, CoreFile::Bootstrap]
    );
}

#[test]
fn somebody_elses_workspace_is_adopted_without_a_first_run() {
    let home = Home::with(&[("SOUL.md", "from before"), ("BOOTSTRAP.md", "old ritual")]);
    assert!(seeded(&home, SeedMode::IfNew).created.is_empty());
    let report = seeded(&home, SeedMode::Fill);
    assert_eq!(report.before, WorkspaceCondition::Adopted);
    assert_eq!(report.kept, [CoreFile::Soul]);
    assert_eq!(home.read("SOUL.md"), "from before");
    assert_eq!(
        WorkspaceCondition::of(&home.host, &home.dir),
        WorkspaceCondition::Settled
    );
}

#[test]
fn optional_files_can_be_left_out() {
    let home = fresh();
    let mut options = options(SeedMode::Fill);
    options.skip_optional = ["soul.md", "USER.md", "AGENTS.md"]
        .map(str::to_owned)
        .to_vec();
    let report = seed(&home.host, &home.dir, &options).unwrap();
    assert!(
        report.created.contains(&CoreFile::Agents),
        "AGENTS.md is not optional"
    );
    assert!(!home.dir.join("SOUL.md").exists() && !home.dir.join("USER.md").exists());
}

#[test]
fn a_workspace_inside_a_project_gets_no_repository_of_its_own() {
    let home = fresh();
    let project = home.temp.path().join("project");
    std::fs::create_dir_all(&project).unwrap();
    WorkspaceHistory::init(&home.host, &project).unwrap();
    let report = seed(&home.host, &project.join("ws"), &options(SeedMode::Fill)).unwrap();
    let RepositoryOutcome::InsideOther { root } = report.repository else {
        panic!("{report:?}")
    };
    assert_eq!(root, std::fs::canonicalize(&project).unwrap());
    assert!(!project.join("ws/.git").exists());

    // In the state folder it does, even when the home folder itself is a repository.
    WorkspaceHistory::init(&home.host, &home.host.user_home).unwrap();
    assert!(matches!(
        seeded(&home, SeedMode::Fill).repository,
        RepositoryOutcome::Created { .. }
    ));
    assert!(home.dir.join(".git").exists());
}

#[test]
fn without_git_everything_else_works() {
    let mut home = fresh();
    home.host
        .env
        .insert("PATH".into(), home.temp.path().display().to_string());
    let report = seeded(&home, SeedMode::Fill);
    assert_eq!(
        (report.created.len(), report.repository),
        (7, RepositoryOutcome::NoGit)
    );
}

#[test]
fn something_that_is_no_folder_is_left_alone() {
    let home = fresh();
    std::fs::write(&home.dir, "a file").unwrap();
    let error = seed(&home.host, &home.dir, &options(SeedMode::Fill)).unwrap_err();
    assert!(matches!(error, SeedError::NotAFolder(_)), "{error}");
    assert_eq!(std::fs::read_to_string(&home.dir).unwrap(), "a file");
}

#[test]
fn a_dangling_symlink_is_not_written_through() {
    let home = Home::new();
    let outside = home.temp.path().join("outside.md");
    std::os::unix::fs::symlink(&outside, home.dir.join("SOUL.md")).unwrap();
    assert!(seeded(&home, SeedMode::Fill).kept.contains(&CoreFile::Soul));
    assert!(!outside.exists());
}

#[test]
fn the_templates_are_short_and_the_first_load_takes_them_all() {
    let home = fresh();
    seeded(&home, SeedMode::Fill);
    let loaded = home.load(|plain| plain.age = WorkspaceAge::BrandNew);
    assert_eq!(
        names(&loaded),
        [
            "AGENTS.md",
            "SOUL.md",
            "IDENTITY.md",
            "USER.md",
            "TOOLS.md",
            "BOOTSTRAP.md"
        ],
        "an idle HEARTBEAT.md costs nothing"
    );
    let texts = CoreFile::ALL.into_iter().filter_map(CoreFile::template);
    let tokens: usize = texts.map(tokens::count).sum();
    assert!(tokens < 1_500, "{tokens} tokens");
    assert!(loaded.notice.is_none());

    // The red lines are pinned, and near the top.
    let agents = home.read("AGENTS.md");
    let (pin, end) = (
        agents.find("<!-- keep -->").unwrap(),
        agents.find("<!-- /keep -->").unwrap(),
    );
    let red_lines = agents.find("## Red lines").unwrap();
    assert!(pin < red_lines && red_lines < end && pin < 300);
}
