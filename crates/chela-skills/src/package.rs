//! Folders of files that come from elsewhere and are no skill by themselves: plugins.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chela_core::{ContentHash, Host};

use crate::author::{AddSource, FetchError};
use crate::origin::SkillOrigin;
use crate::stamp::FolderStamps;
use crate::tree::{self, FolderListing, KnownFile, SkillFile, TreeError};

/// Where fetched files lie, and where they came from.
#[derive(Debug)]
pub struct FetchedPackage {
    pub folder: PathBuf,
    pub origin: SkillOrigin,
}

/// Brings the files of a source into an empty folder: bounded, without links, or not at all.
pub fn fetch_package(
    source: &AddSource,
    into: &Path,
    host: &Host,
) -> Result<FetchedPackage, FetchError> {
    let fetched = source.fetch(into, host)?;
    Ok(FetchedPackage {
        folder: fetched.folder,
        origin: fetched.origin,
    })
}

/// The files below a folder, by name, and the hash of them all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageFiles {
    pub files: Vec<SkillFile>,
    pub hash: ContentHash,
}

/// Reads them. What tools generate (`.git`, `node_modules`) is none of them.
pub fn package_files(folder: &Path) -> Result<PackageFiles, TreeError> {
    let unreadable = |source| TreeError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    let listing = FolderListing::read(folder.to_owned()).map_err(unreadable)?;
    let none = KnownFile {
        name: "",
        hash: ContentHash::of(""),
        stamp: listing.stamp,
        mode: 0,
    };
    let tree = tree::read(
        &listing,
        &none,
        FolderStamps::new(folder),
        SystemTime::UNIX_EPOCH,
    )?;
    Ok(PackageFiles {
        files: tree.files,
        hash: tree.hash,
    })
}
