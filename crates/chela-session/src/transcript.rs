//! The tree of a session: it only grows, and a leaf says where the conversation stands.

use chela_core::SessionKey;
use chela_model::Message;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::context::context;
use super::entry::{Body, Entry, EntryId, Meta, Source};
use super::record::Settings;
use super::store::{NewSession, Session, SessionError, SessionId, Sessions};

/// Bytes of a transcript that make about one token.
const BYTES_PER_TOKEN: u64 = 4;

/// What an undo took back.
#[derive(Debug, Clone, PartialEq)]
pub struct Undone {
    /// The message that was taken back, to be edited and sent again.
    pub message: Message,
    pub meta: Meta,
    /// How many entries are no longer on the branch.
    pub entries: usize,
}

/// A compaction that was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncompacted {
    pub entry: EntryId,
    pub tokens_before: u64,
}

/// What a redo brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redone {
    pub leaf: EntryId,
}

/// A session that began as the child of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forked {
    pub session: Session,
    pub inherited: Inherited,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inherited {
    /// The whole branch of the parent.
    Branch { entries: usize },
    /// Nothing: the parent's branch is too long.
    Nothing { tokens: u64 },
}

impl Sessions {
    /// Takes a message in. When this returns, it is on the disk and will be answered or found in
    /// [`Sessions::unanswered`].
    pub async fn accept(
        &self,
        session: &Session,
        message: Message,
        meta: Meta,
    ) -> Result<EntryId, SessionError> {
        self.append(session, Body::Message { message, meta }).await
    }

    /// Marks that a tool call is about to take effect. What has such a mark and no result was
    /// interrupted, and is never run again by itself.
    pub async fn begin_call(
        &self,
        session: &Session,
        call_id: impl Into<String>,
    ) -> Result<EntryId, SessionError> {
        self.append(
            session,
            Body::ToolStarted {
                call_id: call_id.into(),
            },
        )
        .await
    }

    pub async fn append(&self, session: &Session, body: Body) -> Result<EntryId, SessionError> {
        let ids = self
            .append_all(session, std::slice::from_ref(&body))
            .await?;
        ids.last().copied().ok_or(SessionError::Gone)
    }

