//! The workspace's repository: the owner's git runs what its config and hooks say, so nothing
//! inside may write them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{BARE, SandboxedHome, everywhere, in_namespaces};

/// Every file of the repository and what it holds.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match entry.file_type().unwrap().is_dir() {
            true => all.extend(tree(&path)),
            false => {
                all.insert(path.clone(), std::fs::read(&path).unwrap());
            }
        }
        all.insert(path, Vec::new());
    }
    all
}

const ATTEMPTS: &[&str] = &[
    "echo 'touch planted' > .git/hooks/pre-commit",
    "mkdir -p .git/hooks && cp /bin/true .git/hooks/post-checkout",
    "git config core.fsmonitor 'touch planted'",
    "git config core.hooksPath evil",
    "printf '[core]\\n\\tfsmonitor = touch planted\\n' >> .git/config",
    "echo ../evil > .git/commondir",
    "printf '[core]\\n\\tfsmonitor = touch planted\\n' > .git/config.worktree",
    "ln -sf /etc/passwd .git/config",
    "mv .git .git-old",
    "mv .git/hooks .git/hooks-old",
    "rm -rf .git",
    "rm -f .git/HEAD",
    "mkdir other && echo x > other/config && mv other/config .git/config",
    "ln .git/config linked && echo x >> linked",
    "truncate -s 0 .git/config",
    "cd .git && echo x >> config",
    "echo x >> /proc/self/cwd/.git/config",
    "chmod -R 777 .git",
    "umount .git; umount -l .git",
];

fn repository(cell: &SandboxedHome) -> PathBuf {
    let path = cell.home.path(".chela/workspace");
    let made = std::process::Command::new("git")
        .args(["init", "-q"])
        .arg(&path)
        .status();
    assert!(made.unwrap().success());
    path.join(".git")
}

#[test]
fn the_repository_of_the_workspace_cannot_be_changed() {
    everywhere(&json!({ "workspaceAccess": "rw" }), |cell| {
        let repository = repository(cell);
        let before = tree(&repository);
        assert!(before.contains_key(&repository.join("config")));
        let script = format!("({}); echo tried", ATTEMPTS.join("); ("));
        let run = cell.sh(&script);
        assert!(run.out.contains("tried"), "{}: {run:?}", cell.backend);
        assert_eq!(before, tree(&repository), "{}: {run:?}", cell.backend);
        // It is read as ever.
        let read = cell.sh("git rev-parse --git-dir && git status --short && echo read");
        assert!(read.out.contains("read"), "{}: {read:?}", cell.backend);
    });
}

#[test]
fn the_attempts_work_where_nothing_keeps_the_repository() {
    // Without this the test above could pass with attempts that never work. The same folder,
    // as the sandbox's own.
    in_namespaces(&json!({ "workspaceAccess": "none" }), |cell| {
        let made = cell.sh("mkdir -p repo && cd repo && git init -q . && git config user.name x");
        assert_eq!(made.code, 0, "{}: {made:?}", cell.backend);
        let folder = cell.home.path(".chela/sandboxes/agent-main/work/repo/.git");
        let before = tree(&folder);
        cell.sh("cd repo; echo x > .git/hooks/pre-commit; git config core.fsmonitor y");
        let after = tree(&folder);
        assert_ne!(before, after, "{}", cell.backend);
        assert!(after.contains_key(&folder.join("hooks/pre-commit")));
    });
}

#[test]
fn a_repository_that_is_a_link_is_refused() {
    everywhere(&json!({ "workspaceAccess": "rw" }), |cell| {
        let repository = cell.home.path(".chela/workspace/.git");
        let elsewhere = cell.home.path(".chela/workspace/elsewhere");
        if repository.exists() {
            std::fs::rename(&repository, &elsewhere).unwrap();
        }
        std::os::unix::fs::symlink(&elsewhere, &repository).unwrap();
        let run = cell.sh("echo ran");
        assert_ne!(run.code, 0, "{}: {run:?}", cell.backend);
        assert!(run.out.is_empty(), "{run:?}");
        assert!(run.err.contains(".git is a link"), "{run:?}");
        let explained = cell.home.run(&["sandbox", "explain"]).flat();
        assert!(explained.contains(".git is a link"), "{explained}");
    });
}

#[test]
fn explain_says_what_holds_for_the_repository() {
    everywhere(&json!({ "workspaceAccess": "rw" }), |cell| {
        repository(cell);
        let explained = cell.home.run(&["sandbox", "explain"]).flat();
        assert!(
            explained.contains("cannot change ~/.chela/workspace/.git"),
            "{explained}"
        );
        let no_new =
            explained.contains("commands cannot add anything to ~/.chela/workspace itself");
        assert_eq!(no_new, cell.backend == BARE, "{explained}");
        std::fs::remove_dir_all(cell.home.path(".chela/workspace/.git")).unwrap();
        let explained = cell.home.run(&["sandbox", "explain"]).flat();
        assert!(explained.contains("is not a git repository"), "{explained}");
    });
}
