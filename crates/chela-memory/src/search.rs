//! A question in, ranked units out.
//!
//! Every current chunk gets a score from its words (BM25 over stems), its meaning (cosine), its
//! section and its neighbours; the best are looked at again more closely. Scores of different
//! kinds are scaled per question before they are added: no constant fits all questions.

mod closer;
mod compat;
mod copies;
mod day_list;
mod evidence;
mod excerpt;
mod expand;
mod feedback;
mod fetch;
mod keyword;
mod meaning;
mod newer;
mod points;
mod rank;
mod scope;
mod soft;
mod weights;

use chela_core::{Audience, Trust};
use rusqlite::Connection;

use crate::day::CalendarDay;
use crate::embed::{EmbedError, Embedder};
use crate::language::Language;
use crate::query::{AskedQuestion, ParsedQuery, QueryKind};
use crate::settings::{DuplicateHits, QueryMode, QuerySettings};
use crate::snapshot::IndexSnapshot;
use crate::store::{IndexStore, StoreError};
use crate::words::TermReader;

pub use evidence::AnswerEvidence;
pub use excerpt::{ExcerptBudget, FileExcerpt, excerpts};
pub(crate) use fetch::trust_named;
pub use points::{ScoreParts, ScorePoints};
use rank::{RankAsk, ScoreLegs};
use scope::ScopeMask;
pub use scope::{AnswerDays, DayLimits, DaysUse, LimitError, SearchScope, SearchSources};
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
    pub scope: SearchScope,
    /// Files that are not searched, in order.
    pub except: &'a [i64],
}

impl std::fmt::Debug for SearchRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchRequest")
            .field("question", &self.question)
            .finish_non_exhaustive()
    }
}

impl SearchRequest<'_> {
    /// How much a list of a day's entries may bring, for whoever cuts it to what is shown.
    fn list_chars(&self) -> usize {
        self.hits.saturating_mul(LIST_CHARS_PER_HIT)
    }
}

/// Entries are about as long.
const LIST_CHARS_PER_HIT: usize = 100;

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchAnswer {
    /// Best first.
    pub hits: Vec<SearchHit>,
    pub confidence: HitConfidence,
    pub evidence: AnswerEvidence,
    pub kind: QueryKind,
    /// Chunks that were searched.
    pub searched: usize,
    /// Why there are no vectors, when there should be.
    pub vectors: VectorState,
    /// The days the question names, and what became of them.
    pub days: Option<AnswerDays>,
}

/// Whether the best hit is likely to be what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitConfidence {
    /// There are no hits.
    None,
    /// Nothing fits: they are the nearest there is.
    Unlikely,
    Low,
    High,
}

impl HitConfidence {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Unlikely => "unlikely",
            Self::Low => "low",
            Self::High => "high",
        }
    }
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
    /// Where the text starts without list mark and speaker.
    pub body_at: usize,
    /// Who says it, as written; empty for nobody.
    pub said_by: String,
    pub trust: Trust,
    pub audience: Audience,
    /// What says something newer of the same, as it is cited.
    pub replaced_by: Option<String>,
    /// Between 0 and 1, where 1 is as good as a hit can be for this question.
    pub score: f32,
    pub explain: ScoreParts,
    /// Its place in the index: neighbours in a file have neighbouring places.
    pub slot: usize,
}

