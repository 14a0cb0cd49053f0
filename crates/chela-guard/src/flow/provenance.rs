//! Everything a session has read or been told, and where each atom of it came from.

use std::collections::{HashMap, HashSet};

use chela_core::{ContentHash, Origin, Trust};

use super::atom::{self, AtomKind, Url};
use crate::SinkKind;

/// A stretch of text of one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub trust: Trust,
    pub origin: Origin,
}

/// Which span of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId(usize);

/// Whether a session has read text from outside. It never goes back by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Taint {
    #[default]
    Clean,
    Tainted,
}

impl Taint {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Tainted => "tainted",
        }
    }
}

/// The text of a session as an index that only grows.
#[derive(Debug, Clone, Default)]
pub struct Provenance {
    spans: Vec<Span>,
    seen: HashMap<Box<str>, Seen>,
    approved: HashSet<(SinkKind, Box<str>)>,
    shapes: HashSet<ContentHash>,
    refused: HashSet<ContentHash>,
    refusals: usize,
    taint: Taint,
    tainted_by: Option<SpanId>,
    /// Grows with every text.
    now: Order,
}

/// The first place where an atom stands in the owner's words, in anyone else's, and in those
/// from outside.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    owner: Option<Place>,
    own: Option<Place>,
    foreign: Option<Place>,
    /// When a text that came from outside first had it.
    fetched: Option<Order>,
    /// When the model first said it.
    made: Option<Order>,
}

/// How much had been read or said before.
type Order = u32;

#[derive(Debug, Clone, Copy)]
struct Place {
    span: SpanId,
    start: usize,
    end: usize,
}

/// An atom in the text it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage<'a> {
    pub span: SpanId,
    pub before: &'a str,
    pub atom: &'a str,
    pub after: &'a str,
}

/// Whose words an atom is known from; the most trusted wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    Owner(SpanId),
    Approved,
    /// The agent's files and memory, the runtime.
    Own(SpanId),
    Foreign(SpanId),
    Nowhere,
}

impl Provenance {
    /// Adds text at the end. Text below the agent's own trust taints the session.
    pub fn add(&mut self, span: Span) -> SpanId {
        let came = match span.origin {
            Origin::File { .. } | Origin::Runtime => Came::FromHere,
            _ => Came::FromOutside,
        };
        self.add_as(span, came)
    }

    /// Adds text that was kept here or that a program made: whatever its trust, it may repeat
    /// what the model said before, so no address counts as read because it is in there.
    pub fn add_kept(&mut self, span: Span) -> SpanId {
        self.add_as(span, Came::FromHere)
    }

    fn add_as(&mut self, span: Span, came: Came) -> SpanId {
        let id = SpanId(self.spans.len());
        self.now += 1;
        if span.trust < Trust::Agent && self.taint == Taint::Clean {
            self.taint = Taint::Tainted;
            self.tainted_by = Some(id);
        }
        let voice = Voice::of(&span);
        if matches!(voice, Voice::Owner) {
            self.refusals = 0;
            self.refused.clear();
        }
        let fetched = matches!((voice, came), (Voice::Foreign, Came::FromOutside));
        for atom in atom::atoms(&span.text) {
            let place = Place {
                span: id,
                start: atom.range.start,
                end: atom.range.end,
            };
            match atom.kind {
                AtomKind::Url => {
                    if let Some(Url {
                        host: Some(host), ..
                    }) = Url::parse(span.text.get(atom.range.clone()).unwrap_or_default())
                    {
                        self.note(&format!("host:{host}"), voice, place);
                    }
                }
                AtomKind::Word | AtomKind::Path => {
                    for part in atom::parts(&atom.text).filter(|part| *part != atom.text) {
                        self.note(part, voice, place);
                    }
                }
                _ => {}
            }
            self.note(&atom.text, voice, place);
            if fetched && let Some(seen) = self.seen.get_mut(atom.text.as_str()) {
                seen.fetched.get_or_insert(self.now);
            }
        }
        self.spans.push(span);
        id
    }

    /// The model said this: in an answer, in the arguments of a call. Its words name nothing. An
    /// address it said before anything that was read had it was put together by it, and what
    /// comes back later, from a file or an echo, does not change that.
    pub fn said_by_model(&mut self, text: &str) {
        self.now += 1;
        for atom in atom::telling_atoms(text) {
            let seen = self.seen.entry(atom.text.as_str().into()).or_default();
            seen.made.get_or_insert(self.now);
        }
    }

    fn note(&mut self, atom: &str, voice: Voice, place: Place) {
        let slot = |seen: &mut Seen| {
            let slot = match voice {
                Voice::Owner => &mut seen.owner,
                Voice::Own => &mut seen.own,
                Voice::Foreign => &mut seen.foreign,
            };
            slot.get_or_insert(place);
        };
        match self.seen.get_mut(atom) {
            Some(seen) => slot(seen),
            None => slot(self.seen.entry(atom.into()).or_default()),
        }
    }

