//! Everything a session has read or been told, and where each atom of it came from.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use chela_core::{ContentHash, Origin, Trust};

use super::address_index::{AddressIndex, LinkedText, PrivateText};
use super::atom::{self, AtomKind};
use super::owner_facts;
use super::owner_texts::OwnerTexts;
use super::phrase::PhraseCase;
use crate::{SinkKind, WebAddress};

/// After this many refusals in a row the owner is left in peace.
pub(super) const MOST_REFUSALS: usize = 3;

/// So many messages of the owner say what they want now: a request, and the yes to what the agent
/// made of it.
const LAST_WORDS: usize = 2;

/// A stretch of text of one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSpan {
    pub text: String,
    pub trust: Trust,
    pub origin: Origin,
}

/// Which span of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId(usize);

/// Whether a session has read text from outside. It never goes back by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionTaint {
    #[default]
    Clean,
    Tainted,
}

impl SessionTaint {
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
    spans: Vec<TextSpan>,
    /// Made when an atom is first asked about: a conversation without calls never needs it.
    atoms: RefCell<AtomIndex>,
    addresses: AddressIndex,
    owner_texts: OwnerTexts,
    /// Services of the owner's whose answers were read.
    services: HashSet<Box<str>>,
    /// Whether private text was read that comes from none of them.
    has_local_text: bool,
    /// How many words of their own the owner wrote.
    owner_words: usize,
    approved: HashSet<(SinkKind, Box<str>)>,
    shapes: HashSet<ContentHash>,
    /// Files that give the agent orders and that the owner let it change.
    orders: HashSet<Box<str>>,
    refused: HashSet<ContentHash>,
    refusals: usize,
    taint: SessionTaint,
    tainted_by: Option<SpanId>,
    /// Grows with every text.
    now: Order,
}

/// Where the atoms of the spans stand, as far as the spans were read.
#[derive(Debug, Clone, Default)]
struct AtomIndex {
    seen: HashMap<Box<str>, Seen>,
    read: usize,
}

/// The first place where an atom stands in the owner's words, in anyone else's, and in those
/// from outside.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    owner: Option<SpanPlace>,
    own: Option<SpanPlace>,
    foreign: Option<SpanPlace>,
}

/// How much had been read or said before.
pub(super) type Order = u32;

#[derive(Debug, Clone, Copy)]
pub(super) struct SpanPlace {
    pub span: SpanId,
    pub start: usize,
    pub end: usize,
}

/// An atom in the text it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourcePassage<'a> {
    pub span: SpanId,
    pub before: &'a str,
    pub atom: &'a str,
    pub after: &'a str,
}

/// Whose words an atom is known from; the most trusted wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtomTrust {
    Owner(SpanId),
    Approved,
    /// The agent's files and memory, the runtime.
    Own(SpanId),
    Foreign(SpanId),
    Nowhere,
}

impl Provenance {
    /// Adds text at the end. Text below the agent's own trust taints the session.
    pub fn add(&mut self, span: TextSpan) -> SpanId {
        let came = match span.origin {
            Origin::File { .. } | Origin::Runtime => TextSource::Here,
            _ => TextSource::Outside,
        };
        self.add_as(span, came)
    }

    /// Adds text that was kept here or that a program made: whatever its trust, it may repeat
    /// what the model said before, so no address counts as read because it is in there.
    pub fn add_kept(&mut self, span: TextSpan) -> SpanId {
        self.add_as(span, TextSource::Here)
    }

    /// Adds what a service the owner has set up found: a search.
    pub fn add_found(&mut self, span: TextSpan) -> SpanId {
        self.add_as(span, TextSource::Service)
    }

    fn add_as(&mut self, span: TextSpan, came: TextSource) -> SpanId {
        let id = SpanId(self.spans.len());
        self.now += 1;
        if span.trust < Trust::Agent && self.taint == SessionTaint::Clean {
            self.taint = SessionTaint::Tainted;
            self.tainted_by = Some(id);
        }
        let voice = TextVoice::of(&span);
        if matches!(voice, TextVoice::Owner) {
            self.refusals = 0;
            self.refused.clear();
            self.addresses.owner_spoke();
            self.owner_texts.add(id, &span.text);
            let told = owner_facts::told_in(&span.text);
            self.owner_words += told.words;
            if told.has_fact || self.owner_words > owner_facts::FEW_WORDS {
                self.note_known_private();
            }
        }
        self.addresses.note_text(&LinkedText {
            text: &span.text,
            voice,
            came,
            span: id,
            now: self.now,
        });
        self.spans.push(span);
        id
    }

