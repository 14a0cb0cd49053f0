//! The hook points of a turn, in the order things happen there: what is the turn's own, and then
//! or before it whoever steps in from outside.
//!
//! Guard, screening and redaction are steps at these points like any other. They hold the turn in
//! their hands where a hook of outside is only told of it, so theirs is a trait of its own.

use chela_guard::flow::{CallVerdict, Decision, DecisionRule};
use chela_model::ToolCall;
use chela_reply::{Reply, ShownPiece, Silence};
use chela_tools::{ToolOutput, Toolbox};

use super::guard::JudgedCall;
use super::hook_runner::{CallWord, HookRunner, PassedReply};
use super::{RunningTurn, TurnEvent};
use crate::hooks::HookVerdict;

/// A step of the turn's own at the hook points. What it does not care about passes through.
trait TurnPhase {
    /// Whether a call may be made.
    fn before_tool_call(&self, _case: &JudgedCall, decided: Option<Decision>) -> Option<Decision> {
        decided
    }

    /// A result, as it goes on.
    fn after_tool_call(&self, _call: &ToolCall, output: ToolOutput) -> ToolOutput {
        output
    }

    /// A reply, as it goes out.
    fn before_agent_reply(&self, reply: Reply) -> Reply {
        reply
    }
}

/// Decides from effect, taint and the origin of arguments.
struct GuardPhase<'t, 'a>(&'t RunningTurn<'a>);

impl TurnPhase for GuardPhase<'_, '_> {
    fn before_tool_call(&self, case: &JudgedCall, _: Option<Decision>) -> Option<Decision> {
        Some(self.0.judge(case))
    }
}

/// Looks through what came from outside.
struct ScreeningPhase<'t, 'a>(&'t RunningTurn<'a>);

impl TurnPhase for ScreeningPhase<'_, '_> {
    fn after_tool_call(&self, call: &ToolCall, output: ToolOutput) -> ToolOutput {
        self.0.screened(call, output)
    }
}

/// Takes secrets and addresses nobody named out of what leaves.
struct RedactionPhase<'t, 'a>(&'t RunningTurn<'a>);

impl TurnPhase for RedactionPhase<'_, '_> {
    fn before_agent_reply(&self, reply: Reply) -> Reply {
        self.0.outlet.finish(reply)
    }
}

