//! One endpoint: its address, its key, and how long to wait for it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chela_config::LoadedConfig;
use chela_config::model::{self, OpenMap, ProviderAuth};
use chela_core::Host;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::ModelApi;
use crate::api::{EndpointFamily, is_local};
use crate::builtin::{self, BuiltIn};
use crate::key::{KeyError, KeySource, KeyWitness, ModelKey, SecretStamp};

/// One endpoint.
#[derive(Debug)]
pub struct ModelProvider {
    pub id: String,
    pub base_url: String,
    /// The protocol, or the name of one that is not spoken here.
    pub api: Result<ModelApi, String>,
    pub key: KeySource,
    /// Variables that may hold its key, for hints.
    pub key_variables: &'static [&'static str],
    pub auth: KeyPresentation,
    pub headers: Vec<(String, KeySource)>,
    pub patience: AnswerPatience,
    pub params: OpenMap,
    pub context_window: Option<u64>,
    pub models: Vec<model::Model>,
    pub inject_num_ctx: Option<bool>,
    secrets: Mutex<Option<FetchedCredentials>>,
    witness: OnceLock<KeyWitness>,
}

/// Credentials, and the files they were read from as those were then.
#[derive(Debug)]
struct FetchedCredentials {
    stamps: Vec<Option<SecretStamp>>,
    credentials: Arc<CallCredentials>,
}

/// How the key is presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPresentation {
    /// As the protocol has it.
    Usual,
    /// `Authorization: Bearer`, whatever the protocol.
    Bearer,
    /// Not at all.
    None,
}

/// How long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerPatience {
    /// For the first byte of the answer: a local model reads the prompt first.
    pub first: Duration,
    /// Between two pieces of the answer.
    pub between: Duration,
    /// For the whole call.
    pub whole: Option<Duration>,
}

/// What a call is signed with.
#[derive(Debug, Clone)]
pub struct CallCredentials {
    pub key: Option<ModelKey>,
    pub headers: Vec<(String, ModelKey)>,
}

impl CallCredentials {
    /// `text` with everything secret blotted out.
    pub fn scrub(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for key in self
            .key
            .iter()
            .chain(self.headers.iter().map(|(_, key)| key))
        {
            text = key.scrub(&text);
        }
        text
    }
}

impl ModelProvider {
    /// An endpoint of the config, over the built-in one of that name.
    pub fn configured(host: &Host, loaded: &LoadedConfig, id: &str, set: &model::Provider) -> Self {
        let known = builtin::built_in(id);
        let base_url = set
            .base_url
            .as_deref()
            .map(str::trim)
            .filter(|url| !url.is_empty())
            .or(known.map(|known| known.base_url))
            .unwrap_or_default()
            .trim_end_matches('/')
            .to_owned();
        let at = format!("models.providers.{id}");
        let secrets = &loaded.config.secrets;
        let key = match &set.api_key {
            Some(secret) => {
                KeySource::of(secret, secrets, host, loaded.env(), &format!("{at}.apiKey"))
            }
            None => KeySource::of_variables(known.map_or(&[], |known| known.keys), loaded.env()),
        };
        let headers = set
            .headers
            .iter()
            .map(|(name, secret)| {
                let at = format!("{at}.headers.{name}");
                let source = KeySource::of(secret, secrets, host, loaded.env(), &at);
                (name.clone(), source)
            })
            .collect();
        Self {
            id: id.to_owned(),
            api: api_of(set, known, &base_url),
            key,
            key_variables: known.map_or(&[], |known| known.keys),
            auth: match (set.auth, set.auth_header) {
                (Some(ProviderAuth::None), _) => KeyPresentation::None,
                (Some(ProviderAuth::Token | ProviderAuth::Oauth), _) | (_, Some(true)) => {
                    KeyPresentation::Bearer
                }
                _ => KeyPresentation::Usual,
            },
            headers,
            patience: AnswerPatience::of(&base_url, set),
            params: set.params.clone(),
            context_window: set.context_window,
            models: set.models.clone(),
            inject_num_ctx: set.inject_num_ctx,
            secrets: Mutex::default(),
            witness: OnceLock::new(),
            base_url,
        }
    }

    /// An endpoint nobody configured.
    pub fn built_in(loaded: &LoadedConfig, known: &'static BuiltIn) -> Self {
        Self {
            id: known.id.to_owned(),
            base_url: known.base_url.trim_end_matches('/').to_owned(),
            api: Ok(known.api),
            key: KeySource::of_variables(known.keys, loaded.env()),
            key_variables: known.keys,
            auth: KeyPresentation::Usual,
            headers: Vec::new(),
            patience: AnswerPatience::usual(known.base_url),
            params: OpenMap::new(),
            context_window: None,
            models: Vec::new(),
            inject_num_ctx: None,
            secrets: Mutex::default(),
            witness: OnceLock::new(),
        }
    }

