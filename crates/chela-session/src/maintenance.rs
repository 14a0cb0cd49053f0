//! How long sessions are kept. Reading never removes anything: only a cleanup does, and it writes
//! what it removes to an archive first.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chela_config::LoadedConfig;
use chela_config::model::{BareUnit, MaintenanceMode, OrOff};
use chela_core::{SessionForm, ok_or_debug, ok_or_warn};
use chela_files::{FileDraft, FileMode};
use serde::Serialize;

use super::list::{ListScope, SessionFilter};
use super::record::SessionInfo;
use super::store::{SessionError, SessionId, Sessions};

/// A session in which something was said this recently is in use.
const ACTIVE_MS: u64 = 60 * 60 * 1000;
/// Model probes are kept this long, and go first when there is too much.
const PROBE_MS: u64 = 24 * 60 * 60 * 1000;

/// `session.maintenance`, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaintenanceRules {
    pub mode: MaintenanceMode,
    pub prune_after_ms: Option<u64>,
    pub max_entries: u64,
    /// Sessions used within this time are never removed.
    pub preserve_recent_ms: Option<u64>,
    pub max_bytes: Option<u64>,
    /// What is aimed for once `max_bytes` is passed.
    pub high_water_bytes: Option<u64>,
    /// How long archives of removed sessions are kept; `None`: for good.
    pub archive_retention_ms: Option<u64>,
}

/// What a cleanup would remove, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CleanupPlan {
    pub sessions: Vec<CleanupCandidate>,
    /// Archives of sessions removed before.
    pub archives: Vec<PathBuf>,
    /// Size of the file and its archives before and, roughly, after.
    pub bytes_before: u64,
    pub bytes_after: u64,
    pub kept: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CleanupCandidate {
    pub session_id: SessionId,
    pub key: String,
    pub bytes: u64,
    pub why: CleanupReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CleanupReason {
    /// Unused for longer than `pruneAfter`.
    Old,
    /// More sessions than `maxEntries`.
    TooMany,
    /// More than `maxDiskBytes`.
    TooLarge,
}

/// What a cleanup did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CleanupReport {
    pub sessions: usize,
    pub archives_written: Vec<PathBuf>,
    pub archives_removed: usize,
}

impl MaintenanceRules {
    pub fn of(loaded: &LoadedConfig) -> Self {
        let keys = &loaded.config.session.maintenance;
        let length = |text: &chela_config::model::DurationText| {
            text.duration(BareUnit::Days)
                .and_then(|duration| u64::try_from(duration.as_millis()).ok())
                .filter(|millis| *millis > 0)
        };
        let optional = |value: &Option<OrOff<chela_config::model::DurationText>>| match value {
            Some(OrOff::On(text)) => length(text),
            Some(OrOff::Off(_)) | None => None,
        };
        let max_bytes = match &keys.max_disk_bytes {
            OrOff::On(size) => size.bytes().filter(|bytes| *bytes > 0),
            OrOff::Off(_) => None,
        };
        Self {
            mode: keys.mode,
            prune_after_ms: length(&keys.prune_after),
            max_entries: keys.max_entries,
            preserve_recent_ms: optional(&keys.preserve_recent),
            max_bytes,
            high_water_bytes: keys
                .high_water_bytes
                .as_ref()
                .and_then(chela_config::model::ByteSize::bytes)
                .or_else(|| max_bytes.map(|bytes| bytes / 10 * 8)),
            archive_retention_ms: optional(&keys.reset_archive_retention),
        }
    }
}

impl Sessions {
    /// What the rules would remove now. Changes nothing.
    pub async fn plan_cleanup(
        &self,
        rules: &MaintenanceRules,
    ) -> Result<CleanupPlan, SessionError> {
        let now = self.now();
        let everything = SessionFilter {
            show: ListScope::Everything,
            ..SessionFilter::default()
        };
        let all = self.list(&everything).await?;
        let parents: BTreeSet<&SessionId> =
            all.iter().filter_map(|info| info.parent.as_ref()).collect();
        let free = |info: &&SessionInfo| !is_protected(info, rules, &parents, now);
        let mut candidates: Vec<&SessionInfo> = all.iter().filter(free).collect();
        candidates.sort_by_key(|info| (!is_probe(info), info.updated));

        let mut doomed: Vec<CleanupCandidate> = Vec::new();
        let mut rest = Vec::new();
        for info in candidates {
            let limit = if is_probe(info) {
                Some(PROBE_MS)
            } else {
                rules.prune_after_ms
            };
            if limit.is_some_and(|limit| now.saturating_sub(info.updated) > limit) {
                doomed.push(CleanupCandidate::of(info, CleanupReason::Old));
            } else {
                rest.push(info);
            }
        }
        let mut rest = rest.into_iter();
        while (all.len() - doomed.len()) as u64 > rules.max_entries {
            let Some(info) = rest.next() else { break };
            doomed.push(CleanupCandidate::of(info, CleanupReason::TooMany));
        }

        let archives = self.archives();
        let bytes_before = self.store.stored_bytes().await?
            + archives.iter().map(|(_, size, _)| size).sum::<u64>();
        let freed =
            |doomed: &[CleanupCandidate]| doomed.iter().map(|doomed| doomed.bytes).sum::<u64>();
        let mut bytes_after = bytes_before.saturating_sub(freed(&doomed));
        let mut old_archives = Vec::new();
        let over = |bytes: u64, limit: Option<u64>| limit.is_some_and(|limit| bytes > limit);
        let pressed = over(bytes_after, rules.max_bytes);
        for (path, size, modified) in archives {
            let expired = rules
                .archive_retention_ms
                .is_some_and(|limit| now.saturating_sub(modified) > limit);
            if expired || (pressed && over(bytes_after, rules.high_water_bytes)) {
                bytes_after = bytes_after.saturating_sub(size);
                old_archives.push(path);
            }
        }
        while pressed && over(bytes_after, rules.high_water_bytes) {
            let Some(info) = rest.next() else { break };
            bytes_after = bytes_after.saturating_sub(info.bytes);
            doomed.push(CleanupCandidate::of(info, CleanupReason::TooLarge));
        }
        Ok(CleanupPlan {
            kept: all.len() - doomed.len(),
            sessions: doomed,
            archives: old_archives,
            bytes_before,
            bytes_after,
        })
    }