    /// Appends entries one after the other, all of them or none.
    pub async fn append_all(
        &self,
        session: &Session,
        bodies: &[Body],
    ) -> Result<Vec<EntryId>, SessionError> {
        let now = self.now();
        let texts = bodies
            .iter()
            .map(|body| body.encode_without_secrets(&self.redactor()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|source| self.unwritable(source))?;
        self.write(|transaction| {
            let mut leaf = leaf(transaction, session.row)?;
            let first = last_number(transaction, session.row)? + 1;
            let mut ids = Vec::with_capacity(bodies.len());
            for (number, (body, text)) in (first..).zip(bodies.iter().zip(&texts)) {
                insert(
                    transaction,
                    session.row,
                    (number, leaf, now, body.kind(), text),
                )?;
                ids.push(EntryId(number));
                leaf = number;
            }
            let person = bodies.iter().any(is_from_a_person);
            let compactions = bodies
                .iter()
                .filter(|body| matches!(body, Body::Compaction(_)))
                .count();
            transaction
                .prepare_cached(
                    "UPDATE sessions SET leaf = ?2, redo = NULL, updated = ?3, \
                     interacted = CASE WHEN ?4 THEN ?3 ELSE interacted END, \
                     compactions = compactions + ?5, entries = entries + ?6, \
                     bytes = bytes + ?7, version = version + 1 WHERE row = ?1",
                )?
                .execute(params![
                    session.row,
                    leaf,
                    now,
                    person,
                    compactions,
                    bodies.len(),
                    texts.iter().map(String::len).sum::<usize>(),
                ])?;
            Ok(ids)
        })
    }

    /// The entries from the root to where the conversation stands.
    pub async fn branch(&self, session: &Session) -> Result<Vec<Entry>, SessionError> {
        self.read(|connection| {
            let leaf = leaf(connection, session.row)?;
            branch_rows(connection, session.row, leaf)
        })
        .map(decoded)
    }

    /// Every entry, in the order they were appended, branches that were left included.
    pub async fn entries(&self, session: &Session) -> Result<Vec<Entry>, SessionError> {
        self.read(|connection| all_rows(connection, session.row))
            .map(decoded)
    }

    /// What a model is sent of this session.
    pub async fn context(&self, session: &Session) -> Result<Vec<Message>, SessionError> {
        Ok(context(&self.branch(session).await?))
    }

    /// Messages that were accepted and have no outcome yet: the newest turn was cut short.
    pub async fn unanswered(&self, session: &Session) -> Result<Vec<Entry>, SessionError> {
        let mut open = Vec::new();
        for entry in self.branch(session).await? {
            match &entry.body {
                Body::Message { message, meta } => match message {
                    Message::User { .. } => open.push(entry),
                    Message::Assistant { .. } => {
                        if !meta.cut && message.tool_calls().next().is_none() {
                            open.clear();
                        }
                    }
                    Message::ToolResult { .. } => {}
                },
                Body::TurnEnded { .. } => open.clear(),
                _ => {}
            }
        }
        Ok(open)
    }

    /// Takes back the newest user message and everything after it. Nothing is deleted:
    /// [`Sessions::redo`] brings it back. `None` when there is nothing to take back.
    pub async fn undo(&self, session: &Session) -> Result<Option<Undone>, SessionError> {
        let branch = self.branch(session).await?;
        let at = branch
            .iter()
            .rposition(|entry| is_from_a_person(&entry.body));
        let Some((at, Body::Message { message, meta })) =
            at.and_then(|at| Some((at, &branch.get(at)?.body)))
        else {
            return Ok(None);
        };
        let target = branch[at].parent;
        let expected = branch.last().map_or(0, |entry| entry.id.0);
        let moved = self.write(|transaction| {
            if leaf(transaction, session.row)? != expected {
                return Ok(false);
            }
            let mut stack = redo_stack(transaction, session.row)?;
            stack.push(expected);
            move_leaf(
                transaction,
                session.row,
                target.map_or(0, |id| id.0),
                &stack,
            )?;
            Ok(true)
        })?;
        if !moved {
            // Another process wrote meanwhile: what it wrote is what is undone.
            return Box::pin(self.undo(session)).await;
        }
        Ok(Some(Undone {
            message: message.clone(),
            meta: meta.clone(),
            entries: branch.len() - at,
        }))
    }

    /// Takes back the newest compaction: what it summarised is sent again as it was. `None` when
    /// there is none, or when something was said since.
    pub async fn undo_compaction(
        &self,
        session: &Session,
    ) -> Result<Option<Uncompacted>, SessionError> {
        let branch = self.branch(session).await?;
        let newest = branch
            .iter()
            .rposition(|entry| !matches!(entry.body, Body::TurnEnded { .. } | Body::Custom(_)));
        let Some((entry, Body::Compaction(compaction))) = newest
            .and_then(|at| branch.get(at))
            .map(|entry| (entry, &entry.body))
        else {
            return Ok(None);
        };
        let expected = branch.last().map_or(0, |entry| entry.id.0);
        let moved = self.write(|transaction| {
            if leaf(transaction, session.row)? != expected {
                return Ok(false);
            }
            let mut stack = redo_stack(transaction, session.row)?;
            stack.push(expected);
            let target = entry.parent.map_or(0, |id| id.0);
            move_leaf(transaction, session.row, target, &stack)?;
            Ok(true)
        })?;
        Ok(moved.then_some(Uncompacted {
            entry: entry.id,
            tokens_before: compaction.tokens_before,
        }))
    }

    /// The newest compaction of the branch.
    pub async fn last_compaction(
        &self,
        session: &Session,
    ) -> Result<Option<EntryId>, SessionError> {
        self.read(|connection| {
            let (first, last) = (entry_key(session.row, 0), entry_key(session.row, u32::MAX));
            let any: bool = connection
                .prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM entries \
                     WHERE key BETWEEN ?1 AND ?2 AND kind = 'compaction')",
                )?
                .query_row([first, last], |row| row.get(0))?;
            if !any {
                return Ok(None);
            }
            let mut wanted = leaf(connection, session.row)?;
            let mut rows = connection.prepare_cached(
                "SELECT key & 0xffffffff, parent, kind = 'compaction' FROM entries \
                 WHERE key BETWEEN ?1 AND ?2 ORDER BY key DESC",
            )?;
            let mut rows = rows.query([first, last])?;
            while let Some(row) = rows.next()? {
                let number: u32 = row.get(0)?;
                if number != wanted {
                    continue;
                }
                if row.get(2)? {
                    return Ok(Some(EntryId(number)));
                }
                wanted = row.get(1)?;
            }
            Ok(None)
        })
    }

    /// Brings back what the last undo took, unless something was said since.
    pub async fn redo(&self, session: &Session) -> Result<Option<Redone>, SessionError> {
        self.write(|transaction| {
            let mut stack = redo_stack(transaction, session.row)?;
            let Some(leaf) = stack.pop() else {
                return Ok(None);
            };
            move_leaf(transaction, session.row, leaf, &stack)?;
            Ok(Some(Redone {
                leaf: EntryId(leaf),
            }))
        })
    }

    /// Starts a child session from where the parent stands. A parent of more than `max_tokens`
    /// gives nothing but its name.
    pub async fn fork(
        &self,
        parent: &Session,
        child: &SessionKey,
        max_tokens: u64,
    ) -> Result<Forked, SessionError> {
        let now = self.now();
        self.write(|transaction| {
            transaction.execute(
                "UPDATE sessions SET ended = ?2, ended_why = 'forked over' \
                 WHERE key = ?1 AND ended IS NULL",
                params![child.to_string(), now],
            )?;
            let new = NewSession {
                key: child.clone(),
                settings: Settings::default(),
                label: None,
                display_name: None,
                parent: Some(parent.id.clone()),
            };
            let mut session = self.create(transaction, &new, now)?;
            let leaf = leaf(transaction, parent.row)?;
            let rows = branch_rows(transaction, parent.row, leaf)?;
            let tokens = branch_tokens(&rows);
            if tokens > max_tokens {
                let inherited = Inherited::Nothing { tokens };
                return Ok(Forked { session, inherited });
            }
            for row in &rows {
                insert(
                    transaction,
                    session.row,
                    (row.number, row.parent, row.at, &row.kind, &row.body),
                )?;
            }
            transaction.execute(
                "UPDATE sessions SET leaf = ?2, entries = ?3, bytes = ?4 WHERE row = ?1",
                params![
                    session.row,
                    leaf,
                    rows.len(),
                    rows.iter().map(|row| row.body.len()).sum::<usize>()
                ],
            )?;
            session.fresh = rows.is_empty();
            Ok(Forked {
                session,
                inherited: Inherited::Branch {
                    entries: rows.len(),
                },
            })
        })
    }

    /// The session another one was forked from, if it is still there.
    pub async fn parent(&self, session: &Session) -> Result<Option<SessionId>, SessionError> {
        self.read(|connection| {
            connection.query_row(
                "SELECT parent FROM sessions WHERE row = ?1",
                [session.row],
                |row| Ok(row.get::<_, Option<String>>(0)?.map(SessionId)),
            )
        })
    }
}

