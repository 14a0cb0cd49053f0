//! A question in, ranked units out.
//!
//! Every current chunk gets a score from its words (BM25 over stems), its meaning (cosine), its
//! section and its neighbours; the best are looked at again more closely. Scores of different
//! kinds are scaled per question before they are added: no constant fits all questions.

mod closer;
mod excerpt;
mod keyword;
mod weights;

use std::collections::HashMap;

use chela_core::{Audience, Trust};
use rusqlite::Connection;

use crate::compat;
use crate::day::Day;
use crate::embed::{EmbedError, EmbedRole, EmbedText, Embedder};
use crate::query::{Query, QueryKind};
use crate::segment::Flags;
use crate::settings::{Duplicates, QueryMode, QuerySettings};
use crate::snapshot::Snapshot;
use crate::store::{Store, StoreError};
use crate::vector::Quantised;
use crate::words::Terms;

pub use excerpt::{Budget, Excerpt, excerpts};
pub use weights::Weights;

/// A question and how to answer it.
#[derive(Clone, Copy)]
pub struct SearchRequest<'a> {
    pub question: &'a str,
    pub settings: &'a QuerySettings,
    pub weights: &'a Weights,
    pub embedder: Option<&'a dyn Embedder>,
    pub today: Day,
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
    pub hits: Vec<Hit>,
    pub confidence: Confidence,
    pub kind: QueryKind,
    /// Chunks that were searched.
    pub searched: usize,
    /// Why there are no vectors, when there should be.
    pub vectors: VectorState,
}

/// Whether the best hit is likely to be what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidence {
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
}

/// One unit that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub chunk: i64,
    pub label: String,
    pub start_line: u32,
    pub end_line: u32,
    pub heading: String,
    pub date: Option<Day>,
    pub text: String,
    pub trust: Trust,
    pub audience: Audience,
    /// Between 0 and 1, where 1 is as good as a hit can be for this question.
    pub score: f32,
    pub explain: Explain,
    /// Its place in the index: neighbours in a file have neighbouring places.
    pub slot: usize,
}

/// Where a score comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Explain {
    /// BM25, as computed and relative to the best.
    pub bm25: f32,
    pub keyword: f32,
    /// Cosine, as computed and relative to the best and the hundredth.
    pub cosine: f32,
    pub vector: f32,
    pub section: f32,
    pub recency: f32,
    pub role: f32,
    pub date: f32,
    /// From the closer look: words in common, pairs of words in a row, soft matches.
    pub coverage: f32,
    pub pairs: f32,
    pub soft: f32,
    pub phrase: f32,
    /// Rank before the closer look, from 1.
    pub first_rank: usize,
}

/// Searches one index and keeps what it read for the next question.
#[derive(Debug, Default)]
pub struct Searcher {
    snapshot: Option<Snapshot>,
    terms: Terms,
    scratch: Scratch,
}

#[derive(Debug, Default)]
struct Scratch {
    keyword: Vec<f32>,
    section: Vec<f32>,
    cosine: Vec<f32>,
    total: Vec<f32>,
}

impl Searcher {
    /// Ranks the chunks of `store` for a question.
    pub fn search(
        &mut self,
        store: &Store,
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
    ) -> rusqlite::Result<&Snapshot> {
        let model = request
            .embedder
            .map(|embedder| embedder.id().to_string())
            .unwrap_or_default();
        let snapshot = Snapshot::load(connection, &model, self.snapshot.take())?;
        Ok(self.snapshot.insert(snapshot))
    }

    fn best(
        &mut self,
        connection: &Connection,
        request: &SearchRequest<'_>,
    ) -> rusqlite::Result<SearchAnswer> {
        self.load(connection, request)?;
        let Self {
            snapshot: Some(snapshot),
            terms,
            scratch,
        } = self
        else {
            return Ok(nothing(QueryKind::Prose));
        };
        let query = Query::read(request.question, request.today, terms);
        let weights = request.weights;
        let counts = keyword::score(
            snapshot,
            &query,
            weights,
            &mut scratch.keyword,
            &mut scratch.section,
        );
        let (query_vector, vectors) = embed_query(request, snapshot, &query, &counts, terms);
        cosines(snapshot, query_vector.as_ref(), &mut scratch.cosine);
        let legs = Legs::measure(scratch, snapshot);
        let share = vector_share(
            request.settings,
            weights,
            query.kind,
            query_vector.is_some(),
        );
        let mut ranked = legs.rank(scratch, snapshot, &query, request, share);
        closer::look(connection, snapshot, &query, request, &mut ranked, terms)?;
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.slot.cmp(&b.slot)));
        let confidence = confidence(&ranked);
        let mut hits = fetch(connection, snapshot, &ranked, request)?;
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
        self.load(connection, request)?;
        let Self {
            snapshot: Some(snapshot),
            terms,
            scratch,
        } = self
        else {
            return Ok(nothing(QueryKind::Prose));
        };
        let query = Query::read(request.question, request.today, terms);
        let vector = request.embedder.map(|embedder| {
            let text = EmbedText {
                text: request.question,
                context: "",
            };
            embedder.embed(&[text], EmbedRole::Query)
        });
        let (vector, state) = vector_state(vector, snapshot);
        cosines(snapshot, vector.as_ref(), &mut scratch.cosine);
        let ranked = compat::rank(
            connection,
            snapshot,
            request,
            &scratch.cosine,
            vector.is_some(),
        )?;
        let confidence = if ranked.is_empty() {
            Confidence::None
        } else {
            Confidence::High
        };
        let mut hits = fetch(connection, snapshot, &ranked, request)?;
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

