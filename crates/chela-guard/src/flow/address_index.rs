//! Which addresses and servers a session has read of, from whom, and which were asked for.

use std::collections::{HashMap, HashSet};

use super::link::links_in;
use super::provenance::{Order, SpanId, SpanPlace, TextSource, TextVoice};
use crate::WebAddress;

/// Addresses of one server that only text from outside has named, and that may be asked for
/// between two messages of the owner once private text was read. Which of many one asks for tells
/// whoever wrote the list something.
pub(super) const MOST_FOLLOWED: usize = 3;

/// Results of a search that may be read between two messages of the owner, of all servers together,
/// where the only private text is what every session of theirs has.
const MOST_FOUND: usize = 10;

/// What of the owner's a session could tell others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PrivateText {
    #[default]
    None,
    /// What the agent knows without having looked: notes about the owner in its prompt, facts in
    /// the owner's own messages.
    Known,
    /// Something of this machine or of the owner's accounts was read.
    Read,
}

#[derive(Debug, Clone, Default)]
pub(super) struct AddressIndex {
    addresses: HashMap<Box<str>, AddressSeen>,
    servers: HashMap<Box<str>, ServerSeen>,
    /// What calls have asked for since the owner last spoke: server and address.
    requested: Vec<(Box<str>, Box<str>)>,
    /// Servers whose pages the owner allowed until they speak again.
    granted: HashSet<Box<str>>,
    /// Those for the rest of the session.
    granted_for_session: HashSet<Box<str>>,
    private: PrivateText,
}

#[derive(Debug, Clone, Copy, Default)]
struct AddressSeen {
    owner: Option<SpanId>,
    own: Option<SpanId>,
    foreign: Option<SpanPlace>,
    /// When a text that came from outside first had it.
    fetched: Option<Order>,
    /// A service the owner has set up found it.
    is_found: bool,
    /// When the model first said it.
    made: Option<Order>,
}

#[derive(Debug, Clone, Copy, Default)]
struct ServerSeen {
    owner: bool,
    own: bool,
    /// The model said it before anything of its own did: what it writes down and reads again
    /// names nothing new.
    made: bool,
}

/// A text whose links are noted.
pub(super) struct LinkedText<'a> {
    pub text: &'a str,
    pub voice: TextVoice,
    pub came: TextSource,
    pub span: SpanId,
    pub now: Order,
}

impl AddressIndex {
    pub fn note_text(&mut self, linked: &LinkedText<'_>) {
        for link in links_in(linked.text) {
            let place = SpanPlace {
                span: linked.span,
                start: link.range.start,
                end: link.range.end,
            };
            for address in link.readings.iter().chain(&link.longer) {
                self.note(address, linked, place);
            }
        }
    }

    fn note(&mut self, address: &WebAddress, linked: &LinkedText<'_>, place: SpanPlace) {
        let seen = entry(&mut self.addresses, address.as_str());
        match linked.voice {
            TextVoice::Owner => {
                seen.owner.get_or_insert(place.span);
            }
            TextVoice::Own => {
                seen.own.get_or_insert(place.span);
            }
            TextVoice::Foreign => {
                seen.foreign.get_or_insert(place);
                if !matches!(linked.came, TextSource::Here) {
                    seen.fetched.get_or_insert(linked.now);
                }
                seen.is_found |= matches!(linked.came, TextSource::Service);
            }
        }
        if !matches!(linked.voice, TextVoice::Foreign) {
            let server = entry(&mut self.servers, &address.server());
            server.owner |= matches!(linked.voice, TextVoice::Owner);
            server.own |= matches!(linked.voice, TextVoice::Own) && !server.made;
        }
    }

    pub fn note_said_by_model(&mut self, text: &str, now: Order) {
        for link in links_in(text) {
            for address in link.readings.iter().chain(&link.longer) {
                let seen = entry(&mut self.addresses, address.as_str());
                seen.made.get_or_insert(now);
                entry(&mut self.servers, &address.server()).made = true;
            }
        }
    }

    /// A server answered that what was asked for lies there.
    pub fn note_redirect(&mut self, address: &WebAddress, now: Order) {
        let seen = entry(&mut self.addresses, address.as_str());
        seen.fetched.get_or_insert(now);
    }

