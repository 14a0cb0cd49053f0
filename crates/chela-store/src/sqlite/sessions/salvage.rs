//! Reading what can be read of a damaged session file.
//!
//! Sessions and entries are asked for one by one, by their keys: a page that is gone then costs
//! what was on it and nothing else. A file that is shorter than it says is read as far as it
//! goes.

use std::fs::OpenOptions;
use std::path::Path;

use chela_files::open_plain;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::rows::entry_key;

/// A session as far as it could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SalvagedSession {
    pub id: String,
    /// `None` where only entries of it were left.
    pub header: Option<SalvagedHeader>,
    pub entries: Vec<SalvagedEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SalvagedHeader {
    pub key: String,
    pub started: u64,
    pub leaf: u32,
    pub label: Option<String>,
    /// How many entries it had.
    pub entries: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SalvagedEntry {
    pub number: u32,
    /// 0: a root.
    pub parent: u32,
    pub at: u64,
    pub kind: String,
    pub body: String,
}

/// Gives every session of which something can be read to `each`. Answers with what could not be
/// read, in words. The file is not changed.
pub fn salvage_sessions<E>(
    path: &Path,
    mut each: impl FnMut(SalvagedSession) -> Result<(), E>,
) -> Result<Vec<String>, E> {
    let mut salvage = match open_damaged(path) {
        Ok(connection) => DamagedFile {
            connection,
            // No row takes less, whatever a damaged number says.
            most_rows: std::fs::metadata(path).map_or(0, |file| file.len() / 8),
            lost: Vec::new(),
        },
        Err(error) => return Ok(vec![error.to_string()]),
    };
    for row in 1..=salvage.last_session() {
        if let Some(session) = salvage.session(row) {
            each(session)?;
        }
    }
    Ok(salvage.lost)
}

/// SQLite refuses a file that is shorter than its header says, unless the schema is declared
/// writable. Nothing is written all the same.
fn open_damaged(path: &Path) -> Result<Connection, Box<dyn std::error::Error>> {
    // SQLite would wait for a pipe.
    open_plain(path, OpenOptions::new().read(true))?;
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.set_prepared_statement_cache_capacity(16);
    connection.execute_batch("PRAGMA writable_schema = ON; PRAGMA cell_size_check = OFF;")?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
        row.get::<_, i64>(0)
    })?;
    Ok(connection)
}

struct DamagedFile {
    connection: Connection,
    most_rows: u64,
    lost: Vec<String>,
}

impl DamagedFile {
    /// The highest row any table speaks of.
    fn last_session(&mut self) -> i64 {
        let known = [
            "SELECT seq FROM sqlite_sequence WHERE name = 'sessions'",
            "SELECT row FROM sessions NOT INDEXED ORDER BY row DESC LIMIT 1",
            "SELECT key >> 32 FROM entries NOT INDEXED ORDER BY key DESC LIMIT 1",
        ];
        let mut last = 0;
        for query in known {
            match self.one_number(query) {
                Ok(found) => last = last.max(found.unwrap_or(0)),
                Err(error) => self.lost.push(format!("the last session: {error}")),
            }
        }
        // Where the end is gone, as far as can be read from the beginning.
        for query in [
            "SELECT row FROM sessions NOT INDEXED ORDER BY row",
            "SELECT key >> 32 FROM entries NOT INDEXED ORDER BY key",
        ] {
            last = last.max(self.last_readable(query));
        }
        last.min(i64::try_from(self.most_rows).unwrap_or(i64::MAX))
    }

