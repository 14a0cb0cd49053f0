//! The rule: what may happen without asking, from effect, taint and the origin of arguments.

use chela_config::model::GuardPolicy;
use chela_core::ContentHash;
use serde_json::{Map, Value};

use super::atom::{self, AtomKind, FlowAtom};
use super::decision::{CallVerdict, Decision, DecisionRule};
use super::link::links_in;
use super::provenance::{AtomTrust, MOST_REFUSALS, Provenance, SessionTaint};
use super::weigh::CallWeighing;
use crate::{CallSink, CallTarget, Effect, SecretLook, SinkKind, WebAddress};

/// A call as the guard sees it. The tool's name is for people; no rule reads it.
#[derive(Debug, Clone, Copy)]
pub struct ProposedCall<'a> {
    pub tool: &'a str,
    pub effect: Effect,
    pub sinks: &'a [CallSink],
    pub arguments: &'a Map<String, Value>,
    /// The names in it that no schema declares: whoever makes the call chose them, so they say as
    /// much as a value.
    pub chosen_names: &'a [String],
    /// What it will really use, made of the arguments before anybody looks.
    pub targets: &'a [CallTarget],
    /// The address that redirected there, where a server did.
    pub led_from: Option<&'a WebAddress>,
    /// Whether an address it names looks like one with a key in it.
    pub look: SecretLook,
    /// For commands: whether the owner's list of commands has it.
    pub standing: HostStanding,
    /// The files it writes that tell the agent what to do, by what the owner calls them, but for
    /// those that may change unasked.
    pub orders: &'a [&'a str],
    /// What will happen, where the tool can say it better than its effect does.
    pub words: Option<&'a str>,
    /// The hash of what would run besides the arguments: a program, a script. A yes is bound to
    /// it too.
    pub binds: Option<ContentHash>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostStanding {
    Listed,
    /// It is on the list, and that does not count here.
    Shelved(ShelvedWhy),
    Unlisted,
}

/// Why an entry of the owner's list does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShelvedWhy {
    /// Text from outside was read in the session.
    Taint,
    /// A file it could run was written since, after text from outside was read.
    WrittenSince,
    /// It runs what files say, and would leave the sandbox.
    EachRunAsks,
}

/// The settings under which calls are judged.
#[derive(Debug, Clone, Copy)]
pub struct CallJudge<'a> {
    pub policy: GuardPolicy,
    /// Hosts that may be reached without asking, those below them included.
    pub egress: &'a [String],
    /// Effects that are always asked about, whatever was read.
    pub confirm: &'a [Effect],
}

/// Whether a call may happen, by the rules and by where its words come from.
pub fn decide(judge: CallJudge<'_>, seen: &Provenance, deed: &ProposedCall<'_>) -> Decision {
    let outcome = |verdict, rule| Decision {
        verdict,
        rule,
        effect: deed.effect,
        taint: seen.taint(),
        atoms: Vec::new(),
    };
    let shape = deed.shape();
    if seen.is_approved_shape(&shape) {
        return outcome(CallVerdict::Allow, DecisionRule::ApprovedShape);
    }
    if judge.confirms(deed.effect) {
        let (verdict, rule) =
            unless_refused(seen, &shape, (CallVerdict::Ask, DecisionRule::Confirm));
        return outcome(verdict, rule);
    }
    let weighing = CallWeighing { judge, seen, deed };
    let by_address = weighing.by_address().or_else(|| weighing.by_service());
    let by_orders = by_orders(judge.policy, seen, deed);
    let by_effect = by_effect(judge.policy, seen.taint(), deed);
    if let Some((verdict, rule)) = by_address.or(by_orders).or(by_effect) {
        let (verdict, rule) = unless_refused(seen, &shape, (verdict, rule));
        return outcome(verdict, rule);
    }
    let weighed = weighing.weigh();
    let rule = weighed.broken.unwrap_or(match deed.standing {
        HostStanding::Listed if deed.commands() => DecisionRule::Listed,
        _ => DecisionRule::OwnersWords,
    });
    let verdict = match weighed.broken {
        Some(_) => CallVerdict::Ask,
        None => CallVerdict::Allow,
    };
    let (verdict, rule) = unless_refused(seen, &shape, (verdict, rule));
    Decision {
        atoms: weighed.atoms,
        ..outcome(verdict, rule)
    }
}

/// What the owner refused is not asked again, and after several refusals nothing is, until the
/// owner has spoken: tiring someone out is an attack.
fn unless_refused(
    seen: &Provenance,
    shape: &ContentHash,
    (verdict, rule): (CallVerdict, DecisionRule),
) -> (CallVerdict, DecisionRule) {
    match verdict {
        CallVerdict::Ask if seen.is_refused_shape(shape) => {
            (CallVerdict::Deny, DecisionRule::RefusedBefore)
        }
        CallVerdict::Ask if seen.refusals() >= MOST_REFUSALS => {
            (CallVerdict::Deny, DecisionRule::TooManyQuestions)
        }
        _ => (verdict, rule),
    }
}

