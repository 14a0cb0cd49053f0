//! Which provider makes the vectors, as far as the config and the keys at hand say.

#![expect(
    clippy::indexing_slicing,
    reason = "the list of services is part of the program and not empty"
)]

use std::sync::Arc;

use super::remote::{
    ApiKey, EmbedTransport, EmbedWire, RemoteEmbedder, RemoteSettings, known_model,
};
use super::{
    EmbedCost, EmbedError, EmbedRole, EmbedText, Embedder, LocalTable, ModelId, VectorGrasp,
};

/// What the config says about vectors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VectorSettings {
    /// `local`, `none`, `auto`, or the name of a service.
    pub provider: Option<String>,
    pub model: Option<String>,
    /// Who answers while the first cannot: a provider, or `none`.
    pub fallback: Option<String>,
    pub base_url: Option<String>,
    pub headers: Vec<(String, String)>,
    /// Requests at the same time.
    pub concurrency: Option<usize>,
    pub dimensions: Option<usize>,
    pub query_type: Option<String>,
    pub document_type: Option<String>,
    /// The weights of a local model that is better than the table, in ONNX form.
    pub model_file: Option<std::path::PathBuf>,
}

/// The keys at hand.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EmbedKeys {
    /// `remote.apiKey`: for the provider that is named, and for it alone.
    pub own: Option<ApiKey>,
    /// Why there is none, when the config says where it should be.
    pub own_problem: Option<String>,
    pub openai: Option<ApiKey>,
    pub gemini: Option<ApiKey>,
    pub voyage: Option<ApiKey>,
}

/// What makes the vectors.
#[derive(Clone, Default)]
pub struct ChosenEmbedder {
    /// `None` searches by words alone.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Why it is not what was asked for.
    pub problem: Option<String>,
}

impl std::fmt::Debug for ChosenEmbedder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chosen")
            .field("embedder", &self.embedder.as_ref().map(|e| e.id()))
            .field("problem", &self.problem)
            .finish()
    }
}

/// A service and how it is spoken to.
struct Service {
    name: &'static str,
    wire: EmbedWire,
    model: Option<&'static str>,
    /// The variables its key is looked for in; the first is named to people.
    variables: &'static [&'static str],
    concurrency: usize,
}

const SERVICES: [Service; 5] = [
    Service {
        name: "openai",
        wire: EmbedWire::OpenAi,
        model: Some("text-embedding-3-small"),
        variables: &["OPENAI_API_KEY"],
        concurrency: 4,
    },
    Service {
        name: "gemini",
        wire: EmbedWire::Gemini,
        model: Some("gemini-embedding-001"),
        variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        concurrency: 4,
    },
    Service {
        name: "voyage",
        wire: EmbedWire::Voyage,
        model: Some("voyage-3.5"),
        variables: &["VOYAGE_API_KEY"],
        concurrency: 4,
    },
    Service {
        name: "ollama",
        wire: EmbedWire::Ollama,
        model: Some("nomic-embed-text"),
        variables: &[],
        concurrency: 1,
    },
    Service {
        name: "openai-compatible",
        wire: EmbedWire::OpenAi,
        model: None,
        variables: &[],
        concurrency: 4,
    },
];

impl EmbedKeys {
    /// The keys of the environment. `var` looks a variable up.
    pub fn of_environment(var: impl Fn(&str) -> Option<String>) -> Self {
        let first = |name: &str| {
            service(name)?
                .variables
                .iter()
                .find_map(|variable| ApiKey::new(&var(variable)?))
        };
        Self {
            own: None,
            own_problem: None,
            openai: first("openai"),
            gemini: first("gemini"),
            voyage: first("voyage"),
        }
    }

    fn key_of(&self, name: &str) -> Option<&ApiKey> {
        match name {
            "openai" => self.openai.as_ref(),
            "gemini" => self.gemini.as_ref(),
            "voyage" => self.voyage.as_ref(),
            _ => None,
        }
    }
}

/// Picks. Without a transport only what is inside the binary can be used.
pub fn choose(
    wanted: &VectorSettings,
    keys: &EmbedKeys,
    transport: Option<&Arc<dyn EmbedTransport>>,
) -> ChosenEmbedder {
    let name = match wanted.provider.as_deref() {
        None | Some("auto") => automatic(wanted, keys),
        Some(name) => name,
    };
    match name {
        "none" => return ChosenEmbedder::default(),
        "local" => return local(wanted),
        _ => {}
    }
    let first = remote(name, wanted, keys, KeyOwner::First, transport);
    let stand_in: Result<Option<Arc<dyn Embedder>>, String> = match wanted.fallback.as_deref() {
        // The table inside the binary costs nothing: it answers until the service has.
        None | Some("" | "local" | "auto") => Ok(Some(Arc::new(LocalTable))),
        Some("none") => Ok(None),
        Some(other) => {
            let plain = VectorSettings {
                model: None,
                base_url: None,
                headers: Vec::new(),
                ..wanted.clone()
            };
            remote(other, &plain, keys, KeyOwner::Fallback, transport)
                .map(|embedder| Some(Arc::new(embedder) as Arc<dyn Embedder>))
        }
    };
    let (stand_in, second_problem) = match stand_in {
        Ok(stand_in) => (stand_in, None),
        Err(problem) => (None, Some(problem)),
    };
    match (first, stand_in) {
        (Ok(first), None) => ChosenEmbedder {
            embedder: Some(Arc::new(first)),
            problem: second_problem,
        },
        (Ok(first), Some(then)) => ChosenEmbedder {
            embedder: Some(Arc::new(StandIn {
                first: Arc::new(first),
                then,
            })),
            problem: None,
        },
        (Err(problem), stand_in) => {
            let instead = match &stand_in {
                Some(then) => format!("{} is used", then.id()),
                None => "only words are searched".to_owned(),
            };
            ChosenEmbedder {
                embedder: stand_in,
                problem: Some(format!("{problem}; {instead} meanwhile")),
            }
        }
    }
}