    pub fn taint(&self) -> Taint {
        self.taint
    }

    /// What tainted the session first.
    pub fn tainted_by(&self) -> Option<SpanId> {
        self.tainted_by
    }

    /// Something outside this text tainted the session: the parent of a sub-agent, an earlier
    /// turn that was compacted, a picture.
    pub fn taint_with(&mut self, taint: Taint) {
        self.taint = self.taint.max(taint);
    }

    /// The owner says that what was read so far may be trusted to lead no one. The text keeps
    /// its labels: its words do not become the owner's.
    pub fn release(&mut self) {
        self.taint = Taint::Clean;
        self.tainted_by = None;
    }

    /// What a sub-agent starts with: the same text, the same taint, and no approvals, which were
    /// given to someone else. The task it is given is the agent's words, not the owner's.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            approved: HashSet::new(),
            shapes: HashSet::new(),
            ..self.clone()
        }
    }

    /// The owner allowed an argument: its atoms count as named, for this kind of argument.
    pub(super) fn approve_atom(&mut self, kind: SinkKind, atom: &str) {
        self.approved.insert((kind, atom.into()));
    }

    /// The owner allowed calls of exactly this shape for the session.
    pub fn approve_shape(&mut self, shape: ContentHash) {
        self.shapes.insert(shape);
    }

    /// The owner refused a call: it is not asked again until the owner has spoken.
    pub fn refuse_shape(&mut self, shape: ContentHash) {
        self.refused.insert(shape);
        self.refusals += 1;
    }

    pub(super) fn is_refused_shape(&self, shape: &ContentHash) -> bool {
        self.refused.contains(shape)
    }

    pub(super) fn refusals(&self) -> usize {
        self.refusals
    }

    pub(super) fn is_approved(&self, kind: SinkKind, text: &str) -> bool {
        self.approved.contains(&(kind, Box::from(text)))
    }

    pub(super) fn is_approved_shape(&self, shape: &ContentHash) -> bool {
        self.shapes.contains(shape)
    }

    pub(super) fn known(&self, kind: SinkKind, atom: &str) -> Known {
        let seen = self.seen.get(atom).copied().unwrap_or_default();
        // The second look-up only when the first did not settle it.
        match seen {
            Seen {
                owner: Some(place), ..
            } => Known::Owner(place.span),
            _ if self.is_approved(kind, atom) => Known::Approved,
            Seen {
                foreign: Some(place),
                ..
            } => Known::Foreign(place.span),
            Seen {
                own: Some(place), ..
            } => Known::Own(place.span),
            _ => Known::Nowhere,
        }
    }

    /// Whether the owner wrote the atom, or something from outside had it before the model did.
    pub(super) fn occurs(&self, atom: &str) -> bool {
        let seen = self.seen.get(atom).copied().unwrap_or_default();
        seen.owner.is_some()
            || seen
                .fetched
                .is_some_and(|fetched| seen.made.is_none_or(|made| fetched < made))
    }

    pub(super) fn is_named_host(&self, host: &str) -> bool {
        self.seen
            .get(format!("host:{host}").as_str())
            .is_some_and(|seen| seen.owner.is_some())
    }

    pub fn span(&self, id: SpanId) -> Option<&Span> {
        self.spans.get(id.0)
    }

    /// The foreign passage an atom came from, with some text around.
    pub fn passage(&self, atom: &str) -> Option<Passage<'_>> {
        const AROUND: usize = 120;
        let place = self.seen.get(atom)?.foreign?;
        let text = self.span(place.span)?.text.as_str();
        let Place { start, end, .. } = place;
        let from = text.floor_char_boundary(start.saturating_sub(AROUND));
        let to = text.ceil_char_boundary((end + AROUND).min(text.len()));
        Some(Passage {
            span: place.span,
            before: text.get(from..start)?,
            atom: text.get(start..end)?,
            after: text.get(end..to)?,
        })
    }

    /// Bytes of text so far.
    pub fn size(&self) -> usize {
        self.spans.iter().map(|span| span.text.len()).sum()
    }
}

/// How a text got here.
#[derive(Debug, Clone, Copy)]
enum Came {
    FromOutside,
    FromHere,
}

#[derive(Debug, Clone, Copy)]
enum Voice {
    Owner,
    Own,
    Foreign,
}

impl Voice {
    /// Only what a person wrote names anything. The runtime repeats what a model said, in errors
    /// and confirmations, and tools repeat what they found: neither speaks for the owner.
    fn of(span: &Span) -> Self {
        match (&span.trust, &span.origin) {
            (Trust::External | Trust::Plugin, _) => Self::Foreign,
            (Trust::Owner | Trust::Operator, Origin::Channel { .. } | Origin::Config { .. }) => {
                Self::Owner
            }
            _ => Self::Own,
        }
    }
}
