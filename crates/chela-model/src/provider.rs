//! One endpoint: its address, its key, and how long to wait for it.

use std::sync::OnceLock;
use std::time::Duration;

use chela_config::Loaded;
use chela_config::model::{self, OpenMap, ProviderAuth};
use chela_core::Host;
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::Api;
use crate::api::{Family, is_local};
use crate::builtin::{self, BuiltIn};
use crate::key::{Key, KeyError, KeySource, KeyWitness};

/// One endpoint.
#[derive(Debug)]
pub struct Provider {
    pub id: String,
    pub base_url: String,
    /// The protocol, or the name of one that is not spoken here.
    pub api: Result<Api, String>,
    pub key: KeySource,
    /// Variables that may hold its key, for hints.
    pub key_variables: &'static [&'static str],
    pub auth: Auth,
    pub headers: Vec<(String, KeySource)>,
    pub patience: Patience,
    pub params: OpenMap,
    pub context_window: Option<u64>,
    pub models: Vec<model::Model>,
    pub inject_num_ctx: Option<bool>,
    secrets: OnceCell<Credentials>,
    witness: OnceLock<KeyWitness>,
}

/// How the key is presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// As the protocol has it.
    Usual,
    /// `Authorization: Bearer`, whatever the protocol.
    Bearer,
    /// Not at all.
    None,
}

/// How long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For the first byte of the answer: a local model reads the prompt first.
    pub first: Duration,
    /// Between two pieces of the answer.
    pub between: Duration,
    /// For the whole call.
    pub whole: Option<Duration>,
}

/// What a call is signed with.
#[derive(Debug, Clone)]
pub struct Credentials {
    pub key: Option<Key>,
    pub headers: Vec<(String, Key)>,
}

impl Credentials {
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

impl Provider {
    /// An endpoint of the config, over the built-in one of that name.
    pub fn configured(host: &Host, loaded: &Loaded, id: &str, set: &model::Provider) -> Self {
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
                (Some(ProviderAuth::None), _) => Auth::None,
                (Some(ProviderAuth::Token | ProviderAuth::Oauth), _) | (_, Some(true)) => {
                    Auth::Bearer
                }
                _ => Auth::Usual,
            },
            headers,
            patience: Patience::of(&base_url, set),
            params: set.params.clone(),
            context_window: set.context_window,
            models: set.models.clone(),
            inject_num_ctx: set.inject_num_ctx,
            secrets: OnceCell::new(),
            witness: OnceLock::new(),
            base_url,
        }
    }

    /// An endpoint nobody configured.
    pub fn built_in(loaded: &Loaded, known: &'static BuiltIn) -> Self {
        Self::at(
            known,
            known.base_url,
            KeySource::of_variables(known.keys, loaded.env()),
        )
    }

    /// A known endpoint at an address.
    pub fn at(known: &'static BuiltIn, base_url: &str, key: KeySource) -> Self {
        Self {
            id: known.id.to_owned(),
            base_url: base_url.trim_end_matches('/').to_owned(),
            api: Ok(known.api),
            key,
            key_variables: known.keys,
            auth: Auth::Usual,
            headers: Vec::new(),
            patience: Patience::usual(base_url),
            params: OpenMap::new(),
            context_window: None,
            models: Vec::new(),
            inject_num_ctx: None,
            secrets: OnceCell::new(),
            witness: OnceLock::new(),
        }
    }

    pub fn family(&self, api: Api) -> Family {
        Family::of(&self.id, &self.base_url, api)
    }

    pub fn is_local(&self) -> bool {
        is_local(&self.base_url)
    }

    /// Who is told of its credentials when they are fetched. The first one stays.
    pub(crate) fn tell(&self, witness: &KeyWitness) {
        let _ = self.witness.set(witness.clone());
    }

    /// Fetched once; a command is not asked again for each call.
    pub async fn credentials(&self) -> Result<&Credentials, KeyError> {
        self.secrets
            .get_or_try_init(|| async {
                let key = match self.auth {
                    Auth::None => None,
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
                Ok(Credentials { key, headers })
            })
            .await
    }
}

/// The protocol: as set, else the built-in one, else completions. A known name at another address
/// is a proxy, and proxies speak completions.
fn api_of(set: &model::Provider, known: Option<&BuiltIn>, base_url: &str) -> Result<Api, String> {
    if let Some(name) = &set.api {
        return Api::named(name).ok_or_else(|| name.clone());
    }
    match known {
        Some(known) if set.base_url.is_none() => Ok(known.api),
        Some(known) if known.api == Api::Ollama && !base_url.ends_with("/v1") => Ok(known.api),
        Some(known) if matches!(known.api, Api::AnthropicMessages | Api::GoogleGenerativeAi) => {
            Ok(known.api)
        }
        _ if base_url.starts_with("https://api.openai.com") => Ok(Api::OpenAiResponses),
        _ => Ok(Api::OpenAiCompletions),
    }
}

impl Patience {
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