fn is_from_a_person(body: &Body) -> bool {
    matches!(
        body,
        Body::Message { message: Message::User { .. }, meta } if meta.source == Source::Person
    )
}

/// What a branch would cost, counted from the last compaction on.
fn branch_tokens(rows: &[EntryRow]) -> u64 {
    let kept = rows
        .iter()
        .rposition(|row| row.kind == "compaction")
        .unwrap_or(0);
    let bytes: u64 = rows[kept..].iter().map(|row| row.body.len() as u64).sum();
    bytes / BYTES_PER_TOKEN
}

/// An entry as it is stored.
pub(super) struct EntryRow {
    pub number: u32,
    pub parent: u32,
    pub at: u64,
    pub kind: String,
    pub body: String,
}

fn decoded(rows: Vec<EntryRow>) -> Vec<Entry> {
    rows.into_iter()
        .map(|row| Entry {
            id: EntryId(row.number),
            parent: (row.parent > 0).then_some(EntryId(row.parent)),
            at: row.at,
            body: Body::decode(&row.kind, &row.body),
        })
        .collect()
}

pub(super) fn entry_key(session: i64, number: u32) -> i64 {
    session << 32 | i64::from(number)
}

pub(super) fn all_rows(connection: &Connection, session: i64) -> rusqlite::Result<Vec<EntryRow>> {
    connection
        .prepare_cached(
            "SELECT key & 0xffffffff, parent, at, kind, body FROM entries \
             WHERE key BETWEEN ?1 AND ?2 ORDER BY key",
        )?
        .query_map(
            [entry_key(session, 0), entry_key(session, u32::MAX)],
            |row| {
                Ok(EntryRow {
                    number: row.get(0)?,
                    parent: row.get(1)?,
                    at: row.get(2)?,
                    kind: row.get(3)?,
                    body: row.get(4)?,
                })
            },
        )?
        .collect()
}

