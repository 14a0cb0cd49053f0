use std::ops::ControlFlow;
use std::sync::Arc;

use chela_core::{Audience, Trust};

use super::{AgentMemory, MemoryParts};
use crate::chunk::MessageSpeaker;
use crate::forget::ForgetTarget;
use crate::index::{SyncDepth, SyncReport, indexed_files};
use crate::memory::Memory;
use crate::settings::SourceKind;
use crate::source::MemoryPlaces;
use crate::store::StoreError;
use crate::tests_support::{MemoryHome, found, sync};
use crate::transcript::{SessionFacts, SessionMessage, TranscriptError, TranscriptSource};

/// One conversation of one message, or none that can be read.
struct OneTalk {
    readable: bool,
}

impl TranscriptSource for OneTalk {
    fn sessions(&self) -> Result<Vec<SessionFacts>, TranscriptError> {
        match self.readable {
            true => Ok(vec![SessionFacts {
                id: "s1".to_owned(),
                messages: 1,
                changed_at: 1_600_000_000,
                audience: Audience::Private,
                trust: Trust::Agent,
                open_as: None,
            }]),
            false => Err(TranscriptError {
                session: "list".to_owned(),
                reason: "no key".to_owned(),
            }),
        }
    }

    fn messages(&self, _: &str, _: u64, _: usize) -> Result<Vec<SessionMessage>, TranscriptError> {
        Ok(vec![SessionMessage {
            speaker: MessageSpeaker::User,
            text: "the turquoise gramophone was sold".to_owned(),
            at: None,
        }])
    }
}

fn home() -> MemoryHome {
    let mut home = MemoryHome::new(&[("memory/a.md", "- the cat is called Momo\n")]);
    home.settings.sources.push(SourceKind::Sessions);
    home
}

fn memory(home: &MemoryHome, transcripts: Option<OneTalk>) -> Arc<AgentMemory> {
    Arc::new(AgentMemory::new(MemoryParts {
        host: home.host.clone(),
        index_file: home.index_file(),
        places: MemoryPlaces {
            workspace: home.workspace(),
            sessions: None,
            ..Default::default()
        },
        settings: home.settings.clone(),
        embedder: None,
        provider_problem: None,
        transcripts: transcripts.map(|source| Arc::new(source) as Arc<dyn TranscriptSource>),
    }))
}

fn with<T>(memory: &AgentMemory, use_it: impl FnOnce(&mut Memory<'_>) -> T) -> T {
    let result: Result<T, StoreError> = memory.with(|memory| Ok(use_it(memory)));
    result.unwrap()
}

fn labels(memory: &AgentMemory) -> Vec<String> {
    with(memory, |memory| {
        indexed_files(memory.store()).unwrap().into_keys().collect()
    })
}

#[test]
fn who_cannot_see_the_conversations_does_not_remove_them() {
    let home = home();
    let chat = memory(&home, Some(OneTalk { readable: true }));
    with(&chat, sync);
    assert_eq!(labels(&chat), ["memory/a.md", "sessions/s1"]);
    for blind in [None, Some(OneTalk { readable: false })] {
        let other = memory(&home, blind);
        for depth in [SyncDepth::Quick, SyncDepth::Verify, SyncDepth::Rebuild] {
            let report: SyncReport = with(&other, |memory| {
                memory
                    .sync(depth, &mut |_| ControlFlow::Continue(()))
                    .unwrap()
            });
            assert_eq!(report.removed, 0, "{depth:?}");
        }
        assert_eq!(with(&other, |memory| memory.status().unwrap().gone), 0);
        assert_eq!(
            with(&other, |memory| found(memory, "gramophone")),
            ["sessions/s1#L1"]
        );
    }
    // Switched off by the operator, they go.
    let mut without = home;
    without
        .settings
        .sources
        .retain(|source| *source == SourceKind::Memory);
    let other = memory(&without, Some(OneTalk { readable: true }));
    assert_eq!(with(&other, sync).removed, 1);
}

#[test]
fn status_counts_conversations_and_forgetting_finds_them() {
    let home = home();
    let memory = memory(&home, Some(OneTalk { readable: true }));
    let status = || with(&memory, |memory| memory.status().unwrap());
    assert_eq!((status().pending, status().gone), (2, 0));
    with(&memory, sync);
    assert_eq!((status().pending, status().gone), (0, 0));
    let gone = with(&memory, |memory| {
        let doomed = memory.find_to_forget(&ForgetTarget::Text("gramophone".to_owned()));
        memory.forget(doomed).unwrap()
    });
    assert_eq!(gone.entries.len(), 1);
    assert!(!gone.entries[0].from_file);
    assert!(with(&memory, |memory| found(memory, "gramophone")).is_empty());
}

#[test]
fn an_index_that_was_deleted_is_made_again() {
    let home = home();
    let memory = memory(&home, Some(OneTalk { readable: true }));
    with(&memory, sync);
    assert_eq!(labels(&memory).len(), 2);
    std::fs::remove_dir_all(home.index_file().parent().unwrap()).unwrap();
    assert!(labels(&memory).is_empty());
    with(&memory, sync);
    assert_eq!(labels(&memory).len(), 2);
}

#[test]
fn one_keeper_serves_all_sessions_of_an_agent() {
    let home = home();
    let memory = memory(&home, Some(OneTalk { readable: true }));
    let first = memory.keep_current();
    let second = memory.keep_current();
    assert!(Arc::ptr_eq(&first, &second));
    drop((first, second));
    let weak = Arc::downgrade(&memory.keep_current());
    assert!(weak.upgrade().is_none());
}
