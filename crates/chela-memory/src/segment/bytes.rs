//! A segment as it lies in the file.

use super::{ChunkFlags, DayMention, DocFacts, IndexSegment};
use crate::day::{CalendarDay, DaySpan};
use crate::importance::NoteImportance;
use crate::language::Language;

pub(super) const MAGIC: &[u8; 8] = b"CHSEG002";
const NO_DATE: i32 = i32::MIN;

impl IndexSegment {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out =
            Vec::with_capacity(self.postings.len() + self.terms.len() + 36 * self.docs.len());
        out.extend_from_slice(MAGIC);
        for number in [
            self.docs.len(),
            self.term_count(),
            self.terms.len(),
            self.postings.len(),
            self.mentions.len(),
        ] {
            out.extend_from_slice(&(number as u32).to_le_bytes());
        }
        for (doc, length) in self.docs.iter().zip(&self.lengths) {
            out.extend_from_slice(&doc.chunk.to_le_bytes());
            out.extend_from_slice(&doc.file.to_le_bytes());
            out.extend_from_slice(&doc.section.to_le_bytes());
            out.extend_from_slice(&doc.date.map_or(NO_DATE, |day| day.0).to_le_bytes());
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(&doc.speaker.to_le_bytes());
            out.extend_from_slice(&doc.flags.0.to_le_bytes());
            out.extend_from_slice(&[doc.importance.percent(), doc.language.number()]);
        }
        for start in self.term_starts.iter().chain(&self.posting_starts) {
            out.extend_from_slice(&start.to_le_bytes());
        }
        for mention in &self.mentions {
            out.extend_from_slice(&mention.doc.to_le_bytes());
            out.extend_from_slice(&mention.span.first.0.to_le_bytes());
            out.extend_from_slice(&mention.span.last.0.to_le_bytes());
        }
        out.extend_from_slice(&self.terms);
        out.extend_from_slice(&self.postings);
        out
    }

    /// `None` when the bytes are not a whole segment.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let mut number = || take(&mut rest).map(|bytes: &[u8; 4]| u32::from_le_bytes(*bytes));
        let (docs, terms) = (number()? as usize, number()? as usize);
        let (term_bytes, posting_bytes) = (number()? as usize, number()? as usize);
        let mentions = number()? as usize;
        let mut this = Self::default();
        for _ in 0..docs {
            let chunk = i64::from_le_bytes(*take(&mut rest)?);
            let file = i64::from_le_bytes(*take(&mut rest)?);
            let section = u32::from_le_bytes(*take(&mut rest)?);
            let date = i32::from_le_bytes(*take(&mut rest)?);
            let length = u32::from_le_bytes(*take(&mut rest)?);
            let speaker = u32::from_le_bytes(*take(&mut rest)?);
            let flags = u16::from_le_bytes(*take(&mut rest)?);
            let [importance, language] = *take(&mut rest)?;
            this.push_doc(
                DocFacts {
                    chunk,
                    file,
                    section,
                    date: (date != NO_DATE).then_some(CalendarDay(date)),
                    speaker,
                    flags: ChunkFlags(flags),
                    importance: NoteImportance::from_percent(importance),
                    language: Language::from_number(language),
                },
                length,
            );
        }
        let mut starts = |limit: usize| {
            let list: Vec<u32> = (0..=terms)
                .map(|_| take(&mut rest).map(|bytes| u32::from_le_bytes(*bytes)))
                .collect::<Option<_>>()?;
            (list.is_sorted() && list.last().is_some_and(|last| *last as usize <= limit))
                .then_some(list)
        };
        this.term_starts = starts(term_bytes)?;
        this.posting_starts = starts(posting_bytes)?;
        for _ in 0..mentions {
            let doc = u32::from_le_bytes(*take(&mut rest)?);
            let mut day = || take(&mut rest).map(|b: &[u8; 4]| CalendarDay(i32::from_le_bytes(*b)));
            let span = DaySpan {
                first: day()?,
                last: day()?,
            };
            if doc as usize >= docs {
                return None;
            }
            this.mentions.push(DayMention { doc, span });
        }
        if rest.len() != term_bytes + posting_bytes {
            return None;
        }
        this.terms = rest.get(..term_bytes).unwrap_or_default().to_vec();
        this.postings = rest.get(term_bytes..).unwrap_or_default().to_vec();
        Some(this)
    }
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (chunk, more) = rest.split_first_chunk::<N>()?;
    *rest = more;
    Some(chunk)
}