impl RunningTurn<'_> {
    /// What is decided about a call: the guard's word, made stricter where a hook wants it so.
    pub(super) async fn before_tool_call(&self, call: &ToolCall, case: &JudgedCall) -> Decision {
        let word = self.hook_word(call, case).await;
        let decided = self
            .phases()
            .iter()
            .fold(None, |decided, phase| phase.before_tool_call(case, decided));
        // The guard always answers; were it not there, nothing would be allowed.
        let decided = decided.unwrap_or_else(|| {
            Decision::about(&case.deed(), CallVerdict::Deny, DecisionRule::Undeclared)
        });
        self.narrowed(decided, &word.verdict, &word.hook, case)
    }

    /// A result, as the model may read it: first the turn's own look, then the hooks'.
    pub(super) async fn after_tool_call(&self, call: &ToolCall, output: ToolOutput) -> ToolOutput {
        let output = self
            .phases()
            .iter()
            .fold(output, |output, phase| phase.after_tool_call(call, output));
        let output = self.hooks.pass_result(call, output, self.surface).await;
        self.hooks.tell(self.surface);
        output
    }

    /// A reply, as it may be delivered: hooks first, so that what they say is looked through, too.
    pub(super) async fn before_agent_reply(&self, reply: Reply) -> Reply {
        let reply = self.hooked_reply(reply).await;
        self.phases()
            .iter()
            .fold(reply, |reply, phase| phase.before_agent_reply(reply))
    }

    fn phases(&self) -> [Box<dyn TurnPhase + Send + Sync + '_>; 3] {
        [
            Box::new(GuardPhase(self)),
            Box::new(ScreeningPhase(self)),
            Box::new(RedactionPhase(self)),
        ]
    }

    async fn hooked_reply(&self, reply: Reply) -> Reply {
        let Reply::Deliver(delivery) = &reply else {
            return reply;
        };
        let passed = self.hooks.pass_reply(delivery).await;
        self.hooks.tell(self.surface);
        match passed {
            PassedReply::AsItIs => reply,
            PassedReply::Changed(changed) => {
                self.outlet.show(ShownPiece::Retracted);
                self.outlet.show(ShownPiece::Text(changed.text.clone()));
                Reply::Deliver(changed)
            }
            PassedReply::Withheld(hook) => {
                self.outlet.show(ShownPiece::Retracted);
                let notice = format!("The hook `{hook}` kept the answer back.");
                self.surface.event(TurnEvent::Notice(notice));
                Reply::Silent {
                    why: Silence::Empty,
                }
            }
        }
    }

    /// Calls as they are made: with the arguments hooks want them made with.
    pub(super) async fn rewritten(&self, calls: &[ToolCall], toolbox: &Toolbox) -> Vec<ToolCall> {
        let mut made = Vec::with_capacity(calls.len());
        for call in calls {
            let case = match call.malformed {
                None => self.case_of(call, toolbox).ok(),
                Some(_) => None,
            };
            let Some(case) = case else {
                made.push(call.clone());
                continue;
            };
            let word = self.hook_word(call, &case).await;
            let Some((hook, arguments)) = word.rewritten else {
                made.push(call.clone());
                continue;
            };
            let call = ToolCall {
                arguments,
                ..call.clone()
            };
            let notice = format!("The hook `{hook}` changed the arguments of {}.", call.name);
            self.surface.event(TurnEvent::Notice(notice));
            // What it became is asked about anew: whoever looks at calls sees the one that is made.
            if let Ok(case) = self.case_of(&call, toolbox) {
                let mut word = self.hook_word(&call, &case).await;
                if word.verdict == HookVerdict::Pass {
                    word.verdict = HookRunner::word_about_rewritten(&hook, &case);
                    word.hook = hook;
                }
                let key = (call.id.clone(), case.deed().shape());
                self.hook_words().insert(key, word);
            }
            made.push(call);
        }
        made
    }

    /// The hooks' word about a call, which they are asked for once.
    async fn hook_word(&self, call: &ToolCall, case: &JudgedCall) -> CallWord {
        let key = (call.id.clone(), case.deed().shape());
        let known = self.hook_words().get(&key).cloned();
        if let Some(known) = known {
            return known;
        }
        let word = self.hooks.word_about(call, case).await;
        self.hooks.tell(self.surface);
        if let HookVerdict::Refuse(why) = &word.verdict {
            let notice = format!("The hook `{}` refused {}: {why}", word.hook, call.name);
            self.surface.event(TurnEvent::Notice(notice));
        }
        self.hook_words().insert(key, word.clone());
        word
    }

    /// A hook makes a decision stricter or leaves it. A yes of the owner for exactly this call
    /// answers its question, too.
    fn narrowed(
        &self,
        decided: Decision,
        word: &HookVerdict,
        hook: &str,
        case: &JudgedCall,
    ) -> Decision {
        let (verdict, rule) = match (word, decided.verdict) {
            (HookVerdict::Refuse(_), CallVerdict::Allow | CallVerdict::Ask) => {
                (CallVerdict::Deny, DecisionRule::HookRefused)
            }
            (HookVerdict::Ask(_), CallVerdict::Allow)
                if decided.rule != DecisionRule::ApprovedShape
                    && !self.parts.guarding.is_always_allowed(case.deed().shape()) =>
            {
                (CallVerdict::Ask, DecisionRule::HookAsks)
            }
            _ => return decided,
        };
        tracing::info!(
            hook,
            verdict = verdict.as_str(),
            "a hook made a decision stricter"
        );
        Decision {
            verdict,
            rule,
            ..decided
        }
    }
}
