//! An agent's memory, opened: sync, search and read in one place.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;

use chela_core::{AgentId, Audience, Host, ok_or_warn};

use crate::day::CalendarDay;
use crate::embed::{Embedder, LocalTable};
use crate::index::{self, SyncDepth, SyncProgress, SyncReport, SyncRequest};
use crate::search::{
    ExcerptBudget, FileExcerpt, IndexSearcher, RankWeights, SearchAnswer, SearchRequest,
    SearchScope, SearchSources, VectorState, excerpts,
};
use crate::settings::{MemorySettings, MemorySwitch, SourceKind};
use crate::source::MemoryPlaces;
use crate::store::{IndexNotice, IndexStore, StoreError};
use crate::transcript::{SessionPage, TranscriptSource};
use crate::vectors::{self, FillLimit, FillOutcome, FillRules, FillStep, VectorQuote};

/// Where the index of an agent lies.
pub fn index_file(host: &Host, agent: &AgentId) -> PathBuf {
    host.state_dir()
        .join("state")
        .join("memory")
        .join(format!("{}.sqlite", agent.as_str()))
}

/// What is needed to open a memory.
#[derive(Clone)]
pub struct OpenMemory<'a> {
    pub host: &'a Host,
    pub index_file: PathBuf,
    pub places: MemoryPlaces,
    pub settings: MemorySettings,
    /// `None` searches by words alone. The default is [`LocalTable`].
    pub embedder: Option<&'a dyn Embedder>,
}

impl std::fmt::Debug for OpenMemory<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenMemory")
            .field("index_file", &self.index_file)
            .finish_non_exhaustive()
    }
}

/// An agent's memory.
pub struct Memory<'a> {
    with: OpenMemory<'a>,
    store: IndexStore,
    searcher: IndexSearcher,
    weights: RankWeights,
    notices: Vec<IndexNotice>,
    transcripts: Option<&'a dyn TranscriptSource>,
}

/// What a memory has opened and read, without what it was lent: kept between two uses.
#[derive(Debug)]
pub(crate) struct WarmMemory {
    store: IndexStore,
    searcher: IndexSearcher,
    notices: Vec<IndexNotice>,
}

impl WarmMemory {
    /// Whether the file that was opened is still the one that lies there: an index may be deleted
    /// or replaced at any time.
    pub(crate) fn is_in_place(&self) -> bool {
        self.store.is_in_place()
    }
}

impl std::fmt::Debug for Memory<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory")
            .field("store", &self.store.path())
            .finish_non_exhaustive()
    }
}

/// An answer ready to be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryAnswer {
    pub answer: SearchAnswer,
    pub excerpts: Vec<FileExcerpt>,
}

/// One question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryQuestion<'q> {
    pub question: &'q str,
    pub max_results: Option<usize>,
    pub min_score: Option<f32>,
    /// Characters of text the answer may have; as configured without it.
    pub max_chars: Option<usize>,
    pub scope: SearchScope,
    pub audience: Audience,
    /// The key of the conversation it is asked in: what is said there is known there.
    pub asked_in: Option<&'q str>,
}

impl<'q> MemoryQuestion<'q> {
    /// A question to all there is, answered as configured.
    pub fn new(question: &'q str, audience: Audience) -> Self {
        Self {
            question,
            max_results: None,
            min_score: None,
            max_chars: None,
            scope: SearchScope::default(),
            audience,
            asked_in: None,
        }
    }
}

impl<'a> Memory<'a> {
    pub fn open(with: OpenMemory<'a>) -> Result<Self, StoreError> {
        let store = IndexStore::open(&with.index_file, with.host.unix_time())?;
        let notices = store.notices().to_vec();
        for notice in &notices {
            tracing::warn!(path = %with.index_file.display(), "{notice}");
        }
        Ok(Self {
            with,
            store,
            searcher: IndexSearcher::default(),
            weights: RankWeights::default(),
            notices,
            transcripts: None,
        })
    }

    /// Goes on with what an earlier use has opened.
    pub(crate) fn resume(with: OpenMemory<'a>, warm: WarmMemory) -> Self {
        Self {
            with,
            store: warm.store,
            searcher: warm.searcher,
            weights: RankWeights::default(),
            notices: warm.notices,
            transcripts: None,
        }
    }

