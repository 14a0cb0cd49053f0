//! Files that programs run by themselves: writing one asks.

use chela_testkit::{ScriptStep, ScriptedCall};
use serde_json::json;

use super::running::{RunningHome, exec, was_asked, write};

/// They run when a folder is opened or entered, or a program starts.
const OPENED: &[&str] = &[
    ".envrc",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".idea/workspace.xml",
    ".husky/pre-commit",
    ".githooks/pre-commit",
    ".mcp.json",
    ".cursor/mcp.json",
    ".claude/settings.json",
    ".devcontainer/devcontainer.json",
    "sitecustomize.py",
    "lib/evil.pth",
    ".bashrc",
    ".zshrc",
    ".profile",
    ".bash_aliases",
    ".gdbinit",
    ".exrc",
    ".tmux.conf",
    ".gitconfig",
    "autostart/x.desktop",
    "mise.toml",
    ".vim/plugin/x.vim",
    ".ipython/profile_default/startup/x.py",
    ".Renviron",
    ".direnv/x",
    "x.service",
    ".netrc",
    ".ssh/authorized_keys",
    "crontab",
    "systemd/x",
    "mise.local.toml",
    ".mise/config.toml",
    "rust-analyzer.toml",
    ".vimrc.local",
    ".local.vimrc",
    ".ruby-lsp/x",
    ".metals/x",
    ".qwen/settings.json",
    ".trae/x",
    ".factory/x",
    ".pi/settings.json",
    ".github/hooks/h.json",
    "tools/hooks/pre-commit",
    "src/commondir",
    "src/config.worktree",
];

/// They run when the owner builds.
const BUILT: &[&str] = &[
    "Makefile",
    "justfile",
    "package.json",
    ".npmrc",
    ".yarnrc",
    ".eslintrc.js",
    "vite.config.ts",
    "conftest.py",
    "setup.py",
    "tox.ini",
    "pytest.ini",
    "pyproject.toml",
    "build.rs",
    "Cargo.toml",
    ".cargo/config.toml",
    "build.gradle",
    "pom.xml",
    "Dockerfile",
    "docker-compose.yml",
    ".pre-commit-config.yaml",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    "Rakefile",
    "BUILD",
    ".tool-versions",
    "lefthook.yaml",
    ".gitattributes",
    "CLAUDE.md",
    ".mvn/jvm.config",
    ".prettierrc",
    "requirements-dev.txt",
    ".venv/bin/python",
    "node_modules/.bin/eslint",
    "tsconfig.json",
    ".clangd",
    "package-lock.json",
    "Cargo.lock",
    "go.sum",
    ".env.local",
    "AGENTS.override.md",
    "QWEN.md",
    "WARP.md",
    ".rules",
    ".github/agents/a.md",
];

/// What no command leaves in place after text from outside, though a file tool calls it otherwise.
const SHELLS: &[&str] = &[
    ".bashrc",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".bash_profile",
    ".ssh/config",
    ".ssh/authorized_keys",
    "crontab",
    "tools/hooks/post-checkout",
    ".config/autostart/x",
    "systemd/x",
    ".mise/config.toml",
];

/// One answer that writes them all.
fn writing(paths: &[&str]) -> ScriptStep {
    let calls = paths.iter().map(|path| ScriptedCall {
        name: "write".to_owned(),
        arguments: json!({ "path": path, "content": "touch pwned\n" }),
        id: None,
    });
    ScriptStep {
        tool_calls: calls.collect(),
        ..ScriptStep::default()
    }
}

#[test]
fn after_a_page_all_of_them_ask() {
    let home = RunningHome::without_sandbox(json!({}));
    let all: Vec<&str> = OPENED.iter().chain(BUILT).copied().collect();
    let results = home.plays(
        "tainted",
        [home.page(), writing(&all), writing(&["notes.md"])],
    );
    for (path, result) in all.iter().zip(&results[1..]) {
        assert!(was_asked(result), "{path}: {result}");
        assert!(!home.exists(path), "{path}");
    }
    assert!(home.exists("notes.md"), "{:?}", results.last());
}

