//! Files that programs run by themselves: writing one asks.

use chela_testkit::{ScriptStep, ScriptedCall};
use serde_json::json;

use super::running::{RunningHome, exec, was_asked};

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
