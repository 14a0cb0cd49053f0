//! A few short texts ranked by the same index as notes: tools, and whatever else is found by words.
//!
//! Nothing is written to a disk: the index lives as long as whoever asks.

use std::path::PathBuf;

use chela_core::{Audience, ContentHash, Trust};

use crate::chunk::{NoteChunk, mark_languages};
use crate::day::CalendarDay;
use crate::embed::LocalTable;
use crate::index::{PreparedFile, write_prepared};
use crate::search::{IndexSearcher, RankWeights, SearchRequest, SearchScope};
use crate::settings::QuerySettings;
use crate::source::{FileSource, FoundFile};
use crate::store::{IndexStore, StoreError};

/// A text that can be found, under a name of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexCard {
    pub name: String,
    pub text: String,
}

/// Cards, ready to be asked about.
#[derive(Debug)]
pub struct CardIndex {
    store: IndexStore,
    searcher: IndexSearcher,
}

impl CardIndex {
    pub fn new(cards: &[IndexCard]) -> Result<Self, StoreError> {
        let mut store = IndexStore::temporary()?;
        let files: Vec<FoundFile> = cards.iter().map(file_of).collect();
        let mut units: Vec<NoteChunk> = cards.iter().map(unit_of).collect();
        mark_languages(&mut units);
        let prepared: Vec<PreparedFile<'_>> = units
            .into_iter()
            .zip(&files)
            .map(|(unit, file)| PreparedFile::Content {
                file,
                hash: ContentHash::of(&unit.text),
                cut: String::new(),
                units: vec![unit],
                audience: Audience::Private,
                now: 0,
            })
            .collect();
        write_prepared(&mut store, Some(&LocalTable), &prepared)?;
        Ok(Self {
            store,
            searcher: IndexSearcher::default(),
        })
    }

    /// The names of the cards that fit a question, best first; those that have nothing to do with
    /// it are not there.
    pub fn find(&mut self, question: &str, most: usize) -> Result<Vec<String>, StoreError> {
        let answer = self.searcher.search(
            &self.store,
            &SearchRequest {
                question,
                settings: &QuerySettings::default(),
                weights: &RankWeights::default(),
                embedder: Some(&LocalTable),
                today: CalendarDay::of_unix(0),
                audience: Audience::Private,
                hits: most,
                scope: SearchScope::default(),
                except: &[],
            },
        )?;
        Ok(answer.hits.into_iter().map(|hit| hit.label).collect())
    }
}

fn file_of(card: &IndexCard) -> FoundFile {
    FoundFile {
        label: card.name.clone(),
        path: PathBuf::from(&card.name),
        source: FileSource::Extra,
        size: card.text.len() as u64,
        modified: 0,
        trust: Trust::Operator,
        audience: Audience::Private,
        page: None,
    }
}

fn unit_of(card: &IndexCard) -> NoteChunk {
    NoteChunk {
        start_line: 1,
        end_line: 1,
        heading: card.name.replace(['_', '-'], " "),
        text: card.text.clone(),
        ..NoteChunk::default()
    }
}

#[cfg(test)]
mod tests {
    use super::{CardIndex, IndexCard};

    fn card(name: &str, text: &str) -> IndexCard {
        IndexCard {
            name: name.into(),
            text: text.into(),
        }
    }

    #[test]
    fn cards_are_found_by_words_and_by_meaning() {
        let mut index = CardIndex::new(&[
            card("sessions_spawn", "Start a sub-agent for a task of its own."),
            card("process", "Follow commands that run in the background."),
            card("image", "Look at a picture file: PNG or JPEG."),
        ])
        .unwrap();
        let best =
            |index: &mut CardIndex, asked: &str| index.find(asked, 2).unwrap().into_iter().next();
        assert_eq!(
            best(&mut index, "background command").as_deref(),
            Some("process")
        );
        assert_eq!(best(&mut index, "photo").as_deref(), Some("image"));
        assert_eq!(
            best(&mut index, "delegate work to a sub-agent").as_deref(),
            Some("sessions_spawn")
        );
        assert_eq!(
            best(&mut index, "sessions_spawn").as_deref(),
            Some("sessions_spawn")
        );
    }
}
