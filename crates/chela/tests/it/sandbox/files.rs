//! Files: what is written, read and seen.

use serde_json::json;

use super::{SECRET, SandboxedHome, everywhere, in_namespaces};

/// Ways to name the same file outside.
fn names(cell: &SandboxedHome, relative: &str) -> Vec<String> {
    let path = cell.path(relative);
    vec![
        path.clone(),
        format!("/proc/self/root{path}"),
        format!("/proc/1/root{path}"),
        format!("/proc/self/cwd/../../{relative}"),
        format!("$PWD/../../../../../../../../../..{path}"),
    ]
}

#[test]
fn nothing_outside_can_be_written() {
    for access in ["rw", "ro", "none"] {
        everywhere(&json!({ "workspaceAccess": access }), |cell| {
            let targets = [
                "planted",
                ".ssh/id_ed25519",
                ".ssh/authorized_keys",
                ".bashrc",
                ".chela/chela.json",
                ".chela/state/trust.json",
                ".chela/workspace-other/SOUL.md",
                ".chela/sandboxes/planted",
            ];
            let before: Vec<_> = targets
                .iter()
                .map(|target| std::fs::read(cell.home.path(target)).ok())
                .collect();
            let attempts: Vec<String> = targets
                .iter()
                .flat_map(|target| names(cell, target))
                .map(|name| {
                    format!(
                        "echo pwned > \"{name}\"; echo pwned >> \"{name}\"; true > \"{name}\"; \
                         rm -f \"{name}\"; ln -sf /etc/passwd \"{name}\"; mkdir -p \"{name}\"; \
                         chmod 777 \"{name}\"; mv own \"{name}\"; ln -f \"{name}\" caught; \
                         ln -sf \"{name}\" link && echo pwned > link"
                    )
                })
                .collect();
            let run = cell.sh(&format!(
                "echo mine > own; {}; echo tried",
                attempts.join("; ")
            ));
            assert!(run.out.contains("tried"), "{}: {run:?}", cell.backend);
            let after: Vec<_> = targets
                .iter()
                .map(|target| std::fs::read(cell.home.path(target)).ok())
                .collect();
            assert_eq!(before, after, "{} {access}", cell.backend);
        });
    }
}

#[test]
fn nothing_of_the_system_can_be_written() {
    everywhere(&json!({ "workspaceAccess": "rw" }), |cell| {
        let name = format!("chela-escape-{}", std::process::id());
        let folders = [
            "", "/etc", "/usr", "/usr/bin", "/var/tmp", "/tmp", "/dev", "/dev/shm", "/run",
        ];
        let attempts =
            folders.map(|folder| format!("echo x > {folder}/{name}; mkdir {folder}/{name}.d"));
        cell.sh(&attempts.join("; "));
        for folder in folders {
            for made in [name.clone(), format!("{name}.d")] {
                let path = format!("{folder}/{made}");
                assert!(
                    !std::path::Path::new(&path).exists(),
                    "{}: {path}",
                    cell.backend
                );
            }
        }
        let made = cell.sh("mknod device c 1 3 || mknod disk b 8 0");
        assert_ne!(made.code, 0, "{}: {made:?}", cell.backend);
    });
}

