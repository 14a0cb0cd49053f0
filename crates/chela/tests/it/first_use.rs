//! A newcomer's first minutes: empty home, no config, no git, wrong flags.

use insta::assert_snapshot;

use crate::home::TestHome;

#[test]
fn the_first_run_sets_up_and_the_second_tells_how_things_stand() {
    let home = TestHome::empty();
    assert_snapshot!("first_run", home.run(&[]).ok());
    for file in [
        "AGENTS.md",
        "SOUL.md",
        "IDENTITY.md",
        "USER.md",
        "TOOLS.md",
        "HEARTBEAT.md",
        "BOOTSTRAP.md",
    ] {
        assert!(home.exists(&format!(".chela/workspace/{file}")), "{file}");
        assert!(
            !home
                .read(&format!(".chela/workspace/{file}"))
                .starts_with("---"),
            "{file} has front matter"
        );
    }
    assert!(home.exists(".chela/workspace/.git"));
    assert_snapshot!("second_run", home.run(&[]).ok());
}

#[test]
fn nothing_that_exists_is_overwritten() {
    let home = TestHome::empty();
    home.write(".chela/workspace/SOUL.md", "mine\n");
    home.run(&["init"]).ok();
    assert_eq!(home.read(".chela/workspace/SOUL.md"), "mine\n");
    home.write(".chela/workspace/AGENTS.md", "my rules\n");
    assert!(home.run(&["init"]).ok().contains("nothing was changed"));
    assert_eq!(home.read(".chela/workspace/AGENTS.md"), "my rules\n");
}

#[test]
fn a_workspace_that_lost_its_files_is_not_silently_filled_again() {
    let home = TestHome::ready();
    std::fs::remove_dir_all(home.path(".chela/workspace")).unwrap();
    let told = home.run(&["init"]).fails(1);
    assert!(told.contains("--reseed"), "{told}");
    home.run(&["init", "--reseed"]).ok();
    assert!(home.exists(".chela/workspace/SOUL.md"));
}

#[test]
fn without_git_everything_but_history_works() {
    let home = TestHome::empty().env("PATH", "/nonexistent");
    let told = home.run(&[]).ok();
    assert!(told.contains("git was not found"), "{told}");
    assert!(home.run(&["prompt"]).ok().contains("## Safety"));
    let told = home.run(&["workspace", "history"]).fails(1);
    assert!(told.contains("git is not installed"), "{told}");
    let told = home.run(&["doctor"]).flat();
    assert!(told.contains("install git"), "{told}");
    assert!(!told.contains("is not a git repository"), "{told}");
}

#[test]
fn a_read_only_home_says_so_and_still_shows_the_prompt() {
    let home = TestHome::empty().env("CHELA_HOME", "/proc/chela");
    let told = home.run(&[]).fails(1);
    assert!(told.contains("/proc/chela"), "{told}");
    assert!(told.contains("CHELA_HOME"), "{told}");
    assert!(
        home.run(&["prompt"])
            .ok()
            .contains("You are a personal assistant")
    );
    home.run(&["status"]).ok();
}

#[test]
fn profiles_are_separate() {
    let home = TestHome::empty();
    home.run(&["--profile", "work"]).ok();
    assert!(home.exists(".chela-work/workspace/SOUL.md"));
    assert!(!home.exists(".chela"));
    let told = home.run(&["--profile", "../../elsewhere"]).fails(2);
    assert!(told.contains("is not a valid profile name"), "{told}");
    assert!(
        home.run(&["status", "--profile", "work"])
            .ok()
            .contains("profile work")
    );
}

#[test]
fn wrong_words_are_answered_with_the_right_ones() {
    let home = TestHome::empty();
    for (args, near) in [
        (&["contxt"] as &[&str], "context"),
        (&["config", "vallidate"], "validate"),
        (&["status", "--jsn"], "--json"),
    ] {
        let told = home.run(args).fails(2);
        assert!(told.contains(near), "{args:?}: {told}");
    }
    assert!(
        !home.exists(".chela"),
        "a typing mistake must not set anything up"
    );
}

#[test]
fn colours_only_where_they_are_wanted() {
    let home = TestHome::ready();
    assert!(
        !home.run(&["status"]).ok().contains('\u{1b}'),
        "piped output is plain"
    );
    assert!(
        home.run(&["status", "--color", "always"])
            .ok()
            .contains('\u{1b}')
    );
    let home = home.env("NO_COLOR", "1");
    assert!(!home.run(&["status"]).ok().contains('\u{1b}'));
}

#[test]
fn the_version_is_told_and_help_has_examples() {
    let home = TestHome::empty();
    assert_eq!(
        home.run(&["--version"]).ok(),
        format!("chela {}\n", env!("CARGO_PKG_VERSION"))
    );
    for args in [
        &["--help"] as &[&str],
        &["help"],
        &["init", "--help"],
        &["context", "why", "--help"],
        &["config", "set", "--help"],
    ] {
        assert!(home.run(args).ok().contains("xample"), "{args:?}");
    }
    for args in [
        &["sessions", "rescue", "--help"] as &[&str],
        &["prompt", "check", "--help"],
        &["status", "--help"],
    ] {
        let help = home.run(args).ok();
        let (own, everywhere) = help.split_once("Global options:").unwrap();
        assert!(!own.contains("--profile"), "{help}");
        for flag in ["--profile", "--color", "--log"] {
            assert!(everywhere.contains(flag), "{help}");
        }
    }
    assert!(home.run(&["completion", "bash"]).ok().contains("_chela"));
    assert!(home.run(&["man"]).ok().contains(".TH chela 1"));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let home = TestHome::ready();
    let mut child = home
        .command()
        .args(["context", "json"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn an_agent_that_is_not_there_yet_comes_with_the_command_that_adds_it() {
    let home = TestHome::empty();
    for args in [
        &["init", "--agent", "research"][..],
        &["context", "diff", "main", "research"],
    ] {
        let told = home.run(args).fails(1);
        assert!(told.contains("chela agents add research"), "{told}");
    }
    home.run(&["init"]).ok();
    home.run(&["agents", "add", "research"]).ok();
    home.run(&["init", "--agent", "research"]).ok();
    let diff = home.run(&["context", "diff", "main", "research"]);
    assert!(diff.code <= 1 && diff.err.is_empty(), "{diff:?}");
}

#[test]
fn a_fresh_home_passes_its_own_audit_whatever_the_umask() {
    for umask in ["022", "002", "000"] {
        let home =
            TestHome::empty().through(&["sh", "-c", &format!("umask {umask}; exec \"$0\" \"$@\"")]);
        home.run(&["security", "audit"]).ok();
        home.run(&["init"]).ok();
        home.run(&[
            "config",
            "set",
            "agents.defaults.userTimezone",
            "Europe/Berlin",
        ])
        .ok();
        let told = home.run(&["security", "audit"]).ok();
        assert!(told.contains("No risks found"), "{umask}: {told}");
    }
}
