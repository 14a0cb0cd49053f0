//! Text of packages that a command in the sandbox may print.
//!
//! Compilers and what they load lie below the owner's home, and packages of a registry among them:
//! anybody's text. Running a compiler prints what it says of the agent's own files; reading a file
//! down there, or asking a package manager what a package says of itself, prints theirs. What a
//! line of words does is read roughly, and in doubt it prints them.

use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};

/// Folders of packages, wherever they lie.
const PACKAGE_FOLDERS: &[&str] = &[
    "node_modules",
    "site-packages",
    "dist-packages",
    "gems",
    "registry",
];

/// Package managers, and what they are told that prints nothing of a package.
const MANAGERS: &[(&[&str], &[&str])] = &[
    (
        &["npm", "pnpm", "yarn", "bun"],
        &[
            "add",
            "build",
            "check",
            "ci",
            "dev",
            "exec",
            "format",
            "i",
            "init",
            "install",
            "lint",
            "run",
            "run-script",
            "start",
            "t",
            "test",
            "version",
            "-v",
        ],
    ),
    (
        &["pip", "pip3", "pipx", "uv", "poetry"],
        &[
            "add", "build", "check", "install", "lock", "run", "sync", "venv",
        ],
    ),
    (
        &["cargo"],
        &[
            "add", "b", "bench", "build", "c", "check", "clean", "clippy", "doc", "fix", "fmt",
            "init", "new", "r", "remove", "run", "t", "test", "update", "-V",
        ],
    ),
    (
        &["go"],
        &[
            "build", "clean", "env", "fmt", "generate", "get", "mod", "run", "test", "vet",
        ],
    ),
    (&["gem", "bundle"], &["build", "exec", "install"]),
];

/// Programs that print what packages say of themselves.
const DESCRIBERS: &[&str] = &["pydoc", "pydoc3", "ri", "perldoc"];

/// Words with which a script asks where packages lie, or what they say.
const ASKING: &[&str] = &[
    "help(",
    "__doc__",
    "__file__",
    "getsource",
    "sys.path",
    "require.resolve",
    "sysroot",
    "execPath",
    "$(which",
    "`which",
    "$(command -v",
    "`command -v",
    "$(npm",
    "$(rustc",
    "$(python",
    "-m pydoc",
    "-m site",
];

/// Variables that say where toolchains are, inside.
const VARIABLES: &[&str] = &[
    "RUSTUP_HOME",
    "CARGO_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "ASDF_DATA_DIR",
    "UV_PYTHON_INSTALL_DIR",
    "ELAN_HOME",
    "GOPATH",
    "GOROOT",
    "NVM_DIR",
];

/// What git is told that prints nothing of what was committed once, but names and titles.
const GIT_OF_NOW: &[&str] = &[
    "add",
    "branch",
    "commit",
    "config",
    "diff",
    "fetch",
    "init",
    "log",
    "mv",
    "push",
    "remote",
    "rev-parse",
    "rm",
    "status",
    "tag",
    "version",
];
/// Options with which `log` and `diff` print more.
const GIT_TEXT: &[&str] = &["-p", "-u", "--patch", "-S", "-G", "-L", "--cc", "-c"];

/// Whether a call may print, or bring back, what was once committed: of that no record says who
/// wrote it.
/// `start` is where it starts.
pub(super) fn may_print_history(arguments: &Map<String, Value>, start: &Path) -> bool {
    let Some(line) = line_of(arguments) else {
        return true;
    };
    // Git reads more from its environment than can be told here.
    if Value::Object(arguments.clone())
        .to_string()
        .contains("GIT_")
    {
        return true;
    }
    // What is no file there is the name of a commit.
    let names_commit =
        |word: &str| !word.starts_with('-') && start.join(word).symlink_metadata().is_err();
    git_words(&line).into_iter().any(|(told, after)| {
        let mut after = after.into_iter();
        match told {
            "log" => after.any(|word| GIT_TEXT.iter().any(|option| word.starts_with(option))),
            "diff" => after.any(|word| {
                word.contains(['~', '^', '@', ':'])
                    || names_commit(word)
                    || shortens(word, OF_COMMITS)
            }),
            // With it they show what is staged beside what was committed.
            "status" | "commit" => after.any(|word| {
                let is_cluster = word.starts_with('-') && !word.starts_with("--");
                shortens(word, &["--verbose"]) || is_cluster && word.contains('v')
            }),
            told => !GIT_OF_NOW.contains(&told),
        }
    })
}

