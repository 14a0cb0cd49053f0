//! The models there are, and which one a name means.

mod alias;
mod describe;
mod params;

use std::sync::{Arc, Mutex};

use chela_config::model::{ModelChoice, ModelsMode, OpenMap};
use chela_config::{AgentView, LoadedConfig};
use chela_core::{AgentId, Host, lock, ok_or_debug, suggest};

use crate::builtin::{BUILT_IN, built_in};
use crate::chain::{ChainPace, FallbackChain};
use crate::provider::ModelProvider;
use crate::server::{RememberedAnswers, learn_from_server};
use crate::{InfoSource, KeyWitness, ModelApi, ModelHttp, ModelInfo, ModelTarget, ResolveError};

/// The models there are: those of the config over the built-in endpoints.
#[derive(Debug, Clone)]
pub struct Models {
    /// Those of the config first.
    providers: Vec<Arc<ModelProvider>>,
    /// Keys of `agents.defaults.models`.
    listed: Vec<String>,
    /// Alias and reference; the operator's first.
    aliases: Vec<(String, String)>,
    default: Option<ModelChoice>,
    params: Arc<params::ConfiguredParams>,
    pace: ChainPace,
    /// What servers on this machine said about their models; clones share it.
    learned: Arc<Mutex<Vec<Arc<ModelInfo>>>>,
    /// And what they said to other processes.
    remembered: Arc<RememberedAnswers>,
}

/// Who chose the model: it decides whether another one may answer in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelSelection<'a> {
    /// The config: its fallbacks count.
    Configured,
    /// A person: this one or none.
    Chosen(&'a str),
}

impl Models {
    pub fn of(host: &Host, loaded: &LoadedConfig) -> Self {
        let config = &loaded.config;
        let mut providers: Vec<Arc<ModelProvider>> = config
            .models
            .providers
            .iter()
            .map(|(id, set)| Arc::new(ModelProvider::configured(host, loaded, id, set)))
            .collect();
        if config.models.mode == ModelsMode::Merge {
            for known in BUILT_IN {
                if !providers.iter().any(|provider| provider.id == known.id) {
                    providers.push(Arc::new(ModelProvider::built_in(loaded, known)));
                }
            }
        }
        let defaults = &config.agents.defaults;
        let listed: Vec<String> = defaults.models.keys().cloned().collect();
        let own = defaults.models.iter().filter_map(|(reference, model)| {
            let alias = model.alias.as_deref()?.trim();
            (!alias.is_empty()).then(|| (alias.to_owned(), reference.clone()))
        });
        Self {
            providers,
            aliases: own.chain(alias::built_in(&listed)).collect(),
            listed,
            default: defaults.model.clone(),
            params: Arc::new(params::ConfiguredParams::of(&config.agents)),
            pace: ChainPace::of(host),
            learned: Arc::default(),
            remembered: Arc::new(RememberedAnswers::of(host)),
        }
    }

    /// The same, telling of every credential when it is fetched.
    #[must_use]
    pub fn telling(self, witness: &KeyWitness) -> Self {
        for provider in &self.providers {
            provider.tell(witness);
        }
        self
    }

    /// The same, waiting with another clockwork.
    #[cfg(test)]
    pub fn with_timer(mut self, timer: Arc<dyn crate::timer::SleepTimer>) -> Self {
        self.pace = self.pace.with_timer(timer);
        self
    }

    /// Every model that is configured: listed at a provider, given to agents, or the default.
    pub fn list(&self) -> Vec<ModelInfo> {
        let chosen = self.chosen().map(str::to_owned);
        let mut seen = Vec::new();
        let mut list: Vec<ModelInfo> = Vec::new();
        for name in chosen.chain(self.references()) {
            let target = self.resolve(&name);
            if let Some(target) = ok_or_debug!(target, "a configured model cannot be used", name)
                && !seen.contains(&target.info.reference)
            {
                seen.push(target.info.reference.clone());
                list.push((*target.info).clone());
            }
        }
        list
    }

    /// Alias and `provider/model`.
    pub fn aliases(&self) -> &[(String, String)] {
        &self.aliases
    }

    /// The model of the config for all agents, as written.
    pub fn default_model(&self) -> Option<&str> {
        self.default.as_ref().and_then(ModelChoice::primary)
    }

    /// The default model and its fallbacks, as written.
    pub fn chosen(&self) -> impl Iterator<Item = &str> {
        self.default.iter().flat_map(|choice| {
            let fallbacks = choice.fallbacks().iter().map(String::as_str);
            choice.primary().into_iter().chain(fallbacks)
        })
    }

    /// The built-in endpoints with a key in the environment, best first, each with the model to
    /// start with.
    pub fn with_keys(&self) -> Vec<(ModelTarget, String)> {
        self.providers
            .iter()
            .filter(|provider| !provider.is_local())
            .filter_map(|provider| {
                let key = provider.key.describe()?;
                let first = provider.models.first().map(|model| model.id.as_str());
                let model = first.or(built_in(&provider.id).and_then(|known| known.model))?;
                let target = self.target(provider, model, None);
                let target = ok_or_debug!(target, "a model with a key cannot be used", model)?;
                Some((target, key))
            })
            .collect()
    }

