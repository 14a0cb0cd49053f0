//! The tree of a session: it only grows, and a leaf says where the conversation stands.

use chela_core::SessionKey;
use chela_model::{Message, Usage};
use chela_store::{
    BranchInherited, Durability, EntryBatch, EntryRecord, LeafMove, NewEntry, SessionFork,
    SessionForked, UsageAdded,
};

use super::context::context;
use super::entry::{Body, Entry, EntryId, Meta, Source};
use super::kept_transcripts::Branch;
use super::record::Settings;
use super::store::{Session, SessionError, SessionId, Sessions};

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

/// Entries that are appended together, with what they cost.
#[derive(Debug, Clone, Copy)]
pub struct AppendBatch<'a> {
    pub bodies: &'a [Body],
    pub usage: Option<UsageOfCall>,
}

/// What a call to a model cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UsageOfCall {
    pub usage: Usage,
    /// The tokens of the request it was.
    pub context: u64,
}

/// What is new in a session.
#[derive(Debug, Clone, PartialEq)]
pub struct EntriesSince {
    /// Where the conversation stands.
    pub leaf: Option<EntryId>,
    /// In the order they were appended, whatever branch they are on.
    pub entries: Vec<Entry>,
}

impl EntriesSince {
    /// The entries from the root to where the conversation stands, of a session that was read
    /// from its beginning: parents are always older.
    fn into_branch(self) -> Vec<Entry> {
        let mut wanted = self.leaf;
        let mut branch: Vec<Entry> = self
            .entries
            .into_iter()
            .rev()
            .filter(|entry| {
                let is_wanted = Some(entry.id) == wanted;
                if is_wanted {
                    wanted = entry.parent;
                }
                is_wanted
            })
            .collect();
        branch.reverse();
        branch
    }
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
        durability: Durability,
    ) -> Result<EntryId, SessionError> {
        let call_id = call_id.into();
        let batch = AppendBatch {
            bodies: &[Body::ToolStarted { call_id }],
            usage: None,
        };
        let ids = self.append_batch(session, batch, durability).await?;
        ids.last().copied().ok_or(SessionError::Gone)
    }

    pub async fn append(&self, session: &Session, body: Body) -> Result<EntryId, SessionError> {
        let ids = self
            .append_all(session, std::slice::from_ref(&body))
            .await?;
        ids.last().copied().ok_or(SessionError::Gone)
    }

    /// Appends entries one after the other, all of them or none, as safely as
    /// [`Body::durability`] says.
    pub async fn append_all(
        &self,
        session: &Session,
        bodies: &[Body],
    ) -> Result<Vec<EntryId>, SessionError> {
        let durability = bodies.iter().map(Body::durability).max();
        let batch = AppendBatch {
            bodies,
            usage: None,
        };
        self.append_batch(session, batch, durability.unwrap_or(Durability::Process))
            .await
    }

    /// The same with what they cost, in one commit that is as safe as the caller wants it.
    pub async fn append_batch(
        &self,
        session: &Session,
        batch: AppendBatch<'_>,
        durability: Durability,
    ) -> Result<Vec<EntryId>, SessionError> {
        let redactor = self.redactor();
        let entries = batch
            .bodies
            .iter()
            .map(|body| {
                Ok(NewEntry {
                    kind: body.kind().to_owned(),
                    body: body.encode_without_secrets(&redactor)?,
                })
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(|source| self.unwritable(source))?;
        let batch = EntryBatch {
            entries,
            at: self.now(),
            usage: batch.usage.map(UsageAdded::from),
        };
        let numbers = self.store.append(session.id.as_str(), batch, durability);
        let numbers = numbers.await?.ok_or(SessionError::Gone)?;
        Ok(numbers.into_iter().map(EntryId).collect())
    }

    /// The entries from the root to where the conversation stands. What was read before is
    /// kept: this costs what is new.
    pub async fn branch(&self, session: &Session) -> Result<Branch, SessionError> {
        let id = session.id.as_str();
        if let Some(read_to) = self.kept.read_to(id) {
            let since = self.read_since(session, read_to).await?;
            if let Some(branch) = self.kept.follow(id, read_to, &since) {
                return Ok(branch);
            }
        }
        let all = self.read_since(session, None).await?;
        let read_to = all.entries.last().map(|entry| entry.id);
        Ok(self.kept.keep(id, all.into_branch(), read_to))
    }

    /// Every entry, in the order they were appended, branches that were left included.
    pub async fn entries(&self, session: &Session) -> Result<Vec<Entry>, SessionError> {
        Ok(self.read_since(session, None).await?.entries)
    }

    /// What was appended after an entry, and where the conversation stands: all that somebody
    /// needs who has read the session up to there.
    pub async fn read_since(
        &self,
        session: &Session,
        known: Option<EntryId>,
    ) -> Result<EntriesSince, SessionError> {
        let after = known.map_or(0, |id| id.0);
        let tree = self.store.read_since(session.id.as_str(), after).await?;
        let tree = tree.ok_or(SessionError::Gone)?;
        Ok(EntriesSince {
            leaf: (tree.leaf > 0).then_some(EntryId(tree.leaf)),
            entries: decoded(tree.entries),
        })
    }

    /// What a model is sent of this session.
    pub async fn context(&self, session: &Session) -> Result<Vec<Message>, SessionError> {
        Ok(context(&self.branch(session).await?))
    }

    /// Messages that were accepted and have no outcome yet: the newest turn was cut short.
    pub async fn unanswered(&self, session: &Session) -> Result<Vec<Entry>, SessionError> {
        let mut open = Vec::new();
        for entry in self.branch(session).await?.iter() {
            match &entry.body {
                Body::Message { message, meta } => match message {
                    Message::User { .. } => open.push(entry.clone()),
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
        loop {
            let branch = self.branch(session).await?;
            let at = branch
                .iter()
                .rposition(|entry| is_from_a_person(&entry.body));
            let Some((at, asked, Body::Message { message, meta })) =
                at.and_then(|at| Some((at, branch.get(at)?, &branch.get(at)?.body)))
            else {
                return Ok(None);
            };
            // Should another process have written meanwhile, what it wrote is what is undone.
            if self.go_back(session, &branch, asked.parent).await? {
                return Ok(Some(Undone {
                    message: message.clone(),
                    meta: meta.clone(),
                    entries: branch.len() - at,
                }));
            }
        }
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
        let moved = self.go_back(session, &branch, entry.parent).await?;
        Ok(moved.then_some(Uncompacted {
            entry: entry.id,
            tokens_before: compaction.tokens_before,
        }))
    }

    /// Moves the leaf from the end of a branch, if it is still there.
    async fn go_back(
        &self,
        session: &Session,
        branch: &[Entry],
        target: Option<EntryId>,
    ) -> Result<bool, SessionError> {
        let leaf = LeafMove {
            expected: branch.last().map_or(0, |entry| entry.id.0),
            target: target.map_or(0, |id| id.0),
        };
        let moved = self.store.move_leaf(session.id.as_str(), leaf).await?;
        moved.ok_or(SessionError::Gone)
    }

    /// The newest compaction of the branch.
    pub async fn last_compaction(
        &self,
        session: &Session,
    ) -> Result<Option<EntryId>, SessionError> {
        let branch = self.branch(session).await?;
        let newest = branch
            .iter()
            .rev()
            .find(|entry| matches!(entry.body, Body::Compaction(_)));
        Ok(newest.map(|entry| entry.id))
    }

    /// Brings back what the last undo took, unless something was said since.
    pub async fn redo(&self, session: &Session) -> Result<Option<Redone>, SessionError> {
        let leaf = self.store.redo(session.id.as_str()).await?;
        Ok(leaf.map(|leaf| Redone {
            leaf: EntryId(leaf),
        }))
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
        for attempt in 0_u64.. {
            let fork = SessionFork {
                parent: parent.id.0.clone(),
                id: self.new_id(child, attempt),
                key: child.to_string(),
                at: now,
                settings: Settings::default().text(),
                ends_why: "forked over".to_owned(),
                most_bytes: max_tokens
                    .saturating_mul(BYTES_PER_TOKEN)
                    .saturating_add(BYTES_PER_TOKEN - 1),
            };
            match self.store.fork(fork).await? {
                SessionForked::Forked { child, inherited } => {
                    return Ok(Forked {
                        session: Session::of(&child),
                        inherited: Inherited::from(inherited),
                    });
                }
                SessionForked::ParentGone => break,
                SessionForked::IdTaken => {}
            }
        }
        Err(SessionError::Gone)
    }

    /// The session another one was forked from, if it is still there.
    pub async fn parent(&self, session: &Session) -> Result<Option<SessionId>, SessionError> {
        Ok(self.info(session).await?.parent)
    }
}

fn is_from_a_person(body: &Body) -> bool {
    matches!(
        body,
        Body::Message { message: Message::User { .. }, meta } if meta.source == Source::Person
    )
}

impl From<UsageOfCall> for UsageAdded {
    fn from(call: UsageOfCall) -> Self {
        Self {
            input: call.usage.input,
            output: call.usage.output,
            cache_read: call.usage.cache_read,
            cache_write: call.usage.cache_write,
            context: call.context,
        }
    }
}

impl From<BranchInherited> for Inherited {
    fn from(inherited: BranchInherited) -> Self {
        match inherited {
            BranchInherited::Branch { entries } => Self::Branch { entries },
            BranchInherited::Nothing { bytes } => Self::Nothing {
                tokens: bytes / BYTES_PER_TOKEN,
            },
        }
    }
}

fn decoded(rows: Vec<EntryRecord>) -> Vec<Entry> {
    rows.into_iter()
        .map(|row| Entry {
            id: EntryId(row.number),
            parent: (row.parent > 0).then_some(EntryId(row.parent)),
            at: row.at,
            body: Body::decode(&row.kind, &row.body),
        })
        .collect()
}

#[cfg(test)]
mod tests;
