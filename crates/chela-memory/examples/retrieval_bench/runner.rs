//! How good the search is: question sets run against it, figures out.
//!
//! A set is a folder with `queries.jsonl` and either `docs.jsonl` (texts already cut) or one
//! folder of Markdown notes per group. A question is searched only in its own group. What counts
//! is the share of the right places among the first results, and within a number of characters
//! shown - the fair measure when units differ in size.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chela_core::{Audience, Host};

use chela_memory::day::CalendarDay;
use chela_memory::embed::Embedder;
use chela_memory::index::{SyncDepth, SyncRequest, sync};
use chela_memory::search::{ExcerptBudget, IndexSearcher, RankWeights, SearchRequest, excerpts};
use chela_memory::settings::{MemorySettings, QueryMode};
use chela_memory::source::MemoryPlaces;
use chela_memory::store::{IndexStore, StoreError};
use chela_memory::vectors::{self, FillLimit, FillOutcome, FillRules};

use super::figures::{Figures, Sums};
use super::sets::{self, Question, Set, Texts};

/// Budgets of characters shown.
pub const BUDGETS: [usize; 3] = [1_500, 4_200, 8_400];
/// How many results an excerpt list may have, and how long each may get.
const EXCERPT_CHARS: usize = 1_600;
const RANKED: usize = 200;

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    Provider(chela_memory::embed::EmbedError),
    #[error("{} holds no set: expected queries.jsonl beside docs.jsonl or beside folders of notes", path.display())]
    NoSet { path: PathBuf },
    #[error("{} cannot be read", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} line {line} is not what a set holds: {reason}", path.display())]
    Format {
        path: PathBuf,
        line: usize,
        reason: String,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How a benchmark is run.
#[derive(Clone, Copy)]
pub struct BenchRequest<'a> {
    pub settings: &'a MemorySettings,
    pub weights: &'a RankWeights,
    pub embedder: Option<&'a dyn Embedder>,
}

impl std::fmt::Debug for BenchRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BenchRequest")
            .field("mode", &self.settings.query.mode)
            .finish_non_exhaustive()
    }
}

/// The figures of one set.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct SetReport {
    pub set: String,
    pub mode: &'static str,
    pub groups: usize,
    pub docs: usize,
    pub chunks: usize,
    pub queries: usize,
    #[serde(flatten)]
    pub all: Figures,
    /// The halves apart: the groups on which weights were chosen, and the others.
    pub tuned: Figures,
    pub held_out: Figures,
    pub ms_per_query: f64,
    pub index_chunks_per_second: f64,
    pub index_seconds: f64,
}

/// Runs every set in a folder, or the one set it is.
pub fn run(dir: &Path, request: &BenchRequest<'_>) -> Result<Vec<SetReport>, BenchError> {
    let sets = sets::find(dir)?;
    sets.iter()
        .map(|path| run_set(&Set::read(path)?, request))
        .collect()
}

fn run_set(set: &Set, request: &BenchRequest<'_>) -> Result<SetReport, BenchError> {
    let mut by_group: BTreeMap<&str, Vec<&Question>> = BTreeMap::new();
    for question in &set.questions {
        by_group.entry(&question.group).or_default().push(question);
    }
    let mut all = Sums::default();
    let mut halves = [Sums::default(), Sums::default()];
    let (mut docs, mut chunks) = (0, 0);
    let (mut indexing, mut searching) = (Duration::ZERO, Duration::ZERO);
    let groups = by_group.len();
    for (number, (group, questions)) in by_group.into_iter().enumerate() {
        let start = Instant::now();
        let index = Index::build(set, group, request)?;
        indexing += start.elapsed();
        docs += index.docs;
        chunks += index.chunks;
        let mut searcher = IndexSearcher::default();
        for (at, question) in questions.iter().enumerate() {
            let start = Instant::now();
            let shown = index.answer(&mut searcher, question, request)?;
            searching += start.elapsed();
            // Half of the groups; of a single group, every other question.
            let half = if groups > 1 {
                usize::from(number >= groups / 2)
            } else {
                at % 2
            };
            all.add(&shown, question);
            halves[half].add(&shown, question);
        }
    }
    let queries = set.questions.len();
    Ok(SetReport {
        set: set.name.clone(),
        mode: match (request.settings.query.mode, request.embedder) {
            (QueryMode::Compat, _) => "compat",
            (QueryMode::Vector, _) => "vector",
            (QueryMode::Keyword, _) | (_, None) => "keyword",
            (QueryMode::Best, _) => "best",
        },
        groups,
        docs,
        chunks,
        queries,
        all: all.figures(),
        tuned: halves[0].figures(),
        held_out: halves[1].figures(),
        ms_per_query: searching.as_secs_f64() * 1e3 / queries.max(1) as f64,
        index_chunks_per_second: chunks as f64 / indexing.as_secs_f64().max(1e-9),
        index_seconds: indexing.as_secs_f64(),
    })
}