fn nothing(kind: QueryKind) -> SearchAnswer {
    SearchAnswer {
        hits: Vec::new(),
        confidence: Confidence::None,
        kind,
        searched: 0,
        vectors: VectorState::Off,
    }
}

/// A chunk on its way to the answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ranked {
    pub slot: usize,
    pub chunk: i64,
    pub file: i64,
    pub score: f32,
    pub explain: Explain,
}

fn embed_query(
    request: &SearchRequest<'_>,
    snapshot: &Snapshot,
    query: &Query,
    counts: &keyword::Counts,
    terms: &mut Terms,
) -> (Option<Quantised>, VectorState) {
    let Some(embedder) = request
        .embedder
        .filter(|_| request.settings.mode != QueryMode::Keyword)
    else {
        return (None, VectorState::Off);
    };
    let everywhere = request.weights.common_name * snapshot.live as f32;
    let text = query.meaning(|word| {
        let stems = terms.of(word);
        !stems.is_empty()
            && stems
                .iter()
                .all(|stem| counts.of(stem).is_some_and(|df| df as f32 > everywhere))
    });
    let vector = embedder.embed(
        &[EmbedText {
            text: &text,
            context: "",
        }],
        EmbedRole::Query,
    );
    vector_state(Some(vector), snapshot)
}

fn vector_state(
    vector: Option<Result<Vec<Vec<f32>>, EmbedError>>,
    snapshot: &Snapshot,
) -> (Option<Quantised>, VectorState) {
    let model = snapshot.model.clone();
    match vector {
        None => (None, VectorState::Off),
        Some(Err(problem)) => (None, VectorState::Failed { problem }),
        Some(Ok(vectors)) => {
            let vector = vectors
                .first()
                .map(|vector| Quantised::of(vector))
                .filter(|v| v.scale > 0.0);
            let state = match snapshot.has_vectors() {
                true => VectorState::Used { model },
                false => VectorState::Partial { model },
            };
            (vector, state)
        }
    }
}

fn cosines(snapshot: &Snapshot, query: Option<&Quantised>, out: &mut Vec<f32>) {
    out.clear();
    out.resize(snapshot.slots(), 0.0);
    let Some(query) = query else { return };
    for part in &snapshot.parts {
        if let Some(matrix) = &part.matrix {
            matrix.cosines(
                query,
                &mut out[part.base..part.base + part.segment.docs.len()],
            );
        }
    }
}

/// How the scores of each leg lie, so that they can be compared.
struct Legs {
    best_keyword: f32,
    best_section: f32,
    best_cosine: f32,
    /// The hundredth best cosine: what is below it says nothing.
    floor_cosine: f32,
}

/// The cosine at this rank counts as nothing.
const FLOOR_RANK: usize = 100;
const BINS: usize = 4096;

impl Legs {
    fn measure(scratch: &Scratch, snapshot: &Snapshot) -> Self {
        let mut legs = Self {
            best_keyword: 0.0,
            best_section: scratch.section.iter().copied().fold(0.0, f32::max),
            best_cosine: -1.0,
            floor_cosine: -1.0,
        };
        // A histogram finds the hundredth without sorting a million numbers.
        let mut bins = vec![0_u32; BINS];
        for part in &snapshot.parts {
            let range = part.base..part.base + part.segment.docs.len();
            let cosines = &scratch.cosine[range.clone()];
            let keywords = &scratch.keyword[range];
            for ((cosine, keyword), alive) in cosines.iter().zip(keywords).zip(&part.alive) {
                if *alive {
                    legs.best_keyword = legs.best_keyword.max(*keyword);
                    legs.best_cosine = legs.best_cosine.max(*cosine);
                    bins[bin(*cosine)] += 1;
                }
            }
        }
        let mut above = 0;
        for (at, count) in bins.iter().enumerate().rev() {
            above += *count as usize;
            if above > FLOOR_RANK {
                legs.floor_cosine = (at as f32 + 0.5) / BINS as f32 * 2.0 - 1.0;
                break;
            }
        }
        if legs.floor_cosine <= -1.0 {
            let lowest = bins.iter().position(|count| *count > 0).unwrap_or(0);
            legs.floor_cosine = lowest as f32 / BINS as f32 * 2.0 - 1.0;
        }
        legs
    }

