//! Where a skill is fetched from, as people name it.

use std::io;
use std::path::{Path, PathBuf};

use chela_core::Host;

use super::copy::{self, MAX_BYTES, MAX_FILES};
use super::{clone, unpack};
use crate::origin::{GitSource, SkillOrigin};

/// Where a skill is fetched from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddSource {
    Folder(PathBuf),
    /// A .zip, .skill, .tar or .tar.gz file.
    Archive(PathBuf),
    Git(GitSource),
    /// An archive on the web; whoever has a network fetches it.
    Web {
        address: String,
    },
    /// A name in a registry; whoever knows the registries looks it up.
    Registry(RegistryName),
    /// An archive that was fetched, and where from.
    Fetched {
        bytes: Vec<u8>,
        from: SkillOrigin,
    },
}

/// `name`, `@owner/name`, each with an optional `@version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryName {
    pub owner: Option<String>,
    pub name: String,
    pub version: Option<String>,
}

/// Why nothing was fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(
        "`{given}` is not a folder, an archive (.zip, .skill, .tar, .tar.gz), a git URL, \
            owner/repo or the name of a skill in a registry"
    )]
    Unknown { given: String },
    #[error("`{given}` must be fetched first")]
    NotHere { given: String },
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
    #[error("{name} needs a password to open; a skill that hides what it holds is not added")]
    Locked { name: String },
    #[error(
        "{name} is not an archive; a skill can be added from a folder, its SKILL.md, a .zip, .skill, \
            .tar or .tar.gz file, or a git URL"
    )]
    NoArchive { name: String },
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

/// Where files of a fetched source lie, and where they came from.
pub(crate) struct FetchedFiles {
    pub folder: PathBuf,
    pub origin: SkillOrigin,
}

impl AddSource {
    /// What a person meant: a path that exists, an address, a repository of `git_host`, else a name
    /// in a registry.
    pub fn parse(given: &str, git_host: &str, host: &Host) -> Result<Self, FetchError> {
        let given = given.trim();
        let unknown = || FetchError::Unknown {
            given: given.to_owned(),
        };
        let path = host.expand(given);
        if path.is_dir() {
            return Ok(Self::Folder(path));
        }
        if path.is_file() {
            let name = path.file_name().and_then(|name| name.to_str());
            let is_skill = name.is_some_and(|name| name.eq_ignore_ascii_case(crate::SKILL_FILE));
            return Ok(match is_skill {
                true => Self::Folder(path.parent().unwrap_or(&path).to_owned()),
                false => Self::Archive(path),
            });
        }
        if given.contains(char::is_whitespace) || given.starts_with(['-', '.', '/', '~']) {
            return Err(unknown());
        }
        if let Some(name) = given.strip_prefix("clawhub:") {
            let name = RegistryName::parse(name);
            return name.map(Self::Registry).ok_or_else(unknown);
        }
        if let Some(source) = GitSource::of_page(given) {
            return Ok(Self::Git(source));
        }
        let (url, folder) = match given.split_once('#') {
            Some((url, folder)) => (url, some(folder.trim_matches('/'))),
            None => (given, None),
        };
        let is_archive = [".tar.gz", ".tgz", ".tar", ".zip", ".skill"]
            .iter()
            .any(|end| url.ends_with(end));
        if is_archive && (url.starts_with("https://") || url.starts_with("http://")) {
            return Ok(Self::Web {
                address: given.to_owned(),
            });
        }
        let known = ["https://", "ssh://", "file://"]
            .iter()
            .any(|scheme| url.starts_with(scheme));
        let short = url
            .split_once('@')
            .is_some_and(|(user, rest)| is_word(user) && rest.contains(':'));
        if known || short {
            return Ok(Self::Git(GitSource {
                url: url.to_owned(),
                folder,
                reference: None,
            }));
        }
        if url.contains(':') || folder.is_some() {
            return Err(unknown());
        }
        if !given.starts_with('@')
            && let Some(source) = GitSource::of_words(given, git_host)
        {
            return Ok(Self::Git(source));
        }
        RegistryName::parse(given)
            .map(Self::Registry)
            .ok_or_else(unknown)
    }

