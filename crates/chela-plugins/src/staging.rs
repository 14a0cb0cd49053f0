//! Bringing packages in: fetched beside, looked at, and put in place as a whole or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chela_config::{plugin_folder, plugins_folder};
use chela_core::{ContentHash, Host, ok_or_warn};
use chela_files::create_private_folder;
use chela_skills::{AddSource, FetchError, SkillOrigin, fetch_package};

use crate::lock::{LockedPlugin, PluginFaults, PluginLock, PluginLockError};
use crate::manifest::ManifestError;
use crate::package::{PackageError, PluginPackage};

/// A package that was fetched and is nowhere in use. Its files go when this does.
#[derive(Debug)]
pub struct StagedPlugin {
    staging: PathBuf,
    pub package: PluginPackage,
    pub origin: SkillOrigin,
}

/// How a file of a plugin differs from the one that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    pub path: String,
    pub before: Option<ContentHash>,
    pub after: Option<ContentHash>,
}

/// Why a package was not brought in.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Package(#[from] PackageError),
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Lock(#[from] PluginLockError),
    #[error("`{0}` is not the name of a plugin")]
    NoId(String),
}

impl Drop for StagedPlugin {
    fn drop(&mut self) {
        if self.staging.exists() {
            ok_or_warn!(fs::remove_dir_all(&self.staging), "what was fetched stays behind", path = %self.staging.display());
        }
    }
}

/// Fetches a package and reads it. Nothing of it is run.
pub fn stage(source: &AddSource, host: &Host) -> Result<StagedPlugin, InstallError> {
    let staging = plugins_folder(host).join(format!(".incoming-{}", host.random_hex(6)));
    let cleaner = StagingCleaner(Some(staging.clone()));
    let into = staging.join("fetched");
    create_private_folder(&into).map_err(write_error(&into))?;
    let fetched = fetch_package(source, &into, host)?;
    let folder = package_root(&fetched.folder);
    // Without what git and tools leave, as it is locked.
    let ready = staging.join("ready");
    create_private_folder(&ready).map_err(write_error(&ready))?;
    let copied = fetch_package(&AddSource::Folder(folder), &ready, host)?;
    let package = PluginPackage::read(&copied.folder)?;
    gather_skills(&package).map_err(write_error(&ready))?;
    let package = PluginPackage::read(&copied.folder)?;
    cleaner.keep();
    Ok(StagedPlugin {
        staging,
        package,
        origin: fetched.origin,
    })
}

/// Archives of repositories and of npm hold one folder that holds the rest.
fn package_root(folder: &Path) -> PathBuf {
    let is_package = |folder: &Path| {
        [
            "plugin.json",
            "openclaw.plugin.json",
            ".claude-plugin/plugin.json",
        ]
        .iter()
        .any(|name| folder.join(name).is_file())
    };
    if is_package(folder) {
        return folder.to_owned();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir() && is_package(path))
        .collect();
    match folders.as_slice() {
        [only] => only.clone(),
        _ => folder.to_owned(),
    }
}

/// Skills that a manifest names elsewhere come to where skills of plugins are looked for.
fn gather_skills(package: &PluginPackage) -> io::Result<()> {
    for named in &package.manifest.parts.skill_folders {
        let folder = package.folder.join(named);
        let of_one = folder.join("SKILL.md").is_file();
        let skills: Vec<PathBuf> = match of_one {
            true => vec![folder],
            false => fs::read_dir(&folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| path.join("SKILL.md").is_file())
                .collect(),
        };
        for skill in skills {
            let Some(name) = skill.file_name() else {
                continue;
            };
            let target = package.folder.join("skills").join(name);
            if !target.exists() {
                fs::create_dir_all(package.folder.join("skills"))?;
                fs::rename(&skill, &target)?;
            }
        }
    }
    Ok(())
}

impl StagedPlugin {
    pub fn id(&self) -> &str {
        &self.package.manifest.id
    }

    /// How its files differ from those that are installed.
    pub fn changes(&self, installed: &LockedPlugin) -> Vec<FileChange> {
        let new = by_path(&self.package);
        let mut paths: Vec<&String> = installed.files.keys().chain(new.keys()).collect();
        paths.sort();
        paths.dedup();
        let changes = paths.into_iter().map(|path| FileChange {
            path: path.clone(),
            before: installed.files.get(path).copied(),
            after: new.get(path).copied(),
        });
        changes
            .filter(|change| change.before != change.after)
            .collect()
    }

    /// Puts it in place of what is there, and locks it.
    pub fn install(self, servers: Vec<String>, host: &Host) -> Result<PathBuf, InstallError> {
        let id = self.id().to_owned();
        let target = plugin_folder(host, &id).ok_or_else(|| InstallError::NoId(id.clone()))?;
        if fs::symlink_metadata(&target).is_ok() {
            let old = self.staging.join("old");
            fs::rename(&target, &old).map_err(write_error(&target))?;
        }
        fs::rename(&self.package.folder, &target).map_err(write_error(&target))?;
        crate::openclaw::lay_out_shim(host).map_err(write_error(&target))?;
        let entry = LockedPlugin {
            hash: self.package.hash,
            files: by_path(&self.package),
            version: self.package.manifest.version.clone(),
            from: self.origin.clone(),
            since: host.unix_time(),
            asked: self
                .package
                .manifest
                .asks
                .iter()
                .map(ToString::to_string)
                .collect(),
            servers,
            faults: PluginFaults::default(),
        };
        PluginLock::change(host, |lock| lock.plugins.insert(id, entry))?;
        Ok(target)
    }
}

/// Takes a plugin's files away and forgets it. Says where they are kept, should that be a mistake.
pub fn remove_files(host: &Host, id: &str) -> Result<Option<PathBuf>, InstallError> {
    let folder = plugin_folder(host, id).ok_or_else(|| InstallError::NoId(id.to_owned()))?;
    let mut kept = None;
    if fs::symlink_metadata(&folder).is_ok() {
        let trash = host.state_dir().join("trash").join("plugins");
        create_private_folder(&trash).map_err(write_error(&trash))?;
        let target = trash.join(format!("{id}-{}-{}", host.unix_time(), host.random_hex(2)));
        fs::rename(&folder, &target).map_err(write_error(&folder))?;
        kept = Some(target);
    }
    PluginLock::change(host, |lock| lock.plugins.remove(id))?;
    Ok(kept)
}

fn by_path(package: &PluginPackage) -> BTreeMap<String, ContentHash> {
    let files = package.files.iter();
    files.map(|file| (file.path.clone(), file.hash)).collect()
}

fn write_error(path: &Path) -> impl FnOnce(io::Error) -> InstallError + use<> {
    let path = path.to_owned();
    move |source| InstallError::Write { path, source }
}

impl From<ManifestError> for InstallError {
    fn from(error: ManifestError) -> Self {
        Self::Package(error.into())
    }
}

/// Whatever goes wrong while a package is fetched, nothing of it stays.
struct StagingCleaner(Option<PathBuf>);

impl StagingCleaner {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for StagingCleaner {
    fn drop(&mut self) {
        if let Some(folder) = self.0.take()
            && folder.exists()
        {
            ok_or_warn!(fs::remove_dir_all(&folder), "what was fetched stays behind");
        }
    }
}
