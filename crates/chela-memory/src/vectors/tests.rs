use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::{FillOutcome, VectorCoverage, coverage};
use crate::embed::provider::StandIn;
use crate::embed::{
    EmbedCost, EmbedError, EmbedPrice, EmbedRole, EmbedText, Embedder, LocalTable, ModelId,
    RetryAdvice,
};
use crate::memory::{Memory, OpenMemory};
use crate::search::VectorState;
use crate::source::MemoryPlaces;
use crate::tests_support::{MemoryHome, ask, sync};

/// A slow model that can be told to fail, and counts what it is asked.
#[derive(Default)]
struct Slow {
    fails: AtomicBool,
    documents: AtomicUsize,
}

impl Embedder for Slow {
    fn id(&self) -> ModelId {
        ModelId {
            provider: "slow".into(),
            model: "m".into(),
        }
    }

    fn cost(&self) -> EmbedCost {
        EmbedCost::PerBatch {
            texts: 50,
            price: EmbedPrice::About(2.0),
            tokens_per_second: 10.0,
        }
    }

    fn embed(&self, texts: &[EmbedText<'_>], role: EmbedRole) -> Result<Vec<Vec<f32>>, EmbedError> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(EmbedError {
                provider: "slow".into(),
                reason: "out of order".into(),
                retry: RetryAdvice::Later,
            });
        }
        if role == EmbedRole::Document {
            self.documents.fetch_add(texts.len(), Ordering::Relaxed);
        }
        Ok(texts
            .iter()
            .map(|text| vec![text.text.len() as f32, 1.0])
            .collect())
    }
}

const NOTES: usize = 300;

fn home() -> MemoryHome {
    let lines: Vec<String> = (0..NOTES)
        .map(|n| format!("## Day {n}\n\n- on day {n} the cat ate {n} fish\n"))
        .collect();
    MemoryHome::new(&[("MEMORY.md", &lines.join("\n"))])
}

fn open<'a>(home: &'a MemoryHome, embedder: &'a dyn Embedder) -> Memory<'a> {
    Memory::open(OpenMemory {
        host: &home.host,
        index_file: home.index_file(),
        places: MemoryPlaces {
            workspace: home.workspace(),
            sessions: None,
            ..Default::default()
        },
        settings: home.settings.clone(),
        embedder: Some(embedder),
    })
    .unwrap()
}

fn state(memory: &mut Memory<'_>) -> VectorState {
    memory.search(&ask("the cat")).unwrap().answer.vectors
}

#[test]
fn the_table_answers_until_the_better_vectors_are_complete() {
    let home = home();
    let slow = Arc::new(Slow::default());
    let both = StandIn {
        first: slow.clone(),
        then: Arc::new(LocalTable),
    };
    let mut memory = open(&home, &both);
    // Many vectors are not made unasked; the sync says so and what it would take is known.
    let report = sync(&mut memory);
    assert_eq!(slow.documents.load(Ordering::Relaxed), 0);
    assert_eq!((report.unmade, report.problems.len()), (NOTES, 0));
    let quote = memory.quote().unwrap().unwrap();
    assert_eq!(quote.chunks, NOTES);
    assert!(quote.seconds > 60.0 && matches!(quote.price, EmbedPrice::About(cents) if cents > 0.0));
    let standing_in = VectorState::StandIn {
        model: LocalTable.id().to_string(),
        problem: None,
    };
    assert_eq!(state(&mut memory), standing_in);
    // Cut short, and gone on with by another process.
    let stopped = memory
        .make_vectors(&mut |done, _| match done < 100 {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
        .unwrap();
    assert_eq!(stopped, FillOutcome::Stopped);
    assert_eq!(state(&mut memory), standing_in);
    drop(memory);
    let mut memory = open(&home, &both);
    assert_eq!(memory.quote().unwrap().unwrap().chunks, NOTES - 100);
    let mut seen = Vec::new();
    let filled = memory
        .make_vectors(&mut |done, of| {
            seen.push((done, of));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(filled, FillOutcome::Complete);
    assert_eq!(seen, [(100, 300), (150, 300), (200, 300), (250, 300)]);
    assert_eq!(slow.documents.load(Ordering::Relaxed), NOTES);
    assert_eq!(
        state(&mut memory),
        VectorState::Used {
            model: "slow/m".into()
        }
    );
    // A new note is small enough to be done at once.
    home.write("memory/new.md", "- a dog came by\n");
    assert_eq!(sync(&mut memory).problems, [""; 0]);
    assert_eq!(
        coverage(memory.store(), "slow/m").unwrap(),
        VectorCoverage {
            chunks: NOTES + 1,
            missing: 0
        }
    );
}

#[test]
fn a_provider_that_fails_is_named_and_stood_in_for() {
    let home = home();
    let slow = Arc::new(Slow::default());
    let both = StandIn {
        first: slow.clone(),
        then: Arc::new(LocalTable),
    };
    let mut memory = open(&home, &both);
    sync(&mut memory);
    memory
        .make_vectors(&mut |_, _| ControlFlow::Continue(()))
        .unwrap();
    slow.fails.store(true, Ordering::Relaxed);
    let VectorState::StandIn {
        problem: Some(problem),
        ..
    } = state(&mut memory)
    else {
        panic!("nobody stood in");
    };
    assert_eq!(problem.reason, "out of order");
    home.write("memory/new.md", "- a dog came by\n");
    let report = sync(&mut memory);
    assert_eq!(
        report.problems,
        ["embedding provider slow failed: out of order"]
    );
    // The new note is found all the same.
    let found = memory.search(&ask("dog")).unwrap();
    assert!(found.excerpts[0].citation().starts_with("memory/new.md"));
}