/// Local, unless the config names a model that only a service has and its key is at hand.
fn automatic<'a>(wanted: &'a VectorSettings, keys: &EmbedKeys) -> &'a str {
    let Some(model) = wanted.model.as_deref() else {
        return "local";
    };
    SERVICES
        .iter()
        .filter(|service| known_model(service.name, model).is_some())
        .find(|service| keys.key_of(service.name).is_some())
        .map_or("local", |service| service.name)
}

/// The table, or the model it was made from with the table answering meanwhile.
fn local(wanted: &VectorSettings) -> ChosenEmbedder {
    let table = Arc::new(LocalTable);
    let Some(file) = &wanted.model_file else {
        return ChosenEmbedder {
            embedder: Some(table),
            problem: None,
        };
    };
    #[cfg(feature = "minilm")]
    {
        ChosenEmbedder {
            embedder: Some(Arc::new(StandIn {
                first: Arc::new(super::minilm::MiniLm::new(file)),
                then: table,
            })),
            problem: None,
        }
    }
    #[cfg(not(feature = "minilm"))]
    {
        ChosenEmbedder {
            embedder: Some(table),
            problem: Some(format!(
                "{} needs a build with the feature `minilm`; the built-in table is used",
                file.display()
            )),
        }
    }
}

/// Whose settings `remote` holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyOwner {
    First,
    Fallback,
}

fn remote(
    name: &str,
    wanted: &VectorSettings,
    keys: &EmbedKeys,
    owner: KeyOwner,
    transport: Option<&Arc<dyn EmbedTransport>>,
) -> Result<RemoteEmbedder, String> {
    let known = service(name);
    let service = match known {
        Some(service) => service,
        // Any other name is a service that speaks the common format, at the address given.
        None if wanted.base_url.is_some() => &SERVICES[SERVICES.len() - 1],
        None => {
            let names: Vec<&str> = SERVICES.iter().map(|service| service.name).collect();
            return Err(format!(
                "there is no embedding provider `{name}`; choose local, none, {} or set `remote.baseUrl`",
                names.join(", ")
            ));
        }
    };
    if service.name == "openai-compatible" && wanted.base_url.is_none() {
        return Err(format!(
            "embedding provider `{name}` needs `remote.baseUrl`"
        ));
    }
    let Some(model) = wanted.model.as_deref().or(service.model) else {
        return Err(format!("embedding provider `{name}` needs `model`"));
    };
    let own = match owner {
        KeyOwner::First => keys.own.as_ref(),
        KeyOwner::Fallback => None,
    };
    let key = own.or_else(|| keys.key_of(service.name)).cloned();
    let hint = match service.variables.first() {
        Some(variable) => format!("set {variable} or `remote.apiKey`"),
        None => "check `remote.apiKey`".to_owned(),
    };
    // A key that was named is the one that counts: no other is sent in its place.
    let own_problem = match owner {
        KeyOwner::First => keys.own_problem.as_deref(),
        KeyOwner::Fallback => None,
    };
    let needed = !service.variables.is_empty() && wanted.base_url.is_none();
    if own_problem.is_some() || key.is_none() && needed {
        let why = own_problem.unwrap_or("there is none");
        return Err(format!(
            "embedding provider `{name}` needs a key ({why}): {hint}"
        ));
    }
    let Some(transport) = transport else {
        return Err(format!(
            "embedding provider `{name}` cannot be reached from here"
        ));
    };
    let settings = RemoteSettings {
        provider: name.to_owned(),
        wire: service.wire,
        model: model.to_owned(),
        base_url: wanted.base_url.clone(),
        key,
        key_hint: hint,
        headers: wanted.headers.clone(),
        concurrency: wanted.concurrency.unwrap_or(service.concurrency),
        dimensions: wanted.dimensions,
        query_type: wanted.query_type.clone(),
        document_type: wanted.document_type.clone(),
    };
    Ok(RemoteEmbedder::new(settings, Arc::clone(transport)))
}

fn service(name: &str) -> Option<&'static Service> {
    let name = match name {
        "google" => "gemini",
        "lmstudio" => "openai-compatible",
        other => other,
    };
    SERVICES.iter().find(|service| service.name == name)
}

/// A provider, and who answers while it has no vectors yet or fails.
pub struct StandIn {
    pub first: Arc<dyn Embedder>,
    pub then: Arc<dyn Embedder>,
}

impl std::fmt::Debug for StandIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StandIn")
            .field("first", &self.first.id())
            .field("then", &self.then.id())
            .finish()
    }
}

impl Embedder for StandIn {
    fn id(&self) -> ModelId {
        self.first.id()
    }

    fn cost(&self) -> EmbedCost {
        self.first.cost()
    }

    fn embed(&self, texts: &[EmbedText<'_>], role: EmbedRole) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.first.embed(texts, role)
    }

    fn grasp(&self) -> VectorGrasp {
        self.first.grasp()
    }

    fn stand_in(&self) -> Option<&dyn Embedder> {
        Some(self.then.as_ref())
    }
}

#[cfg(test)]
mod tests;
