//! Files as the model sees them: without their secrets, and with them put back when it writes.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;

use chela_core::secret::{Redactor, RestoredText, SecretLines, SecretStream};

/// Reads a file without its secrets. Lines keep their numbers.
pub(super) struct SecretReader<R> {
    inner: R,
    stream: SecretStream,
    /// What is clean and not read yet.
    ready: Vec<u8>,
    at: usize,
    ended: bool,
}

impl<R: Read> SecretReader<R> {
    pub(super) fn new(inner: R, redactor: &Arc<Redactor>) -> Self {
        Self {
            inner,
            stream: SecretStream::new(Arc::clone(redactor)).with_lines(SecretLines::Counted),
            ready: Vec::new(),
            at: 0,
            ended: false,
        }
    }
}

impl<R: Read> Read for SecretReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.ready.len() && !self.ended {
            let mut piece = vec![0; 64 * 1024];
            let length = self.inner.read(&mut piece)?;
            self.at = 0;
            self.ended = length == 0;
            self.ready = match self.ended {
                true => self.stream.finish(),
                false => self.stream.push(piece.get(..length).unwrap_or(&piece)),
            };
        }
        let mut rest = self.ready.get(self.at..).unwrap_or_default();
        let length = rest.read(into)?;
        self.at += length;
        Ok(length)
    }
}

/// What the model should know about the secrets of a file it wrote: never silently lost, never
/// silently left as a stand-in.
pub(super) fn restored_notice(restored: &RestoredText) -> String {
    let mut said = String::new();
    if !restored.gone.is_empty() {
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for kind in &restored.gone {
            *kinds.entry(kind).or_default() += 1;
        }
        let kinds: Vec<String> = kinds
            .into_iter()
            .map(|(kind, count)| match count {
                1 => kind.to_owned(),
                count => format!("{count} × {kind}"),
            })
            .collect();
        said += &format!(
            " The secrets it held are gone from it now: {}; if that was not meant, undo it and keep their stand-ins.",
            kinds.join(", ")
        );
    }
    if let Some(first) = restored.empty.first() {
        let count = match restored.empty.len() {
            1 => "it was written as plain text".to_owned(),
            count => format!("{count} like it were written as plain text"),
        };
        said += &format!(
            " No secret of this file stands behind {first}: {count}. A secret cannot be copied; the user has to put it there."
        );
    }
    said
}