    /// Where it is fetched from again.
    pub fn of_origin(origin: &SkillOrigin) -> Self {
        match origin {
            SkillOrigin::Path { path } if path.is_dir() => Self::Folder(path.clone()),
            SkillOrigin::Path { path } => Self::Archive(path.clone()),
            SkillOrigin::Git { source, .. } => Self::Git(source.clone()),
            SkillOrigin::Web { address } => Self::Web {
                address: address.clone(),
            },
            SkillOrigin::Registry { owner, name, .. } => Self::Registry(RegistryName {
                owner: owner.clone(),
                name: name.clone(),
                version: None,
            }),
        }
    }

    /// In words, for errors.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Folder(path) | Self::Archive(path) => path.display().to_string(),
            Self::Git(source) => source.to_string(),
            Self::Web { address } => address.clone(),
            Self::Registry(name) => name.to_string(),
            Self::Fetched { from, .. } => from.to_string(),
        }
    }

    /// Brings everything into `into`, which exists and is empty.
    pub(crate) fn fetch(&self, into: &Path, host: &Host) -> Result<FetchedFiles, FetchError> {
        let fetched = |origin| FetchedFiles {
            folder: into.to_owned(),
            origin,
        };
        match self {
            Self::Folder(path) => {
                let unreadable = |source| FetchError::Unreadable {
                    path: path.clone(),
                    source,
                };
                copy::copy_tree(path, into).map_err(unreadable)?;
                Ok(fetched(SkillOrigin::Path { path: path.clone() }))
            }
            Self::Archive(path) => {
                unpack::unpack_file(path, into)?;
                Ok(fetched(SkillOrigin::Path { path: path.clone() }))
            }
            Self::Git(source) => {
                let commit = clone::clone(source, into, host)?;
                let folder = match &source.folder {
                    Some(folder) if !unpack::is_inside(Path::new(folder)) => {
                        return Err(FetchError::Escapes {
                            path: folder.clone(),
                        });
                    }
                    Some(folder) => into.join(folder),
                    None => into.to_owned(),
                };
                let source = source.clone();
                Ok(FetchedFiles {
                    folder,
                    origin: SkillOrigin::Git { source, commit },
                })
            }
            Self::Fetched { bytes, from } => {
                unpack::unpack_bytes(&from.to_string(), bytes, into)?;
                Ok(fetched(from.clone()))
            }
            Self::Web { .. } | Self::Registry(_) => Err(FetchError::NotHere {
                given: self.shown(),
            }),
        }
    }
}

impl GitSource {
    /// `owner/repo[/path][@ref]`.
    fn of_words(given: &str, git_host: &str) -> Option<Self> {
        let (path, reference) = match given.split_once('@') {
            Some((path, reference)) => (path, some(reference)),
            None => (given, None),
        };
        let mut parts = path.trim_end_matches('/').splitn(3, '/');
        let (owner, repo, folder) = (parts.next()?, parts.next()?, parts.next());
        let plain =
            is_word(owner) && is_word(repo) && reference.as_deref().is_none_or(is_reference);
        let repo = repo.strip_suffix(".git").unwrap_or(repo);
        plain.then(|| Self {
            url: format!("{}/{owner}/{repo}", git_host.trim_end_matches('/')),
            folder: folder.and_then(some),
            reference,
        })
    }

    /// `https://host/owner/repo/tree/ref/path`, as a browser shows a folder.
    fn of_page(given: &str) -> Option<Self> {
        let rest = given.strip_prefix("https://")?;
        let (repo, inside) = rest
            .split_once("/tree/")
            .or_else(|| rest.split_once("/blob/"))?;
        let (reference, folder) = match inside.split_once('/') {
            Some((reference, folder)) => (reference, some(folder.trim_matches('/'))),
            None => (inside, None),
        };
        let folder = folder.map(|folder| match folder.rsplit_once('/') {
            Some((folder, file)) if file.eq_ignore_ascii_case(crate::SKILL_FILE) => {
                folder.to_owned()
            }
            _ => folder,
        });
        is_reference(reference).then(|| Self {
            url: format!("https://{repo}"),
            folder: folder.filter(|folder| !folder.eq_ignore_ascii_case(crate::SKILL_FILE)),
            reference: Some(reference.to_owned()),
        })
    }

    /// The commit that is there now.
    pub fn newest_commit(&self, host: &Host) -> Result<String, FetchError> {
        clone::newest_commit(self, host)
    }
}

