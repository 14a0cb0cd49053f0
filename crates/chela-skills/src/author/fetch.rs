//! Getting a skill from where it is kept into a folder of ours, touching nothing else.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use chela_config::is_secret_key;
use chela_core::Host;
use chela_core::secret::Redactor;
use chela_files::set_permission_bits;
use flate2::read::GzDecoder;

use super::copy::{self, MAX_BYTES, MAX_FILES};
use crate::disk;

/// Where a skill is fetched from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddSource {
    Folder(PathBuf),
    Tarball(PathBuf),
    Git {
        url: String,
        /// What stood after `#`: a folder inside the repository.
        folder: Option<String>,
    },
}

/// Why nothing was fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("`{given}` is not a folder, a .tar or .tar.gz file, or a git URL")]
    Unknown { given: String },
    #[error("`{given}` is an archive on the web; download it first, then add the file")]
    WebArchive { given: String },
    #[error("git could not fetch {url}: {message}")]
    Git { url: String, message: String },
    #[error(
        "the URL contains a password, which everyone on this machine could read while git runs; \
            leave it out, and use a git credential helper"
    )]
    Password,
    #[error("git is not installed; install it, or add a folder or an archive")]
    NoGit,
    #[error(
        "the archive contains `{path}`, which would be written outside its folder; nothing was \
            unpacked"
    )]
    Escapes { path: String },
    #[error(
        "the archive contains `{path}`, which is {what}; a skill may have only files and \
        folders"
    )]
    NotAFile { path: String, what: &'static str },
    #[error("it is larger than a skill may be ({MAX_FILES} files, {} MiB)", MAX_BYTES / (1024 * 1024))]
    TooLarge,
    #[error(
        "{} is not an archive; a skill can be added from a folder, its SKILL.md, a .tar or .tar.gz \
            file, or a git URL",
        path.display()
    )]
    NoArchive { path: PathBuf },
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

impl AddSource {
    /// What a person meant: a path that exists, else an address that git understands.
    pub fn parse(given: &str, host: &Host) -> Result<Self, FetchError> {
        let given = given.trim();
        let path = host.expand(given);
        if path.is_dir() {
            return Ok(Self::Folder(path));
        }
        if path.is_file() {
            if path
                .file_name()
                .is_some_and(|name| name == crate::SKILL_FILE)
            {
                return Ok(Self::Folder(path.parent().unwrap_or(&path).to_owned()));
            }
            return Ok(Self::Tarball(path));
        }
        let (url, folder) = match given.split_once('#') {
            Some((url, folder)) => (
                url,
                Some(folder.trim_matches('/').to_owned()).filter(|folder| !folder.is_empty()),
            ),
            None => (given, None),
        };
        let archive = [".tar.gz", ".tgz", ".tar", ".zip"]
            .iter()
            .any(|end| url.ends_with(end));
        if archive && url.contains("://") {
            return Err(FetchError::WebArchive {
                given: given.to_owned(),
            });
        }
        let known = ["https://", "ssh://", "file://"]
            .iter()
            .any(|scheme| url.starts_with(scheme));
        let short = url
            .split_once('@')
            .is_some_and(|(user, rest)| is_word(user) && rest.contains(':'));
        if !(known || short) || url.contains(char::is_whitespace) {
            return Err(FetchError::Unknown {
                given: given.to_owned(),
            });
        }
        Ok(Self::Git {
            url: url.to_owned(),
            folder,
        })
    }

    /// How the lock remembers it.
    pub fn origin(&self) -> String {
        match self {
            Self::Folder(path) | Self::Tarball(path) => path.display().to_string(),
            Self::Git {
                url,
                folder: Some(folder),
            } => format!("{url}#{folder}"),
            Self::Git { url, folder: None } => url.clone(),
        }
    }