    fn vector(&self, cosine: f32) -> f32 {
        ((cosine - self.floor_cosine) / (self.best_cosine - self.floor_cosine).max(1e-6))
            .clamp(-1.0, 1.0)
    }

    /// The best chunks by the sum of all legs.
    fn rank(
        &self,
        scratch: &mut Scratch,
        snapshot: &Snapshot,
        query: &Query,
        request: &SearchRequest<'_>,
        share: f32,
    ) -> Vec<Ranked> {
        let weights = request.weights;
        let keep = request.hits.max(weights.closer).max(1);
        let keyword_scale = (1.0 - share) / self.best_keyword.max(1e-6);
        let section_scale = weights.section / self.best_section.max(1e-6);
        let vectors = share > 0.0 && self.best_cosine > -1.0;
        let recency = request.settings.recency;
        let recency_weight = if query.wants_newest {
            recency.weight * 6.0
        } else {
            recency.weight
        };
        let newest = |age: i32| (-(age.max(0) as f32) / recency.half_life_days.max(0.1)).exp2();
        let mut best = Best::new(keep);
        scratch.total.clear();
        for part in &snapshot.parts {
            for (at, doc) in part.segment.docs.iter().enumerate() {
                let reachable =
                    request.audience == Audience::Private || doc.flags.has(Flags::SHARED);
                if !part.alive[at] || !reachable {
                    continue;
                }
                let slot = part.base + at;
                let section =
                    scratch.section[part.section_base + part.segment.parents[at] as usize];
                let mut score = scratch.keyword[slot] * keyword_scale + section * section_scale;
                if vectors {
                    score += share * self.vector(scratch.cosine[slot]);
                }
                if doc.flags.has(Flags::ROLES | Flags::SAID_BY_USER)
                    && doc.flags.has(Flags::SAID_BY_USER)
                    && doc.flags.has(Flags::ROLES)
                {
                    score += weights.said_by_user;
                }
                if let Some(day) = doc.date {
                    if doc.flags.has(Flags::DATED_NOTE) {
                        score += recency_weight * newest(request.today.0 - day.0);
                    }
                    if query.span.is_some_and(|span| span.contains(day)) {
                        score += weights.asked_day;
                    }
                }
                best.offer(slot, score);
            }
        }
        let mut ranked: Vec<Ranked> = Vec::with_capacity(keep);
        for (rank, (score, slot)) in (1..).zip(best.sorted()) {
            let Some((part, at)) = snapshot.locate(slot) else {
                continue;
            };
            let doc = part.segment.docs[at];
            let section = scratch.section[part.section_base + part.segment.parents[at] as usize];
            let dated = doc.date.filter(|_| doc.flags.has(Flags::DATED_NOTE));
            let explain = Explain {
                bm25: scratch.keyword[slot],
                keyword: scratch.keyword[slot] / self.best_keyword.max(1e-6),
                cosine: scratch.cosine[slot],
                vector: if vectors {
                    self.vector(scratch.cosine[slot])
                } else {
                    0.0
                },
                section: section / self.best_section.max(1e-6),
                recency: dated.map_or(0.0, |day| recency_weight * newest(request.today.0 - day.0)),
                role: if doc.flags.has(Flags::SAID_BY_USER) && doc.flags.has(Flags::ROLES) {
                    weights.said_by_user
                } else {
                    0.0
                },
                date: match (query.span, doc.date) {
                    (Some(span), Some(day)) if span.contains(day) => weights.asked_day,
                    _ => 0.0,
                },
                first_rank: rank,
                ..Explain::default()
            };
            ranked.push(Ranked {
                slot,
                chunk: doc.chunk,
                file: doc.file,
                score,
                explain,
            });
        }
        ranked
    }
}

fn bin(cosine: f32) -> usize {
    (((cosine + 1.0) * 0.5 * BINS as f32) as usize).min(BINS - 1)
}

