//! The index on disk: one SQLite file per agent, made from the notes and deletable at any time.
//!
//! A file that cannot be used - torn, foreign, newer, read-only - is never a reason to fail: it
//! is set aside, read as far as it goes, or replaced by an index in memory, and a [`IndexNotice`] says
//! which. Writers commit whole files at a time, so a reader sees each note either as it was or as
//! it is.

mod repair;
mod schema;
mod trouble;

use std::path::{Path, PathBuf};
use std::time::Duration;

use chela_core::{Trust, ok_or_debug};
use chela_files::{FileIdentity, FileMode, create_file, create_private_folder, make_private};
use chela_store::EngineFault;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use repair::RepairRight;
pub use schema::VERSION;

use crate::source::FileSource;
use trouble::OpenTrouble;
pub use trouble::{IndexNotice, StoreError, explain};

/// How long a writer waits for another before it gives up.
const BUSY: Duration = Duration::from_secs(10);

/// An open index.
#[derive(Debug)]
pub struct IndexStore {
    connection: Connection,
    path: PathBuf,
    access: IndexAccess,
    notices: Vec<IndexNotice>,
    /// The file that was opened. `None` for an index in memory.
    file: Option<FileIdentity>,
}

/// Tells a file from another one that took its name.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexAccess {
    Write,
    Read,
}

/// A page of a conversation, as the index has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationFile {
    pub id: i64,
    pub label: String,
    /// Something untrusted was read in it.
    pub is_untrusted: bool,
}

impl IndexStore {
    /// Opens or makes the index at `path`. `stamp` names a damaged file that is set aside.
    pub fn open(path: &Path, stamp: u64) -> Result<Self, StoreError> {
        let mut notices = Vec::new();
        let opened = {
            let _no_repair = RepairRight::kept_away(path);
            Self::open_writable(path)
        };
        match opened {
            Ok(connection) => Ok(Self::ready(connection, path, IndexAccess::Write, notices)),
            Err(OpenTrouble::Newer(version)) => {
                let own = own_name(path);
                notices.push(IndexNotice::Newer {
                    version,
                    using: own.clone(),
                });
                match Self::open_writable(&own) {
                    Ok(connection) => {
                        Ok(Self::ready(connection, &own, IndexAccess::Write, notices))
                    }
                    Err(trouble) => Self::in_memory(path, notices, &trouble.to_string()),
                }
            }
            Err(OpenTrouble::Sql(error)) if EngineFault::of(&error) == EngineFault::Damaged => {
                let repaired = RepairRight::begin(path).and_then(|repair| {
                    // Another process may have been faster.
                    match Self::open_writable(path) {
                        Ok(connection) => return Ok((None, connection)),
                        Err(OpenTrouble::Sql(error))
                            if EngineFault::of(&error) == EngineFault::Damaged => {}
                        Err(trouble) => return Err(trouble),
                    }
                    let aside = repair.set_aside(stamp)?;
                    Ok((Some(aside), Self::open_writable(path)?))
                });
                match repaired {
                    Ok((aside, connection)) => {
                        notices.extend(aside.map(|aside| IndexNotice::Replaced {
                            aside,
                            why: error.to_string(),
                        }));
                        Ok(Self::ready(connection, path, IndexAccess::Write, notices))
                    }
                    Err(trouble) => Self::in_memory(path, notices, &trouble.to_string()),
                }
            }
            Err(OpenTrouble::Sql(error)) if EngineFault::of(&error) == EngineFault::Busy => {
                Err(StoreError::Busy {
                    path: path.to_owned(),
                    source: error,
                })
            }
            Err(trouble) => match Self::open_readable(path) {
                Ok(connection) => {
                    notices.push(IndexNotice::ReadOnly {
                        why: trouble.to_string(),
                    });
                    Ok(Self::ready(connection, path, IndexAccess::Read, notices))
                }
                Err(error) => {
                    tracing::debug!(%error, "the index of memory cannot be read either");
                    Self::in_memory(path, notices, &trouble.to_string())
                }
            },
        }
    }

    /// Opens after a read failed on damage that opening does not see.
    pub fn open_after_damage(path: &Path, stamp: u64) -> Result<Self, StoreError> {
        let aside = RepairRight::begin(path).and_then(|repair| {
            // Another process may have put a whole file there since.
            match Self::open_writable(path).and_then(|connection| is_whole(&connection)) {
                Ok(true) => Ok(None),
                Ok(false) => repair.set_aside(stamp).map(Some),
                Err(OpenTrouble::Sql(error)) if EngineFault::of(&error) == EngineFault::Damaged => {
                    repair.set_aside(stamp).map(Some)
                }
                // One that is busy being filled is no damaged one.
                Err(trouble) => Err(trouble),
            }
        });
        let mut store = Self::open(path, stamp)?;
        match aside {
            Ok(Some(aside)) => {
                let why = "a page could not be read".to_owned();
                store
                    .notices
                    .insert(0, IndexNotice::Replaced { aside, why });
            }
            Ok(None) => tracing::debug!("another process has repaired the index of memory"),
            Err(error) => tracing::warn!(%error, "a damaged index of memory stays in place"),
        }
        Ok(store)
    }

    /// An index that lives as long as the process.
    pub fn temporary() -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        Connection::open_in_memory()
            .and_then(|connection| {
                schema::create(&connection)?;
                Ok(Self {
                    file: None,
                    ..Self::ready(connection, &path, IndexAccess::Write, Vec::new())
                })
            })
            .map_err(|error| explain(&path, error))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether what was opened is still what lies there. An index in memory is not: the file may
    /// be of use by now.
    pub fn is_in_place(&self) -> bool {
        self.file.is_some() && self.file == file_id(&self.path)
    }

