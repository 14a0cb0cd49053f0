//! Whether everything on record is as it was written.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use chela_core::{ContentHash, Host, lock};
use chela_store::{
    AuditEntry, ChainId, LedgerFact, LedgerPlace, NotedHead, RequestSeals, SqliteLedgerStore,
};
use serde::Serialize;

use crate::audit::{AuditKind, ChainCheck, DamageKind, DamagedPlace, EntrySeq, LedgerDamage};
use crate::installation_key::InstallationKey;
use crate::ledger::{Ledger, LedgerError, ledger_file};
use crate::request::RecordId;
use crate::retain::forgotten_ids;

/// What a look at everything found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyReport {
    /// Of all chains.
    pub entries: u64,
    pub requests: u64,
    pub contents: u64,
    /// The newest entry of this one's chain, by its number and hash: worth keeping elsewhere.
    pub newest: Option<(EntrySeq, ContentHash)>,
    /// Nothing when all is sound.
    pub damage: Vec<LedgerDamage>,
}

impl VerifyReport {
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }
}

impl Ledger {
    /// Reads everything and says what is not as it was written, and where. Every chain there is
    /// counts.
    pub async fn verify(&self) -> Result<VerifyReport, LedgerError> {
        let check = Arc::new(Mutex::new(LedgerCheck {
            own: self.chain.clone(),
            key: InstallationKey::beside(self.path()),
            ..LedgerCheck::default()
        }));
        let told = Arc::clone(&check);
        let examined = self.store.examine(Box::new(move |fact| {
            lock(&told).take(fact);
        }));
        examined.await?;
        let mut check = lock(&check);
        Ok(std::mem::take(&mut *check).finish())
    }

    /// Whether each chain has its first entry and the newest hash noted of it fits its end: of [`Self::verify`] the part
    /// that costs the same however much is on record.
    pub async fn check_head(&self) -> Result<Vec<LedgerDamage>, LedgerError> {
        let ends = self.store.chain_ends().await?;
        let found = ends
            .iter()
            .flat_map(|end| named(&end.chain, ChainCheck::of_end(end).finish()));
        Ok(found.collect())
    }
}

/// The verdict where there is no ledger: a head without one means that it was taken away.
pub fn verify_absent(host: &Host) -> VerifyReport {
    let path = ledger_file(host);
    let heads = SqliteLedgerStore::heads_beside(&path);
    let mut verdict = VerifyReport::default();
    if !heads.is_empty() {
        verdict.damage.push(LedgerDamage {
            place: DamagedPlace::File,
            what: DamageKind::Missing,
            words: format!("the ledger {} is gone", path.display()),
        });
    }
    for (chain, head) in heads {
        let found = ChainCheck::new(&chain, head, None).finish();
        verdict.damage.extend(named(&chain, found));
    }
    verdict
}

/// Says of which chain the damage is, where it is not the home's own.
fn named(chain: &ChainId, mut damage: Vec<LedgerDamage>) -> Vec<LedgerDamage> {
    if !chain.is_default() {
        for damage in &mut damage {
            damage.words = format!("chain {chain}: {}", damage.words);
        }
    }
    damage
}

#[derive(Default)]
struct LedgerCheck {
    verdict: VerifyReport,
    /// The chain whose newest entry is wanted.
    own: ChainId,
    key: Option<InstallationKey>,
    chain: Option<(ChainId, ChainCheck)>,
    /// What the chains say of each request: its seals, the later ones counting.
    sealed: BTreeMap<RecordId, SealedRequest>,
}

#[derive(Default)]
struct SealedRequest {
    begun: Option<String>,
    ended: Option<String>,
    forgotten: bool,
}

