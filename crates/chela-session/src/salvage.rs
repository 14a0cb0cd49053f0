//! Saving what can be read of a damaged session file.

use std::io::Write;
use std::path::{Path, PathBuf};

use chela_core::Host;
use chela_store::StoreError;
use rusqlite::{Connection, OpenFlags, params};
use serde_json::json;

use super::entry::{Body, Entry, EntryId};
use super::jsonl::line;
use super::stamp::iso;
use super::store::SessionError;
use super::transcript::entry_key;

/// What was saved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// One file of JSON lines for each session.
    pub files: Vec<PathBuf>,
    pub entries: usize,
    /// Where reading stopped, in SQLite's words.
    pub lost: Vec<String>,
    /// Where the damaged file lies now.
    pub aside: Option<PathBuf>,
}

/// Writes every session that can still be read into `folder`, as far as it can be read, then moves
/// the damaged file aside so that a new one can begin. Nothing is deleted.
pub fn salvage(host: &Host, path: &Path, folder: &Path) -> Result<Salvaged, SessionError> {
    let mut saved = Salvaged::default();
    std::fs::create_dir_all(folder).map_err(|source| StoreError::Folder {
        path: folder.to_owned(),
        source,
    })?;
    match Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY) {
        Ok(connection) => {
            for (row, header) in sessions(&connection, &mut saved.lost) {
                save(&connection, folder, (row, &header), &mut saved)?;
            }
        }
        Err(error) => saved.lost.push(error.to_string()),
    }
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".damaged-{}", host.unix_time()));
    let aside = PathBuf::from(aside);
    let failed = |source| SessionError::Archive {
        path: aside.clone(),
        source,
    };
    std::fs::rename(path, &aside).map_err(failed)?;
    for suffix in ["-wal", "-shm"] {
        let side = |base: &Path| {
            let mut name = base.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        match std::fs::rename(side(path), side(&aside)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed(error));
            }
            _ => {}
        }
    }
    saved.aside = Some(aside);
    Ok(saved)
}

impl super::Sessions {
    /// Reads the whole file to see whether anything in it is damaged.
    pub async fn is_sound(&self) -> bool {
        self.read(|connection| {
            connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
        })
        .is_ok_and(|verdict| verdict == "ok")
    }
}

/// The headers that can be read, from both ends towards the damage.
fn sessions(connection: &Connection, lost: &mut Vec<String>) -> Vec<(i64, serde_json::Value)> {
    let mut found = std::collections::BTreeMap::new();
    for order in ["ASC", "DESC"] {
        let read = connection
            .prepare(&format!(
                "SELECT row, id, key, started, leaf, label FROM sessions NOT INDEXED ORDER BY row {order}"
            ))
            .and_then(|mut statement| {
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    let id: i64 = row.get(0)?;
                    if found.contains_key(&id) {
                        break;
                    }
                    let mut header = json!({
                        "type": "session",
                        "version": 3,
                        "id": row.get::<_, String>(1)?,
                        "timestamp": iso(row.get(3)?),
                        "key": row.get::<_, String>(2)?,
                        "leaf": EntryId(row.get(4)?),
                    });
                    if let Some(label) = row.get::<_, Option<String>>(5)? {
                        header["label"] = json!(label);
                    }
                    found.insert(id, header);
                }
                Ok(())
            });
        match read {
            Ok(()) => break,
            Err(error) => lost.push(format!("sessions: {error}")),
        }
    }
    found.into_iter().collect()
}

fn save(
    connection: &Connection,
    folder: &Path,
    (row, header): (i64, &serde_json::Value),
    saved: &mut Salvaged,
) -> Result<(), SessionError> {
    let name = header["id"].as_str().unwrap_or("unknown");
    let safe: String = name
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .collect();
    let path = folder.join(format!("{safe}.jsonl"));
    let mut text = format!("{header}\n").into_bytes();
    let read = connection
        .prepare(
            "SELECT key & 0xffffffff, parent, at, kind, body FROM entries \
             WHERE key BETWEEN ?1 AND ?2 ORDER BY key",
        )
        .and_then(|mut statement| {
            let mut rows = statement.query(params![entry_key(row, 0), entry_key(row, u32::MAX)])?;
            while let Some(row) = rows.next()? {
                let parent: u32 = row.get(1)?;
                let entry = Entry {
                    id: EntryId(row.get(0)?),
                    parent: (parent > 0).then_some(EntryId(parent)),
                    at: row.get(2)?,
                    body: Body::decode(&row.get::<_, String>(3)?, &row.get::<_, String>(4)?),
                };
                saved.entries += 1;
                let _ = writeln!(text, "{}", line(&entry));
            }
            Ok(())
        });
    if let Err(error) = read {
        saved.lost.push(format!("{name}: {error}"));
    }
    std::fs::write(&path, text).map_err(|source| SessionError::Archive {
        path: path.clone(),
        source,
    })?;
    saved.files.push(path);
    Ok(())
}
