//! Files of the prompt that the owner said yes to after a session had read them.
//!
//! A file nobody answers for makes the words of a session foreign. When the owner approves that very
//! version later, its words were the owner's all along, and what they did to the session is over.

use std::path::PathBuf;
use std::sync::Arc;

use chela_core::{Origin, Trust, ok_or_debug};
use chela_ledger::SectionMark;
use chela_workspace::trust::TrustRecords;

use crate::scope::ConversationScope;

/// The versions of the agent's files that are on record as trusted.
pub(super) struct ApprovedVersions {
    records: Option<(PathBuf, Arc<TrustRecords>)>,
}

impl ApprovedVersions {
    pub fn of(scope: &ConversationScope) -> Self {
        let custody = scope.agents.assembler.custody(&scope.view.id);
        let custody = ok_or_debug!(custody, "nobody watches who writes the agent's files");
        Self {
            records: custody.map(|custody| (custody.root().to_owned(), custody.records())),
        }
    }

    /// Whether an origin is a version of a file that the owner, or whoever acts for them, answers
    /// for. Trust that was withdrawn again does not count.
    pub fn has(&self, origin: &Origin) -> bool {
        let (Origin::File { path, hash }, Some((root, records))) = (origin, &self.records) else {
            return false;
        };
        records.entry(&root.join(path)).is_some_and(|entry| {
            let mut versions = entry.versions();
            entry.revoked.is_none()
                && versions.any(|version| version.hash == *hash && version.trust >= Trust::Agent)
        })
    }
}

/// How far the prompt of a session is trusted.
pub(super) struct PromptTrust {
    pub trust: Trust,
    /// The files that are somebody else's words; empty where something else is, too.
    pub foreign_files: Vec<Origin>,
}

impl PromptTrust {
    pub fn of(sections: &[SectionMark], approved: &ApprovedVersions) -> Self {
        let is_file = |mark: &&SectionMark| matches!(mark.origin, Origin::File { .. });
        let files_of = |id: &str| {
            let of_section = sections.iter().filter(is_file);
            of_section
                .filter(|mark| mark.id == id)
                .map(|mark| mark.trust)
                .reduce(Trust::join)
        };
        let mut trust = Trust::Operator;
        let mut foreign_files = Vec::new();
        let mut only_files = true;
        for mark in sections {
            let is_lower = mark.trust < Trust::Agent;
            match &mark.origin {
                Origin::File { .. } if is_lower && approved.has(&mark.origin) => continue,
                Origin::File { .. } if is_lower => foreign_files.push(mark.origin.clone()),
                // What a section is trusted less than otherwise, it is by its files.
                _ if is_lower && files_of(&mark.id) == Some(mark.trust) => continue,
                _ if is_lower => only_files = false,
                _ => {}
            }
            trust = trust.join(mark.trust);
        }
        if !only_files {
            foreign_files.clear();
        }
        Self {
            trust,
            foreign_files,
        }
    }
}
