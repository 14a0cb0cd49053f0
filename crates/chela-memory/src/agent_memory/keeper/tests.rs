use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chela_core::Audience;

use super::wake::WakeReason;
use super::{KeeperState, MemoryKeeper, VectorWork};
use crate::agent_memory::{AgentMemory, MemoryParts};
use crate::chunk::MessageSpeaker;
use crate::embed::provider::StandIn;
use crate::embed::{
    EmbedCost, EmbedError, EmbedPrice, EmbedRole, EmbedText, Embedder, LocalTable, ModelId,
};
use crate::memory::{MemoryAnswer, MemoryQuestion};
use crate::search::VectorState;
use crate::settings::{MemorySwitch, SourceKind};
use crate::source::MemoryPlaces;
use crate::store::StoreError;
use crate::tests_support::{MemoryHome, ask};
use crate::tool::{self, GetRequest};
use crate::transcript::{SessionFacts, SessionMessage, TranscriptError, TranscriptSource};

const LONGEST: Duration = Duration::from_secs(20);

fn keep(home: &MemoryHome) -> MemoryParts {
    let mut settings = home.settings.clone();
    settings.sync.watch_debounce_ms = 10;
    MemoryParts {
        host: home.host.clone(),
        index_file: home.index_file(),
        places: MemoryPlaces {
            workspace: home.workspace(),
            sessions: None,
            ..Default::default()
        },
        settings,
        embedder: Some(Arc::new(LocalTable)),
        provider_problem: None,
        transcripts: None,
    }
}

fn start(parts: MemoryParts) -> MemoryKeeper {
    MemoryKeeper::start(Arc::new(AgentMemory::new(parts)))
}

/// Answers from what is indexed.
fn search(keeper: &MemoryKeeper, ask: &MemoryQuestion<'_>) -> MemoryAnswer {
    let found: Result<_, StoreError> = keeper.memory.with(|memory| memory.search(ask));
    found.unwrap()
}

fn sync_soon(keeper: &MemoryKeeper) {
    keeper.wake.call(WakeReason::Asked);
}

fn first(keeper: &MemoryKeeper, question: &str) -> Option<String> {
    let found = search(keeper, &ask(question));
    found.excerpts.first().map(|excerpt| excerpt.text.clone())
}

#[test]
fn what_is_saved_is_found_without_being_asked_for() {
    let home = MemoryHome::new(&[("memory/a.md", "- the cat is called Momo\n")]);
    let mut keep = keep(&home);
    keep.settings.sync.on_search = MemorySwitch::Off;
    let keeper = start(keep);
    assert!(keeper.wait_for(1, LONGEST));
    assert!(first(&keeper, "cat").unwrap().contains("Momo"));
    home.write("memory/b.md", "- the parrot is called Rico\n");
    assert!(keeper.wait_for(2, LONGEST));
    assert!(first(&keeper, "parrot").unwrap().contains("Rico"));
    assert!(keeper.state().problems.is_empty(), "{:?}", keeper.state());
}

#[test]
fn a_folder_that_comes_later_is_watched_too() {
    let home = MemoryHome::new(&[("MEMORY.md", "- the cat is called Momo\n")]);
    let mut keep = keep(&home);
    keep.settings.sync.on_search = MemorySwitch::Off;
    let keeper = start(keep);
    assert!(keeper.wait_for(1, LONGEST));
    home.write("memory/b.md", "- the parrot is called Rico\n");
    assert!(keeper.wait_for(2, LONGEST));
    let syncs = keeper.state().syncs;
    home.write("memory/c.md", "- the horse is called Polly\n");
    assert!(keeper.wait_for(syncs + 1, LONGEST));
    assert!(first(&keeper, "horse").unwrap().contains("Polly"));
}

#[test]
fn each_reason_can_be_switched_off() {
    let home = MemoryHome::new(&[("memory/a.md", "- the cat is called Momo\n")]);
    let mut keep = keep(&home);
    keep.settings.sync.on_session_start = MemorySwitch::Off;
    keep.settings.sync.on_search = MemorySwitch::Off;
    keep.settings.sync.watch = MemorySwitch::Off;
    let keeper = start(keep);
    keeper.session_started();
    // Nothing was a reason; asking outright is one.
    assert_eq!(first(&keeper, "cat"), None);
    assert_eq!(keeper.state().syncs, 0);
    sync_soon(&keeper);
    assert!(keeper.wait_for(1, LONGEST));
    assert!(first(&keeper, "cat").is_some());
}

#[test]
fn a_question_does_not_wait_for_a_sync_that_hangs() {
    /// A source that answers only when it is let.
    struct Slow(Mutex<()>);
    impl TranscriptSource for Slow {
        fn sessions(&self) -> Result<Vec<SessionFacts>, TranscriptError> {
            drop(self.0.lock());
            Ok(Vec::new())
        }
        fn messages(
            &self,
            _: &str,
            _: u64,
            _: usize,
        ) -> Result<Vec<SessionMessage>, TranscriptError> {
            Ok(Vec::new())
        }
    }
    let mut home = MemoryHome::new(&[("memory/a.md", "- the cat is called Momo\n")]);
    drop(home.synced());
    home.settings.sources.push(SourceKind::Sessions);
    let slow = Arc::new(Slow(Mutex::new(())));
    let held = slow.0.lock().unwrap();
    let keeper = start(MemoryParts {
        transcripts: Some(slow.clone()),
        ..keep(&home)
    });
    assert!(first(&keeper, "cat").unwrap().contains("Momo"));
    assert_eq!(keeper.state().syncs, 0);
    drop(held);
    assert!(keeper.wait_for(1, LONGEST));
}

