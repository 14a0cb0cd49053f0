use std::path::Path;
use std::process::Command;

use chela_core::AgentId;
use chela_workspace::{
    CommitAuthor, CommitId, HistoryError, HistoryPause, HistorySnapshot, WorkspaceHistory,
};

use crate::home::{COMPLETE, Home};

/// The user's own git, with an identity.
#[track_caller]
fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn with_history() -> (Home, WorkspaceHistory) {
    let home = Home::with(&COMPLETE);
    let history = WorkspaceHistory::init(&home.host, &home.dir).unwrap();
    committed(&history, &CommitAuthor::Runtime, "first");
    (home, history)
}

#[track_caller]
fn committed(history: &WorkspaceHistory, who: &CommitAuthor, why: &str) -> (CommitId, Vec<String>) {
    match history.snapshot(who, why).unwrap() {
        HistorySnapshot::Committed { id, files } => (id, files),
        other => panic!("{other:?}"),
    }
}

#[test]
fn changes_are_committed_with_who_and_why() {
    let (home, history) = with_history();
    assert_eq!(
        history.snapshot(&CommitAuthor::Owner, "nothing").unwrap(),
        HistorySnapshot::Unchanged
    );
    home.write("SOUL.md", "soul\nand wit\n");
    home.write("memory/2026-01-02.md", "a day");
    home.write("notes.txt", "not a core file");
    let main = AgentId::main();
    let (_, files) = committed(
        &history,
        &CommitAuthor::Agent(main.clone()),
        "Learn\na joke\u{202E}",
    );
    assert_eq!(files, ["SOUL.md", "memory/2026-01-02.md"]);
    home.remove("TOOLS.md");
    assert_eq!(
        committed(&history, &CommitAuthor::Owner, "").1,
        ["TOOLS.md"]
    );

    let entries = history.entries("soul.md", 10).unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0].who, CommitAuthor::Agent(main));
    assert_eq!(entries[0].why, "Learna joke");
    assert_eq!((entries[0].added, entries[0].removed), (2, 1));
    assert_eq!(entries[0].when, 1_700_000_000);
    assert_eq!(
        (entries[1].who.clone(), entries[1].why.as_str()),
        (CommitAuthor::Runtime, "first")
    );
    assert_eq!(
        history.entries("TOOLS.md", 1).unwrap()[0].why,
        "Change TOOLS.md"
    );
    assert_eq!(git(&home.dir, &["status", "--porcelain"]), "?? notes.txt\n");
}

#[test]
fn the_users_index_and_branch_are_respected() {
    let (home, history) = with_history();
    home.write("work.txt", "half done");
    git(&home.dir, &["add", "work.txt"]);
    home.write("SOUL.md", "staged version");
    git(&home.dir, &["add", "SOUL.md"]);
    home.write("SOUL.md", "version on disk");
    home.write("AGENTS.md", "new rules");
    let (_, files) = committed(&history, &CommitAuthor::Owner, "edit");
    assert_eq!(files, ["AGENTS.md", "SOUL.md"]);
    // What was staged is still staged, and only that; the other core file is clean.
    assert_eq!(
        git(&home.dir, &["status", "--porcelain"]),
        "MM SOUL.md\nA  work.txt\n"
    );
    assert_eq!(git(&home.dir, &["show", "HEAD:SOUL.md"]), "version on disk");
    assert_eq!(
        git(&home.dir, &["ls-files", "--", "work.txt"]),
        "work.txt\n"
    );
    git(&home.dir, &["commit", "-q", "-m", "mine"]);
    assert_eq!(
        git(&home.dir, &["show", "HEAD:AGENTS.md"]),
        "new rules",
        "not taken back"
    );
    let entries = history.entries("SOUL.md", 1).unwrap();
    assert_eq!(entries[0].who, CommitAuthor::Other("Ann".into()));
    let config = std::fs::read_to_string(home.dir.join(".git/config")).unwrap();
    assert!(!config.contains("user"), "{config}");
}