/// The index of one group.
struct Index {
    store: IndexStore,
    today: CalendarDay,
    docs: usize,
    chunks: usize,
    /// For sets that come cut: the right places each unit holds, by file and line.
    covers: HashMap<(String, u32), Vec<String>>,
}

/// What was shown for a question, in order: the right places in it and its length.
pub struct Shown {
    /// By result.
    pub results: Vec<Vec<String>>,
    /// By budget: the places within it.
    pub within: [Vec<String>; BUDGETS.len()],
}

impl Index {
    fn build(set: &Set, group: &str, request: &BenchRequest<'_>) -> Result<Self, BenchError> {
        let mut store = IndexStore::temporary()?;
        let mut today = CalendarDay(0);
        let mut covers = HashMap::new();
        let docs;
        match &set.texts {
            Texts::Files { root } => {
                let host = Host::fixed(root);
                let places = MemoryPlaces {
                    workspace: root.join(group),
                    sessions: None,
                    ceiling: Default::default(),
                };
                let sync_request = SyncRequest {
                    host: &host,
                    places: &places,
                    settings: request.settings,
                    embedder: request.embedder,
                    transcripts: None,
                    depth: SyncDepth::Quick,
                };
                let report = sync(
                    &mut store,
                    &sync_request,
                    &mut |_| ControlFlow::Continue(()),
                )?;
                docs = report.added;
                for label in chela_memory::index::indexed_files(&store)?.keys() {
                    today = today.max(CalendarDay::find(label).unwrap_or(today));
                }
            }
            Texts::Docs { by_group } => {
                let list = by_group.get(group).map(Vec::as_slice).unwrap_or_default();
                docs = list.len();
                today = list
                    .iter()
                    .filter_map(|doc| doc.date)
                    .max()
                    .unwrap_or(today);
                covers = sets::write(&mut store, list, request)?;
            }
        }
        make_vectors(&mut store, request)?;
        let chunks = chela_memory::index::indexed_files(&store)?.values().sum();
        Ok(Self {
            store,
            today: CalendarDay(today.0 + 1),
            docs,
            chunks,
            covers,
        })
    }

    fn answer(
        &self,
        searcher: &mut IndexSearcher,
        question: &Question,
        request: &BenchRequest<'_>,
    ) -> Result<Shown, BenchError> {
        let search = SearchRequest {
            question: &question.text,
            settings: &request.settings.query,
            weights: request.weights,
            embedder: request.embedder,
            today: self.today,
            audience: Audience::Private,
            hits: RANKED,
        };
        let answer = searcher.search(&self.store, &search)?;
        let places = |label: &str, start: u32, end: u32| -> Vec<String> {
            (start..=end)
                .flat_map(|line| match self.covers.is_empty() {
                    true => vec![sets::place(label, line)],
                    false => self
                        .covers
                        .get(&(label.to_owned(), line))
                        .cloned()
                        .unwrap_or_default(),
                })
                .collect()
        };
        let list = |budget| {
            excerpts(&answer.hits, budget)
                .into_iter()
                .map(|excerpt| places(&excerpt.label, excerpt.start_line, excerpt.end_line))
                .collect::<Vec<_>>()
        };
        // Units that come cut are results as they are; our own are merged with their neighbours.
        let results = match self.covers.is_empty() {
            true => list(ExcerptBudget::Results {
                count: 10,
                chars: EXCERPT_CHARS,
            }),
            false => answer
                .hits
                .iter()
                .take(10)
                .map(|hit| places(&hit.label, hit.start_line, hit.end_line))
                .collect(),
        };
        let within = BUDGETS.map(|budget| list(ExcerptBudget::Chars(budget)).concat());
        Ok(Shown { results, within })
    }
}

/// Vectors of a slow provider are all made before anything is asked.
fn make_vectors(store: &mut IndexStore, request: &BenchRequest<'_>) -> Result<(), BenchError> {
    let Some(embedder) = request.embedder else {
        return Ok(());
    };
    let rules = FillRules {
        cache: &request.settings.cache,
        now: Host::fixed("/").unix_time(),
        spend: FillLimit::All,
    };
    let mut on = |_, _| ControlFlow::Continue(());
    match vectors::fill(store, embedder, rules, &mut on)? {
        FillOutcome::Failed { problem } => Err(BenchError::Provider(problem)),
        _ => Ok(()),
    }
}