/// The words of a call that runs a command.
pub(super) fn line_of(arguments: &Map<String, Value>) -> Option<String> {
    match (arguments.get("command"), arguments.get("argv")) {
        (Some(Value::String(line)), _) => Some(line.clone()),
        (_, Some(Value::Array(words))) => {
            let words = words.iter().filter_map(Value::as_str);
            Some(words.collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

/// Options with which `diff` compares with what was committed.
const OF_COMMITS: &[&str] = &["--cached", "--staged", "--merge-base"];

/// Whether a word is one of these options: git takes their beginnings as well.
fn shortens(word: &str, options: &[&str]) -> bool {
    word.len() > 2 && options.iter().any(|option| option.starts_with(word))
}

/// What git is told in a text, and the words behind that.
pub(super) fn git_words(text: &str) -> Vec<(&str, Vec<&str>)> {
    let commands = text.split(['|', ';', '&', '<', '>', '\n', '(', ')', '`']);
    commands.flat_map(git_words_of_command).collect()
}

fn git_words_of_command(text: &str) -> Vec<(&str, Vec<&str>)> {
    let is_part = |c: char| c.is_alphanumeric() || "-_./:~^@=".contains(c);
    let mut words = text
        .split(move |c: char| !is_part(c))
        .filter(|word| !word.is_empty());
    let mut told = Vec::new();
    while let Some(word) = words.next() {
        if word != "git" && !word.ends_with("/git") {
            continue;
        }
        let mut rest = words.clone().peekable();
        // Where it starts, and what it is told besides.
        while let Some(option) = rest.next_if(|word| word.starts_with('-')) {
            if matches!(option, "-C" | "-c") {
                rest.next();
            }
        }
        let first = rest.next().unwrap_or_default();
        told.push((first, rest.take_while(|word| *word != "git").collect()));
    }
    told
}

/// Whether a call may print text of packages. `toolchains` are shown inside; `start` is where it
/// starts.
pub(super) fn may_print_packages(
    arguments: &Map<String, Value>,
    start: &Path,
    toolchains: &[PathBuf],
) -> bool {
    let Some(line) = line_of(arguments) else {
        return true;
    };
    if is_in_packages(start, toolchains) || asks(&line) {
        return true;
    }
    let mut parts = line.split([';', '|', '&', '\n', '(', '`']);
    parts.any(|part| prints_packages(part, start, toolchains))
}

fn asks(line: &str) -> bool {
    let asking = ASKING.iter().any(|words| line.contains(words));
    asking || VARIABLES.iter().any(|name| line.contains(name))
}

/// One program and its words.
fn prints_packages(part: &str, start: &Path, toolchains: &[PathBuf]) -> bool {
    let is_quote = |c: char| matches!(c, '\'' | '"' | ')');
    let words = part.split_whitespace();
    let mut words = words
        .map(|word| word.trim_matches(is_quote))
        .filter(|word| !word.is_empty())
        // A variable for one program, and what starts another one.
        .skip_while(|word| {
            let starts = matches!(
                *word,
                "env" | "time" | "exec" | "nice" | "command" | "then" | "do"
            );
            starts || word.split_once('=').is_some_and(|(name, _)| is_name(name))
        });
    let Some(program) = words.next() else {
        return false;
    };
    let name = Path::new(program).file_name();
    let name = name.unwrap_or_default().to_string_lossy().into_owned();
    let rest: Vec<&str> = words.collect();
    if DESCRIBERS.contains(&name.as_str()) || tells_of_packages(&name, &rest) {
        return true;
    }
    rest.iter()
        .any(|word| names_packages(word, start, toolchains))
}

fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty() && text.chars().all(is_plain)
}

/// Whether a package manager is asked for more than work.
fn tells_of_packages(program: &str, rest: &[&str]) -> bool {
    let (program, rest) = match (program, rest) {
        (python, ["-m", module, rest @ ..]) if python.starts_with("python") => (*module, rest),
        _ => (program, rest),
    };
    let Some((_, harmless)) = MANAGERS.iter().find(|(names, _)| names.contains(&program)) else {
        return false;
    };
    let told = rest
        .iter()
        .find(|word| !word.starts_with("--") && !word.starts_with('+'));
    let only_options = |word: &&str| matches!(*word, "--version" | "--help");
    match told {
        Some(told) => !harmless.contains(told),
        None => !rest.is_empty() && !rest.iter().all(only_options),
    }
}

/// Whether a word is a path to packages, leads above them, or holds such a path.
fn names_packages(word: &str, start: &Path, toolchains: &[PathBuf]) -> bool {
    let holds = |folder: &PathBuf| word.contains(&*folder.to_string_lossy());
    if toolchains.iter().any(holds) {
        return true;
    }
    let is_path = word.starts_with('/') || word.contains("..");
    let path = resolve(start, word);
    let leads_above = |folder: &PathBuf| folder.starts_with(&path);
    is_path && (toolchains.iter().any(leads_above) || is_in_packages(&path, toolchains))
}

fn is_in_packages(path: &Path, toolchains: &[PathBuf]) -> bool {
    let is_shown = |folder: &PathBuf| path.starts_with(folder);
    let is_of_system = ["/usr", "/opt"].iter().any(|root| path.starts_with(root));
    let is_packages = |part: Component<'_>| {
        let name = part.as_os_str().to_str();
        name.is_some_and(|name| PACKAGE_FOLDERS.contains(&name))
    };
    toolchains.iter().any(is_shown) || is_of_system && path.components().any(is_packages)
}

/// A path by its words alone.
fn resolve(start: &Path, word: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in start.join(word).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prints(line: &str) -> bool {
        let call = serde_json::json!({ "command": line });
        let toolchains = [
            PathBuf::from("/home/me/.nvm/versions"),
            "/home/me/.rustup".into(),
        ];
        may_print_packages(call.as_object().unwrap(), Path::new("/work"), &toolchains)
    }

    #[test]
    fn what_was_committed_once_is_told_from_what_is_there() {
        let prints = |line: &str| {
            let call = serde_json::json!({ "command": line });
            may_print_history(call.as_object().unwrap(), Path::new("/no/such/folder"))
        };
        for line in [
            "git show HEAD~1:evil.md",
            "git log -p",
            "git -C . log --patch",
            "git status && git show HEAD",
            "git checkout HEAD~1 -- evil.md",
            "sh -c 'git cat-file -p HEAD:evil.md'",
            "git stash pop",
            "git diff HEAD~1",
            "git diff main",
            "git diff --cached",
            "git diff --stag",
            "git status -v",
            "git status --short && git commit -qvm x",
            "GIT_INDEX_FILE=other git diff",
            "/usr/bin/git blame a.md",
        ] {
            assert!(prints(line), "{line}");
        }
        for line in [
            "git status --short",
            "git log --oneline | head -n 3",
            "git diff --stat",
            "git diff",
            "git diff | head -n 20; echo done",
            "git commit -m 'version 2'",
            "git add -A && git commit -qm greet",
            "find . -not -path './.git/*'",
            "ls",
        ] {
            assert!(!prints(line), "{line}");
        }
    }

    #[test]
    fn reading_packages_is_told_from_running_them() {
        for line in [
            "cat /home/me/.nvm/versions/node/v22/lib/node_modules/x/README.md",
            "cd /home/me/.rustup && cat x",
            "grep -r order /home/me",
            "find / -name README.md -exec cat {} +",
            "cat ../home/me/.rustup/x",
            "cat $RUSTUP_HOME/settings.toml",
            "cat $(which node)",
            "python3 -c 'import x; print(x.__doc__)'",
            "pip show x",
            "python3 -m pip show x",
            "npm view x",
            "cargo metadata",
            "go doc x",
            "pydoc x",
            "cat /usr/lib/node_modules/x/README.md",
            "FOO=1 npm ls",
        ] {
            assert!(prints(line), "{line}");
        }
        for line in [
            "cargo test --workspace",
            "cargo +nightly build",
            "cargo --version",
            "/home/me/.nvm/versions/node/v22/bin/node run.js",
            "node --version",
            "npm run build && npm test",
            "python3 -m pytest -q",
            "python3 -m unittest",
            "pip install x",
            "go test ./...",
            "make test",
            "grep -rn main src",
            "cat /etc/os-release",
            "for f in *.md; do wc -l $f; done",
        ] {
            assert!(!prints(line), "{line}");
        }
    }
}