/// Conversations in memory, and how many messages were read.
#[derive(Default)]
struct Chats {
    said: Mutex<Vec<String>>,
    read: Mutex<Vec<(u64, usize)>>,
}

impl TranscriptSource for Chats {
    fn sessions(&self) -> Result<Vec<SessionFacts>, TranscriptError> {
        let facts = |id: &str, messages: usize, audience| SessionFacts {
            id: id.to_owned(),
            messages: messages as u64,
            changed_at: 1_600_000_000 + messages as i64,
            audience,
            trust: chela_core::Trust::Agent,
            open_as: Some(id.to_owned()),
        };
        let own = self.said.lock().unwrap().len();
        Ok(vec![
            facts("main", own, Audience::Private),
            facts("group", 1, Audience::Shared),
        ])
    }

    fn messages(
        &self,
        session: &str,
        from: u64,
        most: usize,
    ) -> Result<Vec<SessionMessage>, TranscriptError> {
        let message = |speaker, text: &str| SessionMessage {
            speaker,
            text: text.to_owned(),
            at: Some(1_600_000_000),
        };
        if session == "group" {
            return Ok(vec![message(
                MessageSpeaker::Assistant,
                "the picnic is on Sunday",
            )]);
        }
        self.read.lock().unwrap().push((from, most));
        let said = self.said.lock().unwrap();
        let page = said.iter().skip(from as usize).take(most);
        Ok(page
            .map(|text| message(MessageSpeaker::User, text))
            .collect())
    }
}

#[test]
fn conversations_are_read_page_by_page_and_only_what_is_new() {
    let mut home = MemoryHome::new(&[]);
    home.settings.sources = vec![SourceKind::Memory, SourceKind::Sessions];
    home.settings.shared_sessions = true;
    home.settings.sync.session_delta_messages = 3;
    let chats = Arc::new(Chats::default());
    let say = |count: usize| {
        let mut said = chats.said.lock().unwrap();
        for _ in 0..count {
            let number = said.len();
            said.push(format!("message about topic{number}"));
        }
    };
    say(450);
    let mut keep = MemoryParts {
        transcripts: Some(chats.clone()),
        ..keep(&home)
    };
    keep.settings.sync.on_search = MemorySwitch::Off;
    keep.settings.sync.watch = MemorySwitch::Off;
    let keeper = start(keep);
    assert!(keeper.wait_for(1, LONGEST));
    let reads = || std::mem::take(&mut *chats.read.lock().unwrap());
    assert_eq!(reads(), [(0, 200), (200, 200), (400, 200)]);
    let place = |question: &str, audience| {
        let ask = MemoryQuestion {
            audience,
            ..ask(question)
        };
        let found = search(&keeper, &ask);
        let hit = found.answer.hits.first();
        hit.map(|hit| format!("{}#L{}", hit.label, hit.start_line))
    };
    assert_eq!(
        place("topic250", Audience::Private).unwrap(),
        "sessions/main@200#L251"
    );
    let mut syncs = 1;
    let mut sync = || {
        syncs += 1;
        sync_soon(&keeper);
        assert!(keeper.wait_for(syncs, LONGEST));
    };
    // Two messages are too few to be worth it; four are not, and only their page is read.
    say(2);
    sync();
    assert_eq!(reads(), []);
    say(2);
    sync();
    assert_eq!(reads(), [(400, 200)]);
    assert_eq!(
        place("topic453", Audience::Private).unwrap(),
        "sessions/main@400#L454"
    );
    // What is said where it is asked is known there.
    let own = MemoryQuestion {
        asked_in: Some("main"),
        ..ask("topic453")
    };
    assert!(
        search(&keeper, &own)
            .answer
            .hits
            .iter()
            .all(|hit| !hit.label.contains("main"))
    );
    // A group finds its own conversation and nothing of the owner's.
    let shared = place("topic453", Audience::Shared);
    assert!(shared.is_none_or(|place| place.starts_with("sessions/group")));
    assert_eq!(
        place("picnic", Audience::Shared).unwrap(),
        "sessions/group#L1"
    );
    let get = |path: &'static str, audience| {
        let got: Result<_, StoreError> = keeper.memory.with(|memory| {
            let get = GetRequest {
                path,
                from: None,
                lines: Some(1),
                audience,
            };
            Ok(tool::memory_get(memory, &get).map(|got| got.text))
        });
        got.unwrap()
    };
    let text = get("sessions/main@200", Audience::Private).unwrap();
    assert!(text.contains("User: message about topic200"), "{text}");
    assert!(get("sessions/main", Audience::Shared).is_err());
    assert!(get("sessions/group", Audience::Shared).is_ok());
}

