use std::path::{Path, PathBuf};

use super::{READ_ONLY, only_looks};
use crate::approvals::PlannedCommand;

fn folder() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().canonicalize().unwrap().join("work");
    std::fs::create_dir_all(work.join("src")).unwrap();
    std::fs::write(work.join("a.txt"), "a").unwrap();
    std::fs::write(home.path().join("secret"), "s").unwrap();
    (home, work)
}

fn repository(work: &Path, config: &str) {
    std::fs::create_dir_all(work.join(".git")).unwrap();
    std::fs::write(work.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(work.join(".git/config"), config).unwrap();
}

fn looks(line: &str, work: &Path) -> bool {
    let env = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into();
    PlannedCommand::line(line, work.to_owned(), env).is_ok_and(|planned| only_looks(&planned, work))
}

const PLAIN: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\
                     [remote \"origin\"]\n\turl = https://example.org/x\n";

/// Each row: its plain form passes, an option it does not have does not, nor do variables,
/// output to a file, and a path outside.
#[test]
fn every_row_passes_in_its_safe_form_only() {
    let (_home, work) = folder();
    repository(&work, PLAIN);
    for row in READ_ONLY {
        let line = match row.command {
            Some(command) => format!("{} {command}", row.program),
            None => row.program.to_owned(),
        };
        let there = Path::new("/usr/bin").join(row.program).exists()
            || Path::new("/bin").join(row.program).exists();
        if !there {
            continue;
        }
        assert!(looks(&line, &work), "{line}");
        for letter in row
            .letters
            .chars()
            .filter(|letter| !letter.is_ascii_digit())
        {
            assert!(
                looks(&format!("{line} -{letter}"), &work),
                "{line} -{letter}"
            );
        }
        let with_value = |long: &&&str| row.valued.contains(&format!("--{long}").as_str());
        for long in row.long.iter().filter(|long| !with_value(long)) {
            assert!(looks(&format!("{line} --{long}"), &work), "{line} --{long}");
        }
        for unsafe_one in [
            "--output=x",
            "--exec=x",
            "--no-such-option",
            "../secret",
            "/etc/passwd",
            "~/x",
            "> out",
            "$X",
        ] {
            let wrong = format!("{line} {unsafe_one}");
            assert!(!looks(&wrong, &work), "{wrong}");
        }
        assert!(!looks(&format!("X=1 {line}"), &work), "{line}");
    }
}

#[test]
fn dangerous_options_of_programs_that_look_are_no_looking() {
    let (_home, work) = folder();
    repository(&work, PLAIN);
    for line in [
        "find . -name x",
        "grep -rn fn src",
        "rg -n fn src",
        "cat a.txt | head -n 3 | wc -l",
        "git log --oneline -n 5",
        "git diff --stat",
        "ls -la src && git status",
        "head -5 a.txt",
    ] {
        let program = line.split(' ').next().unwrap();
        if Path::new("/usr/bin").join(program).exists() {
            assert!(looks(line, &work), "{line}");
        }
    }
    for line in [
        "find . -exec sh {} +",
        "find -- . -maxdepth 0 -exec sh {} +",
        "find . -delete",
        "find . -fprint x",
        "find . -ok rm {}",
        "grep -f /etc/passwd x",
        "rg --pre sh x",
        "git log --output=x",
        "git -c alias.x=!sh x",
        "git -C / status",
        "git diff --ext-diff",
        "git diff --no-index a /etc/passwd",
        "git branch new",
        "git branch -D main",
        "git show --textconv",
        "git config -l",
        "date -s 2020-01-01",
        "date 01010101",
        "tail -f a.txt",
        "sort -o x a.txt",
        "cat a.txt > b.txt",
        "cd .. && cat secret",
        "cat < ../secret",
        "./ls",
        "cat $(echo a)",
        "file -C -m x",
        "du --files0-from=x",
        "wc --files0-from=x",
        "tree -o x",
        "which ~/x",
    ] {
        assert!(!looks(line, &work), "{line}");
    }
    std::os::unix::fs::symlink("../secret", work.join("link")).unwrap();
    assert!(!looks("cat link", &work));
}

#[test]
fn a_repository_with_hooks_is_not_looked_at() {
    let (_home, work) = folder();
    repository(&work, PLAIN);
    let hooks = work.join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    std::fs::write(hooks.join("pre-commit.sample"), "#!/bin/sh\n").unwrap();
    assert!(looks("git status", &work));
    std::fs::write(hooks.join("post-index-change"), "#!/bin/sh\n").unwrap();
    assert!(!looks("git status", &work));
}

#[test]
fn a_repository_that_tells_git_what_to_run_is_not_looked_at() {
    let (_home, work) = folder();
    repository(&work, PLAIN);
    assert!(looks("git status", &work));
    for config in [
        "[core]\n\tfsmonitor = ./run\n",
        "[filter \"x\"]\n\tclean = ./run\n",
        "[include]\n\tpath = ../evil\n",
        "[diff \"x\"]\n\ttextconv = ./run\n",
        "[core]\n\tbare = true\n",
        "[core]\n\tbare = false\\\n\n",
        "[core] fsmonitor = ./run\n",
        "[extensions]\n\tworktreeConfig = true\n",
        "[alias]\n\tstatus = !sh\n",
        "[remote \"o\"] uploadpack = ./run ;]\n",
    ] {
        repository(&work, config);
        assert!(!looks("git status", &work), "{config}");
    }
    repository(&work, PLAIN);
    std::fs::write(work.join(".git/commondir"), "../evil").unwrap();
    assert!(!looks("git status", &work));
    let bare = work.join("src");
    std::fs::write(bare.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::remove_file(work.join(".git/commondir")).unwrap();
    let env = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into();
    let planned = PlannedCommand::line("git status", bare, env).unwrap();
    assert!(!only_looks(&planned, &work));
}