#[test]
fn a_command_in_the_sandbox_does_not_get_around_that() {
    let Some(home) = RunningHome::with_sandbox(json!({})) else {
        return;
    };
    home.write(".vscode/settings.json", "{}");
    let command = "echo evil > .vscode/tasks.json; echo evil > .vscode/settings.json; \
                   echo evil > .envrc; echo evil > Makefile";
    let results = home.plays("tainted", [home.page(), exec(command)]);
    assert!(results[1].contains("moved aside"), "{results:?}");
    assert!(results[1].contains("Makefile"), "{results:?}");
    assert!(!home.exists(".vscode/tasks.json") && !home.exists(".envrc"));
    assert!(home.exists(".envrc.held") && home.exists("Makefile"));
    let kept = home
        .scene
        .home
        .read(".chela/workspace/.vscode/settings.json");
    assert_eq!(kept, "{}");
}

#[test]
fn a_command_leaves_none_of_what_shells_and_schedulers_run() {
    let Some(home) = RunningHome::with_sandbox(json!({})) else {
        return;
    };
    home.write(".bashrc", "# mine\n");
    let command = format!(
        "for f in {} Cargo.lock .venv/bin/python src/hooks/useIt.ts; do \
         mkdir -p $(dirname $f); echo evil >> $f; done",
        SHELLS.join(" ")
    );
    let results = home.plays("tainted", [home.page(), exec(&command)]);
    for file in SHELLS.iter().filter(|file| **file != ".bashrc") {
        assert!(!home.exists(file), "{file}: {results:?}");
        assert!(home.exists(&format!("{file}.held")), "{file}: {results:?}");
    }
    let kept = home.scene.home.read(".chela/workspace/.bashrc");
    assert_eq!(kept, "# mine\n");
    // What programs rewrite at every build, and what only looks like it, is left alone.
    for file in ["Cargo.lock", ".venv/bin/python", "src/hooks/useIt.ts"] {
        assert!(home.exists(file), "{file}");
        assert!(!results[1].contains(file), "{file}: {results:?}");
    }
}

#[test]
fn a_folder_does_not_become_a_repository_unasked() {
    let home = RunningHome::without_sandbox(json!({}));
    let config = "[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = \"touch pwned; false\"\n";
    let results = home.plays(
        "tainted",
        [
            home.page(),
            write("y/HEAD", "ref: refs/heads/main\n"),
            write("y/config", config),
            write("z/config", config),
            write("z/objects/x", ""),
            write("z/refs/x", ""),
            write("src/commondir", "../z\n"),
        ],
    );
    let asked: Vec<bool> = results.iter().map(|result| was_asked(result)).collect();
    assert_eq!(asked, [false, false, true, false, false, true, true]);
    assert!(!home.exists("y/config") && !home.exists("z/refs/x") && !home.exists("src/commondir"));
}

#[test]
fn a_command_does_not_turn_a_folder_into_one() {
    let Some(home) = RunningHome::with_sandbox(json!({})) else {
        return;
    };
    let command = "mkdir -p src data/objects data/refs; echo 'ref: refs/heads/main' > src/HEAD; \
        echo ../data > src/commondir; printf '[core]\n worktree = ../src\n' > src/config.worktree; \
        printf '[extensions]\n worktreeConfig = true\n[core]\n fsmonitor = \"touch pwned; false\"\n' > data/config";
    let results = home.plays("tainted", [home.page(), exec(command)]);
    for file in ["src/commondir", "src/config.worktree", "data/config"] {
        assert!(!home.exists(file), "{file}: {results:?}");
        assert!(home.exists(&format!("{file}.held")), "{file}: {results:?}");
    }
}

