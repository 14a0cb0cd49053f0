//! A document in a file of its own, with a lock file beside it.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chela_files::{FileMode, LockFile, write_file};

use crate::documents::{DocumentStore, HeldDocument};
use crate::{StoreError, StoreFuture};

/// How long a change waits for another one. Each takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// No document a person wrote is larger.
const LARGEST: u64 = 64 << 20;

/// A document in a file, which several processes may change. It is small: whoever calls waits on
/// its own thread, and the answer is there when the future is.
#[derive(Debug, Clone)]
struct FileDocumentStore {
    path: PathBuf,
}

/// The store of the document with this path.
pub fn document_at(path: &Path) -> Box<dyn DocumentStore> {
    let path = path.to_owned();
    Box::new(FileDocumentStore { path })
}

impl FileDocumentStore {
    fn text(&self) -> Result<Option<String>, StoreError> {
        let mut text = String::new();
        let read = std::fs::File::open(&self.path)
            .and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text));
        match read {
            Ok(_) if text.len() as u64 <= LARGEST => Ok(Some(text)),
            Ok(_) => Err(self.failed(io::ErrorKind::FileTooLarge.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn failed(&self, source: io::Error) -> StoreError {
        StoreError::File {
            path: self.path.clone(),
            source,
        }
    }
}

impl DocumentStore for FileDocumentStore {
    fn read(&self) -> StoreFuture<'_, Option<String>> {
        ready(self.text())
    }

    fn hold(&self) -> StoreFuture<'_, Box<dyn HeldDocument>> {
        let lock = LockFile::take(&self.path.with_extension("json.lock"), PATIENCE);
        ready(match lock {
            Ok(lock) => Ok(Box::new(HeldFile {
                store: self.clone(),
                _lock: lock,
            })),
            Err(error) => {
                tracing::debug!(%error, "a document cannot be changed now");
                Err(self.failed(error.into()))
            }
        })
    }
}

#[derive(Debug)]
struct HeldFile {
    store: FileDocumentStore,
    _lock: LockFile,
}

impl HeldDocument for HeldFile {
    fn read(&self) -> StoreFuture<'_, Option<String>> {
        ready(self.store.text())
    }

    fn replace(&mut self, text: &str) -> StoreFuture<'_, ()> {
        let written = write_file(&self.store.path, text.as_bytes(), FileMode::Private);
        ready(written.map_err(|error| self.store.failed(error.into())))
    }

    fn move_aside(&mut self, mark: &str) -> StoreFuture<'_, PathBuf> {
        let path = &self.store.path;
        let aside = path.with_extension(format!("json.{mark}"));
        let moved = std::fs::rename(path, &aside);
        tracing::warn!(
            path = %path.display(), aside = %aside.display(), failed = moved.is_err(),
            "a document that cannot be read is moved aside"
        );
        ready(match moved {
            Ok(()) => Ok(aside),
            Err(error) => Err(self.store.failed(error)),
        })
    }
}

fn ready<'a, T: Send + 'a>(answer: Result<T, StoreError>) -> StoreFuture<'a, T> {
    Box::pin(std::future::ready(answer))
}