    /// The endpoints on this machine or in its network: those of the config first.
    pub(crate) fn local_providers(&self) -> impl Iterator<Item = &Arc<ModelProvider>> {
        self.providers.iter().filter(|provider| provider.is_local())
    }

    /// The endpoints that can be asked what they have: those on this machine, and those with a key
    /// that models of the config are at. With a name that one only; a key alone is no wish to be
    /// heard of there.
    pub(crate) fn reachable_providers(
        &self,
        only: Option<&str>,
    ) -> impl Iterator<Item = &Arc<ModelProvider>> {
        let used: Vec<String> = self.list().into_iter().map(|info| info.provider).collect();
        let only = only.map(|name| self.provider(name).map(|provider| provider.id.as_str()));
        self.providers
            .iter()
            .filter(move |provider| match only {
                Some(only) => only == Some(provider.id.as_str()),
                None => provider.is_local() || used.contains(&provider.id),
            })
            .filter(|provider| provider.is_local() || provider.key.describe().is_some())
    }

    /// A model of this endpoint.
    pub(crate) fn target_at(
        &self,
        provider: &Arc<ModelProvider>,
        model: &str,
    ) -> Result<ModelTarget, ResolveError> {
        self.target(provider, model, None)
    }

    /// What a name means: `provider/model`, an alias, a configured model, or a model of the
    /// default provider.
    pub fn resolve(&self, name: &str) -> Result<ModelTarget, ResolveError> {
        self.resolve_for(name, None, &self.aliases)
    }

    /// The models that answer for an agent.
    pub fn chain(
        &self,
        view: &AgentView,
        selection: ModelSelection<'_>,
    ) -> Result<FallbackChain, ResolveError> {
        let mut aliases: Vec<(String, String)> = view
            .model_aliases
            .value
            .iter()
            .map(|alias| (alias.alias.clone(), alias.model.clone()))
            .collect();
        aliases.extend(self.aliases.iter().cloned());
        let find = |name: &str| {
            let target = self.resolve_for(name, Some(&view.id), &aliases)?;
            if self.allows(view, &aliases, &target.info.reference) {
                Ok(target)
            } else {
                Err(ResolveError::NotAllowed {
                    name: target.info.reference.clone(),
                })
            }
        };
        match selection {
            ModelSelection::Chosen(name) => Ok(FallbackChain::of(find(name)?, self.pace.clone())),
            ModelSelection::Configured => {
                let choice = view.model.value.as_ref().ok_or(ResolveError::Nothing)?;
                let timeout = match choice {
                    ModelChoice::Chain(chain) => chain.timeout_ms,
                    ModelChoice::Name(_) => None,
                };
                let timeout = timeout.map(std::time::Duration::from_millis);
                let primary = choice.primary().ok_or(ResolveError::Nothing)?;
                let primary = find(primary)?.with_timeout(timeout);
                let mut fallbacks = Vec::new();
                let mut skipped = Vec::new();
                for name in choice.fallbacks() {
                    match find(name) {
                        Ok(target) => fallbacks.push(target.with_timeout(timeout)),
                        Err(error) => {
                            tracing::debug!(name, %error, "a fallback cannot be used");
                            skipped.push(error);
                        }
                    }
                }
                Ok(
                    FallbackChain::of(primary, self.pace.clone())
                        .with_fallbacks(fallbacks, skipped),
                )
            }
        }
    }

    /// Asks the servers on this machine that an agent's models run on what they run, where the
    /// config does not say: the window of a local model is the one its server was started with.
    /// Once is enough; from then on [`Models::resolve`] and [`Models::chain`] know.
    pub async fn learn(&self, http: &ModelHttp, chain: &FallbackChain) {
        for target in chain.targets() {
            let learned = learn_from_server(http, target.clone()).await;
            if learned.info.source == InfoSource::Server {
                tracing::info!(
                    model = learned.info.reference,
                    window = learned.info.context_window,
                    "a local server says what it runs"
                );
                self.keep_learned(&learned);
                let mut known = lock(&self.learned);
                known.retain(|info| info.reference != learned.info.reference);
                known.push(learned.info);
            }
        }
    }

    /// Keeps what a server said about its model, for commands that ask nobody.
    pub fn keep_learned(&self, learned: &ModelTarget) {
        if learned.info.source == InfoSource::Server {
            self.remembered.keep(learned.base_url(), &learned.info);
        }
    }

    /// A chain of one model.
    #[cfg(test)]
    pub(crate) fn chain_of(&self, target: ModelTarget) -> FallbackChain {
        FallbackChain::of(target, self.pace.clone())
    }