#[test]
fn a_second_name_asks_like_the_first_even_before_it_leads_anywhere() {
    let home = RunningHome::without_sandbox(json!({}));
    let work = home.scene.home.path(".chela/workspace");
    std::fs::create_dir_all(work.join("clone/app")).unwrap();
    std::os::unix::fs::symlink("cfg", work.join("clone/.vscode")).unwrap();
    std::os::unix::fs::symlink("../late", work.join("clone/app/.zed")).unwrap();
    for number in 0..5100 {
        home.write(&format!("aaa/f{number}"), "");
    }
    let proj = home.scene.home.path("proj");
    std::fs::create_dir_all(proj.join("cfg")).unwrap();
    std::os::unix::fs::symlink("cfg", proj.join(".vscode")).unwrap();
    let in_folder = proj.join("cfg/tasks.json").display().to_string();
    // Paths without a folder begin in the added one.
    let in_work = |file: &str| work.join(file).display().to_string();
    let results = home.plays_with(
        "tainted",
        &["--add-dir", proj.to_str().unwrap()],
        [
            home.page(),
            write(&in_work("clone/cfg/tasks.json"), "{}"),
            write(&in_work("clone/late/tasks.json"), "{}"),
            write(&in_folder, "{}"),
            write(&in_work("clone/other/tasks.json"), "{}"),
        ],
    );
    let asked: Vec<bool> = results.iter().map(|result| was_asked(result)).collect();
    assert_eq!(asked, [false, true, true, true, false], "{results:?}");
    assert!(!proj.join("cfg/tasks.json").exists());
}

/// In more folders than are looked through (20,000) a link may lead to any file.
#[test]
fn where_links_cannot_all_be_known_every_write_asks_after_foreign_text() {
    let home = RunningHome::without_sandbox(json!({}));
    let work = home.scene.home.path(".chela/workspace");
    let outer = |number: usize| work.join(format!("many/{number}"));
    for number in 0..142 {
        std::fs::create_dir_all(outer(number)).unwrap();
        for inner in 0..142 {
            std::fs::create_dir(outer(number).join(inner.to_string())).unwrap();
        }
    }
    let clean = home.plays("clean", [write("notes/mine.md", "x")]);
    assert!(home.exists("notes/mine.md"), "{clean:?}");
    let tainted = home.plays("tainted", [home.page(), write("notes/other.md", "x")]);
    assert!(was_asked(tainted.last().unwrap()), "{tainted:?}");
    assert!(!home.exists("notes/other.md"));
}

#[test]
fn before_it_only_those_ask_that_run_at_the_opening() {
    let home = RunningHome::without_sandbox(json!({}));
    let opened = home.plays("opened", [writing(OPENED)]);
    for (path, result) in OPENED.iter().zip(&opened) {
        assert!(was_asked(result), "{path}: {result}");
        assert!(!home.exists(path), "{path}");
    }
    let built = home.plays("built", [writing(BUILT)]);
    for (path, result) in BUILT.iter().zip(&built) {
        assert!(home.exists(path), "{path}: {result}");
    }
}

/// Projects have folders named hooks and plugins; only those of the workspace itself, and of
/// repositories, run something.
#[test]
fn a_projects_hooks_are_files_like_others_and_those_of_the_workspace_are_not() {
    for tainted in [false, true] {
        let home = RunningHome::new(json!({}));
        let steps = |file: &str| {
            let page = tainted.then(|| home.page());
            page.into_iter().chain([write(file, "x\n")])
        };
        for (at, file) in [
            "app/src/hooks/useOnline.ts",
            "app/plugins/vite.ts",
            "app/plugins/a/b.js",
        ]
        .iter()
        .enumerate()
        {
            let results = home.plays(&format!("free{at}"), steps(file));
            assert!(!was_asked(results.last().unwrap()), "{file}: {results:?}");
            assert!(home.exists(file));
        }
        for (at, file) in [
            "hooks/greet.sh",
            "plugins/own/index.js",
            "app/hooks/pre-push",
        ]
        .iter()
        .enumerate()
        {
            let results = home.plays(&format!("asked{at}"), steps(file));
            assert!(was_asked(results.last().unwrap()), "{file}: {results:?}");
            assert!(!home.exists(file));
        }
    }
}
