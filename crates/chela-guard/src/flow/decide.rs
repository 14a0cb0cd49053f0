//! The rule: what may happen without asking, from effect, taint and the origin of arguments.

use chela_config::model::GuardPolicy;
use chela_core::ContentHash;
use serde_json::{Map, Value};

use super::atom::{self, Atom, AtomKind, Url};
use super::decision::{ArgumentAtom, Decision, Rule, Source, Verdict};
use super::provenance::{Known, Provenance, Taint};
use crate::{Effect, Sink, SinkKind};

/// A call as the guard sees it. The tool's name is for people; no rule reads it.
#[derive(Debug, Clone, Copy)]
pub struct Deed<'a> {
    pub tool: &'a str,
    pub effect: Effect,
    pub sinks: &'a [Sink],
    pub arguments: &'a Map<String, Value>,
    /// For commands: whether the owner's list of commands has it.
    pub standing: Standing,
    /// What will happen, where the tool can say it better than its effect does.
    pub words: Option<&'a str>,
    /// The hash of what would run besides the arguments: a program, a script. A yes is bound to
    /// it too.
    pub binds: Option<ContentHash>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Listed,
    Unlisted,
}

/// The settings under which calls are judged.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    pub policy: GuardPolicy,
    /// Hosts that may be reached without asking, those below them included.
    pub egress: &'a [String],
    /// Effects that are always asked about, whatever was read.
    pub confirm: &'a [Effect],
}