    /// Does what was planned. Each session is written to an archive, read back and compared
    /// before its rows go.
    pub async fn cleanup(&self, plan: &CleanupPlan) -> Result<CleanupReport, SessionError> {
        let mut cleaned = CleanupReport::default();
        for path in &plan.archives {
            let removed = std::fs::remove_file(path);
            let shown = path.display();
            let removed = ok_or_warn!(removed, "an old archive stays", file = %shown);
            cleaned.archives_removed += usize::from(removed.is_some());
        }
        for doomed in &plan.sessions {
            let Some(session) = self.by_id(doomed.session_id.as_str()).await? else {
                continue;
            };
            if !session.fresh {
                let archive = self.write_archive(&session).await?;
                cleaned.archives_written.push(archive);
            }
            self.remove(&session).await?;
            cleaned.sessions += 1;
        }
        if cleaned.sessions > 0 {
            // Gives the space back; best effort, another process may be reading.
            if let Err(error) = self.store.give_room_back().await {
                tracing::debug!(%error, "the room of removed sessions is not given back yet");
            }
        }
        Ok(cleaned)
    }

    /// Where sessions that were cleaned up are kept.
    pub fn archive_dir(&self) -> PathBuf {
        self.path().with_file_name("archive")
    }

    async fn write_archive(
        &self,
        session: &super::store::OpenSession,
    ) -> Result<PathBuf, SessionError> {
        let path = self.archive_dir().join(format!("{}.jsonl", session.id));
        let failed = |source| SessionError::Archive {
            path: path.clone(),
            source,
        };
        let mut text = Vec::new();
        self.export_jsonl(session, &mut text).await?;
        let draft = FileDraft::beside(&path, &text, FileMode::Private)
            .map_err(|error| failed(error.into()))?;
        // The session is deleted next: what was written is looked at before.
        if std::fs::read(draft.path()).map_err(failed)? != text {
            return Err(failed(std::io::Error::other("what was written differs")));
        }
        draft.put_in_place().map_err(|error| failed(error.into()))?;
        Ok(path)
    }

    /// Archives with size and time, oldest first.
    fn archives(&self) -> Vec<(PathBuf, u64, u64)> {
        let folder = match std::fs::read_dir(self.archive_dir()) {
            Ok(folder) => folder,
            Err(error) => {
                if error.kind() != std::io::ErrorKind::NotFound {
                    tracing::warn!(%error, "the archives of sessions cannot be listed");
                }
                return Vec::new();
            }
        };
        let mut found: Vec<_> = folder
            .flatten()
            .filter(|file| file.path().extension().is_some_and(|end| end == "jsonl"))
            .filter_map(|file| {
                let known = ok_or_debug!(file.metadata(), "an archive is not counted")?;
                let modified = known.modified().map_or(0, super::store::millis);
                Some((file.path(), known.len(), modified))
            })
            .collect();
        found.sort_by(|a, b| (a.2, &a.0).cmp(&(b.2, &b.0)));
        found
    }
}

impl CleanupCandidate {
    fn of(info: &SessionInfo, why: CleanupReason) -> Self {
        Self {
            session_id: info.session_id.clone(),
            key: info.key.to_string(),
            bytes: info.bytes,
            why,
        }
    }
}

/// Put away, pinned, in use, bound to a model by the person, a parent, or the conversation of a
/// channel that still goes on: these are never removed by a rule.
fn is_protected(
    info: &SessionInfo,
    rules: &MaintenanceRules,
    parents: &BTreeSet<&SessionId>,
    now: u64,
) -> bool {
    let age = now.saturating_sub(info.updated);
    let goes_on = info.ended.is_none();
    let durable = matches!(
        info.key.form,
        SessionForm::Global | SessionForm::Main { .. } | SessionForm::Chat { .. }
    );
    // Sub-agents are put away by a rule, and given their model by one: no wish of a person.
    let by_wish = !info.key.is_subagent();
    info.pinned
        || (by_wish && info.archived.is_some())
        || age < ACTIVE_MS
        || rules.preserve_recent_ms.is_some_and(|limit| age < limit)
        || (goes_on && (durable || (by_wish && has_model_of_its_own(info))))
        || parents.contains(&info.session_id)
}

fn has_model_of_its_own(info: &SessionInfo) -> bool {
    info.settings.model_source == Some(super::ModelSource::User)
}

fn is_probe(info: &SessionInfo) -> bool {
    matches!(&info.key.form, SessionForm::Explicit { name } if name.starts_with("model-run-"))
}

#[cfg(test)]
mod tests;