#[test]
fn the_workspace_is_what_workspace_access_says() {
    everywhere(&json!({ "workspaceAccess": "rw" }), |cell| {
        let run =
            cell.sh("pwd; cat notes.md; echo more > made.md; mkdir -p a/b; echo; cat made.md");
        assert!(
            run.out.contains("notes of the agent"),
            "{}: {run:?}",
            cell.backend
        );
        // Nothing can be added beside the repository where only Landlock keeps it.
        if cell.backend == super::BARE {
            assert!(!cell.home.exists(".chela/workspace/made.md"), "{run:?}");
        } else {
            assert_eq!(cell.home.read(".chela/workspace/made.md"), "more\n");
        }
        let run = cell.sh("echo again >> notes.md; echo new > memory/made.md; rm memory/old.md");
        assert_eq!(run.code, 0, "{}: {run:?}", cell.backend);
        assert_eq!(
            cell.home.read(".chela/workspace/notes.md"),
            "notes of the agentagain\n"
        );
        assert_eq!(cell.home.read(".chela/workspace/memory/made.md"), "new\n");
    });
    everywhere(&json!({ "workspaceAccess": "ro" }), |cell| {
        let workspace = cell.path(".chela/workspace");
        let run = cell.sh(&format!("cat {workspace}/notes.md"));
        assert!(
            run.out.contains("notes of the agent"),
            "{}: {run:?}",
            cell.backend
        );
        let attempts = [
            "echo x > W/made.md",
            "echo x >> W/notes.md",
            "truncate -s 0 W/notes.md",
            "rm -f W/notes.md",
            "mv W/notes.md W/gone.md",
            "mv W/notes.md taken.md",
            "ln W/notes.md taken.md",
            "mkdir W/folder",
            "ln -s /etc W/link",
            "cp /bin/true W/notes.md",
            "chmod 000 W/notes.md && echo x > W/notes.md",
            "cd W && echo x > made.md",
        ];
        let script = format!("({})", attempts.join("); ("));
        cell.sh(&script.replace('W', &workspace));
        assert_eq!(
            cell.home.read(".chela/workspace/notes.md"),
            "notes of the agent"
        );
        for made in ["made.md", "gone.md", "folder", "link"] {
            assert!(
                !cell.home.exists(&format!(".chela/workspace/{made}")),
                "{made}"
            );
        }
        // Its own folder is for writing.
        let own = cell.sh("pwd; echo kept > mine; cat mine");
        assert!(
            own.out.contains("sandboxes/agent-main/work\nkept"),
            "{own:?}"
        );
    });
    everywhere(&json!({ "workspaceAccess": "none" }), |cell| {
        let workspace = cell.path(".chela/workspace");
        let run = cell.sh(&format!(
            "ls {workspace}; cat {workspace}/notes.md; cat {workspace}/AGENTS.md"
        ));
        assert!(
            !run.out.contains("notes of the agent"),
            "{}: {run:?}",
            cell.backend
        );
        assert!(
            !run.out.contains("AGENTS.md\n"),
            "{}: {run:?}",
            cell.backend
        );
        let kept = cell.sh("echo kept > mine");
        assert_eq!(kept.code, 0, "{kept:?}");
        // The same sandbox again, by another command.
        assert_eq!(cell.sh("cat mine").out, "kept\n");
    });
}

/// Mode, owner, time and attributes: what can be changed without opening a file.
fn traits(path: &std::path::Path) -> (u32, u32, i64, i64) {
    use std::os::unix::fs::MetadataExt;
    let found = path.symlink_metadata().unwrap();
    (
        found.mode(),
        found.gid(),
        found.mtime(),
        found.size() as i64,
    )
}

#[test]
fn modes_and_times_outside_stay() {
    for access in ["rw", "ro", "none"] {
        everywhere(&json!({ "workspaceAccess": access }), |cell| {
            let mut targets = vec![".ssh", ".ssh/id_ed25519", ".chela/chela.json"];
            if access == "ro" {
                targets.extend([".chela/workspace", ".chela/workspace/notes.md"]);
            }
            let targets: Vec<_> = targets.iter().map(|path| cell.home.path(path)).collect();
            let before: Vec<_> = targets.iter().map(|path| traits(path)).collect();
            let attempts: Vec<String> = targets
                .iter()
                .map(|path| {
                    let path = path.display();
                    format!(
                        "chmod 777 {path}; chmod a-rwx {path}; touch -d 2001-01-01 {path}; \
                         touch -h -d 2001-01-01 {path}; chgrp 12345 {path}; \
                         setfattr -n user.x -v y {path}; ln -s {path} to; chmod 000 to; rm -f to"
                    )
                })
                .collect();
            let run = cell.sh(&format!("cd $HOME; {}; echo tried", attempts.join("; ")));
            assert!(run.out.contains("tried"), "{}: {run:?}", cell.backend);
            let after: Vec<_> = targets.iter().map(|path| traits(path)).collect();
            assert_eq!(before, after, "{} {access}", cell.backend);
        });
    }
}

#[test]
fn nobody_is_told_what_is_in_the_home() {
    // Landlock alone answers whether a file exists; with mounts there is nothing to ask about.
    in_namespaces(&json!({ "workspaceAccess": "rw" }), |cell| {
        let secret = cell.path(".ssh/id_ed25519");
        let run = cell.sh(&format!(
            "test -e {secret} && echo SEEN; stat {secret} && echo SEEN; echo tried"
        ));
        assert!(run.out.contains("tried"), "{}: {run:?}", cell.backend);
        assert!(!run.out.contains("SEEN"), "{}: {run:?}", cell.backend);
    });
}

