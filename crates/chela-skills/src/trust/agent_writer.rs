//! What the agent writes into its own skills.
//!
//! In a turn that had read nothing foreign it is on record with the turn, and used. In one that
//! had, the skill is not used before the owner has looked at it.

use chela_core::Host;

use super::lock::key;
use super::{ScanVerdict, SkillContents, SkillScanner, TrustLock, TrustedBy};
use crate::skill::Skill;

/// The agent's hand: in which turn, and what the owner was asked.
#[derive(Debug, Clone, Copy)]
pub struct AgentWriter<'a> {
    pub turn: &'a str,
    pub question: Option<&'a str>,
}

impl TrustLock {
    /// The agent wrote this version. What reads as dangerous is not used for all that.
    pub fn written_by_agent(
        &mut self,
        skill: &Skill,
        hand: &AgentWriter<'_>,
        scanner: &dyn SkillScanner,
        host: &Host,
    ) {
        let before = self.entry(skill);
        // One edit does not bring back what was put aside.
        let aside = before.and_then(|entry| entry.quarantined.clone());
        let report = scanner.scan(&SkillContents::of(skill));
        let blocked = (report.verdict == ScanVerdict::Dangerous).then(|| report.summary());
        self.put(skill, host, TrustedBy::Agent, aside.or(blocked));
        self.keep_copies(skill);
        self.note_hand(skill, hand);
    }

    /// The version that is there now came about while foreign text was being read: the skill is
    /// not used until the owner trusts it. What was trusted before stays on record, to compare.
    pub fn hold(&mut self, skill: &Skill, hand: &AgentWriter<'_>, host: &Host) {
        let why = format!(
            "the agent wrote it in turn {} without your approval, by a command or with untrusted \
                content in context",
            hand.turn
        );
        match self.skills.get_mut(&key(&skill.folder)) {
            // Somebody else saw it while it was being written, and nobody said yes to it.
            Some(entry) if entry.tree == skill.tree && entry.by != TrustedBy::FirstSight => return,
            Some(entry) => entry.quarantined = Some(why),
            None => {
                self.put(skill, host, TrustedBy::Agent, Some(why));
                self.keep_copies(skill);
            }
        }
        self.note_hand(skill, hand);
    }

    fn note_hand(&mut self, skill: &Skill, hand: &AgentWriter<'_>) {
        if let Some(entry) = self.skills.get_mut(&key(&skill.folder)) {
            entry.turn = Some(hand.turn.to_owned());
            entry.question = hand.question.map(str::to_owned);
        }
    }
}
