//! Running a set: every group an index of its own, every question asked as the tool asks it.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chela_core::{Audience, ContentHash, Host};

use crate::day::CalendarDay;
use crate::embed::Embedder;
use crate::index::{SyncDepth, SyncRequest, sync};
use crate::search::{
    ExcerptBudget, FileExcerpt, IndexSearcher, RankWeights, SearchAnswer, SearchRequest,
    SearchScope, excerpts,
};
use crate::settings::{MemorySettings, QueryMode};
use crate::source::MemoryPlaces;
use crate::store::{IndexStore, StoreError};
use crate::vectors::{self, FillLimit, FillOutcome, FillRules};

use super::figures::{Figures, Sums};
use super::made::{self, MadeFigures};
use super::sets::{self, Question, Set, Texts};

/// Budgets of characters shown.
pub const BUDGETS: [usize; 3] = [1_500, 4_200, 8_400];

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    Provider(crate::embed::EmbedError),
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
    /// What was measured with questions made from those of the set.
    #[serde(flatten)]
    pub made: MadeFigures,
    /// Each question and how much of what it asks for is in the default budget.
    #[serde(skip)]
    pub questions: Vec<(String, f64)>,
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
    let mut each = Vec::new();
    let mut halves = [Sums::default(), Sums::default()];
    let (mut docs, mut chunks) = (0, 0);
    let (mut indexing, mut searching) = (Duration::ZERO, Duration::ZERO);
    let groups = by_group.len();
    let mut built: Vec<(&str, BenchIndex, Vec<&Question>)> = Vec::new();
    for (group, questions) in by_group {
        let start = Instant::now();
        let index = BenchIndex::build(set, group, request)?;
        indexing += start.elapsed();
        docs += index.docs;
        chunks += index.chunks;
        let mut searcher = IndexSearcher::default();
        for question in &questions {
            let start = Instant::now();
            let shown = index.answer(&mut searcher, question, request)?;
            searching += start.elapsed();
            let recall = all.add(&shown, question);
            each.push((question.text.clone(), recall));
            let half = match groups {
                1 => is_held_out(&question.text),
                _ => is_held_out(group),
            };
            halves[usize::from(half)].add(&shown, question);
        }
        built.push((group, index, questions));
    }
    let made = made::measure(&built, request)?;
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
        made,
        questions: each,
        ms_per_query: searching.as_secs_f64() * 1e3 / queries.max(1) as f64,
        index_chunks_per_second: chunks as f64 / indexing.as_secs_f64().max(1e-9),
        index_seconds: indexing.as_secs_f64(),
    })
}

/// Whether no weight was chosen by it: half of the groups, or of the questions where there is one
/// group, by their hash.
pub fn is_held_out(key: &str) -> bool {
    ContentHash::of(key)
        .as_bytes()
        .first()
        .is_some_and(|byte| byte & 1 == 1)
}

/// The index of one group.
pub struct BenchIndex {
    store: IndexStore,
    pub today: CalendarDay,
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

impl BenchIndex {
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
                    ..Default::default()
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
                for label in crate::index::indexed_files(&store)?.keys() {
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
        let chunks = crate::index::indexed_files(&store)?.values().sum();
        Ok(Self {
            store,
            today: CalendarDay(today.0 + 1),
            docs,
            chunks,
            covers,
        })
    }

    /// Asks as the tool does, on a day.
    pub fn ask(
        &self,
        searcher: &mut IndexSearcher,
        (text, today): (&str, CalendarDay),
        request: &BenchRequest<'_>,
    ) -> Result<(SearchAnswer, Vec<FileExcerpt>), BenchError> {
        let budget = ExcerptBudget::of(&request.settings.query);
        let search = self.request(text, today, budget, request);
        let answer = searcher.search(&self.store, &search)?;
        let shown = excerpts(&answer.hits, budget);
        Ok((answer, shown))
    }

    fn request<'a>(
        &self,
        text: &'a str,
        today: CalendarDay,
        budget: ExcerptBudget,
        request: &'a BenchRequest<'a>,
    ) -> SearchRequest<'a> {
        SearchRequest {
            question: text,
            settings: &request.settings.query,
            weights: request.weights,
            embedder: request.embedder,
            today,
            audience: Audience::Private,
            hits: budget.hits(),
            scope: SearchScope::default(),
            except: &[],
        }
    }

    /// The days something is of.
    pub fn days(&self) -> Result<Vec<CalendarDay>, BenchError> {
        let labels = crate::index::indexed_files(&self.store)?;
        let mut days: Vec<CalendarDay> = labels
            .keys()
            .filter_map(|label| CalendarDay::find(label))
            .collect();
        days.dedup();
        Ok(days)
    }

    pub fn answer(
        &self,
        searcher: &mut IndexSearcher,
        question: &Question,
        request: &BenchRequest<'_>,
    ) -> Result<Shown, BenchError> {
        let largest = BUDGETS.iter().copied().max().unwrap_or_default();
        let budget = |chars: usize| ExcerptBudget {
            chars,
            ..ExcerptBudget::of(&request.settings.query)
        };
        let search = self.request(&question.text, self.today, budget(largest), request);
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
        let list = |budget: ExcerptBudget| {
            excerpts(&answer.hits, budget)
                .into_iter()
                .map(|excerpt| places(&excerpt.label, excerpt.start_line, excerpt.end_line))
                .collect::<Vec<_>>()
        };
        // Units that come cut are results as they are; our own are merged with their neighbours.
        let results = match self.covers.is_empty() {
            true => list(ExcerptBudget {
                results: 10,
                ..budget(usize::MAX)
            }),
            false => answer
                .hits
                .iter()
                .take(10)
                .map(|hit| places(&hit.label, hit.start_line, hit.end_line))
                .collect(),
        };
        let within = BUDGETS.map(|chars| list(budget(chars)).concat());
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
