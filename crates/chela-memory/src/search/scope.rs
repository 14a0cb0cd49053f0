//! From which entries a question is answered.

use crate::day::{CalendarDay, DaySpan};
use crate::query::AskedQuestion;
use crate::segment::{ChunkFlags, DocFacts};
use crate::snapshot::IndexSnapshot;
use crate::when::{self, QuestionRest};

/// What whoever asks wants to be answered from. The default is all there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SearchScope {
    /// Entries of these days only.
    pub days: Option<DaySpan>,
    pub sources: SearchSources,
}

/// The days someone limits a search to, as said: `2026-03-04`, `March`, `last tuesday`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DayLimits<'a> {
    pub since: Option<&'a str>,
    pub until: Option<&'a str>,
    pub on: Option<&'a str>,
}

/// A limit that is not a date.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{limit} `{said}` is not a date")]
pub struct LimitError {
    /// `since`, `until` or `on`.
    pub limit: &'static str,
    pub said: String,
}

impl DayLimits<'_> {
    /// The days they leave; `None` without limits.
    pub fn read(&self, today: CalendarDay) -> Result<Option<DaySpan>, LimitError> {
        let named = |limit: &'static str, said: Option<&str>| match said.map(str::trim) {
            None | Some("") => Ok(None),
            Some(said) => match when::days_named(said, today) {
                Some(span) => Ok(Some(span)),
                None => Err(LimitError {
                    limit,
                    said: said.to_owned(),
                }),
            },
        };
        let (since, until) = (named("since", self.since)?, named("until", self.until)?);
        let on = named("on", self.on)?;
        if since.is_none() && until.is_none() {
            return Ok(on);
        }
        let whole = DaySpan {
            first: since.map_or(CalendarDay(i32::MIN / 2), |span| span.first),
            last: until.map_or(CalendarDay(i32::MAX / 2), |span| span.last),
        };
        let nothing = DaySpan {
            first: CalendarDay(0),
            last: CalendarDay(-1),
        };
        Ok(Some(match on {
            None => whole,
            Some(on) => on.overlap(whole).unwrap_or(nothing),
        }))
    }
}

/// Notes, conversations, or both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SearchSources {
    #[default]
    All,
    Notes,
    Sessions,
    Nothing,
}

impl SearchSources {
    /// The same where conversations are not to be searched.
    pub fn without_sessions(self) -> Self {
        match self {
            Self::All | Self::Notes => Self::Notes,
            // Asked for and not to be had: nothing.
            Self::Sessions | Self::Nothing => Self::Nothing,
        }
    }
}

/// The days an answer is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerDays {
    pub span: DaySpan,
    pub use_of: DaysUse,
}

/// What became of the days of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DaysUse {
    /// All there is of them was asked for: entries come in their order.
    Listed { entries: usize },
    /// They were looked at first.
    Preferred,
    /// Nothing is of those days: the answer is from others.
    Empty,
}

/// Which chunks may be in the answer, by slot.
#[derive(Debug, Default)]
pub struct ScopeMask {
    /// Empty where all current chunks may.
    allowed: Vec<bool>,
}

impl ScopeMask {
    /// What a scope admits; chunks of the files `except`, which are in order, may not.
    pub fn of(snapshot: &IndexSnapshot, scope: &SearchScope, except: &[i64]) -> Self {
        if *scope == SearchScope::default() && except.is_empty() {
            return Self::default();
        }
        let mut mask = Self {
            allowed: vec![false; snapshot.slots()],
        };
        let is_searched =
            |doc: &DocFacts| scope.admits(doc) && except.binary_search(&doc.file).is_err();
        mask.narrow(snapshot, is_searched, true);
        mask
    }

    /// The same within some days.
    pub fn within(&self, snapshot: &IndexSnapshot, span: DaySpan) -> Self {
        let is_whole = self.allowed.is_empty();
        let mut mask = Self {
            allowed: match is_whole {
                true => vec![false; snapshot.slots()],
                false => self.allowed.clone(),
            },
        };
        let of_span = |doc: &DocFacts| doc.date.is_some_and(|day| span.contains(day));
        mask.narrow(snapshot, of_span, is_whole);
        mask
    }