#[test]
fn nothing_is_committed_in_the_middle_of_something() {
    let (home, history) = with_history();
    home.write("SOUL.md", "changed");
    let merge = home.dir.join(".git/MERGE_HEAD");
    std::fs::write(&merge, "x").unwrap();
    let paused = |history: &WorkspaceHistory| history.snapshot(&CommitAuthor::Owner, "x").unwrap();
    assert_eq!(
        paused(&history),
        HistorySnapshot::Paused(HistoryPause::Operation)
    );
    let first = history.entries("SOUL.md", 1).unwrap()[0].id.clone();
    let refused = history.restore("SOUL.md", &first).unwrap_err();
    assert!(
        matches!(refused, HistoryError::CannotSave { .. }),
        "{refused}"
    );
    assert_eq!(home.read("SOUL.md"), "changed");
    std::fs::remove_file(merge).unwrap();
    let lock = home.dir.join(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    assert_eq!(
        paused(&history),
        HistorySnapshot::Paused(HistoryPause::Locked)
    );
    std::fs::remove_file(lock).unwrap();
    git(&home.dir, &["checkout", "-q", "--detach"]);
    assert_eq!(
        paused(&history),
        HistorySnapshot::Paused(HistoryPause::DetachedHead)
    );
}

#[test]
fn ignored_files_stay_out() {
    let (home, history) = with_history();
    home.write(".gitignore", "memory/\nMEMORY.md\n");
    home.write("MEMORY.md", "secret");
    home.write("memory/a.md", "secret");
    assert_eq!(
        history.snapshot(&CommitAuthor::Owner, "x").unwrap(),
        HistorySnapshot::Unchanged
    );
}

#[test]
fn odd_names_are_safe() {
    let (home, history) = with_history();
    let odd = [
        "memory/-rf.md",
        "memory/a\nb.md",
        "memory/ü \"q\".md",
        "memory/*.md",
        "memory/:(top)x.md",
    ];
    for name in odd {
        home.write(name, "x");
    }
    let (_, files) = committed(&history, &CommitAuthor::Owner, "odd");
    assert_eq!(files.len(), odd.len());
    for name in odd {
        assert_eq!(history.entries(name, 5).unwrap().len(), 1, "{name:?}");
    }
    for bad in [
        "../x",
        "/etc/passwd",
        "memory/../SOUL.md",
        "notes.txt",
        "--all",
        "memory/a/b.md",
        "",
    ] {
        let error = history.entries(bad, 5).unwrap_err();
        assert!(
            matches!(error, HistoryError::NotACoreFile(_)),
            "{bad}: {error}"
        );
    }
}

#[test]
fn diffs_show_what_changed() {
    let (home, history) = with_history();
    let first = history.entries("SOUL.md", 1).unwrap()[0].id.clone();
    assert_eq!(history.diff("SOUL.md", None, None).unwrap(), "");
    home.write("SOUL.md", "soul\nwit\n");
    let (second, _) = committed(&history, &CommitAuthor::Owner, "wit");
    home.write("SOUL.md", "wit\n");
    let diff = history.diff("SOUL.md", None, None).unwrap();
    assert_eq!(
        diff,
        "--- SOUL.md (last commit)\n+++ SOUL.md (on disk)\n@@ -1,2 +1 @@\n-soul\n wit\n"
    );
    let diff = history
        .diff("SOUL.md", Some(&first), Some(&second))
        .unwrap();
    assert!(diff.contains("+wit\n"), "{diff}");
    home.remove("SOUL.md");
    let diff = history.diff("SOUL.md", Some(&second), None).unwrap();
    assert!(diff.contains("-soul\n-wit\n"), "{diff}");
    let unknown = CommitId::parse("deadbeef").unwrap();
    let error = history.diff("SOUL.md", Some(&unknown), None).unwrap_err();
    assert!(matches!(error, HistoryError::NoVersion { .. }), "{error}");
}

#[test]
fn a_bad_edit_is_one_command_to_undo_and_so_is_the_undo() {
    let (home, history) = with_history();
    let good = history.entries("SOUL.md", 1).unwrap()[0].id.clone();
    home.write("SOUL.md", "I am evil now");
    let short = CommitId::parse(good.short()).unwrap();
    let report = history.restore("SOUL.md", &short).unwrap();
    assert_eq!(home.read("SOUL.md"), "soul");
    assert_eq!(report.restored, good);
    let why: Vec<_> = history
        .entries("SOUL.md", 9)
        .unwrap()
        .into_iter()
        .map(|e| e.why)
        .collect();
    assert_eq!(why[1..], ["Keep SOUL.md before restoring it", "first"]);
    assert!(why[0].starts_with("Restore SOUL.md as of "));
    history.restore("SOUL.md", &report.before.unwrap()).unwrap();
    assert_eq!(home.read("SOUL.md"), "I am evil now");
    // A file that is gone comes back too.
    home.remove("SOUL.md");
    history.restore("SOUL.md", &good).unwrap();
    assert_eq!(home.read("SOUL.md"), "soul");
}

#[test]
fn restoring_does_not_write_through_a_link_that_leads_out() {
    let (home, history) = with_history();
    let good = history.entries("SOUL.md", 1).unwrap()[0].id.clone();
    let outside = home.temp.path().join("outside");
    std::fs::write(&outside, "precious").unwrap();
    home.remove("SOUL.md");
    std::os::unix::fs::symlink(&outside, home.dir.join("SOUL.md")).unwrap();
    assert!(matches!(
        history.restore("SOUL.md", &good),
        Err(HistoryError::NotReplaceable { .. })
    ));
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "precious");
}