    /// The model said this: in an answer, in the arguments of a call. Its words name nothing. An
    /// address it said before anything that was read had it was put together by it, and what
    /// comes back later, from a file or an echo, does not change that.
    pub fn said_by_model(&mut self, text: &str) {
        self.now += 1;
        self.addresses.note_said_by_model(text, self.now);
    }

    /// A call asks for this; it counts until the owner speaks.
    pub fn note_request(&mut self, address: &WebAddress) {
        self.addresses.note_request(address);
    }

    /// A server answered that what was asked for lies there.
    pub fn note_redirect(&mut self, address: &WebAddress) {
        self.now += 1;
        self.addresses.note_redirect(address, self.now);
    }

    /// Text of this machine or of the owner's accounts was read.
    pub fn note_private(&mut self) {
        self.has_local_text = true;
        self.addresses.note_private(PrivateText::Read);
    }

    /// Text of an account of the owner's was read, at this service.
    pub fn note_private_of(&mut self, service: &str) {
        self.services.insert(service.into());
        self.addresses.note_private(PrivateText::Read);
    }

    /// Whether private text was read that does not come from these services: they need not learn it.
    pub(super) fn has_private_beyond(&self, services: &[&str]) -> bool {
        let others = self.services.iter();
        self.has_local_text
            || others
                .into_iter()
                .any(|known| !services.contains(&&**known))
    }

    /// The agent knows things about the owner without having looked: from its prompt, from what
    /// memory called up.
    pub fn note_known_private(&mut self) {
        self.addresses.note_private(PrivateText::Known);
    }

    /// The owner wrote this address in their last message. No record has it: a key in it was
    /// taken out before.
    pub fn name_address(&mut self, address: &WebAddress) {
        if let Some(span) = self.owner_texts.last() {
            self.addresses.name(address, span);
        }
    }

    /// Where an atom stands in all that was read.
    fn places_of(&self, atom: &str) -> Option<Seen> {
        let mut atoms = self.atoms.borrow_mut();
        for (at, span) in self.spans.iter().enumerate().skip(atoms.read) {
            atoms.add(SpanId(at), span);
        }
        atoms.seen.get(atom).copied()
    }

    pub fn taint(&self) -> SessionTaint {
        self.taint
    }

    /// What tainted the session first.
    pub fn tainted_by(&self) -> Option<SpanId> {
        self.tainted_by
    }

    /// Something outside this text tainted the session: the parent of a sub-agent, an earlier
    /// turn that was compacted, a picture.
    pub fn taint_with(&mut self, taint: SessionTaint) {
        self.taint = self.taint.max(taint);
    }

    /// The owner says that what was read so far may be trusted to lead no one. The text keeps
    /// its labels: its words do not become the owner's.
    pub fn release(&mut self) {
        self.taint = SessionTaint::Clean;
        self.tainted_by = None;
    }