/// A model that makes one batch each time it is let.
struct Patient {
    price: EmbedPrice,
    batches: Mutex<Receiver<()>>,
    asked: AtomicUsize,
}

impl Embedder for Patient {
    fn id(&self) -> ModelId {
        ModelId {
            provider: "patient".into(),
            model: "m".into(),
        }
    }

    fn cost(&self) -> EmbedCost {
        EmbedCost::PerBatch {
            texts: 100,
            price: self.price,
            tokens_per_second: 10.0,
        }
    }

    fn embed(&self, texts: &[EmbedText<'_>], role: EmbedRole) -> Result<Vec<Vec<f32>>, EmbedError> {
        if role == EmbedRole::Document {
            let _ = self.batches.lock().unwrap().recv_timeout(LONGEST);
            self.asked.fetch_add(texts.len(), Ordering::Relaxed);
        }
        Ok(texts
            .iter()
            .map(|text| vec![text.text.len() as f32, 1.0])
            .collect())
    }
}

const MANY: usize = 300;

fn patient(price: EmbedPrice) -> (Arc<Patient>, Sender<()>) {
    let (let_one, batches) = channel();
    let model = Patient {
        price,
        batches: Mutex::new(batches),
        asked: AtomicUsize::new(0),
    };
    (Arc::new(model), let_one)
}

fn many_notes() -> MemoryHome {
    let lines: Vec<String> = (0..MANY)
        .map(|n| format!("## Day {n}\n\n- on day {n} the cat ate {n} fish\n"))
        .collect();
    MemoryHome::new(&[("MEMORY.md", &lines.join("\n"))])
}

fn keep_with(home: &MemoryHome, model: &Arc<Patient>) -> MemoryParts {
    let mut keep = MemoryParts {
        embedder: Some(Arc::new(StandIn {
            first: Arc::clone(model) as Arc<dyn Embedder>,
            then: Arc::new(LocalTable),
        })),
        ..keep(home)
    };
    keep.settings.sync.on_search = MemorySwitch::Off;
    keep.settings.sync.watch = MemorySwitch::Off;
    keep
}

fn answered_by(keeper: &MemoryKeeper) -> String {
    match search(keeper, &ask("the cat")).answer.vectors {
        VectorState::Used { model } | VectorState::StandIn { model, .. } => model,
        other => format!("{other:?}"),
    }
}

#[test]
fn better_vectors_are_made_in_the_background_and_then_answer() {
    let home = many_notes();
    let (model, let_one) = patient(EmbedPrice::Free);
    let keeper = start(keep_with(&home, &model));
    let at =
        |done| move |state: &KeeperState| state.vectors == VectorWork::Making { done, of: MANY };
    assert!(keeper.wait_until(LONGEST, at(0)));
    assert_eq!(answered_by(&keeper), LocalTable.id().to_string());
    assert!(keeper.state().problems.is_empty(), "{:?}", keeper.state());
    let_one.send(()).unwrap();
    assert!(keeper.wait_until(LONGEST, at(100)));
    assert_eq!(answered_by(&keeper), LocalTable.id().to_string());
    // What is new does not wait for the rest.
    home.write("memory/new.md", "- a dog came by\n");
    sync_soon(&keeper);
    let_one.send(()).unwrap();
    assert!(keeper.wait_until(LONGEST, |state| state.syncs == 2));
    assert!(first(&keeper, "dog").unwrap().contains("came by"));
    drop(let_one);
    assert!(keeper.wait_until(LONGEST, |state| state.vectors == VectorWork::Complete));
    assert_eq!(answered_by(&keeper), "patient/m");
    assert_eq!(model.asked.load(Ordering::Relaxed), MANY + 1);
    // Nothing is made twice.
    drop(keeper);
    let keeper = start(keep_with(&home, &model));
    assert!(keeper.wait_until(LONGEST, |state| state.vectors == VectorWork::Complete));
    assert_eq!(model.asked.load(Ordering::Relaxed), MANY + 1);
}

#[test]
fn what_costs_money_is_not_made_in_the_background() {
    for price in [EmbedPrice::About(1.0), EmbedPrice::Unknown] {
        let home = many_notes();
        let (model, let_one) = patient(price);
        drop(let_one);
        let keeper = start(keep_with(&home, &model));
        assert!(keeper.wait_for(1, LONGEST));
        sync_soon(&keeper);
        assert!(keeper.wait_for(2, LONGEST));
        assert_eq!(model.asked.load(Ordering::Relaxed), 0);
        assert_eq!(
            keeper.state().problems,
            ["300 chunks have no vector yet; `chela memory index` shows what they cost"]
        );
        assert_eq!(answered_by(&keeper), LocalTable.id().to_string());
    }
    // Of an unknown price not even a few.
    let home = MemoryHome::new(&[("memory/a.md", "- the cat is called Momo\n")]);
    let (model, let_one) = patient(EmbedPrice::Unknown);
    drop(let_one);
    let keeper = start(keep_with(&home, &model));
    assert!(keeper.wait_for(1, LONGEST));
    assert_eq!(model.asked.load(Ordering::Relaxed), 0);
}
