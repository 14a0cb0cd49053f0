//! The tools of one session.

mod build;
mod names;
mod run;
mod secrecy;

use std::collections::BTreeSet;
use std::sync::Arc;

use chela_config::model::RedactMode;
use chela_core::Trust;
use chela_core::secret::Redactor;

use crate::place::FilePlaces;
use crate::plan::SessionPlan;
use crate::policy::{self, PolicyVerdict, ToolRules};
use crate::tools_find::{self, ToolCatalog};
use crate::{OutputBound, Tool, ToolOffer, ToolSpec};

use build::findable;
pub use build::{ModelFacts, ToolboxSettings, places};
pub use names::{ToolNameError, check_own_name, check_own_names};
pub use run::PreparedCall;
pub use secrecy::SECRETS;

/// The tools of one session. Cheap to clone.
#[derive(Clone)]
pub struct Toolbox {
    /// What can be called, in the order in which a model is told of it.
    tools: Arc<[Arc<dyn Tool>]>,
    /// Of these, the names of those a model was not told of and finds when it needs them.
    deferred: Arc<BTreeSet<String>>,
    catalog: Arc<ToolCatalog>,
    /// The tools of an embedder as they are now, where that was said.
    own_now: Option<Arc<[Arc<dyn Tool>]>>,
    /// Names a model was told of, by this process or another.
    told: Arc<[String]>,
    /// What the policy of the session keeps out: the name and why.
    left_out: Arc<[(String, String)]>,
    policy: Arc<ToolRules>,
    /// The limits of one turn, where they differ from the session's.
    turn: Option<Arc<ToolRules>>,
    places: Arc<FilePlaces>,
    bound: Arc<OutputBound>,
    plan: Arc<SessionPlan>,
    redactor: Arc<Redactor>,
    /// What the owner's own screen hides (`logging.redactSensitive`).
    on_screen: RedactMode,
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.specs().map(|spec| &*spec.name).collect();
        f.debug_struct("Toolbox")
            .field("tools", &names)
            .finish_non_exhaustive()
    }
}

