//! What one call may do: what it would touch, and what the rules say to that.

use std::path::PathBuf;

use chela_config::model::GuardPolicy;
use chela_guard::WebAddress;
use chela_guard::approval::shown;
use chela_guard::flow::{
    CallVerdict, Decision, DecisionRule, ProposedCall, SessionTaint, chosen_names, decide,
};
use chela_model::ToolCall;
use chela_session::{SessionError, TranscriptBranch};
use chela_tools::{
    CallProspect, CallTarget, CallWrites, Effect, PreparedCall, ToolOutput, Toolbox,
};
use serde_json::{Value, json};

use super::owner_approval::OwnerApproval;
use crate::order_files::{HOOKS, OrderLeave, PLUGINS, order_names};
use crate::self_running_files::SecondNature;
use crate::turn::RunningTurn;

/// What the guard knows of one call.
pub(in crate::turn) struct JudgedCall {
    pub prepared: PreparedCall,
    /// The names in its arguments that its tool did not declare.
    pub chosen_names: Vec<String>,
    pub prospect: CallProspect,
    /// What it would change.
    pub writes: CallWrites,
    /// What it is about, in the form in which it is judged and used.
    pub targets: Vec<CallTarget>,
    /// The files it writes that tell the agent what to do, where that is not known to the owner.
    pub orders: Vec<&'static str>,
    /// The address that led to the target, where a server redirected the call.
    pub led_from: Option<WebAddress>,
}

/// Several of these are one question: none of them changes anything.
pub(super) fn only_reads(case: &JudgedCall) -> bool {
    matches!(
        case.prospect.effect,
        Effect::Read | Effect::ReadUntrusted | Effect::Egress
    )
}

/// What a call that writes these files really changes: the gravest of them counts, whichever tool
/// writes it.
fn effect_of_writing(effect: Effect, paths: &[PathBuf]) -> Effect {
    let effects = paths
        .iter()
        .map(|path| effect.when_writing(&path.to_string_lossy()));
    effects.fold(effect, gravest_of)
}

fn gravest_of(one: Effect, other: Effect) -> Effect {
    match other.gravity_of_writing() > one.gravity_of_writing() {
        true => other,
        false => one,
    }
}

impl JudgedCall {
    pub(in crate::turn) fn deed(&self) -> ProposedCall<'_> {
        let spec = self.prepared.tool.spec();
        ProposedCall {
            tool: &spec.name,
            effect: self.prospect.effect,
            sinks: &spec.sinks,
            arguments: &self.prepared.arguments,
            chosen_names: &self.chosen_names,
            targets: &self.targets,
            led_from: self.led_from.as_ref(),
            look: self.prepared.look,
            standing: self.prospect.standing,
            orders: &self.orders,
            words: self.prospect.words.as_deref(),
            binds: self.prospect.binds,
        }
    }
}

