//! Making an archive of a home, while others use it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use chela_core::ContentHash;
use chela_files::{FileFacts as _, open_plain, restrict_to_owner};
use flate2::{Compression, GzBuilder, write::GzEncoder};

use crate::BackupError;
use crate::choose_files::{PathChoice, choose, plain_path};
use crate::manifest::{
    BackupEntry, BackupManifest, BlankedKey, EntryKind, FORMAT, HOME, LeftOut, MANIFEST,
};
use crate::seal::{ArchiveProver, HashReader, HashWriter, seal_of};

/// What is wanted.
#[derive(Debug, Clone)]
pub struct BackupAsk {
    pub home: PathBuf,
    /// The archive.
    pub file: PathBuf,
    pub version: String,
    /// Milliseconds since 1970.
    pub now: u64,
    pub with_secrets: bool,
    /// What stands in place of the config where secrets are left out, and what was left out of it.
    pub blanked_config: Option<(Vec<u8>, Vec<BlankedKey>)>,
    pub overwrite: bool,
    /// Says that this installation made it, where it has a key.
    pub prover: Option<ArchiveProver>,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupReport {
    pub file: PathBuf,
    /// Of the archive.
    pub bytes: u64,
    pub manifest: BackupManifest,
}

type Packer = tar::Builder<GzEncoder<HashWriter<File>>>;

/// The newest hash of the audit chain stands in a file beside the ledger. It is copied before the
/// ledger, so that the ledger has at least what it speaks of.
const HEAD: &str = "state/ledger.head";
const CONFIG: &str = "chela.json";

/// Copies a home into an archive. Nothing is left where it fails.
pub fn create(ask: &BackupAsk) -> Result<BackupReport, BackupError> {
    if !ask.home.is_dir() {
        return Err(BackupError::NoHome(ask.home.clone()));
    }
    let folder = match ask.file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let real = |path: &Path| std::fs::canonicalize(path).map_err(BackupError::file(path));
    if real(&folder)?.starts_with(real(&ask.home)?) {
        return Err(BackupError::InsideHome(ask.file.clone()));
    }
    if ask.file.exists() && !ask.overwrite {
        return Err(BackupError::Exists(ask.file.clone()));
    }
    let scratch = tempfile::Builder::new()
        .prefix(".chela-backup-")
        .tempdir_in(&folder);
    let scratch = scratch.map_err(BackupError::file(&folder))?;
    let draft = scratch.path().join("archive");
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let made = restrict_to_owner(&mut options).open(&draft);
    let file = made.map_err(BackupError::file(&draft))?;
    let packed = BackupWriter::new(ask, scratch.path(), file).pack()?;
    std::fs::rename(&draft, &ask.file).map_err(BackupError::file(&ask.file))?;
    let bytes = std::fs::metadata(&ask.file).map_err(BackupError::file(&ask.file))?;
    Ok(BackupReport {
        file: ask.file.clone(),
        bytes: bytes.len(),
        manifest: packed,
    })
}

struct BackupWriter<'a> {
    ask: &'a BackupAsk,
    scratch: &'a Path,
    packer: Packer,
    entries: Vec<BackupEntry>,
    left_out: Vec<LeftOut>,
}

impl<'a> BackupWriter<'a> {
    fn new(ask: &'a BackupAsk, scratch: &'a Path, file: File) -> Self {
        let gzip = GzBuilder::new().write(HashWriter::new(file), Compression::default());
        Self {
            ask,
            scratch,
            packer: tar::Builder::new(gzip),
            entries: Vec::new(),
            left_out: Vec::new(),
        }
    }

    fn pack(mut self) -> Result<BackupManifest, BackupError> {
        let head = self.ask.home.join(HEAD);
        if head.is_file() {
            self.take_file(HEAD, &head)?;
        }
        self.take_folder(&self.ask.home.clone(), "")?;
        let blanked = self.ask.blanked_config.as_ref();
        let manifest = BackupManifest {
            format: FORMAT,
            version: self.ask.version.clone(),
            made: self.ask.now,
            has_secrets: self.ask.with_secrets,
            blanked: blanked.map_or_else(Vec::new, |(_, keys)| keys.clone()),
            entries: std::mem::take(&mut self.entries),
            left_out: std::mem::take(&mut self.left_out),
        };
        let text = serde_json::to_vec_pretty(&manifest)?;
        let failed = BackupError::file(&self.ask.file);
        let mut header = header_of(tar::EntryType::Regular, 0o600, self.ask.now / 1_000);
        header.set_size(text.len() as u64);
        self.packer
            .append_data(&mut header, MANIFEST, text.as_slice())
            .map_err(&failed)?;
        let gzip = self.packer.into_inner().map_err(&failed)?;
        let (mut file, hash) = gzip.finish().map_err(&failed)?.finish();
        let seal = seal_of(&hash, self.ask.prover.as_ref()).map_err(&failed)?;
        file.write_all(&seal)
            .and_then(|()| file.sync_all())
            .map_err(&failed)?;
        Ok(manifest)
    }

    /// Everything below a folder, in the order of its names.
    fn take_folder(&mut self, folder: &Path, below: &str) -> Result<(), BackupError> {
        let failed = BackupError::file(folder);
        let mut names = BTreeMap::new();
        for entry in std::fs::read_dir(folder).map_err(&failed)? {
            let entry = entry.map_err(&failed)?;
            names.insert(entry.file_name(), entry.path());
        }
        for (name, path) in names {
            let place = match name
                .to_str()
                .filter(|_| plain_path(Path::new(&name)).is_some())
            {
                Some(name) if below.is_empty() => name.to_owned(),
                Some(name) => format!("{below}/{name}"),
                None => {
                    let shown = format!("{below}/{}", name.to_string_lossy());
                    self.leave_out(&shown, "its name is not text");
                    continue;
                }
            };
            self.take(&place, &path)?;
        }
        Ok(())
    }

