//! The tree of a session: it only grows, and a leaf says where the conversation stands.

use chela_core::SessionKey;
use chela_model::ModelMessage;
use chela_store::{
    BranchInherited, EntryBatch, EntryRecord, LeafMove, NewEntry, SessionFork, SessionForked,
    UsageSums, WriteDurability,
};

use super::context::context;
use super::entry::{EntryBody, EntryId, EntryMeta, MessageSource, TranscriptEntry};
use super::kept_transcripts::{EntriesSince, TranscriptBranch};
use super::record::UsageOfCall;
use super::settings::SessionSettings;
use super::store::{OpenSession, SessionError, Sessions};

/// Bytes of a transcript that make about one token.
const BYTES_PER_TOKEN: u64 = 4;

/// What an undo took back.
#[derive(Debug, Clone, PartialEq)]
pub struct UndoneMessage {
    /// The message that was taken back, to be edited and sent again.
    pub message: ModelMessage,
    pub meta: EntryMeta,
    /// How many entries are no longer on the branch.
    pub entries: usize,
}

/// A compaction that was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneCompaction {
    pub entry: EntryId,
    pub tokens_before: u64,
}

/// A session that began as the child of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkedSession {
    pub session: OpenSession,
    pub inherited: InheritedContext,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InheritedContext {
    /// The whole branch of the parent.
    Branch { entries: usize },
    /// Nothing: the parent's branch is too long.
    Nothing { tokens: u64 },
}

/// Entries that are appended together, with what they cost.
#[derive(Debug, Clone, Copy)]
pub struct AppendBatch<'a> {
    pub bodies: &'a [EntryBody],
    pub usage: Option<UsageOfCall>,
}

impl Sessions {
    /// Takes a message in. When this returns, it is on the disk.
    pub async fn accept(
        &self,
        session: &OpenSession,
        message: ModelMessage,
        meta: EntryMeta,
    ) -> Result<EntryId, SessionError> {
        self.append(session, EntryBody::Message { message, meta })
            .await
    }

    /// Marks that a tool call is about to take effect. What has such a mark and no result was
    /// interrupted, and is never run again by itself.
    pub async fn begin_call(
        &self,
        session: &OpenSession,
        call_id: impl Into<String>,
        durability: WriteDurability,
    ) -> Result<EntryId, SessionError> {
        let call_id = call_id.into();
        let batch = AppendBatch {
            bodies: &[EntryBody::ToolStarted { call_id }],
            usage: None,
        };
        let ids = self.append_batch(session, batch, durability).await?;
        ids.last().copied().ok_or(SessionError::Gone)
    }

    pub async fn append(
        &self,
        session: &OpenSession,
        body: EntryBody,
    ) -> Result<EntryId, SessionError> {
        let ids = self
            .append_all(session, std::slice::from_ref(&body))
            .await?;
        ids.last().copied().ok_or(SessionError::Gone)
    }

    /// Appends entries one after the other, all of them or none, as safely as
    /// [`EntryBody::durability`] says.
    pub async fn append_all(
        &self,
        session: &OpenSession,
        bodies: &[EntryBody],
    ) -> Result<Vec<EntryId>, SessionError> {
        let durability = bodies.iter().map(EntryBody::durability).max();
        let batch = AppendBatch {
            bodies,
            usage: None,
        };
        self.append_batch(
            session,
            batch,
            durability.unwrap_or(WriteDurability::Process),
        )
        .await
    }