    /// What a sub-agent starts with: the same text, the same taint, and no approvals, which were
    /// given to someone else. The task it is given is the agent's words, not the owner's.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            approved: HashSet::new(),
            shapes: HashSet::new(),
            orders: HashSet::new(),
            addresses: self.addresses.without_grants(),
            ..self.clone()
        }
    }

    /// The owner allowed an argument: its atoms count as named, for this kind of argument.
    pub(super) fn approve_atom(&mut self, kind: SinkKind, atom: &str) {
        self.approved.insert((kind, atom.into()));
    }

    /// The owner allowed a change of a file that gives the agent orders: it may be worked on.
    pub(super) fn approve_order(&mut self, name: &str) {
        self.orders.insert(name.into());
    }

    /// Whether the owner knows that a file that gives the agent orders is being changed: their last
    /// words name it, or they allowed it. All skills go by one name.
    pub fn owner_knows_order(&self, name: &str) -> bool {
        let one = name.strip_suffix('s').unwrap_or(name);
        let stands = |name: &str| self.owner_texts.is_in_last(LAST_WORDS, name);
        self.orders.contains(name) || stands(name) || stands(one)
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

    /// Whether the owner said no to exactly this, or to so much in a row, that nothing is asked
    /// until the owner has spoken.
    pub fn is_left_in_peace(&self, shape: &ContentHash) -> bool {
        self.is_refused_shape(shape) || self.refusals >= MOST_REFUSALS
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

    pub(super) fn known(&self, kind: SinkKind, atom: &str) -> AtomTrust {
        let seen = self.places_of(atom).unwrap_or_default();
        // The second look-up only when the first did not settle it.
        match seen {
            Seen {
                owner: Some(place), ..
            } => AtomTrust::Owner(place.span),
            _ if self.is_approved(kind, atom) => AtomTrust::Approved,
            Seen {
                foreign: Some(place),
                ..
            } => AtomTrust::Foreign(place.span),
            Seen {
                own: Some(place), ..
            } => AtomTrust::Own(place.span),
            _ => AtomTrust::Nowhere,
        }
    }

    pub(super) fn addresses(&self) -> &AddressIndex {
        &self.addresses
    }

    pub(super) fn addresses_mut(&mut self) -> &mut AddressIndex {
        &mut self.addresses
    }

    /// Where the owner wrote exactly this, as a whole of its own.
    pub(super) fn owner_wrote(&self, phrase: &str, case: PhraseCase) -> Option<SpanId> {
        self.owner_texts.find(phrase, case)
    }

    pub fn span(&self, id: SpanId) -> Option<&TextSpan> {
        self.spans.get(id.0)
    }

    /// The foreign passage an atom came from, with some text around.
    pub fn passage(&self, atom: &str) -> Option<SourcePassage<'_>> {
        const AROUND: usize = 120;
        let place = self
            .addresses
            .foreign_place(atom)
            .or_else(|| self.places_of(atom)?.foreign)?;
        let text = self.span(place.span)?.text.as_str();
        let SpanPlace { start, end, .. } = place;
        let from = text.floor_char_boundary(start.saturating_sub(AROUND));
        let to = text.ceil_char_boundary((end + AROUND).min(text.len()));
        Some(SourcePassage {
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

impl AtomIndex {
    fn add(&mut self, id: SpanId, span: &TextSpan) {
        let voice = TextVoice::of(span);
        for atom in atom::atoms(&span.text) {
            let place = SpanPlace {
                span: id,
                start: atom.range.start,
                end: atom.range.end,
            };
            match atom.kind {
                // The owner names whole things.
                AtomKind::Word | AtomKind::Path if !matches!(voice, TextVoice::Owner) => {
                    for part in atom::parts(&atom.text).filter(|part| *part != atom.text) {
                        self.note(part, voice, place);
                    }
                }
                _ => {}
            }
            self.note(&atom.text, voice, place);
        }
        self.read = id.0 + 1;
    }

    fn note(&mut self, atom: &str, voice: TextVoice, place: SpanPlace) {
        let slot = |seen: &mut Seen| {
            let slot = match voice {
                TextVoice::Owner => &mut seen.owner,
                TextVoice::Own => &mut seen.own,
                TextVoice::Foreign => &mut seen.foreign,
            };
            slot.get_or_insert(place);
        };
        match self.seen.get_mut(atom) {
            Some(seen) => slot(seen),
            None => slot(self.seen.entry(atom.into()).or_default()),
        }
    }
}

/// How a text got here.
#[derive(Debug, Clone, Copy)]
pub(super) enum TextSource {
    Outside,
    /// From a service the owner has set up.
    Service,
    Here,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum TextVoice {
    Owner,
    Own,
    Foreign,
}

impl TextVoice {
    /// Only what a person wrote names anything. The runtime repeats what a model said, in errors
    /// and confirmations, and tools repeat what they found: neither speaks for the owner.
    fn of(span: &TextSpan) -> Self {
        match (&span.trust, &span.origin) {
            (Trust::External | Trust::Plugin, _) => Self::Foreign,
            (Trust::Owner | Trust::Operator, Origin::Channel { .. } | Origin::Config { .. }) => {
                Self::Owner
            }
            _ => Self::Own,
        }
    }
}