impl RunningTurn<'_> {
    pub(in crate::turn) fn case_of(
        &self,
        call: &ToolCall,
        toolbox: &Toolbox,
    ) -> Result<JudgedCall, ToolOutput> {
        let typed = self.parts.guarding.typed_addresses();
        let arguments = typed.put_back(&call.name, &call.arguments, toolbox);
        let prepared = toolbox.prepare(&call.name, &arguments)?;
        let mut prospect = prepared.tool.prospect(&prepared.arguments);
        let writes = prepared.tool.writes(&prepared.arguments);
        let mut orders = Vec::new();
        if let CallWrites::Files { paths, .. } = &writes {
            let root = self.parts.scope.workspace_root();
            prospect.effect = self.effect_on_files(prospect.effect, paths);
            orders = order_names(&root, paths.iter().map(PathBuf::as_path));
            if orders.contains(&HOOKS) || orders.contains(&PLUGINS) {
                prospect.effect = gravest_of(prospect.effect, Effect::Config);
            }
            if !orders.is_empty() {
                let leave = self.order_leave();
                let asked = paths.iter().filter(|path| !leave.covers_file(&root, path));
                orders = order_names(&root, asked.map(PathBuf::as_path));
            }
        }
        let targets = prepared.tool.targets(&prepared.arguments);
        let parameters = &prepared.tool.spec().parameters;
        let chosen_names = chosen_names(&prepared.arguments, parameters);
        Ok(JudgedCall {
            prepared,
            chosen_names,
            prospect,
            writes,
            targets,
            orders,
            led_from: None,
        })
    }

    /// What writing these files really changes: links give a file names that programs go by, and
    /// a folder becomes a repository by what is put there.
    fn effect_on_files(&self, effect: Effect, paths: &[PathBuf]) -> Effect {
        let by_path = effect_of_writing(effect, paths);
        let is_write = matches!(by_path, Effect::WriteReversible | Effect::RunsOnBuild);
        if !is_write {
            return by_path;
        }
        let nature = SecondNature::of(paths, self.parts.scope.writable_roots());
        let by_name = effect_of_writing(Effect::WriteReversible, &nature.names.names);
        let provenance = &self.parts.guarding.provenance;
        let is_tainted = || provenance.with(|seen| seen.taint() == SessionTaint::Tainted);
        // What could not be looked through may hold a link to it.
        let may_run = nature.shapes_repository || nature.names.is_cut && is_tainted();
        let by_folder = match may_run {
            true => Effect::RunsOnOpen,
            false => by_path,
        };
        let all = [by_name, by_folder];
        all.into_iter().fold(by_path, gravest_of)
    }

    /// The files that give orders and that may change unasked now.
    pub(in crate::turn) fn order_leave(&self) -> OrderLeave {
        if self.parts.guarding.rules().policy == GuardPolicy::Open {
            return OrderLeave::everything();
        }
        let custody = self.parts.custody.custody();
        let provenance = &self.parts.guarding.provenance;
        provenance.with(|seen| OrderLeave::now(seen, custody.as_deref()))
    }

    /// Reads what the transcript has gained; gives all of it.
    pub(in crate::turn) async fn catch_up(
        &self,
        toolbox: &Toolbox,
    ) -> Result<TranscriptBranch, SessionError> {
        self.parts
            .guarding
            .catch_up(&self.session, toolbox, &self.prefix.text.sections)
            .await
    }

    pub(in crate::turn) fn judge(&self, case: &JudgedCall) -> Decision {
        let rules = self.parts.guarding.rules();
        let deed = case.deed();
        let decision = self
            .parts
            .guarding
            .provenance
            .with(|seen| decide(rules.judge(), seen, &deed));
        match decision.verdict {
            CallVerdict::Ask if self.parts.guarding.is_always_allowed(deed.shape()) => Decision {
                verdict: CallVerdict::Allow,
                rule: DecisionRule::ApprovedShape,
                ..decision
            },
            _ => decision,
        }
    }

    /// The decision as it stands in the audit chain.
    pub(in crate::turn) fn decision_on_record(
        &self,
        decision: &Decision,
        yes: Option<&OwnerApproval>,
    ) -> Value {
        self.parts.guarding.provenance.with(|seen| {
            let origins: Vec<Value> = decision
                .atoms
                .iter()
                .map(|atom| {
                    json!({
                        "argument": atom.argument,
                        "atom": shown(&atom.atom),
                        "from": atom.source.in_words(seen),
                        "passes": atom.passes,
                    })
                })
                .collect();
            json!({
                "verdict": decision.verdict.as_str(),
                "goes": decision.verdict == CallVerdict::Allow || yes.is_some(),
                "rule": decision.rule.as_str(),
                "why": decision.rule.text(),
                "taint": decision.taint.as_str(),
                "taintedBy": seen
                    .tainted_by()
                    .and_then(|id| seen.span(id))
                    .map(|span| span.origin.to_string()),
                "yes": yes.map(|yes| yes.scope.as_str()),
                "question": yes.map(|yes| yes.question.as_str()),
                "origins": origins,
            })
        })
    }
}