#[test]
fn commands_planted_in_the_repository_do_not_run() {
    let (home, history) = with_history();
    let trap = home.temp.path().join("sprung");
    let spring = format!("touch {}", trap.display());
    for key in [
        "core.fsmonitor",
        "filter.x.clean",
        "filter.x.smudge",
        "diff.x.textconv",
        "diff.external",
        "core.pager",
        "core.sshCommand",
        "gpg.program",
        "core.hooksPath",
    ] {
        git(&home.dir, &["config", key, &spring]);
    }
    git(&home.dir, &["config", "commit.gpgsign", "true"]);
    home.write(".gitattributes", "*.md filter=x diff=x\n");
    let hooks = home.dir.join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "reference-transaction",
        "post-commit",
        "pre-commit",
        "post-index-change",
    ] {
        std::fs::write(hooks.join(hook), format!("#!/bin/sh\n{spring}\n")).unwrap();
        crate::home::set_mode(&hooks.join(hook), 0o755);
    }
    let first = history.entries("SOUL.md", 1).unwrap()[0].id.clone();
    home.write("SOUL.md", "changed");
    history.diff("SOUL.md", None, None).unwrap();
    committed(&history, &CommitAuthor::Owner, "x");
    history.restore("SOUL.md", &first).unwrap();
    assert!(!trap.exists());
}

#[test]
fn errors_say_what_to_do() {
    let mut home = Home::with(&COMPLETE);
    let error = WorkspaceHistory::open(&home.host, &home.dir).unwrap_err();
    assert!(
        matches!(error, HistoryError::NoRepository { .. }),
        "{error}"
    );
    WorkspaceHistory::init(&home.host, &home.dir).unwrap();
    home.write("sub/SOUL.md", "x");
    let error = WorkspaceHistory::open(&home.host, &home.dir.join("sub")).unwrap_err();
    assert!(matches!(error, HistoryError::InsideOther { .. }), "{error}");
    home.host.env.insert("PATH".into(), "/nowhere".into());
    let error = WorkspaceHistory::open(&home.host, &home.dir).unwrap_err();
    assert!(matches!(error, HistoryError::NoGit), "{error}");

    let broken = Home::with(&COMPLETE);
    for part in [".git/objects", ".git/refs"] {
        std::fs::create_dir_all(broken.dir.join(part)).unwrap();
    }
    broken.write(".git/HEAD", "no reference");
    let error = WorkspaceHistory::open(&broken.host, &broken.dir).unwrap_err();
    assert!(matches!(error, HistoryError::Failed { .. }), "{error}");
}

#[test]
fn a_fresh_repository_has_no_past() {
    let home = Home::with(&COMPLETE);
    let history = WorkspaceHistory::init(&home.host, &home.dir).unwrap();
    assert_eq!(history.entries("SOUL.md", 5).unwrap(), []);
    assert!(
        history
            .diff("SOUL.md", None, None)
            .unwrap()
            .contains("+soul")
    );
}
