//! Whether a row of entries is the chain it claims to be.

use super::{AuditEntry, Damage, DamagedPlace, Found, Head, Seq, What};

/// Takes entries in order of their numbers and notes what does not fit.
pub struct ChainCheck {
    head: Found,
    /// The entry before, when it could be read.
    before: Option<Head>,
    next: Seq,
    entries: u64,
    damage: Vec<Damage>,
    /// Entries whose content does not have their hash.
    odd: Vec<AuditEntry>,
    /// The hash at the place the head speaks of.
    at_head: Option<Head>,
}

impl ChainCheck {
    pub fn new(head: Found) -> Self {
        Self {
            head,
            before: Some(Head::start()),
            next: 1,
            entries: 0,
            damage: Vec::new(),
            odd: Vec::new(),
            at_head: None,
        }
    }

    /// The end of a chain alone: the number of its newest entry, and the entry the head speaks of.
    pub fn of_end(head: Found, last: Seq, at_head: Option<Head>) -> Self {
        Self {
            next: last + 1,
            at_head,
            ..Self::new(head)
        }
    }

    pub fn take(&mut self, entry: AuditEntry) {
        self.arrive(entry.seq);
        let own = Head {
            seq: entry.seq,
            hash: entry.hash,
        };
        let is_whole = entry.true_hash() == entry.hash;
        if let Some(before) = self.before
            && is_whole
            && before.hash != entry.prev
        {
            let words = match before.seq {
                0 => "entry 1 is not bound to the beginning".to_owned(),
                seq => format!(
                    "entry {seq} is not the one that entry {} was bound to",
                    entry.seq
                ),
            };
            self.found(DamagedPlace::Entry(before.seq.max(1)), What::Edited, words);
        }
        if self.head == Found::Head(own)
            || matches!(self.head, Found::Head(head) if head.seq == own.seq)
        {
            self.at_head = Some(own);
        }
        // What an edited entry is bound to is not worth reporting a second time.
        self.before = is_whole.then_some(own);
        if !is_whole {
            self.odd.push(entry);
        }
    }

    pub fn unreadable(&mut self, seq: Seq, words: String) {
        self.arrive(seq);
        self.before = None;
        self.found(DamagedPlace::Entry(seq), What::Edited, words);
    }

    /// Counts an entry in, and notes those that should have come before it.
    fn arrive(&mut self, seq: Seq) {
        if seq > self.next {
            let gone = between(self.next, seq - 1);
            let place = DamagedPlace::Entry(self.next);
            self.found(place, What::Missing, format!("{gone} missing"));
            self.before = None;
        } else if seq < self.next {
            let words = format!("entry {seq} does not stand at its place");
            self.found(DamagedPlace::Entry(seq), What::Reordered, words);
            self.before = None;
        }
        self.next = seq + 1;
        self.entries += 1;
    }

    pub fn entries(&self) -> u64 {
        self.entries
    }

    pub fn newest(&self) -> Option<Head> {
        self.before.filter(|head| head.seq > 0)
    }

    pub fn finish(mut self) -> Vec<Damage> {
        self.judge_odd();
        self.judge_head();
        self.damage.sort_by_key(|damage| damage.place);
        self.damage
    }

    /// An entry that fits at the place of another odd one was moved; any other was edited.
    fn judge_odd(&mut self) {
        const MOST_TRIED: usize = 500;
        let odd = std::mem::take(&mut self.odd);
        let places: Vec<Seq> = odd.iter().take(MOST_TRIED).map(|entry| entry.seq).collect();
        for entry in &odd {
            let home = places.iter().find(|seq| {
                let moved = AuditEntry {
                    seq: **seq,
                    ..entry.clone()
                };
                moved.true_hash() == entry.hash
            });
            let place = DamagedPlace::Entry(entry.seq);
            match home {
                Some(home) => {
                    let words = format!("entry {} was entry {home} when it was written", entry.seq);
                    self.found(place, What::Reordered, words);
                }
                None => {
                    self.found(
                        place,
                        What::Edited,
                        format!("entry {} was edited", entry.seq),
                    );
                }
            }
        }
    }

    fn judge_head(&mut self) {
        let last = self.next - 1;
        match self.head {
            Found::Missing if last == 0 => {}
            Found::Missing => {
                let words = "the file with the newest hash is gone";
                self.found(DamagedPlace::Head, What::Missing, words.to_owned());
            }
            Found::Unreadable => {
                let words = "the file with the newest hash cannot be read";
                self.found(DamagedPlace::Head, What::HeadMismatch, words.to_owned());
            }
            Found::Head(head) if head.seq > last => {
                let gone = between(last + 1, head.seq);
                let words = format!("{gone} missing at the end");
                self.found(DamagedPlace::Entry(last + 1), What::Truncated, words);
            }
            Found::Head(head) => match self.at_head {
                Some(own) if own.hash == head.hash => {}
                Some(_) => {
                    let words = format!(
                        "entry {} does not have the hash noted beside the ledger",
                        head.seq
                    );
                    self.found(DamagedPlace::Entry(head.seq), What::HeadMismatch, words);
                }
                // Reported as missing or unreadable already, unless the head is from before all.
                None => {}
            },
        }
    }

    fn found(&mut self, place: DamagedPlace, what: What, words: String) {
        self.damage.push(Damage { place, what, words });
    }
}

fn between(first: Seq, last: Seq) -> String {
    match last - first {
        0 => format!("entry {first} is"),
        _ => format!("entries {first} to {last} are"),
    }
}
