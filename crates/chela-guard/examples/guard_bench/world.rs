//! Where traces are replayed. The decision layer alone is one world; the whole loop can be another.

use std::time::{Duration, SystemTime};

use chela_config::model::GuardPolicy;
use chela_core::{ContentHash, Origin, Trust};
use chela_guard::approval::{Answer, Asking, Hand, Question, Scope};
use chela_guard::flow::{Decision, Deed, Judge, Provenance, Span, Standing, Verdict, decide};

use crate::traces::{Call, Declared};

/// Something that is told what the owner writes and runs the calls of a model.
pub trait World {
    fn owner_says(&mut self, text: &str);
    /// Runs the calls of one answer of the model; says which were run.
    fn act(&mut self, calls: &[(&Call, Declared)], owner: Owner) -> Vec<Ran>;
    fn came_back(&mut self, call: &Call, declared: Declared, output: &str);
}

/// What the owner answers when asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Approves,
    Refuses,
    Absent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    Unasked,
    Asked,
    No,
}

/// The decision layer alone.
pub struct Decisions {
    pub seen: Provenance,
    pub policy: GuardPolicy,
    /// Questions put to the owner, and calls they were about.
    pub questions: usize,
    pub asked_calls: usize,
}

impl Decisions {
    pub fn new(policy: GuardPolicy) -> Self {
        Self {
            seen: Provenance::default(),
            policy,
            questions: 0,
            asked_calls: 0,
        }
    }

    pub fn judge(&self) -> Judge<'static> {
        Judge {
            policy: self.policy,
            egress: &[],
            confirm: &[],
        }
    }

    /// A decision, and how long it took.
    pub fn decide(&self, call: &Call, declared: Declared) -> (Decision, Duration) {
        let started = std::time::Instant::now();
        let decision = decide(self.judge(), &self.seen, &deed(call, declared));
        (decision, started.elapsed())
    }

    pub fn add(&mut self, text: &str, trust: Trust, origin: Origin) {
        self.seen.add(Span {
            text: text.to_owned(),
            trust,
            origin,
        });
    }
}

pub fn deed(call: &Call, declared: Declared) -> Deed<'_> {
    Deed {
        tool: &call.tool,
        effect: declared.effect,
        sinks: declared.sinks,
        arguments: &call.args,
        standing: Standing::Unlisted,
        words: None,
        binds: None,
    }
}

impl World for Decisions {
    fn owner_says(&mut self, text: &str) {
        let hash = ContentHash::of(text);
        let origin = Origin::Channel {
            channel: "replay".into(),
            message: String::new(),
            hash,
        };
        self.add(text, Trust::Owner, origin);
    }

    fn act(&mut self, calls: &[(&Call, Declared)], owner: Owner) -> Vec<Ran> {
        let decided: Vec<(Deed<'_>, Decision)> = calls
            .iter()
            .map(|(call, declared)| (deed(call, *declared), self.decide(call, *declared).0))
            .collect();
        let asked: Vec<(Deed<'_>, Decision)> = decided
            .iter()
            .filter(|(_, decision)| decision.verdict == Verdict::Ask)
            .cloned()
            .collect();
        let now = SystemTime::UNIX_EPOCH;
        let mut grant = None;
        if !asked.is_empty() {
            self.questions += 1;
            self.asked_calls += asked.len();
            let asking = Asking {
                id: "q",
                now,
                lasts: Duration::from_secs(60),
            };
            let mut question = Question::about(&asked, &self.seen, asking);
            let (scope, by) = match owner {
                Owner::Approves => (Scope::Once, Hand::Owner),
                Owner::Refuses => (Scope::Deny, Hand::Owner),
                Owner::Absent => (Scope::Once, Hand::Nobody),
            };
            grant = question
                .answer(
                    Answer {
                        scope,
                        by,
                        shown: Some(question.binds),
                    },
                    now,
                )
                .ok();
        }
        decided
            .iter()
            .map(|(deed, decision)| match decision.verdict {
                Verdict::Allow => Ran::Unasked,
                Verdict::Deny => Ran::No,
                Verdict::Ask => {
                    let spent = grant
                        .as_mut()
                        .is_some_and(|grant| grant.spend(deed, &mut self.seen).is_ok());
                    if !spent && owner == Owner::Refuses {
                        self.seen.refuse_shape(deed.shape());
                    }
                    if spent { Ran::Asked } else { Ran::No }
                }
            })
            .collect()
    }

    fn came_back(&mut self, call: &Call, declared: Declared, output: &str) {
        let hash = ContentHash::of(output);
        let trust = if declared.foreign {
            Trust::External
        } else {
            Trust::Agent
        };
        self.add(
            output,
            trust,
            Origin::Tool {
                call: call.tool.clone(),
                hash,
            },
        );
    }
}