/// Whether a call may happen, by the rules and by where its words come from.
pub fn decide(judge: Judge<'_>, seen: &Provenance, deed: &Deed<'_>) -> Decision {
    let outcome = |verdict, rule| Decision {
        verdict,
        rule,
        effect: deed.effect,
        taint: seen.taint(),
        atoms: Vec::new(),
    };
    let shape = deed.shape();
    if seen.is_approved_shape(&shape) {
        return outcome(Verdict::Allow, Rule::ApprovedShape);
    }
    if judge.confirm.contains(&deed.effect) {
        let (verdict, rule) = unless_refused(seen, &shape, (Verdict::Ask, Rule::Confirm));
        return outcome(verdict, rule);
    }
    if let Some((verdict, rule)) = by_effect(judge.policy, seen.taint(), deed) {
        let (verdict, rule) = unless_refused(seen, &shape, (verdict, rule));
        return outcome(verdict, rule);
    }
    let weighed = Weighing { judge, seen, deed }.weigh();
    let rule = weighed.broken.unwrap_or(match deed.standing {
        Standing::Listed if deed.commands() => Rule::Listed,
        _ => Rule::OwnersWords,
    });
    let verdict = match weighed.broken {
        Some(_) => Verdict::Ask,
        None => Verdict::Allow,
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
    (verdict, rule): (Verdict, Rule),
) -> (Verdict, Rule) {
    match verdict {
        Verdict::Ask if seen.is_refused_shape(shape) => (Verdict::Deny, Rule::RefusedBefore),
        Verdict::Ask if seen.refusals() >= MOST_REFUSALS => (Verdict::Deny, Rule::TooManyQuestions),
        _ => (verdict, rule),
    }
}

/// After this many refusals in a row the owner is left in peace.
const MOST_REFUSALS: usize = 3;

/// What effect and taint settle by themselves; `None` when the words decide.
fn by_effect(policy: GuardPolicy, taint: Taint, deed: &Deed<'_>) -> Option<(Verdict, Rule)> {
    use Verdict::{Allow, Ask, Deny};
    let strict = policy == GuardPolicy::Strict;
    let secret = deed
        .sinks_present()
        .any(|sink| sink.kind == SinkKind::Secret);
    let always = match deed.effect {
        Effect::Config => Some(Rule::Config),
        Effect::Persona => Some(Rule::Persona),
        _ if secret => Some(Rule::Secret),
        Effect::Irreversible if !deed.commands() => Some(Rule::Irreversible),
        Effect::Irreversible if deed.standing == Standing::Unlisted => Some(Rule::Command),
        _ => None,
    };
    match (taint, always) {
        (Taint::Tainted, Some(Rule::Config)) if strict => Some((Deny, Rule::Config)),
        (_, Some(Rule::Config)) => Some((Ask, Rule::Config)),
        (Taint::Tainted, Some(rule)) => Some((Ask, rule)),
        (Taint::Clean, Some(rule)) if strict => Some((Ask, rule)),
        (Taint::Clean, _) => Some((Allow, Rule::Untainted)),
        _ if policy == GuardPolicy::Open => Some((Allow, Rule::Open)),
        _ if deed.only_reads() => Some((Allow, Rule::Reads)),
        _ if deed.effect == Effect::WriteReversible && !strict => Some((Allow, Rule::Reversible)),
        _ => None,
    }
}

impl Deed<'_> {
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
        for (name, value) in self.arguments {
            let kind = self.kind_of(name);
            let mut leaves = Vec::new();
            collect(value, &mut leaves);
            for leaf in leaves {
                if kind != SinkKind::Text {
                    seen.approve_atom(kind, atom::fold(leaf.trim()).as_ref());
                }
                for atom in atom::telling_atoms(&leaf) {
                    if is_telling(atom.kind) {
                        seen.approve_atom(kind, &atom.text);
                    }
                }
            }
        }
    }

    /// The most telling atom of the arguments that only text from outside has: an address before
    /// a name, the longer before the shorter.
    pub(crate) fn foreign_atom(&self, seen: &Provenance) -> Option<String> {
        let mut leaves = Vec::new();
        for value in self.arguments.values() {
            collect(value, &mut leaves);
        }
        let rank = |atom: &Atom| (is_telling(atom.kind), atom.text.len());
        leaves
            .iter()
            .flat_map(|leaf| atom::atoms(leaf))
            .filter(|atom| matches!(seen.known(SinkKind::Text, &atom.text), Known::Foreign(_)))
            .max_by_key(rank)
            .map(|atom| atom.text)
    }

    fn sinks_present(&self) -> impl Iterator<Item = &Sink> {
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
    fn kind_of(&self, argument: &str) -> SinkKind {
        let declared = self.sinks.iter().find(|sink| sink.argument == argument);
        let any = self.sinks_present().any(|sink| sink.kind != SinkKind::Text);
        match declared {
            // What a listed command says is looked through like text: the list named its words.
            Some(sink) if sink.kind == SinkKind::Command => SinkKind::Text,
            Some(sink) => sink.kind,
            None if any => SinkKind::Text,
            None => SinkKind::Name,
        }
    }
}

struct Weighing<'a> {
    judge: Judge<'a>,
    seen: &'a Provenance,
    deed: &'a Deed<'a>,
}

#[derive(Default)]
struct Weighed {
    atoms: Vec<ArgumentAtom>,
    /// The first rule that was broken.
    broken: Option<Rule>,
}

