//! A question in, ranked units out.
//!
//! Every current chunk gets a score from its words (BM25 over stems), its meaning (cosine), its
//! section and its neighbours; the best are looked at again more closely. Scores of different
//! kinds are scaled per question before they are added: no constant fits all questions.

mod closer;
mod compat;
mod copies;
mod excerpt;
mod feedback;
mod fetch;
mod keyword;
mod meaning;
mod rank;
mod soft;
mod weights;

use chela_core::{Audience, Trust};
use rusqlite::Connection;

use crate::day::CalendarDay;
use crate::embed::{EmbedError, Embedder};
use crate::query::{ParsedQuery, QueryKind};
use crate::settings::{DuplicateHits, QueryMode, QuerySettings};
use crate::snapshot::IndexSnapshot;
use crate::store::{IndexStore, StoreError};
use crate::words::TermReader;

pub use excerpt::{ExcerptBudget, FileExcerpt, excerpts};
use rank::ScoreLegs;
pub use weights::{RankWeights, VectorShares};

/// A question and how to answer it.
#[derive(Clone, Copy)]
pub struct SearchRequest<'a> {
    pub question: &'a str,
    pub settings: &'a QuerySettings,
    pub weights: &'a RankWeights,
    pub embedder: Option<&'a dyn Embedder>,
    pub today: CalendarDay,
    /// Who will read the answer.
    pub audience: Audience,
    /// How many hits to rank; excerpts are made of these.
    pub hits: usize,
}

impl std::fmt::Debug for SearchRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchRequest")
            .field("question", &self.question)
            .finish_non_exhaustive()
    }
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchAnswer {
    /// Best first.
    pub hits: Vec<SearchHit>,
    pub confidence: HitConfidence,
    pub kind: QueryKind,
    /// Chunks that were searched.
    pub searched: usize,
    /// Why there are no vectors, when there should be.
    pub vectors: VectorState,
}

/// Whether the best hit is likely to be what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitConfidence {
    None,
    Low,
    High,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VectorState {
    Used {
        model: String,
    },
    Off,
    /// Some chunks have no vector yet.
    Partial {
        model: String,
    },
    Failed {
        problem: EmbedError,
    },
    /// Another model answered: the first has too few vectors yet, or failed.
    StandIn {
        model: String,
        problem: Option<EmbedError>,
    },
}

/// One unit that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    pub chunk: i64,
    pub label: String,
    pub start_line: u32,
    pub end_line: u32,
    pub heading: String,
    pub date: Option<CalendarDay>,
    pub text: String,
    pub trust: Trust,
    pub audience: Audience,
    /// Between 0 and 1, where 1 is as good as a hit can be for this question.
    pub score: f32,
    pub explain: ScoreParts,
    /// Its place in the index: neighbours in a file have neighbouring places.
    pub slot: usize,
}

/// Where a score comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ScoreParts {
    /// BM25, as computed and relative to the best.
    pub bm25: f32,
    pub keyword: f32,
    /// Cosine, as computed and relative to the best and the hundredth.
    pub cosine: f32,
    pub vector: f32,
    pub section: f32,
    pub recency: f32,
    pub role: f32,
    pub importance: f32,
    pub date: f32,
    /// From the closer look: words in common, pairs of words in a row, soft matches.
    pub coverage: f32,
    pub pairs: f32,
    pub soft: f32,
    pub phrase: f32,
    /// Words of the question near each other, and in the title.
    pub close: f32,
    pub title: f32,
    /// What agreeing with the other good candidates added.
    pub agreed: f32,
    /// Rank before the closer look, from 1.
    pub first_rank: usize,
}

/// Searches one index and keeps what it read for the next question.
#[derive(Debug, Default)]
pub struct IndexSearcher {
    snapshot: Option<IndexSnapshot>,
    terms: TermReader,
    scratch: ScoreScratch,
}

#[derive(Debug, Default)]
struct ScoreScratch {
    keyword: Vec<f32>,
    section: Vec<f32>,
    cosine: Vec<f32>,
}

/// An index as it is now, and what is used to search it.
struct LoadedIndex<'s> {
    snapshot: &'s IndexSnapshot,
    terms: &'s mut TermReader,
    scratch: &'s mut ScoreScratch,
}

impl IndexSearcher {
    /// Ranks the chunks of `store` for a question.
    pub fn search(
        &mut self,
        store: &IndexStore,
        request: &SearchRequest<'_>,
    ) -> Result<SearchAnswer, StoreError> {
        let connection = store.connection();
        let run = |this: &mut Self| {
            // One read transaction: what is ranked is what is shown.
            let transaction = connection.unchecked_transaction()?;
            let answer = match request.settings.mode {
                QueryMode::Compat => this.compat(&transaction, request),
                _ => this.best(&transaction, request),
            }?;
            transaction.commit()?;
            Ok(answer)
        };
        run(self).map_err(|error| {
            self.snapshot = None;
            store.explain(error)
        })
    }