impl Toolbox {
    /// What there is, always in the same order: what the model was told of, then what came since.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools().map(|tool| tool.spec())
    }

    /// Those of them a model is told of from the start.
    pub fn listed(&self) -> impl Iterator<Item = &ToolSpec> {
        self.specs().filter(|spec| !self.is_deferred(&spec.name))
    }

    /// Whether a tool can be called and is not in the list a model was told of.
    pub fn is_deferred(&self, name: &str) -> bool {
        self.deferred.contains(name)
    }

    /// The names of the tools a model finds when it needs them.
    pub fn deferred(&self) -> Vec<String> {
        self.deferred.iter().cloned().collect()
    }

    /// The same tools as a session began with them: it was told of `listed`, and finds `deferred`.
    #[must_use]
    pub fn as_begun(&self, listed: Vec<String>, deferred: Vec<String>) -> Self {
        let both: Vec<String> = listed.iter().chain(&deferred).cloned().collect();
        Self {
            deferred: Arc::new(deferred.into_iter().collect()),
            ..self.restrict(&both).having_told(listed)
        }
    }

    /// Tells a model of these as well from the start: it has heard of them before.
    #[must_use]
    pub fn listing(&self, names: &[String]) -> Self {
        let deferred = self.deferred.iter().filter(|name| !names.contains(name));
        Self {
            deferred: Arc::new(deferred.cloned().collect()),
            ..self.clone()
        }
    }

    /// The tools behind them, in the same order.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        let told = self.tools.iter();
        told.filter_map(move |tool| self.get(&tool.spec().name))
            .chain(self.new_tools())
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let named = |tool: &&Arc<dyn Tool>| &*tool.spec().name == name;
        match &self.own_now {
            Some(own) if !policy::is_built_in(name) => own.iter().find(named),
            _ => self.tools.iter().find(named),
        }
    }

    /// The same tools with those of an embedder as they are now: what came since the model was
    /// told of them can be called, what went cannot. The policy of the session holds for them.
    #[must_use]
    pub fn with_own(&self, own: Vec<Arc<dyn Tool>>) -> Self {
        let allowed = own.into_iter().filter(|tool| {
            let name = &tool.spec().name;
            names::check_name(name).is_ok() && self.policy.explain(name).is_in()
        });
        let own: Arc<[Arc<dyn Tool>]> = allowed.collect();
        let ours = self
            .tools
            .iter()
            .filter(|tool| policy::is_built_in(&tool.spec().name));
        self.catalog.set(findable(ours.chain(own.iter())));
        Self {
            own_now: Some(own),
            ..self.clone()
        }
    }

    /// The same tools, after a model was told of these.
    #[must_use]
    pub fn having_told(&self, names: Vec<String>) -> Self {
        Self {
            told: names.into(),
            ..self.clone()
        }
    }

    /// What came since the model was told of the tools.
    pub fn gained(&self) -> impl Iterator<Item = &ToolSpec> {
        self.new_tools().map(|tool| tool.spec())
    }

    /// The names of what came since and can be found.
    pub fn findable_since(&self) -> Vec<&str> {
        if self.get(tools_find::NAME).is_none() {
            return Vec::new();
        }
        let own = self.own_now.iter().flat_map(|own| own.iter());
        let new = own.filter(|tool| {
            !self.was_told(&tool.spec().name) && tool.offer() == ToolOffer::Deferred
        });
        new.map(|tool| &*tool.spec().name).collect()
    }

    fn new_tools(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        let own = self.own_now.iter().flat_map(|own| own.iter());
        own.filter(move |tool| {
            !self.was_told(&tool.spec().name) && tool.offer() != ToolOffer::Deferred
        })
    }

    /// The names of what went since the model was told of the tools.
    pub fn lost(&self) -> Vec<&str> {
        let told = self.told.iter().map(String::as_str);
        let mut names: Vec<&str> = self
            .tools
            .iter()
            .map(|tool| &*tool.spec().name)
            .chain(told)
            .filter(|name| !policy::is_built_in(name) && self.get(name).is_none())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn was_told(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| &*tool.spec().name == name)
            || self.told.iter().any(|told| told == name)
    }

    /// Tools that exist but that the policy keeps out, and why.
    pub fn left_out(&self) -> &[(String, String)] {
        &self.left_out
    }

    /// Why a tool is there or not, for people.
    pub fn explain(&self, name: &str) -> PolicyVerdict {
        self.policy.explain(name)
    }

    /// The same tools, and only those a session started with: the list a model was told of does
    /// not grow later.
    #[must_use]
    pub fn restrict(&self, names: &[String]) -> Self {
        // Without the one that finds them nothing may be left to be found, and what a stranger says
        // of a tool stands in no prompt.
        let can_find = names.iter().any(|name| name == tools_find::NAME)
            && self.get(tools_find::NAME).is_some();
        let kept = self.tools.iter().filter(|tool| {
            let is_named = names.iter().any(|name| **name == *tool.spec().name);
            is_named && (can_find || tool.described_by() > Trust::External)
        });
        let tools: Arc<[Arc<dyn Tool>]> = kept.cloned().collect();
        Self {
            tools,
            deferred: match can_find {
                true => Arc::clone(&self.deferred),
                false => Arc::default(),
            },
            ..self.clone()
        }
    }

    /// The same tools under the policy of one turn: what it takes away stays in the list, so
    /// that the cached prefix does not move, and is refused when it is called.
    #[must_use]
    pub fn for_turn(&self, policy: ToolRules) -> Self {
        Self {
            turn: Some(Arc::new(policy)),
            ..self.clone()
        }
    }

    pub fn places(&self) -> &Arc<FilePlaces> {
        &self.places
    }

    pub fn bound(&self) -> &Arc<OutputBound> {
        &self.bound
    }

    /// The plan of this session.
    pub fn plan(&self) -> &Arc<SessionPlan> {
        &self.plan
    }
}

#[cfg(test)]
pub(crate) mod tests;