impl SearchHit {
    /// `memory/2026-03-04.md#L10-L14`.
    pub fn citation(&self) -> String {
        match self.start_line == self.end_line {
            true => format!("{}#L{}", self.label, self.start_line),
            false => format!("{}#L{}-L{}", self.label, self.start_line, self.end_line),
        }
    }
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
        let asked = AskedQuestion::read(request.question, request.today);
        let everything = ScopeMask::of(snapshot, &request.scope, request.except);
        let found_days = scope::days_with_entries(snapshot, (&request.scope, &everything), &asked);
        let days = match (&found_days, &asked.days) {
            (Some((days, _)), _) => Some(*days),
            (None, Some(named)) => named.first().map(|span| AnswerDays {
                span,
                use_of: DaysUse::Empty,
            }),
            (None, None) => None,
        };
        let text = match found_days {
            Some(_) => asked.without_days(),
            None => request.question.to_owned(),
        };
        let mut query = ParsedQuery::read(&text, &snapshot.languages, terms);
        let listed = days.is_some_and(|days| matches!(days.use_of, DaysUse::Listed { .. }));
        if let Some((_, mask)) = found_days.as_ref().filter(|_| listed) {
            let ranked = day_list::list(snapshot, mask, request.list_chars());
            return Ok(SearchAnswer {
                hits: fetch::hits(connection, &ranked, request)?,
                confidence: HitConfidence::High,
                evidence: AnswerEvidence::default(),
                kind: query.kind,
                searched: snapshot.live,
                vectors: VectorState::Off,
                days,
            });
        }
        let weights = request.weights;
        expand::expand(snapshot, &mut query, &weights.forms, terms);
        let counts = keyword::score(
            snapshot,
            &query,
            weights,
            &mut scratch.keyword,
            &mut scratch.section,
        );
        let meant = meaning::of(&query, &counts, snapshot, weights, terms);
        let (query_vector, vectors) = meaning::embed(request, snapshot, (&meant, query.language));
        meaning::cosines(snapshot, query_vector.as_ref(), &mut scratch.cosine);
        keyword::spread_meaning(snapshot, weights, &mut scratch.cosine);
        let legs = ScoreLegs::measure(scratch, snapshot);
        let share = match query_vector {
            Some(_) => {
                meaning::share(request, snapshot, query.kind)
                    * meaning::known(request, &meant, query.language)
            }
            None => 0.0,
        };
        // Among pages, the best agree on a subject; entries and talk each say something else.
        let subject = match snapshot.has_pages() && !snapshot.is_spoken() {
            true => query.subject(weights.subject_from),
            false => 0.0,
        };
        let mut look = |mask: &ScopeMask| {
            let ask = RankAsk {
                snapshot,
                query: &query,
                request,
                mask,
                days: days.map(|days| days.span),
                share,
                subject,
            };
            let mut ranked = legs.rank(scratch, &ask);
            let mut question = closer::QuestionWords::new(snapshot.live, &query, &counts);
            question.subject = subject;
            let soft = closer::soft_weight(weights, query.kind, snapshot.has_pages(), subject);
            question.soft_weight = soft;
            if soft > 0.0 {
                question.look_for_like_words(&meant);
            }
            closer::look(connection, snapshot, question, request, &mut ranked, terms)?;
            ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.slot.cmp(&b.slot)));
            Ok::<_, rusqlite::Error>(ranked)
        };
        let ranked = match &found_days {
            None => look(&everything)?,
            Some((days, mask)) => {
                let mut ranked = look(mask)?;
                let best = best_coverage(&ranked);
                let mut others = look(&everything.telling_of(snapshot, days.span))?;
                others.retain(|one| one.explain.coverage >= best * weights.telling_coverage);
                if best < weights.enough_coverage {
                    // Who asks for a day may be wrong about it.
                    let mut elsewhere = look(&everything)?;
                    elsewhere.retain(|one| {
                        one.explain.coverage > best.max(weights.enough_coverage)
                            && one.explain.points.date == 0.0
                            && others.iter().all(|other| other.slot != one.slot)
                    });
                    others.extend(elsewhere);
                }
                others.truncate(weights.from_other_days);
                ranked.extend(others);
                ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.slot.cmp(&b.slot)));
                ranked
            }
        };
        let words = closer::QuestionWords::new(snapshot.live, &query, &counts);
        let evidence = AnswerEvidence::of(&ranked, &words, share);
        let confidence = match ranked.is_empty() {
            true => HitConfidence::None,
            false => evidence.confidence(),
        };
        let mut hits = fetch::hits(connection, &ranked, request)?;
        finish(&mut hits, request.settings, terms);
        newer::put_newer_first(&mut hits, terms);
        hits.truncate(request.hits);
        if let Some(span) = request.scope.days.filter(|_| hits.is_empty()) {
            // Nothing fits, and the days were said: what there is of them may be what is meant.
            let listed = day_list::list(snapshot, &everything, request.list_chars());
            let entries = everything.slots(snapshot).count();
            return Ok(SearchAnswer {
                hits: fetch::hits(connection, &listed, request)?,
                confidence: match entries {
                    0 => HitConfidence::None,
                    _ => HitConfidence::Low,
                },
                evidence: AnswerEvidence::default(),
                kind: query.kind,
                searched: snapshot.live,
                vectors,
                days: (entries > 0).then_some(AnswerDays {
                    span,
                    use_of: DaysUse::Listed { entries },
                }),
            });
        }
        Ok(SearchAnswer {
            hits,
            confidence,
            evidence,
            kind: query.kind,
            searched: snapshot.live,
            vectors,
            days,
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
        let query = ParsedQuery::read(request.question, &[], terms);
        let (vector, state) = meaning::embed(request, snapshot, (request.question, query.language));
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
            evidence: AnswerEvidence::default(),
            kind: query.kind,
            searched: snapshot.live,
            vectors: state,
            days: None,
        })
    }
}

/// A chunk on its way to the answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankedChunk {
    pub slot: usize,
    pub chunk: i64,
    pub file: i64,
    pub language: Language,
    pub score: f32,
    pub explain: ScoreParts,
}

/// The most of a question that any of these has.
fn best_coverage(ranked: &[RankedChunk]) -> f32 {
    let coverages = ranked.iter().map(|one| one.explain.coverage);
    coverages.fold(0.0, f32::max)
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