    fn session(&mut self, row: i64) -> Option<SalvagedSession> {
        let header = self.header(row);
        if let Err(error) = &header {
            self.lost.push(format!("session {row}: {error}"));
        }
        let (header_lost, header) = match header {
            Ok(header) => (false, header),
            Err(_) => (true, None),
        };
        let (entries, trouble) = self.entries(row, header.as_ref().map(|(_, header)| header));
        if header.is_none() && !header_lost && entries.is_empty() && trouble.is_none() {
            // One that was removed.
            return None;
        }
        let (id, header) = match header {
            Some((id, header)) => (id, Some(header)),
            None => (format!("lost-{row}"), None),
        };
        let had = header.as_ref().map_or(0, |header| header.entries);
        let missing = had.saturating_sub(entries.len() as u64);
        if missing > 0 || trouble.is_some() {
            let why =
                trouble.map_or_else(|| "they are not there".to_owned(), |why| why.to_string());
            self.lost.push(match missing {
                0 => format!("{id}: {why}"),
                _ => format!("{id}: {missing} of {had} entries: {why}"),
            });
        }
        (header.is_some() || !entries.is_empty()).then_some(SalvagedSession {
            id,
            header,
            entries,
        })
    }

    fn header(&self, row: i64) -> rusqlite::Result<Option<(String, SalvagedHeader)>> {
        self.connection
            .prepare_cached(
                "SELECT id, key, started, leaf, label, entries FROM sessions NOT INDEXED \
                 WHERE row = ?1",
            )?
            .query_row([row], |found| {
                let header = SalvagedHeader {
                    key: found.get(1)?,
                    started: found.get(2)?,
                    leaf: found.get(3)?,
                    label: found.get(4)?,
                    entries: found.get(5)?,
                };
                Ok((found.get(0)?, header))
            })
            .optional()
    }

    /// The entries of a session, and the last thing that stood in the way of one.
    fn entries(
        &self,
        row: i64,
        header: Option<&SalvagedHeader>,
    ) -> (Vec<SalvagedEntry>, Option<rusqlite::Error>) {
        let last = self
            .last_entry(row)
            .max(header.map_or(0, |header| u64::from(header.leaf).max(header.entries)));
        let last = u32::try_from(last.min(self.most_rows)).unwrap_or(u32::MAX);
        let mut entries = Vec::new();
        let mut trouble = None;
        for number in 1..=last {
            match self.entry(row, number) {
                Ok(Some(entry)) => entries.push(entry),
                Ok(None) => {}
                Err(error) => trouble = Some(error),
            }
        }
        (entries, trouble)
    }

    /// The highest number that is seen from either end.
    fn last_entry(&self, row: i64) -> u64 {
        let (first, last) = (entry_key(row, 0), entry_key(row, u32::MAX));
        let within = format!("FROM entries NOT INDEXED WHERE key BETWEEN {first} AND {last}");
        let from_end = self.one_number(&format!(
            "SELECT key & 0xffffffff {within} ORDER BY key DESC LIMIT 1"
        ));
        let number = match from_end {
            Ok(found) => found.unwrap_or(0),
            Err(_) => self.last_readable(&format!("SELECT key & 0xffffffff {within} ORDER BY key")),
        };
        u64::try_from(number).unwrap_or(0)
    }

    fn entry(&self, row: i64, number: u32) -> rusqlite::Result<Option<SalvagedEntry>> {
        self.connection
            .prepare_cached(
                "SELECT parent, at, kind, body FROM entries NOT INDEXED WHERE key = ?1",
            )?
            .query_row([entry_key(row, number)], |found| {
                Ok(SalvagedEntry {
                    number,
                    parent: found.get(0)?,
                    at: found.get(1)?,
                    kind: found.get(2)?,
                    body: found.get(3)?,
                })
            })
            .optional()
    }

    fn one_number(&self, query: &str) -> rusqlite::Result<Option<i64>> {
        self.connection
            .query_row(query, [], |row| row.get(0))
            .optional()
    }

    /// The last number of a query before it fails.
    fn last_readable(&self, query: &str) -> i64 {
        let mut last = 0;
        if let Ok(mut statement) = self.connection.prepare(query)
            && let Ok(mut rows) = statement.query([])
        {
            while let Ok(Some(row)) = rows.next() {
                last = row.get(0).unwrap_or(last);
            }
        }
        last
    }
}
