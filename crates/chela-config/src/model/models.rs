//! `models`, `auth`, `secrets`: who answers, and with which account.

use std::collections::BTreeMap;

use super::*;

section! {
    /// Model endpoints.
    struct Models {
        /// Add to the built-in list, or replace it.
        mode: ModelsMode,
        /// Endpoints by id; the id is the first part of `provider/model`.
        providers: BTreeMap<String, Provider>,
        /// Price tables.
        [later]
        pricing: ForeignSettings,
        /// Proxy for requests.
        proxy: Option<String>,
        /// Finding models at Amazon Bedrock.
        [later]
        bedrock_discovery: ForeignSettings,
    }

    /// Accounts at model providers.
    struct Auth {
        /// Accounts by name.
        [later]
        profiles: BTreeMap<String, AuthProfile>,
        /// Order of accounts, by provider.
        order: BTreeMap<String, Vec<String>>,
        /// Pauses after failures.
        [later]
        cooldowns: ForeignSettings,
    }

    /// Where credentials are kept.
    struct Secrets {
        /// Places by name.
        providers: BTreeMap<String, SecretProvider>,
        /// Place used when a reference names none, by kind.
        defaults: BTreeMap<String, String>,
        /// Limits while credentials are read.
        [later]
        resolution: ForeignSettings,
        /// Secrets tools may use without the model seeing them: it writes `${secret:NAME}`, and
        /// the value is filled in where it is used.
        named: BTreeMap<String, NamedSecret>,
    }

    /// A secret tools may use.
    struct NamedSecret {
        /// The secret itself, better written as `${VAR}`, or where to find it.
        [required]
        value: Option<SecretSetting>,
        /// What it gives access to, shown to the model.
        description: Option<String>,
        /// Commands may have it, in an environment variable.
        exec: bool,
        /// Hosts that pages may be read from with it, in a header. Never any other.
        hosts: Vec<String>,
        /// Agents that may use it. Unset: all.
        agents: Option<Vec<String>>,
    }
}

section! {
    /// One endpoint.
    struct Provider {
        /// URL.
        base_url: Option<String>,
        /// API key.
        api_key: Option<SecretSetting>,
        /// Kind of credential.
        auth: Option<ProviderAuth>,
        /// Protocol. Default with an address: `openai-completions`.
        api: Option<String>,
        /// Extra headers.
        headers: BTreeMap<String, SecretSetting>,
        /// Send the key as `Authorization: Bearer`.
        auth_header: Option<bool>,
        /// Models of this endpoint.
        models: Vec<Model>,
        /// Give up after this many seconds.
        [min 1]
        timeout_seconds: Option<u64>,
        /// Tokens of context, for models that do not say.
        [min 1]
        context_window: Option<u64>,
        /// Parameters sent with every request.
        params: OpenMap,
        /// Set `num_ctx` for Ollama behind its OpenAI-shaped address.
        inject_num_ctx as "injectNumCtxForOpenAICompat": Option<bool>,
        ..other: OpenMap,
    }

    /// One model.
    struct Model {
        /// Id at the endpoint.
        [required]
        id: String,
        /// Name shown.
        name: Option<String>,
        /// Protocol, where it differs from the provider's.
        api: Option<String>,
        /// It thinks before it answers.
        reasoning: Option<bool>,
        /// What it reads: `text`, `image`, …
        input: Vec<String>,
        /// Prices in US dollars per million tokens.
        cost: Option<ModelCost>,
        /// Tokens of context.
        [min 1]
        context_window: Option<u64>,
        /// Tokens of context to use at most.
        [min 1]
        context_tokens: Option<u64>,
        /// Maximum tokens of an answer.
        [min 1]
        max_tokens: Option<u64>,
        /// Parameters sent with every request.
        params: OpenMap,
        /// What the endpoint can and cannot do.
        compat: OpenMap,
        ..other: OpenMap,
    }

    /// Prices in US dollars per million tokens.
    struct ModelCost {
        /// Input.
        input: Option<f64>,
        /// Output.
        output: Option<f64>,
        /// Input read from the cache; without a price, that of input.
        cache_read: Option<f64>,
        /// Input written to the cache; without a price, that of input.
        cache_write: Option<f64>,
        ..other: OpenMap,
    }

    /// One account.
    struct AuthProfile {
        /// Provider.
        provider: Option<String>,
        /// Kind of credential.
        mode: Option<String>,
        ..other: OpenMap,
    }

    /// One place credentials are kept in.
    struct SecretProvider {
        /// Kind of place.
        source: Option<SecretSource>,
        ..other: OpenMap,
    }
}

words! {
    /// Add to the built-in list, or replace it.
    enum ModelsMode { Merge = "merge", Replace = "replace" }
    /// Kind of credential.
    enum ProviderAuth {
        ApiKey = "api-key", AwsSdk = "aws-sdk", Oauth = "oauth", Token = "token", None = "none",
    }
}