    /// The owner wrote exactly this, where no record keeps it.
    pub fn name(&mut self, address: &WebAddress, span: SpanId) {
        entry(&mut self.addresses, address.as_str()).owner = Some(span);
        entry(&mut self.servers, &address.server()).owner = true;
    }

    pub fn note_request(&mut self, address: &WebAddress) {
        let request = (address.server().into(), address.as_str().into());
        if !self.requested.contains(&request) {
            self.requested.push(request);
        }
    }

    pub fn note_private(&mut self, private: PrivateText) {
        self.private = self.private.max(private);
    }

    pub fn private(&self) -> PrivateText {
        self.private
    }

    pub fn has_private(&self) -> bool {
        self.private > PrivateText::None
    }

    /// What was allowed and counted until the owner speaks ends here.
    pub fn owner_spoke(&mut self) {
        self.requested.clear();
        self.granted.clear();
    }

    pub fn grant(&mut self, address: &WebAddress) {
        self.granted.insert(address.server().into());
    }

    pub fn grant_for_session(&mut self, address: &WebAddress) {
        self.granted_for_session.insert(address.server().into());
    }

    /// Nothing the owner allowed is handed on.
    #[must_use]
    pub fn without_grants(&self) -> Self {
        Self {
            granted: HashSet::new(),
            granted_for_session: HashSet::new(),
            ..self.clone()
        }
    }

    pub fn named_by_owner(&self, address: &WebAddress) -> Option<SpanId> {
        self.seen(address).owner
    }

    /// The owner's words name the server.
    pub fn is_named_server(&self, address: &WebAddress) -> bool {
        self.server(address).owner
    }

    /// The owner, or what the agent was given by them: skills, notes, its files.
    pub fn is_known_server(&self, address: &WebAddress) -> bool {
        let server = self.server(address);
        server.owner || server.own
    }

    pub fn is_granted(&self, address: &WebAddress) -> bool {
        let server = address.server();
        self.granted.contains(server.as_str()) || self.granted_for_session.contains(server.as_str())
    }

    /// Whether something from outside had the whole address before the model did.
    pub fn occurs(&self, address: &WebAddress) -> bool {
        let seen = self.seen(address);
        seen.fetched
            .is_some_and(|fetched| seen.made.is_none_or(|made| fetched < made))
    }

    /// Whether a search found it, before the model said it.
    pub fn is_found(&self, address: &WebAddress) -> bool {
        self.seen(address).is_found && self.occurs(address)
    }

    /// Whether an address is among the first of its server that were followed.
    pub fn is_within_budget(&self, address: &WebAddress) -> bool {
        let server = address.server();
        let followed = self.requested.iter().filter(|(of, url)| {
            **of == *server
                && self
                    .addresses
                    .get(url)
                    .is_none_or(|seen| seen.owner.is_none())
        });
        followed
            .take_while(|(_, url)| **url != *address.as_str())
            .count()
            < MOST_FOLLOWED
    }

    /// Whether results of a search were read so often that which are taken tells something.
    pub fn has_found_enough(&self) -> bool {
        let found = self.requested.iter().filter(|(_, url)| {
            let seen = self.addresses.get(url);
            seen.is_some_and(|seen| seen.is_found && seen.owner.is_none())
        });
        found.count() > MOST_FOUND
    }

    pub fn own_span(&self, address: &WebAddress) -> Option<SpanId> {
        self.seen(address).own
    }

    pub fn foreign_place(&self, address: &str) -> Option<SpanPlace> {
        self.addresses.get(address)?.foreign
    }

    fn seen(&self, address: &WebAddress) -> AddressSeen {
        let seen = self.addresses.get(address.as_str());
        seen.copied().unwrap_or_default()
    }

    fn server(&self, address: &WebAddress) -> ServerSeen {
        let server = self.servers.get(address.server().as_str());
        server.copied().unwrap_or_default()
    }
}

fn entry<'m, T: Default>(map: &'m mut HashMap<Box<str>, T>, key: &str) -> &'m mut T {
    map.entry(key.into()).or_default()
}