    pub fn family(&self, api: ModelApi) -> EndpointFamily {
        EndpointFamily::of(&self.id, &self.base_url, api)
    }

    pub fn is_local(&self) -> bool {
        is_local(&self.base_url)
    }

    /// The address with a version: people write it with and without.
    pub fn versioned_url(&self, version: &str) -> String {
        let base = &self.base_url;
        let path = base
            .split_once("://")
            .map_or(base.as_str(), |(_, rest)| rest);
        match path.contains('/') {
            true => base.clone(),
            false => format!("{base}/{version}"),
        }
    }

    /// The address of a local server without the path of one of its protocols.
    pub fn server_root(&self) -> &str {
        let base = self.base_url.as_str();
        base.strip_suffix("/v1")
            .or_else(|| base.strip_suffix("/api"))
            .unwrap_or(base)
    }

    /// Who is told of its credentials when they are fetched. The first one stays.
    pub(crate) fn tell(&self, witness: &KeyWitness) {
        self.witness.get_or_init(|| witness.clone());
    }

    /// Fetched once; a command is not asked again for each call. A file is read again when it has
    /// changed: a login that was renewed counts at once.
    pub async fn credentials(&self) -> Result<Arc<CallCredentials>, KeyError> {
        let mut fetched = self.secrets.lock().await;
        let stamps = self.file_stamps();
        if let Some(known) = fetched.as_ref().filter(|known| known.stamps == stamps) {
            return Ok(Arc::clone(&known.credentials));
        }
        let credentials = Arc::new(self.fetch_credentials().await?);
        *fetched = Some(FetchedCredentials {
            stamps,
            credentials: Arc::clone(&credentials),
        });
        Ok(credentials)
    }

    /// Lets the next call fetch them again: those that were fetched were refused.
    pub async fn forget_credentials(&self) {
        *self.secrets.lock().await = None;
    }

    fn file_stamps(&self) -> Vec<Option<SecretStamp>> {
        let headers = self.headers.iter().map(|(_, source)| source);
        let sources = std::iter::once(&self.key).chain(headers);
        sources.map(KeySource::stamp).collect()
    }

    async fn fetch_credentials(&self) -> Result<CallCredentials, KeyError> {
        let key = match self.auth {
            KeyPresentation::None => None,
            _ => self.key.fetch().await?,
        };
        let at = format!("models.providers.{}", self.id);
        if let (Some(key), Some(witness)) = (&key, self.witness.get()) {
            witness.tell(&format!("{at}.apiKey"), key);
        }
        let mut headers = Vec::new();
        for (name, source) in &self.headers {
            if let Some(value) = source.fetch().await? {
                if let Some(witness) = self.witness.get() {
                    witness.tell(&format!("{at}.headers.{name}"), &value);
                }
                headers.push((name.clone(), value));
            }
        }
        Ok(CallCredentials { key, headers })
    }
}

/// The protocol: as set, else the built-in one, else completions. A known name at another address
/// is a proxy, and proxies speak completions.
fn api_of(
    set: &model::Provider,
    known: Option<&BuiltIn>,
    base_url: &str,
) -> Result<ModelApi, String> {
    if let Some(name) = &set.api {
        return ModelApi::named(name).ok_or_else(|| name.clone());
    }
    match known {
        Some(known) if set.base_url.is_none() => Ok(known.api),
        Some(known) if known.api == ModelApi::Ollama && !base_url.ends_with("/v1") => Ok(known.api),
        Some(known)
            if matches!(
                known.api,
                ModelApi::AnthropicMessages | ModelApi::GoogleGenerativeAi
            ) =>
        {
            Ok(known.api)
        }
        _ if base_url.starts_with("https://api.openai.com") => Ok(ModelApi::OpenAiResponses),
        _ => Ok(ModelApi::OpenAiCompletions),
    }
}

impl AnswerPatience {
    fn usual(base_url: &str) -> Self {
        let first = if is_local(base_url) { 600 } else { 120 };
        Self {
            first: Duration::from_secs(first),
            between: Duration::from_secs(if is_local(base_url) { 120 } else { 60 }),
            whole: None,
        }
    }

    fn of(base_url: &str, set: &model::Provider) -> Self {
        let usual = Self::usual(base_url);
        let seconds = |key: &str| {
            let number = set.other.get(key).and_then(Value::as_f64)?;
            Duration::try_from_secs_f64(number).ok()
        };
        Self {
            first: seconds("firstByteSeconds").unwrap_or(usual.first),
            between: seconds("stallSeconds").unwrap_or(usual.between),
            whole: set.timeout_seconds.map(Duration::from_secs),
        }
    }
}