impl Weighing<'_> {
    fn weigh(&self) -> Weighed {
        let mut weighed = Weighed::default();
        for (name, value) in self.deed.arguments {
            let kind = self.deed.kind_of(name);
            let mut leaves = Vec::new();
            collect(value, &mut leaves);
            for leaf in leaves {
                self.weigh_leaf(name, kind, &leaf, &mut weighed);
            }
        }
        // Nothing said to whom or where: that is not a call anyone named.
        if self.deed.arguments.is_empty() {
            weighed.broken = Some(Rule::Undeclared);
        }
        weighed
    }

    fn weigh_leaf(&self, name: &str, kind: SinkKind, leaf: &str, weighed: &mut Weighed) {
        let free = kind == SinkKind::Text;
        if !free && self.seen.is_approved(kind, &atom::fold(leaf.trim())) {
            weighed.atoms.push(ArgumentAtom {
                argument: name.to_owned(),
                atom: atom::fold(leaf.trim()).into_owned(),
                source: Source::Approved,
                passes: true,
            });
            return;
        }
        let atoms = if free {
            atom::telling_atoms(leaf)
        } else {
            atom::atoms(leaf)
        };
        if !free && (atom::is_disguised(leaf) || atoms.is_empty() && !leaf.trim().is_empty()) {
            weighed.broken.get_or_insert(Rule::Disguised);
        }
        let mut groups_until = 0;
        for atom in atoms.iter().rev() {
            // The groups of a number that is known as a whole need no origin of their own.
            let start = atom.range.start;
            let grouped = groups_until != 0 && start >= groups_until;
            if free && !is_telling(atom.kind) || grouped {
                continue;
            }
            let (source, broken) = self.weigh_atom(kind, atom);
            if atom.kind == AtomKind::Identifier
                && broken.is_none()
                && leaf
                    .get(atom.range.clone())
                    .is_some_and(|written| written.contains(' '))
            {
                groups_until = start;
            }
            let broken = broken.map(|rule| match rule {
                Rule::ForeignWords | Rule::UnknownWords if free => Rule::TellingText,
                rule => rule,
            });
            if let Some(rule) = broken {
                weighed.broken.get_or_insert(rule);
            }
            weighed.atoms.push(ArgumentAtom {
                argument: name.to_owned(),
                atom: atom.text.clone(),
                source,
                passes: broken.is_none(),
            });
        }
    }

    fn weigh_atom(&self, kind: SinkKind, atom: &Atom) -> (Source, Option<Rule>) {
        let known = self.seen.known(kind, &atom.text);
        let source = Source::from(known);
        if matches!(known, Known::Owner(_) | Known::Approved) {
            return (source, None);
        }
        if atom.kind == AtomKind::Url || kind == SinkKind::Url {
            return self.weigh_url(atom, source);
        }
        if matches!(atom.kind, AtomKind::Word | AtomKind::Path)
            && let Some(source) = self.all_parts_named(kind, &atom.text)
        {
            return (source, None);
        }
        let rule = match source {
            Source::Foreign(_) => Rule::ForeignWords,
            _ => Rule::UnknownWords,
        };
        (source, Some(rule))
    }

    /// A URL passes whole: it stands in the owner's words, or the owner named the host and the
    /// URL was read somewhere. One that was made up could carry anything away.
    fn weigh_url(&self, atom: &Atom, source: Source) -> (Source, Option<Rule>) {
        let host = Url::parse(&atom.text)
            .or_else(|| Url::parse(&format!("https://{}", atom.text)))
            .and_then(|url| url.host);
        let Some(host) = host else {
            return (source, Some(Rule::Disguised));
        };
        if self.judge.reaches(&host) {
            return (Source::Listed, None);
        }
        let rule = if !self.seen.is_named_host(&host) {
            Some(Rule::NewHost)
        } else if !self.seen.occurs(&atom.text) {
            Some(Rule::UrlNotWhole)
        } else {
            None
        };
        (source, rule)
    }

    fn all_parts_named(&self, kind: SinkKind, atom: &str) -> Option<Source> {
        let mut last = None;
        for part in atom::parts(atom) {
            match self.seen.known(kind, part) {
                known @ (Known::Owner(_) | Known::Approved) => last = Some(known.into()),
                _ => return None,
            }
        }
        last
    }
}

impl Judge<'_> {
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
fn is_telling(kind: AtomKind) -> bool {
    matches!(kind, AtomKind::Url | AtomKind::Email | AtomKind::Identifier)
}

fn collect(value: &Value, leaves: &mut Vec<String>) {
    match value {
        Value::String(text) => leaves.push(text.clone()),
        Value::Number(number) => leaves.push(number.to_string()),
        Value::Array(values) => values.iter().for_each(|value| collect(value, leaves)),
        Value::Object(map) => map.values().for_each(|value| collect(value, leaves)),
        Value::Null | Value::Bool(_) => {}
    }
}
