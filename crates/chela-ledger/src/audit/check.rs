//! Whether a row of entries is the chain it claims to be.

use chela_store::{AuditEntry, ChainEnd, ChainHead, ChainId, NotedHead};
use serde::Serialize;

use super::proof::ProofCheck;
use super::{EntrySeq, beginning_of, true_hash};
use crate::installation_key::InstallationKey;
use crate::request::RecordId;

/// One thing that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerDamage {
    pub place: DamagedPlace,
    pub what: DamageKind,
    pub words: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DamagedPlace {
    /// An entry of the audit chain.
    Entry(EntrySeq),
    /// A request on record.
    Request(RecordId),
    /// A stored content, by its number.
    Content(i64),
    /// A reservation or a settled call.
    Call(i64),
    /// What is noted of a session, by its number.
    Session(i64),
    /// The file with the newest hash.
    Head,
    /// The file as a whole.
    File,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DamageKind {
    Edited,
    Missing,
    Reordered,
    Truncated,
    HeadMismatch,
    Unreadable,
}

/// Takes entries in order of their numbers and notes what does not fit.
pub(crate) struct ChainCheck {
    chain: ChainId,
    proofs: ProofCheck,
    head: NotedHead,
    /// The entry before, when it could be read.
    before: Option<ChainHead>,
    next: EntrySeq,
    entries: u64,
    damage: Vec<LedgerDamage>,
    /// Entries whose content does not have their hash.
    odd: Vec<AuditEntry>,
    /// The hash at the place the head speaks of.
    at_head: Option<ChainHead>,
}

impl ChainCheck {
    /// Without a key nothing is known about who wrote an entry.
    pub fn new(chain: &ChainId, head: NotedHead, key: Option<InstallationKey>) -> Self {
        Self {
            chain: chain.clone(),
            proofs: ProofCheck::with(key),
            head,
            before: Some(beginning_of(chain)),
            next: 1,
            entries: 0,
            damage: Vec::new(),
            odd: Vec::new(),
            at_head: None,
        }
    }

    /// The two ends of a chain alone: the numbers of its oldest and its newest entry, and the
    /// entry the head speaks of.
    pub fn of_end(end: &ChainEnd) -> Self {
        let mut check = Self::new(&end.chain, end.noted, None);
        if let Some(oldest) = end.oldest {
            check.arrive(oldest);
        }
        check.next = end.newest.map_or(0, |newest| newest.seq) + 1;
        check.at_head = end.at_noted;
        check
    }

    pub fn take(&mut self, entry: AuditEntry) {
        self.arrive(entry.seq);
        let own = entry.head();
        let is_whole = true_hash(&entry) == entry.hash;
        if is_whole {
            self.proofs.take(&self.chain, &entry);
        }
        if let Some(before) = self.before
            && is_whole
            && before.hash != entry.prev
        {
            let words = match before.seq {
                0 => "entry 1 is not linked to the start of the chain".to_owned(),
                seq => format!("entry {seq} is not the one entry {} links to", entry.seq),
            };
            self.found(
                DamagedPlace::Entry(before.seq.max(1)),
                DamageKind::Edited,
                words,
            );
        }
        if matches!(self.head, NotedHead::Head(head) if head.seq == own.seq) {
            self.at_head = Some(own);
        }
        // What an edited entry is bound to is not worth reporting a second time.
        self.before = is_whole.then_some(own);
        if !is_whole {
            self.odd.push(entry);
        }
    }

    pub fn unreadable(&mut self, seq: EntrySeq, words: String) {
        self.arrive(seq);
        self.before = None;
        self.found(DamagedPlace::Entry(seq), DamageKind::Edited, words);
    }

    /// Counts an entry in, and notes those that should have come before it.
    fn arrive(&mut self, seq: EntrySeq) {
        if seq > self.next {
            let gone = between(self.next, seq - 1);
            let place = DamagedPlace::Entry(self.next);
            self.found(place, DamageKind::Missing, format!("{gone} missing"));
            self.before = None;
        } else if seq < self.next {
            let words = format!("entry {seq} is out of place");
            self.found(DamagedPlace::Entry(seq), DamageKind::Reordered, words);
            self.before = None;
        }
        self.next = seq + 1;
        self.entries += 1;
    }

    pub fn entries(&self) -> u64 {
        self.entries
    }

    pub fn newest(&self) -> Option<ChainHead> {
        self.before.filter(|head| head.seq > 0)
    }

    pub fn finish(mut self) -> Vec<LedgerDamage> {
        for (seq, words) in self.proofs.finish() {
            self.found(DamagedPlace::Entry(seq), DamageKind::Edited, words);
        }
        self.judge_odd();
        self.judge_head();
        self.damage.sort_by_key(|damage| damage.place);
        self.damage
    }

    /// An entry that fits at the place of another odd one was moved; any other was edited.
    fn judge_odd(&mut self) {
        const MOST_TRIED: usize = 500;
        let odd = std::mem::take(&mut self.odd);
        let places: Vec<EntrySeq> = odd.iter().take(MOST_TRIED).map(|entry| entry.seq).collect();
        for entry in &odd {
            let home = places.iter().find(|seq| {
                let moved = AuditEntry {
                    seq: **seq,
                    ..entry.clone()
                };
                true_hash(&moved) == entry.hash
            });
            let place = DamagedPlace::Entry(entry.seq);
            match home {
                Some(home) => {
                    let words = format!("entry {} was entry {home} when it was written", entry.seq);
                    self.found(place, DamageKind::Reordered, words);
                }
                None => {
                    self.found(
                        place,
                        DamageKind::Edited,
                        format!("entry {} was edited", entry.seq),
                    );
                }
            }
        }
    }

    fn judge_head(&mut self) {
        let last = self.next - 1;
        match self.head {
            NotedHead::Missing if last == 0 => {}
            NotedHead::Missing => {
                let words = "the file with the newest hash is gone";
                self.found(DamagedPlace::Head, DamageKind::Missing, words.to_owned());
            }
            NotedHead::Unreadable => {
                let words = "the file with the newest hash cannot be read";
                self.found(
                    DamagedPlace::Head,
                    DamageKind::HeadMismatch,
                    words.to_owned(),
                );
            }
            NotedHead::Head(head) if head.seq > last => {
                let gone = between(last + 1, head.seq);
                let words = format!("{gone} missing at the end");
                self.found(DamagedPlace::Entry(last + 1), DamageKind::Truncated, words);
            }
            NotedHead::Head(head) => match self.at_head {
                Some(own) if own.hash == head.hash => {}
                Some(_) => {
                    let words = format!(
                        "entry {} does not match the hash noted beside the ledger",
                        head.seq
                    );
                    self.found(
                        DamagedPlace::Entry(head.seq),
                        DamageKind::HeadMismatch,
                        words,
                    );
                }
                // Reported as missing or unreadable already, unless the head is from before all.
                None => {}
            },
        }
    }

    fn found(&mut self, place: DamagedPlace, what: DamageKind, words: String) {
        self.damage.push(LedgerDamage { place, what, words });
    }
}

fn between(first: EntrySeq, last: EntrySeq) -> String {
    match last - first {
        0 => format!("entry {first} is"),
        _ => format!("entries {first} to {last} are"),
    }
}