fn vector_share(settings: &QuerySettings, weights: &Weights, kind: QueryKind, has: bool) -> f32 {
    match (settings.mode, has) {
        (QueryMode::Vector, true) => 1.0,
        (_, false) => 0.0,
        _ => match (settings.vector_weight, settings.text_weight) {
            (Some(vector), Some(text)) if vector + text > 0.0 => vector / (vector + text),
            (Some(vector), None) => vector.clamp(0.0, 1.0),
            _ => match kind {
                QueryKind::Prose => weights.vector_prose,
                QueryKind::Names => weights.vector_names,
                QueryKind::Code => weights.vector_code,
            },
        },
    }
}

/// The largest of many scores.
struct Best {
    keep: usize,
    least: f32,
    list: Vec<(f32, usize)>,
}

impl Best {
    fn new(keep: usize) -> Self {
        Self {
            keep,
            least: f32::NEG_INFINITY,
            list: Vec::with_capacity(2 * keep),
        }
    }

    #[inline]
    fn offer(&mut self, slot: usize, score: f32) {
        if score > self.least {
            self.list.push((score, slot));
            if self.list.len() >= 2 * self.keep {
                self.shrink();
            }
        }
    }

    fn shrink(&mut self) {
        if self.list.len() > self.keep {
            self.list
                .select_nth_unstable_by(self.keep - 1, |a, b| order(*a, *b));
            self.list.truncate(self.keep);
            self.least = self
                .list
                .iter()
                .map(|(score, _)| *score)
                .fold(f32::INFINITY, f32::min);
        }
    }

    fn sorted(mut self) -> Vec<(f32, usize)> {
        self.shrink();
        self.list.sort_unstable_by(|a, b| order(*a, *b));
        self.list
    }
}

/// Best first; among equals the one that comes first in the index.
fn order(a: (f32, usize), b: (f32, usize)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

fn confidence(ranked: &[Ranked]) -> Confidence {
    match ranked.first() {
        None => Confidence::None,
        Some(best) if best.explain.coverage < 0.34 && best.explain.cosine < 0.35 => Confidence::Low,
        Some(_) => Confidence::High,
    }
}

/// Reads the texts of what was found.
pub(crate) fn fetch(
    connection: &Connection,
    snapshot: &Snapshot,
    ranked: &[Ranked],
    request: &SearchRequest<'_>,
) -> rusqlite::Result<Vec<Hit>> {
    let mut chunks = connection.prepare_cached(
        "SELECT start_line, end_line, heading, date, text FROM chunks WHERE id = ?1",
    )?;
    let mut files =
        connection.prepare_cached("SELECT label, trust, audience FROM files WHERE id = ?1")?;
    let mut names: HashMap<i64, (String, Trust, Audience)> = HashMap::new();
    let best = ranked.first().map_or(1.0, |best| best.score).max(1e-6);
    let _ = snapshot;
    let mut hits = Vec::with_capacity(ranked.len());
    for one in ranked {
        let Some(row) = chunks.query([one.chunk])?.next()?.map(|row| {
            Ok::<_, rusqlite::Error>((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get::<_, Option<i32>>(3)?,
                row.get(4)?,
            ))
        }) else {
            continue;
        };
        let (start_line, end_line, heading, date, text) = row?;
        if !names.contains_key(&one.file) {
            let name = files.query_row([one.file], |row| {
                Ok((
                    row.get(0)?,
                    trust_named(&row.get::<_, String>(1)?),
                    match row.get::<_, String>(2)?.as_str() {
                        "shared" => Audience::Shared,
                        _ => Audience::Private,
                    },
                ))
            })?;
            names.insert(one.file, name);
        }
        let (label, trust, audience) = names[&one.file].clone();
        if !audience.may_reach(request.audience) {
            continue;
        }
        let score = match request.settings.mode {
            QueryMode::Compat => one.score,
            _ => (one.score / best).clamp(0.0, 1.0),
        };
        hits.push(Hit {
            chunk: one.chunk,
            label,
            start_line,
            end_line,
            heading,
            date: date.map(Day),
            text,
            trust,
            audience,
            score,
            explain: one.explain,
            slot: one.slot,
        });
    }
    Ok(hits)
}

fn trust_named(name: &str) -> Trust {
    [Trust::Operator, Trust::Owner, Trust::Agent, Trust::Plugin]
        .into_iter()
        .find(|trust| trust.as_str() == name)
        .unwrap_or(Trust::External)
}

/// Leaves out what repeats or falls far behind.
fn finish(hits: &mut Vec<Hit>, settings: &QuerySettings, terms: &mut Terms) {
    if let Some(least) = settings.min_score {
        hits.retain(|hit| hit.score >= least);
    }
    match settings.duplicates {
        Duplicates::Keep => {}
        Duplicates::Drop { above } => closer::drop_copies(hits, above, terms),
        Duplicates::Mmr { lambda } => closer::diversify(hits, lambda, terms),
    }
}

#[cfg(test)]
mod tests;