impl LedgerCheck {
    fn take(&mut self, fact: LedgerFact) {
        match fact {
            LedgerFact::Chain(chain, head) => self.begin_chain(chain, head),
            LedgerFact::Entry(entry) => {
                self.learn(&entry);
                if let Some((_, chain)) = &mut self.chain {
                    chain.take(entry);
                }
            }
            LedgerFact::UnreadableEntry { seq, words } => {
                if let Some((_, chain)) = &mut self.chain {
                    chain.unreadable(seq, words);
                }
            }
            LedgerFact::Content => {
                self.end_chain();
                self.verdict.contents += 1;
            }
            LedgerFact::Request { number, seals } => {
                self.end_chain();
                self.judge_request(RecordId(number), seals);
            }
            LedgerFact::Damaged { place, words } => {
                self.found(place_of(place), DamageKind::Edited, words);
            }
            LedgerFact::Gone { place, words } => {
                self.found(place_of(place), DamageKind::Missing, words);
            }
            LedgerFact::Unreadable(words) => {
                self.found(DamagedPlace::File, DamageKind::Unreadable, words);
            }
        }
    }

    fn finish(mut self) -> VerifyReport {
        self.end_chain();
        for (id, sealed) in std::mem::take(&mut self.sealed) {
            if sealed.begun.is_some() && !sealed.forgotten {
                let words = format!("request {id} is missing, with no record of its deletion");
                self.found(DamagedPlace::Request(id), DamageKind::Missing, words);
            }
        }
        self.verdict
    }

    fn begin_chain(&mut self, chain: ChainId, head: NotedHead) {
        self.end_chain();
        let check = ChainCheck::new(&chain, head, self.key.clone());
        self.chain = Some((chain, check));
    }

    fn end_chain(&mut self) {
        let Some((chain, check)) = self.chain.take() else {
            return;
        };
        self.verdict.entries += check.entries();
        if chain == self.own {
            self.verdict.newest = check.newest().map(|head| (head.seq, head.hash));
        }
        self.verdict.damage.extend(named(&chain, check.finish()));
    }

    fn found(&mut self, place: DamagedPlace, what: DamageKind, words: impl Into<String>) {
        self.verdict.damage.push(LedgerDamage {
            place,
            what,
            words: words.into(),
        });
    }

    /// Remembers what an entry says about requests.
    fn learn(&mut self, entry: &AuditEntry) {
        let body = entry.json();
        let seal = || body.get("seal")?.as_str().map(str::to_owned);
        match AuditKind::named(&entry.kind) {
            Some(AuditKind::PromptBuild) => {
                if let Some(record) = body.get("record").and_then(serde_json::Value::as_i64) {
                    self.sealed.entry(RecordId(record)).or_default().begun = seal();
                }
            }
            Some(AuditKind::RequestEnd) => {
                if let Some(record) = body.get("record").and_then(serde_json::Value::as_i64) {
                    self.sealed.entry(RecordId(record)).or_default().ended = seal();
                }
            }
            Some(AuditKind::Forgotten) => {
                for id in forgotten_ids(&body) {
                    self.sealed.entry(RecordId(id)).or_default().forgotten = true;
                }
            }
            _ => {}
        }
    }

    fn judge_request(&mut self, id: RecordId, seals: RequestSeals) {
        self.verdict.requests += 1;
        let sealed = self.sealed.remove(&id).unwrap_or_default();
        let place = DamagedPlace::Request(id);
        let hex = |hash: ContentHash| Some(hash.to_string());
        match seals.begun {
            Ok(seal) if hex(seal) == sealed.begun => {}
            Ok(_) if sealed.begun.is_none() => {
                let words = format!("no audit entry for request {id}");
                self.found(place, DamageKind::Edited, words);
            }
            _ => self.found(
                place,
                DamageKind::Edited,
                format!("request {id} was changed"),
            ),
        }
        match seals.ended {
            Ok(seal) if seal.and_then(hex) == sealed.ended => {}
            _ => {
                let words = format!("the outcome of request {id} was changed");
                self.found(place, DamageKind::Edited, words);
            }
        }
    }
}

fn place_of(place: LedgerPlace) -> DamagedPlace {
    match place {
        LedgerPlace::Content(number) => DamagedPlace::Content(number),
        LedgerPlace::Call(number) => DamagedPlace::Call(number),
        LedgerPlace::Session(number) => DamagedPlace::Session(number),
    }
}
