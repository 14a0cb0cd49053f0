//! Files already read, cleaned and cut, kept until they change on disk.

use chela_core::lock;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use chela_core::cut::{CutLimit, CutRequest, PinOutcome, cut};
use chela_core::{ContentHash, ok_or_warn, tokens};
use chela_files::FileStamp;

use crate::decode::decode;
use crate::markdown::heartbeat_has_work;
use crate::read::{LocatedFile, is_fresh_at, read};
use crate::report::{DroppedLines, FileRemark, FileStatus};

/// Texts longer than this are not kept in memory, only what was cut from them.
const KEPT_TEXT: usize = 1 << 20;
/// Ways of cutting one file that are kept: sessions of different kinds have different room.
const KEPT_CUTS: usize = 4;
/// Files of which something is kept.
const KEPT_FILES: usize = 256;

/// A file as read.
#[derive(Debug)]
pub(crate) struct ReadFile {
    located: LocatedFile,
    stamp: FileStamp,
    pub(crate) hash: ContentHash,
    pub(crate) raw_chars: usize,
    first_line: u32,
    pub(crate) remarks: Vec<FileRemark>,
    pub(crate) has_text: bool,
    has_heartbeat_work: OnceLock<bool>,
    text: Mutex<Option<Arc<str>>>,
    cuts: Mutex<Vec<(CutKey, Arc<ShortenedText>)>>,
}

/// The text of a file as far as there is room for it.
#[derive(Debug)]
pub(crate) struct ShortenedText {
    pub(crate) text: Arc<str>,
    pub(crate) chars: usize,
    tokens: OnceLock<usize>,
    pub(crate) dropped: Vec<DroppedLines>,
    pub(crate) pins: PinOutcome,
}

#[derive(Debug, PartialEq, Eq)]
struct CutKey {
    name: String,
    limit: CutLimit,
    pins: Vec<String>,
}

/// All files of one workspace that were read.
#[derive(Debug, Default)]
pub(crate) struct ReadFiles {
    files: Mutex<HashMap<PathBuf, Arc<ReadFile>>>,
}

impl ReadFiles {
    /// The file as it is now: from memory when it did not change since it was read.
    pub(crate) fn get(
        &self,
        located: &LocatedFile,
        now: SystemTime,
    ) -> Result<Arc<ReadFile>, FileStatus> {
        if let Some(source) = lock(&self.files).get(&located.resolved)
            && source.stamp == located.stamp
        {
            return Ok(Arc::clone(source));
        }
        let source = Arc::new(ReadFile::read(located)?);
        let mut files = lock(&self.files);
        if is_fresh_at(&source.stamp, now) {
            files.remove(&located.resolved);
        } else {
            if files.len() >= KEPT_FILES {
                files.clear();
            }
            files.insert(located.resolved.clone(), Arc::clone(&source));
        }
        Ok(source)
    }
}

impl ReadFile {
    fn read(located: &LocatedFile) -> Result<Self, FileStatus> {
        let (bytes, stamp) = read(located)?;
        let decoded = decode(&bytes);
        Ok(Self {
            located: located.clone(),
            stamp,
            hash: ContentHash::of(&bytes.bytes),
            raw_chars: decoded.raw_chars,
            first_line: decoded.first_line,
            remarks: decoded.remarks,
            has_text: !decoded.text.is_empty(),
            has_heartbeat_work: OnceLock::new(),
            text: Mutex::new(Some(decoded.text.into())),
            cuts: Mutex::default(),
        })
    }

    /// The whole text; read again when it was let go.
    pub(crate) fn text(&self) -> Arc<str> {
        if let Some(text) = &*lock(&self.text) {
            return Arc::clone(text);
        }
        let path = self.located.resolved.display();
        let read = ok_or_warn!(read(&self.located), "a long file is gone since it was read", %path);
        let text: Arc<str> =
            read.map_or_else(|| "".into(), |(bytes, _)| decode(&bytes).text.into());
        *lock(&self.text) = Some(Arc::clone(&text));
        text
    }

    /// Whether it asks for anything, read as a HEARTBEAT.md.
    pub(crate) fn has_heartbeat_work(&self) -> bool {
        *self
            .has_heartbeat_work
            .get_or_init(|| heartbeat_has_work(&self.text()))
    }

    /// Frees a long text once the load that needed it is done.
    pub(crate) fn let_go(&self) {
        let mut text = lock(&self.text);
        if text.as_ref().is_some_and(|text| text.len() > KEPT_TEXT) {
            *text = None;
        }
    }

    pub(crate) fn shortened(
        &self,
        name: &str,
        limit: CutLimit,
        pins: &[String],
    ) -> Arc<ShortenedText> {
        let is_same = |key: &CutKey| key.limit == limit && key.name == name && key.pins == pins;
        if let Some((_, kept)) = lock(&self.cuts).iter().find(|(key, _)| is_same(key)) {
            return Arc::clone(kept);
        }
        let text = self.text();
        let shortened = Arc::new(ShortenedText::of(
            &text,
            &CutRequest {
                name,
                first_line: self.first_line,
                text: &text,
                limit,
                pinned_headings: pins,
            },
        ));
        let mut cuts = lock(&self.cuts);
        if cuts.len() >= KEPT_CUTS {
            cuts.remove(0);
        }
        let key = CutKey {
            name: name.to_owned(),
            limit,
            pins: pins.to_vec(),
        };
        cuts.push((key, Arc::clone(&shortened)));
        shortened
    }
}

impl ShortenedText {
    /// Cuts `text`, which is the text of the request: shared when all of it stays.
    pub(crate) fn of(text: &Arc<str>, request: &CutRequest<'_>) -> Self {
        let cut = cut(request);
        let kept = if *cut.text == **text {
            Arc::clone(text)
        } else {
            Arc::from(&*cut.text)
        };
        Self {
            chars: kept.chars().count(),
            text: kept,
            tokens: OnceLock::new(),
            dropped: cut.dropped.iter().map(DroppedLines::from).collect(),
            pins: cut.pinned,
        }
    }

    /// Its size in the unit of `limit`.
    pub(crate) fn size_in(&self, limit: CutLimit) -> usize {
        match limit {
            CutLimit::Chars(_) => self.chars,
            CutLimit::Tokens(_) => *self.tokens.get_or_init(|| tokens::count(&self.text)),
        }
    }
}