    pub(crate) fn pause(self) -> WarmMemory {
        WarmMemory {
            store: self.store,
            searcher: self.searcher,
            notices: self.notices,
        }
    }

    /// Takes conversations from elsewhere than files, too.
    pub fn with_transcripts(mut self, transcripts: Option<&'a dyn TranscriptSource>) -> Self {
        self.transcripts = transcripts;
        self
    }

    pub fn transcripts(&self) -> Option<&'a dyn TranscriptSource> {
        self.transcripts
    }

    /// With the table that is inside the binary.
    pub fn local(mut with: OpenMemory<'a>) -> Result<Self, StoreError> {
        with.embedder = Some(&LocalTable);
        Self::open(with)
    }

    pub fn settings(&self) -> &MemorySettings {
        &self.with.settings
    }

    pub fn places(&self) -> &MemoryPlaces {
        &self.with.places
    }

    pub fn host(&self) -> &'a Host {
        self.with.host
    }

    pub fn embedder(&self) -> Option<&'a dyn Embedder> {
        self.with.embedder
    }

    pub fn store(&self) -> &IndexStore {
        &self.store
    }

    /// What the owner should know about the index, from opening it and since.
    pub fn notices(&self) -> &[IndexNotice] {
        &self.notices
    }

    /// Brings the index up to date.
    pub fn sync(
        &mut self,
        depth: SyncDepth,
        progress: &mut dyn FnMut(SyncProgress) -> ControlFlow<()>,
    ) -> Result<SyncReport, StoreError> {
        match self.try_sync(depth, progress) {
            Err(StoreError::Damaged { .. }) => {
                self.reopen()?;
                self.try_sync(depth, progress)
            }
            other => other,
        }
    }

    fn try_sync(
        &mut self,
        depth: SyncDepth,
        progress: &mut dyn FnMut(SyncProgress) -> ControlFlow<()>,
    ) -> Result<SyncReport, StoreError> {
        let request = SyncRequest {
            host: self.with.host,
            places: &self.with.places,
            settings: &self.with.settings,
            embedder: self.with.embedder,
            transcripts: self.transcripts,
            depth,
        };
        index::sync(&mut self.store, &request, progress)
    }

    /// Searches what is indexed. A damaged index is replaced and filled before it answers.
    pub fn search(&mut self, ask: &MemoryQuestion<'_>) -> Result<MemoryAnswer, StoreError> {
        match self.try_search(ask) {
            Err(StoreError::Damaged { .. }) => {
                self.reopen()?;
                self.sync(SyncDepth::Quick, &mut |_| ControlFlow::Continue(()))?;
                self.try_search(ask)
            }
            other => other,
        }
    }

    /// Whether nothing is indexed yet.
    pub fn is_empty(&self) -> Result<bool, StoreError> {
        self.store
            .connection()
            .query_row("SELECT NOT EXISTS (SELECT 1 FROM files)", [], |row| {
                row.get(0)
            })
            .map_err(|error| self.store.explain(error))
    }

    /// The day where the owner is.
    pub fn today(&self) -> CalendarDay {
        self.with.places.zone.day(self.with.host.unix_time())
    }

    /// Whether a search should look at the files first.
    pub fn syncs_on_search(&self) -> bool {
        self.with.settings.sync.on_search == MemorySwitch::On
    }

    /// What making the vectors that are missing would take, before anything is spent.
    pub fn quote(&self) -> Result<Option<VectorQuote>, StoreError> {
        self.with
            .embedder
            .map(|embedder| vectors::quote(&self.store, embedder))
            .transpose()
    }

    /// Makes the vectors that are missing, however many. Stopped or killed, it goes on where it
    /// was the next time; searches answer meanwhile.
    pub fn make_vectors(&mut self, step: FillStep<'_>) -> Result<FillOutcome, StoreError> {
        let Some(embedder) = self.with.embedder else {
            return Ok(FillOutcome::Complete);
        };
        let rules = FillRules {
            cache: &self.with.settings.cache,
            now: self.with.host.unix_time(),
            spend: FillLimit::All,
        };
        vectors::fill(&mut self.store, embedder, rules, step)
    }

    fn try_search(&mut self, ask: &MemoryQuestion<'_>) -> Result<MemoryAnswer, StoreError> {
        let mut query = self.with.settings.query.clone();
        query.max_results = ask.max_results.or(query.max_results);
        query.min_score = ask.min_score.or(query.min_score);
        query.max_chars = ask.max_chars.unwrap_or(query.max_chars);
        let budget = ExcerptBudget::of(&query);
        let (scope, except) = self.conversations_for(ask)?;
        let mut request = SearchRequest {
            question: ask.question,
            settings: &query,
            weights: &self.weights,
            embedder: self.with.embedder,
            today: self.today(),
            audience: ask.audience,
            hits: budget.hits(),
            scope,
            except: &except,
        };
        let stand_in = self.with.embedder.and_then(Embedder::stand_in);
        let mut problem = None;
        let mut answer = None;
        if stand_in.is_none() || self.has_vectors()? {
            let first = self.searcher.search(&self.store, &request)?;
            match first.vectors.clone() {
                VectorState::Failed { problem: why } if stand_in.is_some() => {
                    tracing::warn!(problem = %why, "another table of vectors is used instead");
                    problem = Some(why);
                }
                _ => answer = Some(first),
            }
        }
        let answer = match answer {
            Some(answer) => answer,
            None => {
                request.embedder = stand_in;
                let mut other = self.searcher.search(&self.store, &request)?;
                if let VectorState::Used { model } | VectorState::Partial { model } = other.vectors
                {
                    other.vectors = VectorState::StandIn { model, problem };
                }
                other
            }
        };
        let excerpts = excerpts(&answer.hits, budget);
        Ok(MemoryAnswer { answer, excerpts })
    }

    /// Which conversations a question is about: not the one it is asked in, for groups none that the
    /// config does not name, and those in which something untrusted was read only where
    /// conversations are asked for.
    fn conversations_for(
        &self,
        ask: &MemoryQuestion<'_>,
    ) -> Result<(SearchScope, Vec<i64>), StoreError> {
        let mut scope = ask.scope;
        if ask.audience == Audience::Shared && !self.with.settings.shared_sessions {
            scope.sources = scope.sources.without_sessions();
        }
        if !self.with.settings.sources.contains(&SourceKind::Sessions)
            || scope.sources == SearchSources::Notes
        {
            return Ok((scope, Vec::new()));
        }
        let facts = match (self.transcripts, ask.asked_in) {
            (Some(transcripts), Some(_)) => ok_or_warn!(
                transcripts.sessions(),
                "the own conversation may be among what is found"
            )
            .unwrap_or_default(),
            _ => Vec::new(),
        };
        let own: HashSet<String> = facts
            .into_iter()
            .filter(|facts| facts.open_as.as_deref() == ask.asked_in)
            .map(|facts| facts.id)
            .collect();
        let takes_untrusted = scope.sources == SearchSources::Sessions;
        let mut except: Vec<i64> = self
            .store
            .conversation_files()?
            .into_iter()
            .filter(|file| {
                let page = SessionPage::of_label(&file.label);
                page.is_some_and(|page| own.contains(&page.session))
                    || (file.is_untrusted && !takes_untrusted)
            })
            .map(|file| file.id)
            .collect();
        except.sort_unstable();
        Ok((scope, except))
    }

    /// Whether the provider's own vectors are there to search with.
    fn has_vectors(&self) -> Result<bool, StoreError> {
        let Some(embedder) = self.with.embedder else {
            return Ok(true);
        };
        Ok(vectors::coverage(&self.store, &embedder.id().to_string())?.answers())
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        tracing::warn!(path = %self.with.index_file.display(), "the memory index is damaged and \
            rebuilt");
        // The file is closed before it is moved.
        self.store = IndexStore::temporary()?;
        self.searcher = IndexSearcher::default();
        let path = &self.with.index_file;
        self.store = IndexStore::open_after_damage(path, self.with.host.unix_time())?;
        self.notices.extend_from_slice(self.store.notices());
        Ok(())
    }
}
