//! Doors in the workspace itself, under every backend: repositories inside it, and sockets.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::sandbox::{BARE, everywhere};

const REPOSITORIES: [&str; 3] = ["clone", "deep/er/clone", "deep/bare.git"];

const ATTEMPTS: &[&str] = &[
    "echo 'touch planted' > G/hooks/pre-commit",
    "mkdir -p G/hooks; echo x > G/hooks/post-checkout",
    "printf '[core]\\n\\tfsmonitor = touch planted\\n' >> G/config",
    "git -C W config core.fsmonitor 'touch planted'",
    "echo ../evil > G/commondir",
    "echo x > G/config.worktree",
    "ln -sf /etc/passwd G/config",
    "rm -rf G",
    "mv G G-old",
    "mv W W-old && mkdir -p W/.git/hooks && echo x > W/.git/config",
    "mv deep deep-old && mkdir -p deep/er/clone/.git && echo x > deep/er/clone/.git/config",
    "chmod -R 777 G",
];

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

#[test]
fn repositories_at_any_depth_stay_as_they_are() {
    everywhere(&json!({ "workspaceAccess": "rw" }), |cell| {
        let workspace = cell.home.path(".chela/workspace");
        let mut folders = Vec::new();
        for repository in REPOSITORIES {
            let path = workspace.join(repository);
            let bare = repository.ends_with(".git");
            let mut git = std::process::Command::new("git");
            git.args(["init", "-q"])
                .args(bare.then_some("--bare"))
                .arg(&path);
            assert!(git.status().unwrap().success());
            folders.push(if bare { path } else { path.join(".git") });
        }
        std::fs::create_dir_all(workspace.join("clone/src")).unwrap();
        let before: Vec<_> = folders.iter().map(|folder| tree(folder)).collect();
        for (repository, folder) in REPOSITORIES.iter().zip(&folders) {
            let script: Vec<String> = ATTEMPTS
                .iter()
                .map(|attempt| {
                    let git = folder
                        .strip_prefix(&workspace)
                        .unwrap()
                        .display()
                        .to_string();
                    format!("({})", attempt.replace("G", &git).replace("W", repository))
                })
                .collect();
            let run = cell.sh(&format!("{}; echo tried", script.join("; ")));
            assert!(run.out.contains("tried"), "{}: {run:?}", cell.backend);
        }
        let after: Vec<_> = folders.iter().map(|folder| tree(folder)).collect();
        assert_eq!(before, after, "{}", cell.backend);
        // They are read as ever, and the files around them are written.
        let run = cell.sh(
            "git -C clone status --short && echo new > clone/src/file && cat clone/src/file && \
             git -C deep/bare.git rev-parse --git-dir",
        );
        assert_eq!(run.code, 0, "{}: {run:?}", cell.backend);
        assert!(run.out.contains("new"), "{}: {run:?}", cell.backend);
        let explained = cell.home.run(&["sandbox", "explain"]).flat();
        for words in [
            "workspace/deep/er/clone/.git",
            "not protected a repository a command creates",
        ] {
            assert!(explained.contains(words), "{}: {explained}", cell.backend);
        }
    });
}

#[test]
fn nobody_behind_a_socket_of_the_workspace_hears_a_command() {
    for access in ["rw", "ro"] {
        everywhere(&json!({ "workspaceAccess": access }), |cell| {
            let path = cell.home.path(".chela/workspace/run/door");
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let listener = UnixListener::bind(&path).unwrap();
            listener.set_nonblocking(true).unwrap();
            let script = format!(
                "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); \
                 s.connect(\"{}\"); s.send(b\"told\"); print(\"reached\")' || echo held",
                path.display()
            );
            let run = cell.sh(&script);
            assert!(run.out.contains("held"), "{}: {run:?}", cell.backend);
            let came = listener.accept();
            assert!(
                matches!(&came, Err(error) if error.kind() == ErrorKind::WouldBlock),
                "{}: {run:?}",
                cell.backend
            );
            // It is there for the owner as before.
            let mut stream = std::os::unix::net::UnixStream::connect(&path).unwrap();
            drop(listener.accept().unwrap());
            let _ = stream.read(&mut [0; 1]);
            if cell.backend != BARE {
                let explained = cell.home.run(&["sandbox", "explain", "--json"]).json();
                let hidden = explained["hidden"][0].as_str().unwrap();
                assert!(hidden.ends_with("workspace/run/door"), "{hidden}");
            }
        });
    }
}

#[test]
fn the_guards_own_files_are_not_there_inside() {
    everywhere(&json!({ "workspaceAccess": "rw" }), |cell| {
        cell.home.write(".chela/.env", "OWN=hidden-value");
        cell.home
            .write(".chela/exec-approvals.json", "{\"version\":1}");
        let state = cell.home.path(".chela").display().to_string();
        for file in [
            "chela.json",
            ".env",
            "exec-approvals.json",
            "state/trust.json",
            "state/ledger.sqlite",
        ] {
            let before = std::fs::read(cell.home.path(".chela").join(file)).ok();
            let run = cell.sh(&format!(
                "(cat {state}/{file}; echo x >> {state}/{file}; mv notes.md {state}/{file}; \
                 rm -f {state}/{file}; ls -A {state}/state) 2> /dev/null; echo tried"
            ));
            assert_eq!(run.out.trim(), "tried", "{} {file}: {run:?}", cell.backend);
            let after = std::fs::read(cell.home.path(".chela").join(file)).ok();
            assert_eq!(before, after, "{} {file}", cell.backend);
        }
    });
}