    /// `modelPolicy.allow`: references, aliases, prefixes ending in `*`; empty allows any.
    fn allows(&self, view: &AgentView, aliases: &[(String, String)], reference: &str) -> bool {
        let allow = &view.model_policy.value.allow;
        allow.is_empty()
            || allow
                .iter()
                .any(|rule| match rule.trim().strip_suffix('*') {
                    Some(prefix) => reference.starts_with(prefix),
                    None => self
                        .resolve_for(rule, None, aliases)
                        .is_ok_and(|target| target.info.reference == reference),
                })
    }

    fn resolve_for(
        &self,
        name: &str,
        agent: Option<&AgentId>,
        aliases: &[(String, String)],
    ) -> Result<ModelTarget, ResolveError> {
        let name = name.trim();
        if name.is_empty() {
            return Err(ResolveError::Nothing);
        }
        if let Some(reference) = alias::find(aliases, name)
            && reference != name
        {
            return self.resolve_for(reference, agent, &[]);
        }
        if let Some((provider, model)) = name.split_once('/') {
            if let Some(provider) = self.provider(provider) {
                return self.target(provider, model, agent);
            }
            // Ids with a slash of their own, such as `meta/llama`, may be written bare.
            if let Some(found) = self.unique(name) {
                return self.resolve_for(&found, agent, &[]);
            }
            let known = self.providers.iter().map(|provider| provider.id.as_str());
            return Err(ResolveError::UnknownProvider {
                name: name.to_owned(),
                near: suggest::nearest(provider, known).map(|near| format!("{near}/{model}")),
                provider: provider.to_owned(),
            });
        }
        if let Some(found) = self.unique(name) {
            return self.resolve_for(&found, agent, &[]);
        }
        let near_alias = suggest::nearest(name, aliases.iter().map(|(alias, _)| alias.as_str()));
        let default = self.default_model().and_then(|model| model.split_once('/'));
        match (near_alias, default.and_then(|(id, _)| self.provider(id))) {
            (None, Some(provider)) => self.target(provider, name, agent),
            (near, _) => Err(ResolveError::Unknown {
                name: name.to_owned(),
                near: near.map(str::to_owned).or_else(|| self.near_model(name)),
            }),
        }
    }

    /// Where requests to a provider go.
    pub fn base_url_of(&self, name: &str) -> Option<&str> {
        self.provider(name)
            .map(|provider| provider.base_url.as_str())
    }

    fn provider(&self, name: &str) -> Option<&Arc<ModelProvider>> {
        let exact = self.providers.iter().find(|provider| provider.id == name);
        exact.or_else(|| {
            let id = built_in(name)?.id;
            self.providers.iter().find(|provider| provider.id == id)
        })
    }

    /// The one configured model with this id.
    fn unique(&self, id: &str) -> Option<String> {
        let mut found = self
            .references()
            .filter(|reference| reference.split_once('/').is_some_and(|(_, own)| own == id));
        let first = found.next()?;
        found.all(|other| other == first).then_some(first)
    }

    fn near_model(&self, name: &str) -> Option<String> {
        let references: Vec<String> = self.references().collect();
        let ids = references
            .iter()
            .filter_map(|reference| Some(reference.split_once('/')?.1));
        suggest::nearest(name, ids).map(str::to_owned)
    }

    fn references(&self) -> impl Iterator<Item = String> {
        let of_providers = self.providers.iter().flat_map(|provider| {
            let models = provider.models.iter();
            models.map(|model| format!("{}/{}", provider.id, model.id))
        });
        of_providers.chain(self.listed.iter().cloned())
    }

    fn target(
        &self,
        provider: &Arc<ModelProvider>,
        model: &str,
        agent: Option<&AgentId>,
    ) -> Result<ModelTarget, ResolveError> {
        if provider.base_url.is_empty() {
            return Err(ResolveError::NoAddress {
                provider: provider.id.clone(),
            });
        }
        let entry = provider.models.iter().find(|entry| entry.id == model);
        let api = match entry.and_then(|entry| entry.api.as_deref()) {
            Some(name) => ModelApi::named(name).ok_or_else(|| name.to_owned()),
            None => provider.api.clone(),
        };
        let api = api.map_err(|api| ResolveError::UnknownApi {
            provider: provider.id.clone(),
            api,
        })?;
        let mut info = describe::model(provider, api, model, entry);
        if provider.is_local() {
            info = self.remembered.apply(&provider.base_url, info);
        }
        let info = Arc::new(info);
        let known = lock(&self.learned);
        let learned = known.iter().find(|known| known.reference == info.reference);
        let info = learned.cloned().unwrap_or(info);
        drop(known);
        let mut params: OpenMap = provider.params.clone();
        if let Some(entry) = entry {
            params::overlay(&mut params, &entry.params);
        }
        self.params.apply(&mut params, &info.reference, agent);
        Ok(ModelTarget {
            provider: provider.clone(),
            info,
            params,
            call_timeout: None,
        })
    }
}

#[cfg(test)]
mod tests;
