//! Looks up what a call will use: does the owner name it, and as a whole?

use super::address_index::PrivateText;
use super::atom::{self, FlowAtom};
use super::decide::{CallJudge, ProposedCall, collect, is_telling};
use super::decision::{ArgumentAtom, AtomSource, CallVerdict, DecisionRule};
use super::link::{FoundLink, links_in};
use super::phrase::PhraseCase;
use super::provenance::{AtomTrust, Provenance, SessionTaint};
use crate::{CallTarget, Effect, SecretLook, SinkKind, WebAddress};
use chela_config::model::GuardPolicy;

pub(super) struct CallWeighing<'a> {
    pub judge: CallJudge<'a>,
    pub seen: &'a Provenance,
    pub deed: &'a ProposedCall<'a>,
}

#[derive(Default)]
pub(super) struct WeighedAtoms {
    pub atoms: Vec<ArgumentAtom>,
    /// The first rule that was broken.
    pub broken: Option<DecisionRule>,
}

/// What is known of an address or a phrase, and the rule it breaks.
type Weight = (AtomSource, Option<DecisionRule>);

impl CallWeighing<'_> {
    /// What is asked about in a session that has read nothing from outside, too.
    pub fn by_address(&self) -> Option<(CallVerdict, DecisionRule)> {
        let deed = self.deed;
        let unnamed = |address: &&WebAddress| !self.is_owners(address);
        if deed.look == SecretLook::InAddress && deed.addresses().any(|one| unnamed(&one)) {
            return Some((CallVerdict::Ask, DecisionRule::SecretAddress));
        }
        let is_light =
            self.seen.taint() == SessionTaint::Clean && self.judge.policy != GuardPolicy::Open;
        let known = self.seen.addresses();
        let could_tell = |address: &WebAddress| match known.private() {
            PrivateText::None => false,
            // Nothing has told the agent to tell it: looking something up is not asked about, but
            // for going through one server.
            PrivateText::Known => !known.is_within_budget(address),
            PrivateText::Read => true,
        };
        let asks = is_light
            && deed
                .addresses()
                .any(|address| could_tell(address) && !self.is_known(address));
        asks.then_some((CallVerdict::Ask, DecisionRule::PrivateEgress))
    }

    /// What a service would be told. Whoever has read text from outside may be made to tell it what
    /// else was read here; what came from the service itself it knows.
    pub fn by_service(&self) -> Option<(CallVerdict, DecisionRule)> {
        let deed = self.deed;
        let is_told = deed.effect == Effect::Egress
            && !deed.arguments.is_empty()
            && self.seen.taint() == SessionTaint::Tainted
            && self.judge.policy != GuardPolicy::Open;
        let services: Vec<&str> = deed.services().collect();
        let may_reach =
            !services.is_empty() && services.iter().all(|host| self.judge.reaches(host));
        let asks = is_told && !may_reach && self.seen.has_private_beyond(&services);
        asks.then_some((CallVerdict::Ask, DecisionRule::PrivateService))
    }

    /// The owner wrote exactly this address, or allowed it.
    fn is_owners(&self, address: &WebAddress) -> bool {
        self.seen.addresses().named_by_owner(address).is_some()
            || self.seen.is_approved(SinkKind::Url, address.as_str())
    }

    /// Somebody who answers for it named the server.
    fn is_known(&self, address: &WebAddress) -> bool {
        let known = self.seen.addresses();
        self.is_owners(address)
            || known.is_known_server(address)
            || known.is_granted(address)
            || self.judge.reaches(address.host())
            || self.stays(address)
    }

    /// A redirect within the server that was asked tells nobody anything.
    fn stays(&self, address: &WebAddress) -> bool {
        let from = self.deed.led_from;
        from.is_some_and(|from| from.stays_with(address))
    }

    pub fn weigh(&self) -> WeighedAtoms {
        let mut weighed = WeighedAtoms::default();
        for (name, value) in self.deed.arguments {
            let kind = self.deed.kind_of(name);
            let mut leaves = Vec::new();
            collect(value, &mut leaves);
            match kind {
                SinkKind::Url => self.weigh_addresses(name, &leaves, &mut weighed),
                SinkKind::Text => {
                    for leaf in leaves {
                        self.weigh_text(name, &leaf, &mut weighed);
                    }
                }
                kind => self.weigh_wholes(name, kind, leaves, &mut weighed),
            }
        }
        for name in self.deed.chosen_names {
            match self.deed.effect {
                Effect::Egress => self.weigh_text(name, name, &mut weighed),
                _ => self.weigh_whole(name, SinkKind::Name, name, &mut weighed),
            }
        }
        // Nothing said to whom or where: that is not a call anyone named.
        if self.deed.arguments.is_empty() && self.deed.effect != Effect::Egress {
            weighed.broken = Some(DecisionRule::Undeclared);
        }
        weighed
    }

    /// Every address the call will ask for. An argument of which none was made is in no form
    /// that could be compared.
    fn weigh_addresses(&self, name: &str, leaves: &[String], weighed: &mut WeighedAtoms) {
        let mut addresses = self.deed.addresses().peekable();
        if addresses.peek().is_none() && !leaves.is_empty() {
            weighed.broken.get_or_insert(DecisionRule::Disguised);
        }
        for address in addresses {
            let weight = self.weigh_address(address);
            weighed.note(name, address.as_str(), weight);
        }
    }

    /// An address passes whole: it stands in the owner's words, or the owner named its server and
    /// it was read somewhere. One that was made up could carry anything away, and which of many
    /// that were offered is taken tells whoever offered them.
    fn weigh_address(&self, address: &WebAddress) -> Weight {
        let known = self.seen.addresses();
        let source = self.source_of(address);
        if matches!(source, AtomSource::Owner(_) | AtomSource::Approved) || self.stays(address) {
            return (source, None);
        }
        if self.judge.reaches(address.host()) {
            return (AtomSource::Listed, None);
        }
        let reads = self.deed.effect == Effect::ReadUntrusted;
        let is_granted = reads && known.is_granted(address);
        let occurs = known.occurs(address);
        let rule = if is_granted && occurs {
            None
        } else if known.is_named_server(address) {
            match occurs {
                false => Some(DecisionRule::UrlNotWhole),
                true if known.has_private() && !known.is_within_budget(address) => {
                    Some(DecisionRule::TooManyLinks)
                }
                true => None,
            }
        } else if is_granted {
            Some(DecisionRule::UrlNotWhole)
        } else if reads && known.is_found(address) {
            // The owner wants the results of a search read; how many, depends on what there is to
            // tell.
            match known.private() {
                PrivateText::None => None,
                PrivateText::Known if self.is_bounded_result(address) => None,
                PrivateText::Known => Some(DecisionRule::TooManyLinks),
                PrivateText::Read => Some(DecisionRule::NewHost),
            }
        } else {
            Some(DecisionRule::NewHost)
        };
        (source, rule)
    }

    fn is_bounded_result(&self, address: &WebAddress) -> bool {
        let known = self.seen.addresses();
        known.is_within_budget(address) && !known.has_found_enough()
    }

    fn source_of(&self, address: &WebAddress) -> AtomSource {
        let known = self.seen.addresses();
        let foreign = known.foreign_place(address.as_str());
        match known.named_by_owner(address) {
            Some(span) => AtomSource::Owner(span),
            None if self.seen.is_approved(SinkKind::Url, address.as_str()) => AtomSource::Approved,
            None => match (foreign, known.own_span(address)) {
                (Some(place), _) => AtomSource::Foreign(place.span),
                (None, Some(span)) => AtomSource::Own(span),
                (None, None) => AtomSource::Nowhere,
            },
        }
    }

    /// Free text may say anything, but for what says to whom, where or with what.
    fn weigh_text(&self, name: &str, leaf: &str, weighed: &mut WeighedAtoms) {
        let mut groups_until = 0;
        for atom in atom::telling_atoms(leaf).iter().rev() {
            // The groups of a number that is known as a whole need no origin of their own.
            let start = atom.range.start;
            let grouped = groups_until != 0 && start >= groups_until;
            if !is_telling(atom.kind) || grouped {
                continue;
            }
            let (source, passes) = self.look_up(SinkKind::Text, atom);
            let is_spaced = || {
                let written = leaf.get(atom.range.clone());
                written.is_some_and(|written| written.contains(' '))
            };
            if atom.kind == atom::AtomKind::Identifier && passes && is_spaced() {
                groups_until = start;
            }
            let rule = (!passes).then_some(DecisionRule::TellingText);
            weighed.note(name, &atom.text, (source, rule));
        }
        for link in links_in(leaf) {
            let written = leaf.get(link.range.clone()).unwrap_or_default();
            let (address, weight) = self.weigh_link(&link, written);
            weighed.note(name, &address, weight);
        }
    }

    fn weigh_link(&self, link: &FoundLink, written: &str) -> (String, Weight) {
        let mut worst = None;
        for address in &link.readings {
            let weight = match self.seen.is_approved(SinkKind::Text, address.as_str()) {
                true => (AtomSource::Approved, None),
                false => self.weigh_address(address),
            };
            if weight.1.is_none() {
                return (address.to_string(), weight);
            }
            worst.get_or_insert((address.to_string(), weight));
        }
        let bent = (AtomSource::Nowhere, Some(DecisionRule::Disguised));
        worst.unwrap_or_else(|| (written.to_owned(), bent))
    }

    /// Recipients, names, amounts, paths: each as a whole. A session is known by its full key,
    /// whatever the call wrote.
    fn weigh_wholes(
        &self,
        name: &str,
        kind: SinkKind,
        leaves: Vec<String>,
        weighed: &mut WeighedAtoms,
    ) {
        let sessions = self.deed.targets.iter().filter_map(|target| match target {
            CallTarget::Session(key) if kind == SinkKind::Recipient => Some(key.clone()),
            _ => None,
        });
        let mut wholes: Vec<String> = sessions.collect();
        if wholes.is_empty() {
            wholes = leaves;
        }
        for whole in wholes {
            self.weigh_whole(name, kind, &whole, weighed);
        }
    }

    fn weigh_whole(&self, name: &str, kind: SinkKind, whole: &str, weighed: &mut WeighedAtoms) {
        let case = match kind {
            SinkKind::Path => PhraseCase::Exact,
            _ => PhraseCase::Folded,
        };
        let folded = match case {
            PhraseCase::Exact => whole.into(),
            PhraseCase::Folded => atom::fold(whole),
        };
        if self.seen.is_approved(kind, &folded) {
            weighed.note(name, &folded, (AtomSource::Approved, None));
            return;
        }
        let atoms = atom::atoms(whole);
        if atom::is_disguised(whole) || atoms.is_empty() && !whole.trim().is_empty() {
            weighed.broken.get_or_insert(DecisionRule::Disguised);
        }
        // An e-mail address or a number has more than one way to be written; it is one atom then,
        // and nothing stands around it.
        let spans_whole = |atom: &&FlowAtom| {
            use atom::AtomKind::{Email, Identifier, Number};
            matches!(atom.kind, Email | Identifier | Number) && atom.range == (0..whole.len())
        };
        if kind != SinkKind::Path
            && let Some(atom) = atoms.iter().find(spans_whole)
            && let (source, true) = self.look_up(kind, atom)
        {
            weighed.note(name, &atom.text, (source, None));
            return;
        }
        if let Some(span) = self.seen.owner_wrote(whole, case) {
            weighed.note(name, &folded, (AtomSource::Owner(span), None));
            return;
        }
        // What speaks against it is told by the part that only text from outside has.
        let foreign = atoms.iter().find_map(|atom| {
            let source = AtomSource::from(self.seen.known(kind, &atom.text));
            matches!(source, AtomSource::Foreign(_)).then(|| (atom.text.clone(), source))
        });
        let (text, source, rule) = match foreign {
            Some((text, source)) => (text, source, DecisionRule::ForeignWords),
            None => (
                folded.into_owned(),
                AtomSource::Nowhere,
                DecisionRule::UnknownWords,
            ),
        };
        if !whole.is_empty() {
            weighed.note(name, &text, (source, Some(rule)));
        }
    }

    fn look_up(&self, kind: SinkKind, atom: &FlowAtom) -> (AtomSource, bool) {
        let known = self.seen.known(kind, &atom.text);
        let passes = matches!(known, AtomTrust::Owner(_) | AtomTrust::Approved);
        (known.into(), passes)
    }
}

impl WeighedAtoms {
    fn note(&mut self, argument: &str, text: &str, (source, broken): Weight) {
        if let Some(rule) = broken {
            self.broken.get_or_insert(rule);
        }
        self.atoms.push(ArgumentAtom {
            argument: argument.to_owned(),
            atom: text.to_owned(),
            source,
            passes: broken.is_none(),
        });
    }
}
