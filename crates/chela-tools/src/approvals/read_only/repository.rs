//! Whether a repository tells git to do nothing.

use std::path::Path;

use chela_sandbox::WorkspaceDoors;

/// What the config of a plain clone says. Everything else (filters, monitors, hooks, includes,
/// drivers for diffs) can name a program.
const HARMLESS: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
            "safecrlf",
        ],
    ),
    (
        "remote",
        &["url", "fetch", "pushurl", "tagopt", "prune", "mirror"],
    ),
    (
        "branch",
        &[
            "remote",
            "merge",
            "rebase",
            "vscode-merge-base",
            "gh-merge-base",
        ],
    ),
    ("user", &["name", "email", "signingkey"]),
    ("init", &["defaultbranch"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote"]),
    ("commit", &["gpgsign"]),
];

/// What in the folder of a repository leads git to the config of another one.
const ELSEWHERE: &[&str] = &["commondir", "config.worktree", "modules"];

/// Whether git, started in `folder`, finds a repository below `root` that is as a plain clone
/// leaves it.
pub fn is_plain(folder: &Path, root: &Path) -> bool {
    for folder in folder
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
    {
        let repository = folder.join(".git");
        let Ok(found) = repository.symlink_metadata() else {
            // A folder with a HEAD may be a repository itself, whoever made it one.
            if folder.join("HEAD").symlink_metadata().is_ok() {
                return false;
            }
            continue;
        };
        let is_usual = found.is_dir() && repository.join("HEAD").is_file();
        let leads_away = ELSEWHERE
            .iter()
            .any(|name| repository.join(name).symlink_metadata().is_ok());
        let config = repository.join("config");
        let is_file = config.symlink_metadata().is_ok_and(|found| found.is_file());
        return is_usual
            && !leads_away
            && has_no_hooks(&repository)
            && is_file
            && std::fs::read_to_string(&config).is_ok_and(|text| says_nothing(&text));
    }
    false
}

/// More entries than this are not looked through for attributes.
const MOST_ENTRIES: usize = 50_000;

/// Whether there is no repository in a folder but its own, and no attribute that names a filter.
/// Git enters a repository inside of another and obeys its config; a filter runs on what is added.
pub fn stands_alone(root: &Path) -> bool {
    let root = root.canonicalize();
    let Ok(root) = root else {
        return false;
    };
    let own = root.join(".git");
    let doors = WorkspaceDoors::below(&root);
    doors.links.is_empty()
        && doors.repositories == [own.clone()]
        && !names_filter(&own.join("info/attributes"))
        && has_no_filters(&root, &own)
}

fn has_no_filters(root: &Path, own: &Path) -> bool {
    let mut waiting = vec![root.to_owned()];
    let mut seen = 0;
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            return false;
        };
        for entry in entries {
            let Some((entry, kind)) = entry.ok().and_then(|entry| {
                let kind = entry.file_type().ok()?;
                Some((entry, kind))
            }) else {
                return false;
            };
            seen += 1;
            let path = entry.path();
            if seen > MOST_ENTRIES || entry.file_name() == ".gitattributes" && names_filter(&path) {
                return false;
            }
            if kind.is_dir() && path != own {
                waiting.push(path);
            }
        }
    }
    true
}

/// Whether a file of attributes names one, or cannot be read.
fn names_filter(file: &Path) -> bool {
    match std::fs::read(file) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).contains("filter"),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// Nothing in the folder of hooks but the samples every repository has: git runs them by itself.
fn has_no_hooks(repository: &Path) -> bool {
    let hooks = match std::fs::read_dir(repository.join("hooks")) {
        Ok(hooks) => hooks,
        Err(error) => return error.kind() == std::io::ErrorKind::NotFound,
    };
    hooks.into_iter().all(|hook| {
        hook.is_ok_and(|hook| hook.path().extension().is_some_and(|end| end == "sample"))
    })
}

/// The name of a section whose header is exactly `name` or `name "subsection"`. More than that on
/// the line would be a setting.
fn section_of(header: &str) -> Option<&str> {
    let is_plain = |text: &str| !text.contains(['"', '\\', '[', ']', '=', ';', '#']);
    match header.split_once(' ') {
        None => is_plain(header).then_some(header),
        Some((name, quoted)) => {
            let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
            (is_plain(name) && is_plain(inner)).then_some(name)
        }
    }
}

/// Whether a config of git says nothing but what that of a plain clone does.
pub fn says_nothing(config: &str) -> bool {
    let mut keys: &[&str] = &[];
    for line in config.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        // A line that goes on, or a value of an odd form, is not for a glance.
        if line.ends_with('\\') {
            return false;
        }
        if let Some(header) = line.strip_prefix('[') {
            let Some(header) = header.strip_suffix(']') else {
                return false;
            };
            let Some(section) = section_of(header) else {
                return false;
            };
            let known = HARMLESS
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(section));
            match known {
                Some((_, known)) => keys = known,
                None => return false,
            }
            continue;
        }
        let key = line.split('=').next().unwrap_or_default().trim();
        if !keys.iter().any(|known| known.eq_ignore_ascii_case(key)) {
            return false;
        }
        let value = line.split_once('=').map_or("", |(_, value)| value.trim());
        if key.eq_ignore_ascii_case("bare") && value != "false" {
            return false;
        }
    }
    true
}
