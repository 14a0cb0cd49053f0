//! Compilers and interpreters that people keep in their home folder.
//!
//! Inside, the home folder is the sandbox's own, so what package managers download and build
//! lands in caches of the agent's: nothing a command leaves there is ever run by the owner. The
//! programs themselves are the owner's and can only be read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chela_core::Host;

/// One folder below the owner's home with programs and their libraries.
struct ToolchainRow {
    /// Below the home folder.
    folder: &'static str,
    /// The variable that tells the programs where it is, since the home folder is another one.
    variable: Option<&'static str>,
}

const fn row(folder: &'static str, variable: Option<&'static str>) -> ToolchainRow {
    ToolchainRow { folder, variable }
}

/// None of them is known to hold keys: those lie beside (`.cargo/credentials.toml`, `.npmrc`).
const TOOLCHAINS: &[ToolchainRow] = &[
    row(".rustup", Some("RUSTUP_HOME")),
    row(".cargo/bin", None),
    row(".nvm/versions", None),
    row(".fnm", None),
    row(".local/share/fnm", None),
    row(".volta/bin", None),
    row(".volta/tools", None),
    row(".pyenv", Some("PYENV_ROOT")),
    row(".rbenv", Some("RBENV_ROOT")),
    row(".asdf", Some("ASDF_DATA_DIR")),
    row(".local/share/mise/installs", None),
    row(".local/share/mise/shims", None),
    row(".local/share/uv/python", Some("UV_PYTHON_INSTALL_DIR")),
    row(".local/bin", None),
    row(".bun/bin", None),
    row(".deno/bin", None),
    row(".sdkman/candidates", None),
    row("go/bin", None),
    row("sdk", None),
    row(".ghcup", None),
    row(".elan", Some("ELAN_HOME")),
];

/// Folders and files that hold keys, wherever they lie: nothing below one is shown.
const KEY_FOLDERS: &[&str] = &[".ssh", ".gnupg", ".aws", ".kube", ".docker", ".config"];

/// Those that are there, and the other folders of programs that the owner's PATH names.
pub fn folders(host: &Host) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = present(host).map(|(folder, _)| folder).collect();
    for folder in path_folders(host) {
        let is_shown = folders.iter().any(|shown| folder.starts_with(shown));
        if !is_shown && holds_programs_only(host, &folder) {
            folders.push(folder);
        }
    }
    folders
}

/// The variables that say where they are.
pub fn variables(host: &Host) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for (folder, row) in present(host) {
        if let (Some(name), Some(folder)) = (row.variable, folder.to_str()) {
            // The first of several is the one in the owner's own home.
            variables
                .entry(name.to_owned())
                .or_insert_with(|| folder.to_owned());
        }
    }
    variables
}

fn present(host: &Host) -> impl Iterator<Item = (PathBuf, &'static ToolchainRow)> {
    homes(host).into_iter().flat_map(|home| {
        TOOLCHAINS.iter().filter_map(move |row| {
            let folder = home.join(row.folder);
            // A link could lead to anything the owner has.
            let is_folder = folder.symlink_metadata().is_ok_and(|found| found.is_dir());
            is_folder.then_some((folder, row))
        })
    })
}

/// The home folder, and those that PATH names a toolchain of: programs that somebody keeps for
/// several homes.
fn homes(host: &Host) -> Vec<PathBuf> {
    let mut homes = vec![host.user_home.clone()];
    for folder in path_folders(host) {
        let home = TOOLCHAINS
            .iter()
            .find_map(|row| home_of(&folder, Path::new(row.folder)));
        if let Some(home) = home.filter(|home| !homes.contains(home)) {
            homes.push(home);
        }
    }
    homes
}

/// `/home/me` of `/home/me/.nvm/versions/node/v22/bin` and `.nvm/versions`.
fn home_of(folder: &Path, row: &Path) -> Option<PathBuf> {
    // A name that only this kind of folder has.
    if !row.to_str()?.starts_with('.') {
        return None;
    }
    let above = folder
        .ancestors()
        .find(|above| above.ends_with(row))?
        .ancestors()
        .nth(row.components().count())?;
    (above.parent().is_some()).then(|| above.to_owned())
}

fn path_folders(host: &Host) -> Vec<PathBuf> {
    let path = host.var("PATH").unwrap_or_default();
    let folders = std::env::split_paths(path);
    folders.filter(|folder| folder.is_absolute()).collect()
}

/// Whether a folder of PATH can be shown: a folder of its own, with nothing of the owner's in it
/// but programs. One that holds a home, or Chela's own folder, is none.
fn holds_programs_only(host: &Host, folder: &Path) -> bool {
    let is_folder = folder.symlink_metadata().is_ok_and(|found| found.is_dir());
    let real = folder.canonicalize();
    let is_itself = real.is_ok_and(|real| real == folder);
    let state = host.state_dir();
    let is_above = |inner: &Path| inner.starts_with(folder);
    let has_keys = folder.components().any(|part| {
        let name = part.as_os_str().to_str();
        name.is_some_and(|name| KEY_FOLDERS.contains(&name))
    });
    is_folder
        && is_itself
        && folder.components().count() > 2
        && !is_above(&host.user_home)
        && !is_above(&state)
        && !folder.starts_with(&state)
        && !has_keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_shown_and_keys_beside_them_are_not() {
        let home = tempfile::tempdir().unwrap();
        let host = Host::fixed(home.path());
        for folder in [".rustup/toolchains", ".cargo/bin", ".cargo/registry"] {
            std::fs::create_dir_all(host.user_home.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink("/etc", host.user_home.join(".asdf")).unwrap();
        let shown = folders(&host);
        assert_eq!(
            shown,
            [
                host.user_home.join(".rustup"),
                host.user_home.join(".cargo/bin")
            ]
        );
        let rustup = host.user_home.join(".rustup").display().to_string();
        assert_eq!(
            variables(&host),
            [("RUSTUP_HOME".to_owned(), rustup)].into()
        );
        let root = home.path().canonicalize().unwrap();
        for folder in [
            "other/.cargo/bin",
            "other/.rustup",
            "tools/bin",
            "me/.ssh/bin",
        ] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let path = [
            "other/.cargo/bin",
            "tools/bin",
            "me/.ssh/bin",
            "nowhere",
            "",
        ]
        .map(|folder| root.join(folder).display().to_string());
        let mut elsewhere = Host::fixed(root.join("me"));
        elsewhere.env.insert("PATH".to_owned(), path.join(":"));
        assert_eq!(
            folders(&elsewhere),
            ["other/.rustup", "other/.cargo/bin", "tools/bin"].map(|folder| root.join(folder))
        );
        for row in TOOLCHAINS {
            let holds_keys = [
                ".cargo", ".ssh", ".config", ".npm", ".docker", ".aws", ".gnupg",
            ];
            assert!(!holds_keys.contains(&row.folder), "{}", row.folder);
        }
    }
}