impl RegistryName {
    pub fn parse(given: &str) -> Option<Self> {
        let (owner, rest) = match given.strip_prefix('@') {
            Some(rest) => {
                let (owner, name) = rest.split_once('/')?;
                (Some(owner), name)
            }
            None => (None, given),
        };
        let (name, version) = match rest.split_once('@') {
            Some((name, version)) => (name, some(version)),
            None => (rest, None),
        };
        let plain = is_word(name)
            && owner.is_none_or(is_word)
            && version.as_deref().is_none_or(is_reference);
        plain.then(|| Self {
            owner: owner.map(str::to_owned),
            name: name.to_owned(),
            version,
        })
    }
}

impl std::fmt::Display for RegistryName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(owner) = &self.owner {
            write!(f, "@{owner}/")?;
        }
        f.write_str(&self.name)?;
        match &self.version {
            Some(version) => write!(f, "@{version}"),
            None => Ok(()),
        }
    }
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn is_word(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !text.is_empty() && text.chars().all(allowed) && !text.starts_with(['-', '.'])
}

/// A branch, tag, commit or version: nothing that a program could take for an option.
fn is_reference(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_./+".contains(c);
    !text.is_empty() && text.chars().all(allowed) && !text.starts_with('-') && !text.contains("..")
}

#[cfg(test)]
mod tests {
    use chela_core::Host;

    use super::{AddSource, GitSource, RegistryName};

    fn parse(given: &str) -> Result<AddSource, String> {
        let parsed = AddSource::parse(given, "https://git.example", &Host::fixed("/nowhere"));
        parsed.map_err(|error| error.to_string())
    }

    fn git(url: &str, folder: Option<&str>, reference: Option<&str>) -> AddSource {
        AddSource::Git(GitSource {
            url: url.to_owned(),
            folder: folder.map(str::to_owned),
            reference: reference.map(str::to_owned),
        })
    }

    #[test]
    fn sources_are_told_apart() {
        for (given, expected) in [
            ("me/kit", git("https://git.example/me/kit", None, None)),
            (
                "me/kit.git@v1.2",
                git("https://git.example/me/kit", None, Some("v1.2")),
            ),
            (
                "me/kit/skills/pdf@main",
                git(
                    "https://git.example/me/kit",
                    Some("skills/pdf"),
                    Some("main"),
                ),
            ),
            (
                "https://x.org/a/b.git#skills/c",
                git("https://x.org/a/b.git", Some("skills/c"), None),
            ),
            (
                "https://github.com/a/b/tree/main/skills/c",
                git("https://github.com/a/b", Some("skills/c"), Some("main")),
            ),
            (
                "https://github.com/a/b/blob/v2/skills/c/SKILL.md",
                git("https://github.com/a/b", Some("skills/c"), Some("v2")),
            ),
            ("git@x.org:a/b.git", git("git@x.org:a/b.git", None, None)),
        ] {
            assert_eq!(parse(given), Ok(expected), "{given}");
        }
        assert_eq!(
            parse("https://x.org/a/skill.zip"),
            Ok(AddSource::Web {
                address: "https://x.org/a/skill.zip".to_owned()
            })
        );
        let name = |owner: Option<&str>, name: &str, version: Option<&str>| {
            Ok(AddSource::Registry(RegistryName {
                owner: owner.map(str::to_owned),
                name: name.to_owned(),
                version: version.map(str::to_owned),
            }))
        };
        assert_eq!(parse("gifgrep"), name(None, "gifgrep", None));
        assert_eq!(parse("gifgrep@1.2.3"), name(None, "gifgrep", Some("1.2.3")));
        assert_eq!(parse("@me/gifgrep"), name(Some("me"), "gifgrep", None));
        assert_eq!(parse("clawhub:gifgrep"), name(None, "gifgrep", None));
        for bad in [
            "ext::sh -c x",
            "--upload-pack=x",
            "a b",
            "./gone",
            "a/b@--x",
            "x/../..@y",
            "http:x",
            "ftp://x/y",
        ] {
            let parsed = parse(bad);
            assert!(
                !matches!(parsed, Ok(AddSource::Git(_))) || bad == "x/../..@y",
                "{bad}: {parsed:?}"
            );
        }
        assert!(parse("x/../..@y").is_err());
    }
}