    /// Brings everything into `into`, which exists and is empty, and returns where to look for
    /// skills.
    pub(super) fn fetch(&self, into: &Path, host: &Host) -> Result<PathBuf, FetchError> {
        match self {
            Self::Folder(path) => {
                let unreadable = |source| FetchError::Unreadable {
                    path: path.clone(),
                    source,
                };
                copy::copy_tree(path, into).map_err(unreadable)?;
                Ok(into.to_owned())
            }
            Self::Tarball(path) => {
                unpack(path, into)?;
                Ok(into.to_owned())
            }
            Self::Git { url, folder } => {
                clone(url, into, host)?;
                match folder {
                    Some(folder) if !is_inside(Path::new(folder)) => Err(FetchError::Escapes {
                        path: folder.clone(),
                    }),
                    Some(folder) => Ok(into.join(folder)),
                    None => Ok(into.to_owned()),
                }
            }
        }
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && !text.starts_with('-')
}

/// Whether a relative path stays below where it starts.
fn is_inside(path: &Path) -> bool {
    path.components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Unpacks a tar archive, refusing it as a whole when any entry is not an ordinary file inside.
fn unpack(archive: &Path, into: &Path) -> Result<(), FetchError> {
    let unreadable = |source| FetchError::Unreadable {
        path: archive.to_owned(),
        source,
    };
    let mut file = File::open(archive).map_err(unreadable)?;
    let mut magic = [0; 2];
    let gzip = file.read_exact(&mut magic).is_ok() && magic == [0x1f, 0x8b];
    let file = File::open(archive).map_err(unreadable)?;
    let reader: Box<dyn Read> = if gzip {
        Box::new(GzDecoder::new(file))
    } else {
        Box::new(file)
    };
    // Headers and padding count too: an archive of nothing but headers must end as well.
    let mut tar = tar::Archive::new(reader.take(MAX_BYTES * 2));
    let mut left = MAX_BYTES;
    for (count, entry) in tar.entries().map_err(unreadable)?.enumerate() {
        let mut entry = entry.map_err(|source| match count {
            // What does not even begin like one is something else.
            0 => FetchError::NoArchive {
                path: archive.to_owned(),
            },
            _ => unreadable(source),
        })?;
        if count >= MAX_FILES {
            return Err(FetchError::TooLarge);
        }
        let path = entry.path().map_err(unreadable)?.into_owned();
        let shown = chela_core::sanitize::literal(&path.display().to_string()).into_owned();
        if !is_inside(&path) {
            return Err(FetchError::Escapes { path: shown });
        }
        let kind = entry.header().entry_type();
        let target = into.join(&path);
        if kind.is_dir() {
            disk::create_dir(&target).map_err(unreadable)?;
        } else if kind.is_file() {
            let size = entry.size();
            left = left.checked_sub(size).ok_or(FetchError::TooLarge)?;
            disk::create_dir(target.parent().unwrap_or(into)).map_err(unreadable)?;
            let mut bytes = Vec::new();
            (&mut entry)
                .take(size)
                .read_to_end(&mut bytes)
                .map_err(unreadable)?;
            fs::write(&target, bytes).map_err(unreadable)?;
            set_mode(&target, entry.header().mode().unwrap_or(0o644)).map_err(unreadable)?;
        } else if kind.is_symlink() {
            return Err(FetchError::NotAFile {
                path: shown,
                what: "a link",
            });
        } else if kind.is_hard_link() {
            return Err(FetchError::NotAFile {
                path: shown,
                what: "a hard link",
            });
        } else if !(kind.is_pax_global_extensions()
            || kind.is_pax_local_extensions()
            || kind.is_gnu_longname())
        {
            return Err(FetchError::NotAFile {
                path: shown,
                what: "a device or pipe",
            });
        }
    }
    Ok(())
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let mode = if mode & 0o111 == 0 { 0o644 } else { 0o755 };
    set_permission_bits(path, mode)
}

/// Clones without asking questions, running hooks, making links or fetching other repositories.
fn clone(url: &str, into: &Path, host: &Host) -> Result<(), FetchError> {
    let secrets = Redactor::default();
    let holds_one = |text: &str| !secrets.find(text.as_bytes()).is_empty();
    if holds_one(url) {
        return Err(FetchError::Password);
    }
    let mut git = Command::new("git");
    // Whatever git starts needs none of the owner's keys.
    let env = host.env.iter();
    let env = env.filter(|(name, value)| !is_secret_key(name) && !holds_one(value));
    git.env_clear()
        .envs(env)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ALLOW_PROTOCOL", "https:ssh:file");
    git.args([
        "clone",
        "--quiet",
        "--depth",
        "1",
        "--single-branch",
        "--no-tags",
        "--no-recurse-submodules",
    ]);
    git.args([
        "--template=",
        "-c",
        "core.symlinks=false",
        "-c",
        "core.hooksPath=/dev/null",
    ]);
    git.args([
        "-c",
        "core.fsmonitor=false",
        "-c",
        "http.lowSpeedLimit=1000",
        "-c",
        "http.lowSpeedTime=30",
    ]);
    git.arg("--").arg(url).arg(into);
    git.stdin(Stdio::null());
    let output = git.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => FetchError::NoGit,
        _ => FetchError::Git {
            url: url.to_owned(),
            message: error.to_string(),
        },
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("no reason given");
    Err(FetchError::Git {
        url: url.to_owned(),
        message: crate::one_line::one_line(last, 200),
    })
}
