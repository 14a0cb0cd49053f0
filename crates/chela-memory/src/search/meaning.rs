//! The vector leg: how near each chunk is to what the question means.

use super::keyword::TermCounts;
use super::{RankWeights, SearchRequest, VectorState};
use crate::embed::{EmbedRole, EmbedText, VectorGrasp};
use crate::language::Language;
use crate::query::{ParsedQuery, QueryKind};
use crate::settings::QueryMode;
use crate::snapshot::IndexSnapshot;
use crate::vector::{QuantisedVector, VectorMatrix};
use crate::words::TermReader;

/// The text of a question without names that nearly every chunk has.
pub fn of(
    query: &ParsedQuery,
    counts: &TermCounts,
    snapshot: &IndexSnapshot,
    weights: &RankWeights,
    terms: &mut TermReader,
) -> String {
    let everywhere = weights.common_name * snapshot.live as f32;
    query.meaning(|word| {
        let stems = terms.of(word);
        !stems.is_empty()
            && stems
                .iter()
                .all(|stem| counts.of(stem).is_some_and(|df| df as f32 > everywhere))
    })
}

/// The vector of a question, and what became of it.
pub fn embed(
    request: &SearchRequest<'_>,
    snapshot: &IndexSnapshot,
    (text, language): (&str, Language),
) -> (Option<QuantisedVector>, VectorState) {
    let Some(embedder) = request
        .embedder
        .filter(|_| request.settings.mode != QueryMode::Keyword)
    else {
        return (None, VectorState::Off);
    };
    let text = EmbedText {
        text,
        context: "",
        language,
    };
    match embedder.embed(&[text], EmbedRole::Query) {
        Err(problem) => (None, VectorState::Failed { problem }),
        Ok(vectors) => {
            let vector = vectors
                .first()
                .map(|vector| QuantisedVector::of(vector))
                .filter(|v| v.scale > 0.0);
            let model = snapshot.model.clone();
            let state = match snapshot.has_vectors() {
                true => VectorState::Used { model },
                false => VectorState::Partial { model },
            };
            (vector, state)
        }
    }
}

/// From this many chunks on, starting threads costs less than they save.
const WORTH_THREADS: usize = 200_000;
/// Memory gives no more rows to more threads than this.
const MOST_THREADS: usize = 4;

/// The cosine of every chunk with the question; 0 where there is no vector.
pub fn cosines(snapshot: &IndexSnapshot, query: Option<&QuantisedVector>, out: &mut Vec<f32>) {
    out.clear();
    out.resize(snapshot.slots(), 0.0);
    let Some(query) = query else { return };
    let threads = match out.len() < WORTH_THREADS {
        true => 1,
        false => std::thread::available_parallelism().map_or(1, |n| n.get().min(MOST_THREADS)),
    };
    // Segments differ in size: each goes to the thread with the least to do.
    let mut shares: Vec<Share<'_>> = Vec::new();
    shares.resize_with(threads, Default::default);
    let mut rest = out.as_mut_slice();
    for part in &snapshot.parts {
        let (here, after) = rest.split_at_mut(part.segment.docs.len());
        rest = after;
        if let (Some(matrix), Some(share)) = (
            part.matrix.as_deref(),
            shares.iter_mut().min_by_key(|share| share.rows),
        ) {
            share.rows += here.len();
            share.work.push((matrix, here));
        }
    }
    std::thread::scope(|scope| {
        let own = shares.pop();
        for share in shares {
            scope.spawn(|| share.scan(query));
        }
        if let Some(share) = own {
            share.scan(query);
        }
    });
}

/// What one thread scans.
#[derive(Default)]
struct Share<'a> {
    rows: usize,
    work: Vec<(&'a VectorMatrix, &'a mut [f32])>,
}

impl Share<'_> {
    fn scan(self, query: &QuantisedVector) {
        for (matrix, cosines) in self.work {
            matrix.cosines(query, cosines);
        }
    }
}

/// What the model that is asked understands.
pub fn grasp(request: &SearchRequest<'_>) -> VectorGrasp {
    request
        .embedder
        .map_or(VectorGrasp::Words, |model| model.grasp())
}

/// A model that knows less than this of a question says nothing about it.
const LEAST_KNOWN: f32 = 0.4;
/// One that knows as much knows enough.
const ENOUGH_KNOWN: f32 = 0.8;

/// How far the model that is asked knows the words of a question.
pub fn known(request: &SearchRequest<'_>, text: &str, language: Language) -> f32 {
    let share = request
        .embedder
        .map_or(1.0, |model| model.knows(text, language));
    match share {
        share if share < LEAST_KNOWN => 0.0,
        share => (share / ENOUGH_KNOWN).min(1.0),
    }
}

/// The share of the vectors in a score, when there are any.
pub fn share(request: &SearchRequest<'_>, snapshot: &IndexSnapshot, kind: QueryKind) -> f32 {
    let (settings, weights) = (request.settings, request.weights);
    match settings.mode {
        QueryMode::Vector => 1.0,
        _ => match (settings.vector_weight, settings.text_weight) {
            (Some(vector), Some(text)) if vector + text > 0.0 => vector / (vector + text),
            (Some(vector), None) => vector.clamp(0.0, 1.0),
            _ => {
                let shares = weights.shares(grasp(request));
                match kind {
                    QueryKind::Prose if snapshot.has_pages() => shares.pages,
                    QueryKind::Prose => shares.prose,
                    QueryKind::Names => shares.names,
                    QueryKind::Code => shares.code,
                }
            }
        },
    }
}