    pub fn access(&self) -> IndexAccess {
        self.access
    }

    /// What was unusual about opening it.
    pub fn notices(&self) -> &[IndexNotice] {
        &self.notices
    }

    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    pub fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Grows with every change; readers look at it to know whether what they hold is current.
    pub fn generation(&self) -> Result<i64, StoreError> {
        self.meta("generation")
            .map(|value| value.and_then(|v| v.parse().ok()).unwrap_or(0))
    }

    pub fn meta(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.connection
            .prepare_cached("SELECT value FROM meta WHERE key = ?1")
            .and_then(|mut statement| {
                statement
                    .query_row([key], |row| row.get::<_, String>(0))
                    .optional()
            })
            .map_err(|error| self.explain(error))
    }

    pub fn set_meta(&self, key: &str, value: &str) -> Result<(), StoreError> {
        set_meta(&self.connection, key, value).map_err(|error| self.explain(error))
    }

    /// The conversations that are indexed, page by page.
    pub fn conversation_files(&self) -> Result<Vec<ConversationFile>, StoreError> {
        let read = || -> rusqlite::Result<Vec<ConversationFile>> {
            let mut rows = self
                .connection()
                .prepare_cached("SELECT id, label, trust FROM files WHERE source = ?1")?;
            let files = rows.query_map([FileSource::Sessions.as_str()], |row| {
                let trust: String = row.get(2)?;
                Ok(ConversationFile {
                    id: row.get(0)?,
                    label: row.get(1)?,
                    is_untrusted: trust == Trust::External.as_str()
                        || trust == Trust::Plugin.as_str(),
                })
            })?;
            files.collect()
        };
        read().map_err(|error| self.explain(error))
    }

    /// Names the trouble behind an SQLite error, and what to do.
    pub fn explain(&self, error: rusqlite::Error) -> StoreError {
        explain(&self.path, error)
    }

    fn ready(
        connection: Connection,
        path: &Path,
        access: IndexAccess,
        notices: Vec<IndexNotice>,
    ) -> Self {
        Self {
            connection,
            path: path.to_owned(),
            access,
            notices,
            file: file_id(path),
        }
    }

    fn in_memory(
        path: &Path,
        mut notices: Vec<IndexNotice>,
        why: &str,
    ) -> Result<Self, StoreError> {
        let mut store = Self::temporary()?;
        store.path = path.to_owned();
        notices.push(IndexNotice::InMemory {
            why: why.to_owned(),
        });
        store.notices = notices;
        Ok(store)
    }

    fn open_writable(path: &Path) -> Result<Connection, OpenTrouble> {
        // What is remembered is nobody else's business, also in a home others may look into.
        if let Some(folder) = path.parent() {
            create_private_folder(folder)?;
        }
        create_file(path, b"", FileMode::Private)
            .map(drop)
            .map_err(std::io::Error::from)?;
        // One that somebody else owns can be used all the same.
        ok_or_debug!(make_private(path), "others may read the index of memory");
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        // Fails on a file that is no database, before anything is changed.
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if version > VERSION {
            return Err(OpenTrouble::Newer(version));
        }
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        // What goes out of the notes is overwritten here, whoever notices it first.
        connection.pragma_update(None, "secure_delete", "ON")?;
        if version < VERSION {
            schema::upgrade(&connection, version)?;
        } else if !schema::complete(&connection)? {
            schema::create(&connection)?;
        }
        Ok(connection)
    }

    fn open_readable(path: &Path) -> Result<Connection, OpenTrouble> {
        let plain = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .map_err(OpenTrouble::from)
            .and_then(|connection| readable(&connection).map(|()| connection));
        plain.or_else(|_| {
            // In a folder that cannot be written there is no place for the shared-memory file.
            let uri = format!("file:{}?immutable=1", escape(path));
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            let connection = Connection::open_with_flags(uri, flags)?;
            readable(&connection)?;
            Ok(connection)
        })
    }
}

fn file_id(path: &Path) -> Option<FileIdentity> {
    FileIdentity::at(path).ok()
}

/// Whether every page of the file can be read.
fn is_whole(connection: &Connection) -> Result<bool, OpenTrouble> {
    let found = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))?;
    Ok(found == "ok")
}

fn readable(connection: &Connection) -> Result<(), OpenTrouble> {
    connection.busy_timeout(BUSY)?;
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version != VERSION {
        return Err(OpenTrouble::Newer(version));
    }
    connection.query_row("SELECT count(*) FROM segments", [], |_| Ok(()))?;
    Ok(())
}

fn escape(path: &Path) -> String {
    path.display()
        .to_string()
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23")
}

/// Sets a value of the `meta` table.
pub fn set_meta(connection: &Connection, key: &str, value: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2")?
        .execute(params![key, value])
        .map(drop)
}

/// Marks the index as changed.
pub fn touch(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO meta (key, value) VALUES ('generation', '1') \
             ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
        )?
        .execute([])
        .map(drop)
}

/// `main.sqlite` becomes `main.f1.sqlite`: the file of this version beside a newer one.
fn own_name(path: &Path) -> PathBuf {
    path.with_extension(format!("f{VERSION}.sqlite"))
}

#[cfg(test)]
mod tests;