/// In a session that has read nothing from outside the agent takes notes as it likes; what it is
/// told to do changes with the owner's knowledge.
fn by_orders(
    policy: GuardPolicy,
    seen: &Provenance,
    deed: &ProposedCall<'_>,
) -> Option<(CallVerdict, DecisionRule)> {
    let is_light = seen.taint() == SessionTaint::Clean && policy != GuardPolicy::Open;
    let asks = is_light && deed.orders.iter().any(|name| !seen.owner_knows_order(name));
    asks.then_some((CallVerdict::Ask, DecisionRule::Orders))
}

/// What effect and taint settle by themselves; `None` when the words decide.
fn by_effect(
    policy: GuardPolicy,
    taint: SessionTaint,
    deed: &ProposedCall<'_>,
) -> Option<(CallVerdict, DecisionRule)> {
    use CallVerdict::{Allow, Ask, Deny};
    let strict = policy == GuardPolicy::Strict;
    let secret = deed
        .sinks_present()
        .any(|sink| sink.kind == SinkKind::Secret);
    let always = match deed.effect {
        Effect::Config => Some(DecisionRule::Config),
        Effect::Persona => Some(DecisionRule::Persona),
        Effect::RunsOnOpen => Some(DecisionRule::RunsOnOpen),
        Effect::RunsOnBuild => Some(DecisionRule::RunsOnBuild),
        _ if secret => Some(DecisionRule::Secret),
        Effect::Irreversible if !deed.commands() => Some(DecisionRule::Irreversible),
        Effect::Irreversible => match deed.standing {
            HostStanding::Listed => None,
            HostStanding::Unlisted => Some(DecisionRule::Command),
            HostStanding::Shelved(why) => Some(DecisionRule::of_shelved(why)),
        },
        _ => None,
    };
    match (taint, always) {
        (SessionTaint::Tainted, Some(DecisionRule::Config)) if strict => {
            Some((Deny, DecisionRule::Config))
        }
        (_, Some(rule @ (DecisionRule::Config | DecisionRule::RunsOnOpen))) => Some((Ask, rule)),
        (SessionTaint::Tainted, Some(rule)) => Some((Ask, rule)),
        (SessionTaint::Clean, Some(rule)) if strict => Some((Ask, rule)),
        (SessionTaint::Clean, _) => Some((Allow, DecisionRule::Untainted)),
        _ if policy == GuardPolicy::Open => Some((Allow, DecisionRule::Open)),
        _ if deed.only_reads() => Some((Allow, DecisionRule::Reads)),
        _ if deed.effect == Effect::WriteReversible && !strict => {
            Some((Allow, DecisionRule::Reversible))
        }
        _ => None,
    }
}