    /// The same with what they cost, in one commit that is as safe as the caller wants it.
    pub async fn append_batch(
        &self,
        session: &OpenSession,
        batch: AppendBatch<'_>,
        durability: WriteDurability,
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
            usage: batch.usage.map(UsageSums::from),
        };
        let numbers = self.store.append(session.id.as_str(), batch, durability);
        let numbers = numbers.await?.ok_or(SessionError::Gone)?;
        Ok(numbers.into_iter().map(EntryId).collect())
    }

    /// The entries from the root to where the conversation stands. What was read before is
    /// kept: this costs what is new.
    pub async fn branch(&self, session: &OpenSession) -> Result<TranscriptBranch, SessionError> {
        let id = session.id.as_str();
        if let Some(read_to) = self.kept.read_to(id) {
            let since = self.read_since(session, read_to).await?;
            if let Some(branch) = self.kept.follow(id, read_to, since) {
                return Ok(branch);
            }
        }
        let all = self.read_since(session, None).await?;
        Ok(self.kept.keep(id, all))
    }

    /// Every entry, in the order they were appended, branches that were left included.
    pub async fn entries(
        &self,
        session: &OpenSession,
    ) -> Result<Vec<TranscriptEntry>, SessionError> {
        Ok(self.read_since(session, None).await?.entries)
    }

    /// What was appended after an entry, and where the conversation stands: all that somebody
    /// needs who has read the session up to there.
    pub async fn read_since(
        &self,
        session: &OpenSession,
        known: Option<EntryId>,
    ) -> Result<EntriesSince, SessionError> {
        let after = known.map_or(0, |id| id.0);
        let tree = self.store.read_since(session.id.as_str(), after).await?;
        let tree = tree.ok_or(SessionError::Gone)?;
        Ok(EntriesSince {
            incarnation: tree.incarnation,
            leaf: (tree.leaf > 0).then_some(EntryId(tree.leaf)),
            entries: decoded(tree.entries),
        })
    }

    /// What a model is sent of this session.
    pub async fn context(&self, session: &OpenSession) -> Result<Vec<ModelMessage>, SessionError> {
        Ok(context(&self.branch(session).await?))
    }

    /// Takes back the newest user message and everything after it: the entries stay, on a
    /// branch that was left. `None` when there is nothing to take back.
    pub async fn undo(&self, session: &OpenSession) -> Result<Option<UndoneMessage>, SessionError> {
        loop {
            let branch = self.branch(session).await?;
            let at = branch
                .iter()
                .rposition(|entry| is_from_a_person(&entry.body));
            let Some((at, asked, EntryBody::Message { message, meta })) =
                at.and_then(|at| Some((at, branch.get(at)?, &branch.get(at)?.body)))
            else {
                return Ok(None);
            };
            // Should another process have written meanwhile, what it wrote is what is undone.
            if self.go_back(session, &branch, asked.parent).await? {
                return Ok(Some(UndoneMessage {
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
        session: &OpenSession,
    ) -> Result<Option<UndoneCompaction>, SessionError> {
        let branch = self.branch(session).await?;
        let newest = branch.iter().rposition(|entry| {
            !matches!(
                entry.body,
                EntryBody::TurnEnded { .. } | EntryBody::Custom(_)
            )
        });
        let Some((entry, EntryBody::Compaction(compaction))) = newest
            .and_then(|at| branch.get(at))
            .map(|entry| (entry, &entry.body))
        else {
            return Ok(None);
        };
        let moved = self.go_back(session, &branch, entry.parent).await?;
        Ok(moved.then_some(UndoneCompaction {
            entry: entry.id,
            tokens_before: compaction.tokens_before,
        }))
    }

    /// Moves the leaf from the end of a branch, if it is still there.
    async fn go_back(
        &self,
        session: &OpenSession,
        branch: &[TranscriptEntry],
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
        session: &OpenSession,
    ) -> Result<Option<EntryId>, SessionError> {
        let branch = self.branch(session).await?;
        let newest = branch
            .iter()
            .rev()
            .find(|entry| matches!(entry.body, EntryBody::Compaction(_)));
        Ok(newest.map(|entry| entry.id))
    }

    /// Starts a child session from where the parent stands. A parent of more than `max_tokens`
    /// gives nothing but its name.
    pub async fn fork(
        &self,
        parent: &OpenSession,
        child: &SessionKey,
        max_tokens: u64,
    ) -> Result<ForkedSession, SessionError> {
        let now = self.now();
        for attempt in 0_u64.. {
            let fork = SessionFork {
                parent: parent.id.0.clone(),
                id: self.new_id(child, attempt),
                key: child.to_string(),
                at: now,
                settings: SessionSettings::default().text(),
                ends_why: "forked over".to_owned(),
                most_bytes: max_tokens
                    .saturating_mul(BYTES_PER_TOKEN)
                    .saturating_add(BYTES_PER_TOKEN - 1),
            };
            match self.store.fork(fork).await? {
                SessionForked::Forked { child, inherited } => {
                    return Ok(ForkedSession {
                        session: OpenSession::of(&child),
                        inherited: InheritedContext::from(inherited),
                    });
                }
                SessionForked::ParentGone => break,
                SessionForked::IdTaken => {}
            }
        }
        Err(SessionError::Gone)
    }
}

fn is_from_a_person(body: &EntryBody) -> bool {
    matches!(
        body,
        EntryBody::Message { message: ModelMessage::User { .. }, meta } if meta.source == MessageSource::Person
    )
}

impl From<BranchInherited> for InheritedContext {
    fn from(inherited: BranchInherited) -> Self {
        match inherited {
            BranchInherited::Branch { entries } => Self::Branch { entries },
            BranchInherited::Nothing { bytes } => Self::Nothing {
                tokens: bytes / BYTES_PER_TOKEN,
            },
        }
    }
}

fn decoded(rows: Vec<EntryRecord>) -> Vec<TranscriptEntry> {
    rows.into_iter()
        .map(|row| TranscriptEntry {
            id: EntryId(row.number),
            parent: (row.parent > 0).then_some(EntryId(row.parent)),
            at: row.at,
            body: EntryBody::decode(&row.kind, &row.body),
        })
        .collect()
}

#[cfg(test)]
mod tests;
