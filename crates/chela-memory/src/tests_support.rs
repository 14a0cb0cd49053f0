//! A small agent's memory for tests.

use std::ops::ControlFlow;

use chela_core::{Audience, Host};

use crate::index::{SyncDepth, SyncReport};
use crate::memory::{Memory, MemoryQuestion, OpenMemory};
use crate::settings::MemorySettings;
use crate::source::{MemoryPlaces, TrustCeiling};

pub struct MemoryHome {
    pub folder: tempfile::TempDir,
    pub host: Host,
    pub settings: MemorySettings,
}

impl MemoryHome {
    pub fn new(notes: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::fixed(folder.path());
        let home = Self {
            folder,
            host,
            settings: MemorySettings::default(),
        };
        std::fs::create_dir_all(home.workspace()).unwrap();
        for (name, text) in notes {
            home.write(name, text);
        }
        home
    }

    pub fn workspace(&self) -> std::path::PathBuf {
        self.folder.path().join("w")
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.workspace().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn index_file(&self) -> std::path::PathBuf {
        self.folder.path().join("state/main.sqlite")
    }

    pub fn memory(&self) -> Memory<'_> {
        self.memory_below(TrustCeiling::default())
    }

    pub fn memory_below(&self, ceiling: TrustCeiling) -> Memory<'_> {
        Memory::local(OpenMemory {
            host: &self.host,
            index_file: self.index_file(),
            places: MemoryPlaces {
                workspace: self.workspace(),
                sessions: Some(self.folder.path().join("sessions")),
                ceiling,
                ..MemoryPlaces::default()
            },
            settings: self.settings.clone(),
            embedder: None,
        })
        .unwrap()
    }

    pub fn synced(&self) -> Memory<'_> {
        let mut memory = self.memory();
        sync(&mut memory);
        memory
    }
}

pub fn sync(memory: &mut Memory<'_>) -> SyncReport {
    memory
        .sync(SyncDepth::Quick, &mut |_| ControlFlow::Continue(()))
        .unwrap()
}

pub fn ask(question: &str) -> MemoryQuestion<'_> {
    MemoryQuestion::new(question, Audience::Private)
}

/// The places found, best first.
pub fn found(memory: &mut Memory<'_>, question: &str) -> Vec<String> {
    memory
        .search(&ask(question))
        .unwrap()
        .excerpts
        .iter()
        .map(|e| e.citation())
        .collect()
}