impl ProposedCall<'_> {
    /// The exact shape of the call: tool and arguments, whatever their order.
    pub fn shape(&self) -> ContentHash {
        let mut text = String::from(self.tool);
        let mut names: Vec<&String> = self.arguments.keys().collect();
        names.sort();
        for name in names {
            text.push('\n');
            text.push_str(&Value::from(name.as_str()).to_string());
            text.push(':');
            text.push_str(&self.arguments[name].to_string());
        }
        if let Some(binds) = self.binds {
            text.push_str("\n@");
            text.push_str(&binds.to_string());
        }
        ContentHash::of(text)
    }

    /// The owner allowed this call: what it named may be named again.
    pub fn approve(&self, seen: &mut Provenance) {
        for name in self.orders {
            seen.approve_order(name);
        }
        for address in self.addresses() {
            seen.approve_atom(SinkKind::Url, address.as_str());
            // Pages are allowed by their host: one question and not one for each.
            if self.effect == Effect::ReadUntrusted {
                seen.addresses_mut().grant(address);
            }
        }
        for (name, value) in self.arguments {
            let kind = self.kind_of(name);
            let mut leaves = Vec::new();
            collect(value, &mut leaves);
            for leaf in leaves {
                match kind {
                    SinkKind::Url => {}
                    SinkKind::Text => {
                        let links = links_in(&leaf).into_iter();
                        for address in links.flat_map(|link| link.readings) {
                            seen.approve_atom(kind, address.as_str());
                        }
                    }
                    SinkKind::Path => seen.approve_atom(kind, &leaf),
                    _ => seen.approve_atom(kind, &atom::fold(&leaf)),
                }
                for atom in atom::telling_atoms(&leaf) {
                    if is_telling(atom.kind) {
                        seen.approve_atom(kind, &atom.text);
                    }
                }
            }
        }
    }

    /// The owner allowed this call for more than once: its pages may be read in this session.
    pub fn approve_for_session(&self, seen: &mut Provenance) {
        if self.effect == Effect::ReadUntrusted {
            for address in self.addresses() {
                seen.addresses_mut().grant_for_session(address);
            }
        }
    }

    /// The addresses it will ask for.
    pub(super) fn addresses(&self) -> impl Iterator<Item = &WebAddress> {
        self.targets.iter().filter_map(|target| match target {
            CallTarget::Url(address) => Some(address),
            _ => None,
        })
    }

    /// The services it is about, as far as they are no addresses.
    pub(super) fn services(&self) -> impl Iterator<Item = &str> {
        self.targets.iter().filter_map(|target| match target {
            CallTarget::Host(host) => Some(host.as_str()),
            _ => None,
        })
    }

    /// The most telling atom of the arguments that only text from outside has: an address before
    /// a name, the longer before the shorter.
    pub(crate) fn foreign_atom(&self, seen: &Provenance) -> Option<String> {
        let mut leaves = Vec::new();
        for value in self.arguments.values() {
            collect(value, &mut leaves);
        }
        let rank = |atom: &FlowAtom| {
            let tells = is_telling(atom.kind) || atom.kind == AtomKind::Url;
            (tells, atom.text.len())
        };
        leaves
            .iter()
            .flat_map(|leaf| atom::atoms(leaf))
            .filter(|atom| {
                matches!(
                    seen.known(SinkKind::Text, &atom.text),
                    AtomTrust::Foreign(_)
                )
            })
            .max_by_key(rank)
            .map(|atom| atom.text)
    }

    fn sinks_present(&self) -> impl Iterator<Item = &CallSink> {
        self.sinks.iter().filter(|sink| {
            self.arguments
                .get(sink.argument.as_ref())
                .is_some_and(|value| !value.is_null())
        })
    }

    /// Reading is harmless as long as what is asked for goes nowhere.
    fn only_reads(&self) -> bool {
        matches!(self.effect, Effect::Read | Effect::ReadUntrusted)
            && !self
                .sinks_present()
                .any(|sink| matches!(sink.kind, SinkKind::Url | SinkKind::Recipient))
    }

    fn commands(&self) -> bool {
        self.sinks.iter().any(|sink| sink.kind == SinkKind::Command)
    }

    /// Undeclared arguments are free text, unless nothing that is declared is there: then every
    /// argument is how the call reaches the world.
    pub(super) fn kind_of(&self, argument: &str) -> SinkKind {
        let declared = self.sinks.iter().find(|sink| sink.argument == argument);
        let any = self.sinks_present().any(|sink| sink.kind != SinkKind::Text);
        match declared {
            // What a listed command says is looked through like text: the list named its words.
            Some(sink) if sink.kind == SinkKind::Command => SinkKind::Text,
            Some(sink) => sink.kind,
            // A service is told all of it.
            None if any && self.services().next().is_none() => SinkKind::Text,
            None => SinkKind::Name,
        }
    }
}

impl CallJudge<'_> {
    /// Whether the owner wants to be asked about every effect of this kind. A file that programs
    /// run is a file, too.
    fn confirms(&self, effect: Effect) -> bool {
        let is_file = matches!(effect, Effect::RunsOnOpen | Effect::RunsOnBuild);
        self.confirm.contains(&effect) || is_file && self.confirm.contains(&Effect::WriteReversible)
    }

    pub(super) fn reaches(&self, host: &str) -> bool {
        self.egress.iter().any(|listed| {
            let listed = atom::fold(listed.trim_start_matches("*."));
            host == listed
                || host
                    .strip_suffix(listed.as_ref())
                    .is_some_and(|below| below.ends_with('.') && !listed.is_empty())
        })
    }
}

/// What says to whom, where or with what, even inside free text.
pub(super) fn is_telling(kind: AtomKind) -> bool {
    matches!(kind, AtomKind::Email | AtomKind::Identifier)
}

pub(super) fn collect(value: &Value, leaves: &mut Vec<String>) {
    match value {
        Value::String(text) => leaves.push(text.clone()),
        Value::Number(number) => leaves.push(number.to_string()),
        Value::Array(values) => {
            for value in values {
                match value {
                    // In a row they spell something.
                    Value::Null | Value::Bool(_) => leaves.push(value.to_string()),
                    Value::Array(inner) if inner.is_empty() => leaves.push(value.to_string()),
                    Value::Object(inner) if inner.is_empty() => leaves.push(value.to_string()),
                    value => collect(value, leaves),
                }
            }
        }
        Value::Object(map) => map.values().for_each(|value| collect(value, leaves)),
        Value::Null | Value::Bool(_) => {}
    }
}