/// Reads the session in one go and walks it from the leaf back: parents are always older.
fn branch_rows(
    connection: &Connection,
    session: i64,
    leaf: u32,
) -> rusqlite::Result<Vec<EntryRow>> {
    let mut wanted = leaf;
    let mut branch = Vec::new();
    for row in all_rows(connection, session)?.into_iter().rev() {
        if row.number == wanted {
            wanted = row.parent;
            branch.push(row);
        }
    }
    branch.reverse();
    Ok(branch)
}

pub(super) fn insert(
    transaction: &Transaction<'_>,
    session: i64,
    (number, parent, at, kind, body): (u32, u32, u64, &str, &str),
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO entries (key, parent, at, kind, body) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![entry_key(session, number), parent, at, kind, body])
        .map(drop)
}

pub(super) fn leaf(connection: &Connection, session: i64) -> rusqlite::Result<u32> {
    connection
        .prepare_cached("SELECT leaf FROM sessions WHERE row = ?1")?
        .query_row([session], |row| row.get(0))
}

fn last_number(connection: &Connection, session: i64) -> rusqlite::Result<u32> {
    connection
        .prepare_cached(
            "SELECT key & 0xffffffff FROM entries WHERE key BETWEEN ?1 AND ?2 \
             ORDER BY key DESC LIMIT 1",
        )?
        .query_row(
            [entry_key(session, 0), entry_key(session, u32::MAX)],
            |row| row.get(0),
        )
        .optional()
        .map(Option::unwrap_or_default)
}

/// Where undone branches ended, the latest undo last.
fn redo_stack(transaction: &Transaction<'_>, session: i64) -> rusqlite::Result<Vec<u32>> {
    let text: Option<String> = transaction.query_row(
        "SELECT redo FROM sessions WHERE row = ?1",
        [session],
        |row| row.get(0),
    )?;
    Ok(text
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default())
}

fn move_leaf(
    transaction: &Transaction<'_>,
    session: i64,
    leaf: u32,
    redo: &[u32],
) -> rusqlite::Result<()> {
    let redo = (!redo.is_empty()).then(|| serde_json::to_string(redo).unwrap_or_default());
    transaction
        .execute(
            "UPDATE sessions SET leaf = ?2, redo = ?3, version = version + 1 WHERE row = ?1",
            params![session, leaf, redo],
        )
        .map(drop)
}

#[cfg(test)]
mod tests;