    fn load(
        &mut self,
        connection: &Connection,
        request: &SearchRequest<'_>,
    ) -> rusqlite::Result<LoadedIndex<'_>> {
        let model = request
            .embedder
            .map(|embedder| embedder.id().to_string())
            .unwrap_or_default();
        let snapshot =
            IndexSnapshot::load(connection, &model, request.audience, self.snapshot.take())?;
        Ok(LoadedIndex {
            snapshot: self.snapshot.insert(snapshot),
            terms: &mut self.terms,
            scratch: &mut self.scratch,
        })
    }

    fn best(
        &mut self,
        connection: &Connection,
        request: &SearchRequest<'_>,
    ) -> rusqlite::Result<SearchAnswer> {
        let LoadedIndex {
            snapshot,
            terms,
            scratch,
        } = self.load(connection, request)?;
        let query = ParsedQuery::read(request.question, request.today, terms);
        let weights = request.weights;
        let counts = keyword::score(
            snapshot,
            &query,
            weights,
            &mut scratch.keyword,
            &mut scratch.section,
        );
        let meant = meaning::of(&query, &counts, snapshot, weights, terms);
        let (query_vector, vectors) = meaning::embed(request, snapshot, &meant);
        meaning::cosines(snapshot, query_vector.as_ref(), &mut scratch.cosine);
        let legs = ScoreLegs::measure(scratch, snapshot);
        let share = match query_vector {
            Some(_) => meaning::share(request, snapshot, query.kind),
            None => 0.0,
        };
        // Among pages, the best agree on a subject; entries and talk each say something else.
        let subject = match snapshot.has_pages() && !snapshot.is_spoken() {
            true => query.subject(weights.subject_from),
            false => 0.0,
        };
        let mut ranked = legs.rank(scratch, snapshot, &query, request, (share, subject));
        let mut question =
            closer::QuestionWords::new(snapshot.live, &query, &counts, &meant, terms);
        question.subject = subject;
        closer::look(connection, snapshot, question, request, &mut ranked, terms)?;
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.slot.cmp(&b.slot)));
        let confidence = confidence(&ranked);
        let mut hits = fetch::hits(connection, &ranked, request)?;
        finish(&mut hits, request.settings, terms);
        hits.truncate(request.hits);
        Ok(SearchAnswer {
            hits,
            confidence,
            kind: query.kind,
            searched: snapshot.live,
            vectors,
        })
    }

    fn compat(
        &mut self,
        connection: &Connection,
        request: &SearchRequest<'_>,
    ) -> rusqlite::Result<SearchAnswer> {
        let LoadedIndex {
            snapshot,
            terms,
            scratch,
        } = self.load(connection, request)?;
        let query = ParsedQuery::read(request.question, request.today, terms);
        let (vector, state) = meaning::embed(request, snapshot, request.question);
        meaning::cosines(snapshot, vector.as_ref(), &mut scratch.cosine);
        let ranked = compat::rank(
            connection,
            snapshot,
            request,
            &scratch.cosine,
            vector.is_some(),
        )?;
        let confidence = if ranked.is_empty() {
            HitConfidence::None
        } else {
            HitConfidence::High
        };
        let mut hits = fetch::hits(connection, &ranked, request)?;
        hits.truncate(request.hits);
        Ok(SearchAnswer {
            hits,
            confidence,
            kind: query.kind,
            searched: snapshot.live,
            vectors: state,
        })
    }
}

/// A chunk on its way to the answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankedChunk {
    pub slot: usize,
    pub chunk: i64,
    pub file: i64,
    pub score: f32,
    pub explain: ScoreParts,
}

fn confidence(ranked: &[RankedChunk]) -> HitConfidence {
    match ranked.first() {
        None => HitConfidence::None,
        Some(best) if best.explain.coverage < 0.34 && best.explain.cosine < 0.35 => {
            HitConfidence::Low
        }
        Some(_) => HitConfidence::High,
    }
}

/// Texts with no word in common and a cosine below this have nothing to do with each other.
const UNLIKE: f32 = 0.15;

/// Leaves out what repeats or falls far behind.
fn finish(hits: &mut Vec<SearchHit>, settings: &QuerySettings, terms: &mut TermReader) {
    if let Some(least) = settings.min_score {
        hits.retain(|hit| hit.score >= least);
    }
    // Nothing speaks for these but that something had to be last.
    hits.retain(|hit| hit.explain.bm25 > 0.0 || hit.explain.cosine > UNLIKE);
    match settings.duplicates {
        DuplicateHits::Keep => {}
        DuplicateHits::Drop { above } => copies::drop_copies(hits, above, terms),
        DuplicateHits::Mmr { lambda } => copies::diversify(hits, lambda, terms),
    }
}

#[cfg(test)]
mod tests;