    fn take(&mut self, place: &str, path: &Path) -> Result<(), BackupError> {
        // What goes away while it is looked at was not to be kept.
        let Ok(meta) = std::fs::symlink_metadata(path) else {
            return Ok(());
        };
        if place == HEAD {
            return Ok(());
        }
        if meta.is_symlink() {
            return self.take_link(place, path, &meta);
        }
        let is_folder = meta.is_dir();
        if !is_folder && !meta.is_file() {
            return Ok(());
        }
        match choose(place, is_folder) {
            PathChoice::PassOver => Ok(()),
            PathChoice::LeaveOut(why) => {
                self.leave_out(place, why);
                Ok(())
            }
            PathChoice::Secret if !self.ask.with_secrets => {
                self.leave_out(place, "secret: --with-secrets takes it along");
                Ok(())
            }
            PathChoice::Take(EntryKind::Folder) => {
                let mut header = header_of(
                    tar::EntryType::Directory,
                    meta.permission_bits(),
                    seconds(&meta),
                );
                self.append(place, &mut header, io::empty())?;
                self.note(place, EntryKind::Folder, 0, ContentHash::of(""));
                self.take_folder(path, place)
            }
            PathChoice::Take(EntryKind::Database) => self.take_database(place, path, &meta),
            PathChoice::Take(_) | PathChoice::Secret => self.take_file(place, path),
        }
    }

    /// By the engine: what is written meanwhile is in it whole or not at all.
    fn take_database(
        &mut self,
        place: &str,
        path: &Path,
        meta: &std::fs::Metadata,
    ) -> Result<(), BackupError> {
        let copy = self.scratch.join("database");
        chela_store::copy_database(path, &copy)?;
        let file = File::open(&copy).map_err(BackupError::file(path))?;
        let header = header_of(
            tar::EntryType::Regular,
            meta.permission_bits(),
            seconds(meta),
        );
        self.append_file(place, EntryKind::Database, file, header)?;
        std::fs::remove_file(&copy).map_err(BackupError::file(&copy))
    }

    fn take_file(&mut self, place: &str, path: &Path) -> Result<(), BackupError> {
        let opened = open_plain(path, OpenOptions::new().read(true));
        let mut file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(BackupError::file(path)(error)),
        };
        let failed = BackupError::file(path);
        let meta = file.metadata().map_err(&failed)?;
        let header = header_of(
            tar::EntryType::Regular,
            meta.permission_bits(),
            seconds(&meta),
        );
        // A file may grow while it is read: a copy of it does not.
        let mut copy = tempfile::tempfile_in(self.scratch).map_err(&failed)?;
        let blanked = self.ask.blanked_config.as_ref().filter(|_| place == CONFIG);
        match blanked.filter(|_| !self.ask.with_secrets) {
            Some((text, _)) => copy.write_all(text).map_err(&failed)?,
            None => drop(io::copy(&mut file, &mut copy).map_err(&failed)?),
        }
        copy.seek(SeekFrom::Start(0)).map_err(&failed)?;
        self.append_file(place, EntryKind::File, copy, header)
    }

    fn take_link(
        &mut self,
        place: &str,
        path: &Path,
        meta: &std::fs::Metadata,
    ) -> Result<(), BackupError> {
        let failed = BackupError::file(path);
        let target = std::fs::read_link(path).map_err(&failed)?;
        let Some(text) = target.to_str() else {
            self.leave_out(place, "the name it leads to is not text");
            return Ok(());
        };
        let mut header = header_of(tar::EntryType::Symlink, 0o777, seconds(meta));
        header.set_size(0);
        self.packer
            .append_link(&mut header, format!("{HOME}/{place}"), &target)
            .map_err(&failed)?;
        self.note(place, EntryKind::Link, 0, ContentHash::of(text));
        Ok(())
    }

    fn append_file(
        &mut self,
        place: &str,
        kind: EntryKind,
        file: File,
        mut header: tar::Header,
    ) -> Result<(), BackupError> {
        let bytes = file
            .metadata()
            .map_err(BackupError::file(Path::new(place)))?
            .len();
        header.set_size(bytes);
        let mut hashing = HashReader::new(file);
        self.append(place, &mut header, &mut hashing)?;
        self.note(place, kind, bytes, hashing.finish());
        Ok(())
    }

    fn append(
        &mut self,
        place: &str,
        header: &mut tar::Header,
        data: impl Read,
    ) -> Result<(), BackupError> {
        self.packer
            .append_data(header, format!("{HOME}/{place}"), data)
            .map_err(BackupError::file(&self.ask.home.join(place)))
    }

    fn note(&mut self, place: &str, kind: EntryKind, bytes: u64, sha256: ContentHash) {
        self.entries.push(BackupEntry {
            path: place.to_owned(),
            kind,
            bytes,
            sha256,
        });
    }

    fn leave_out(&mut self, place: &str, why: &str) {
        tracing::debug!(place, why, "left out of the backup");
        self.left_out.push(LeftOut {
            path: place.to_owned(),
            why: why.to_owned(),
        });
    }
}

fn header_of(kind: tar::EntryType, mode: u32, modified: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode & 0o777);
    header.set_mtime(modified);
    header.set_size(0);
    header
}

fn seconds(meta: &std::fs::Metadata) -> u64 {
    meta.stamp().modified_seconds()
}