#[test]
fn the_rest_of_home_cannot_be_read() {
    for access in ["rw", "ro", "none"] {
        everywhere(&json!({ "workspaceAccess": access }), |cell| {
            for target in [
                ".ssh/id_ed25519",
                ".chela/workspace-other/SOUL.md",
                ".chela/state/trust.json",
            ] {
                let attempts: Vec<String> = names(cell, target)
                    .iter()
                    .map(|name| {
                        format!(
                            "cat \"{name}\"; ln -s \"{name}\" peek && cat peek; ln \"{name}\" hard && \
                             cat hard; cp \"{name}\" copy && cat copy; head -c 99 < \"{name}\"; \
                             rm -f peek hard copy"
                        )
                    })
                    .collect();
                let run = cell.sh(&format!("{}; echo tried", attempts.join("; ")));
                assert!(run.out.contains("tried"), "{}: {run:?}", cell.backend);
                assert!(
                    !run.out.contains(SECRET),
                    "{} {target}: {run:?}",
                    cell.backend
                );
            }
            let home = cell.path("");
            let run = cell.sh(&format!(
                "ls -a {home} {home}/.ssh {home}/.chela {home}/.chela/state {home}/.chela/sandboxes; \
                 find {home} -name 'id_*' -o -name chela.json; cat {home}/.chela/chela.json"
            ));
            for seen in [
                "id_ed25519\n",
                "chela.json\n",
                "trust.json\n",
                "workspace-other",
                "defaults",
            ] {
                let told = run
                    .out
                    .lines()
                    .any(|line| line.trim_start_matches("./").ends_with(seen.trim()));
                assert!(!told, "{} {access} shows {seen}: {run:?}", cell.backend);
            }
        });
    }
}

#[test]
fn keys_and_hashes_of_the_system_cannot_be_read() {
    everywhere(&json!({}), |cell| {
        let paths = "/etc/shadow /etc/gshadow /etc/sudoers /etc/ssh /var/log /root /home /boot";
        let run = cell.sh(&format!(
            "for path in {paths}; do cat $path 2>/dev/null || ls -A $path/ 2>/dev/null; done; echo tried"
        ));
        assert_eq!(run.out, "tried\n", "{}", cell.backend);
    });
}

#[test]
fn open_files_do_not_come_along() {
    everywhere(&json!({ "workspaceAccess": "rw" }), |cell| {
        let secret = cell.path(".ssh/id_ed25519");
        let program = env!("CARGO_BIN_EXE_chela");
        let inner =
            "for fd in 3 4 5 6 7 8 9; do cat <&$fd; cat /proc/self/fd/$fd /dev/fd/$fd; done";
        let script =
            format!("exec 7<{secret} 9<{secret}; exec {program} sandbox run -- sh -c '{inner}'");
        let output = cell
            .home
            .command_of("sh")
            .args(["-c", &script])
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(!shown.contains(SECRET), "{}: {shown}", cell.backend);
        // The attempt itself works where nothing stands in its way.
        let bare = format!("exec 7<{secret}; exec sh -c 'cat <&7'");
        let bare = cell
            .home
            .command_of("sh")
            .args(["-c", &bare])
            .output()
            .unwrap();
        assert!(String::from_utf8_lossy(&bare.stdout).contains(SECRET));
    });
}

#[test]
fn the_owners_variables_stay_outside() {
    everywhere(&json!({}), |cell| {
        let mut command = cell.home.command_of(env!("CARGO_BIN_EXE_chela"));
        let output = command
            .env("SSH_AUTH_SOCK", "/run/agent.sock")
            .env("MY_NOTES", SECRET)
            .env("LD_PRELOAD", "/nowhere.so")
            .args(["sandbox", "run", "--", "env"])
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        for out in [SECRET, "SSH_AUTH_SOCK", "LD_PRELOAD"] {
            assert!(!shown.contains(out), "{}: {shown}", cell.backend);
        }
        assert!(
            shown.contains("HOME=") && shown.contains("sandboxes/agent-main/home"),
            "{shown}"
        );
    });
}