    /// Chunks of other days that tell of these.
    pub fn telling_of(&self, snapshot: &IndexSnapshot, span: DaySpan) -> Self {
        let mut mask = Self {
            allowed: vec![false; snapshot.slots()],
        };
        for part in &snapshot.parts {
            for mention in &part.segment.mentions {
                let at = mention.doc as usize;
                let (Some(doc), Some(alive)) = (part.segment.docs.get(at), part.alive.get(at))
                else {
                    continue;
                };
                // What tells of a year tells little of a day.
                let tells = mention
                    .span
                    .overlap(span)
                    .is_some_and(|both| both.days() * 2 > mention.span.days());
                let is_of_span = doc.date.is_some_and(|day| span.contains(day));
                let slot = part.base + at;
                if let Some(allowed) = mask.allowed.get_mut(slot)
                    && tells
                    && !is_of_span
                    && self.allows(slot, *alive)
                {
                    *allowed = true;
                }
            }
        }
        mask
    }

    fn narrow(
        &mut self,
        snapshot: &IndexSnapshot,
        holds: impl Fn(&DocFacts) -> bool,
        is_fresh: bool,
    ) {
        for part in &snapshot.parts {
            let docs = part.segment.docs.iter().zip(&part.alive);
            let allowed = self.allowed.iter_mut().skip(part.base);
            for ((doc, alive), allowed) in docs.zip(allowed) {
                *allowed = *alive && (is_fresh || *allowed) && holds(doc);
            }
        }
    }

    /// Whether a chunk may be in the answer; `alive` says that it is current.
    #[inline]
    pub fn allows(&self, slot: usize, alive: bool) -> bool {
        alive && self.allowed.get(slot).copied().unwrap_or(true)
    }

    /// The slots of those that may, in the order of the index.
    pub fn slots<'m>(&'m self, snapshot: &'m IndexSnapshot) -> impl Iterator<Item = usize> + 'm {
        snapshot.parts.iter().flat_map(move |part| {
            part.alive
                .iter()
                .enumerate()
                .map(move |(at, alive)| (part.base + at, *alive))
                .filter(|(slot, alive)| self.allows(*slot, *alive))
                .map(|(slot, _)| slot)
        })
    }
}

impl SearchScope {
    fn admits(&self, doc: &DocFacts) -> bool {
        let is_said = doc.flags.has(ChunkFlags::TRANSCRIPT);
        let of_source = match self.sources {
            SearchSources::All => true,
            SearchSources::Notes => !is_said,
            SearchSources::Sessions => is_said,
            SearchSources::Nothing => false,
        };
        let of_day = match self.days {
            Some(span) => doc.date.is_some_and(|day| span.contains(day)),
            None => true,
        };
        of_source && of_day
    }
}

/// The first reading of a question's days that anything is of.
pub fn days_with_entries(
    snapshot: &IndexSnapshot,
    (scope, mask): (&SearchScope, &ScopeMask),
    asked: &AskedQuestion<'_>,
) -> Option<(AnswerDays, ScopeMask)> {
    if asked.text.trim().is_empty() {
        // Limits and no question: all there is within them.
        let entries = mask.slots(snapshot).count();
        return (entries > 0).then(|| {
            let span = scope.days.unwrap_or(DaySpan::of_day(CalendarDay(0)));
            let use_of = DaysUse::Listed { entries };
            (
                AnswerDays { span, use_of },
                ScopeMask {
                    allowed: mask.allowed.clone(),
                },
            )
        });
    }
    let days = asked.days.as_ref()?;
    for span in &days.readings {
        let within = mask.within(snapshot, *span);
        let entries = within.slots(snapshot).count();
        if entries > 0 {
            let use_of = match days.rest {
                QuestionRest::Nothing => DaysUse::Listed { entries },
                QuestionRest::Something => DaysUse::Preferred,
            };
            let answer = AnswerDays {
                span: *span,
                use_of,
            };
            return Some((answer, within));
        }
    }
    None
}
