//! A connection is made: which era does the server speak?

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chela_config::LoadedConfig;
use chela_core::Host;
use chela_model::ModelHttp;
use serde_json::{Value, json};

use super::{McpClient, ServerAbout};
use crate::era::{
    LEGACY_VERSION, LEGACY_VERSIONS, MODERN_VERSION, ProtocolEra, SERVER_KEY, own_name, with_meta,
};
use crate::events_link::{EventsAsk, EventsLink};
use crate::http_link::HttpLink;
use crate::link::{LinkError, LinkRequest, ServerLink, ServerSignals, shown};
use crate::login::ServerLogin;
use crate::message::RpcError;
use crate::process::ProcessAsk;
use crate::spec::{HttpTransport, McpServerSpec, ServerReach};
use crate::stdio_link::StdioLink;

/// A program that says nothing to the first question of the newer era may be of the older one.
const PROBE_PATIENCE: Duration = Duration::from_secs(6);

/// What is needed to reach a server.
pub(crate) struct ConnectAsk<'a> {
    pub host: &'a Host,
    pub loaded: &'a LoadedConfig,
    pub http: &'a ModelHttp,
    pub spec: &'a McpServerSpec,
    pub login: &'a Arc<ServerLogin>,
    pub signals: Arc<ServerSignals>,
}

/// What the first question came to.
enum FirstAnswer {
    Modern {
        version: String,
        about: ServerAbout,
    },
    /// It is to be asked in the older way; whether it did not answer at all.
    Legacy {
        was_silent: bool,
    },
}

impl McpClient {
    /// Reaches a server and finds out how it is spoken to.
    pub async fn connect(ask: ConnectAsk<'_>) -> Result<Self, LinkError> {
        let patience = ask.spec.patience;
        let ids = Arc::new(AtomicI64::new(1));
        let link = open_link(&ask).await?;
        let handshake = Handshake {
            link: Arc::clone(&link),
            ids: Arc::clone(&ids),
            patience: patience.connect,
            is_program: matches!(ask.spec.reach, ServerReach::Program { .. }),
        };
        let settled = handshake.settle().await;
        let (link, settled) = match settled {
            Err(LinkError::Status {
                status: 400 | 404 | 405,
                ..
            }) => {
                // A server of the oldest kind is not posted to at its own address.
                match older_link(&ask).await {
                    None => (link, settled),
                    Some(link) => {
                        let handshake = Handshake { link, ..handshake };
                        let settled = handshake.initialize().await;
                        (handshake.link, settled)
                    }
                }
            }
            settled => (link, settled),
        };
        let (era, about) = settled.inspect_err(|_| link.close())?;
        tracing::info!(
            server = ask.spec.name,
            version = era.version(),
            "a server is connected"
        );
        let mut client = Self {
            link,
            signals: ask.signals,
            era,
            about,
            ids,
            patience: patience.request,
            listener: None,
        };
        client.listen();
        Ok(client)
    }
}

async fn open_link(ask: &ConnectAsk<'_>) -> Result<Arc<dyn ServerLink>, LinkError> {
    let signals = Arc::clone(&ask.signals);
    match &ask.spec.reach {
        ServerReach::Program { .. } => {
            let process = ProcessAsk {
                host: ask.host,
                loaded: ask.loaded,
                spec: ask.spec,
            };
            let link = StdioLink::start(process, signals).await;
            Ok(link.map_err(|fault| LinkError::Unreached(fault.to_string()))?)
        }
        ServerReach::Http {
            transport: HttpTransport::Events,
            ..
        } => Ok(EventsLink::connect(events_ask(ask).await?).await?),
        ServerReach::Http { url, .. } => Ok(HttpLink::new(
            ask.http.clone(),
            url.clone(),
            headers_of(ask).await?,
            Arc::clone(ask.login),
            signals,
        )),
    }
}

/// The oldest way, where a server may speak it.
async fn older_link(ask: &ConnectAsk<'_>) -> Option<Arc<dyn ServerLink>> {
    let connected = EventsLink::connect(events_ask(ask).await.ok()?).await;
    let link = chela_core::ok_or_debug!(connected, "it does not speak the oldest way either")?;
    Some(link)
}

async fn events_ask(ask: &ConnectAsk<'_>) -> Result<EventsAsk, LinkError> {
    let ServerReach::Http { url, .. } = &ask.spec.reach else {
        return Err(LinkError::Unreached("it has no URL".to_owned()));
    };
    Ok(EventsAsk {
        http: ask.http.clone(),
        url: url.clone(),
        headers: headers_of(ask).await?,
        login: Arc::clone(ask.login),
        signals: Arc::clone(&ask.signals),
        patience: ask.spec.patience.connect,
    })
}

async fn headers_of(ask: &ConnectAsk<'_>) -> Result<Vec<(String, String)>, LinkError> {
    let mut headers = Vec::new();
    if let ServerReach::Http { headers: named, .. } = &ask.spec.reach {
        for (name, value) in named {
            let value = value.fetch().await.map_err(LinkError::Unreached)?;
            headers.push((name.clone(), value));
        }
    }
    Ok(headers)
}

struct Handshake {
    link: Arc<dyn ServerLink>,
    ids: Arc<AtomicI64>,
    patience: Duration,
    is_program: bool,
}

impl Handshake {
    async fn settle(&self) -> Result<(ProtocolEra, ServerAbout), LinkError> {
        let probe = match self.is_program {
            true => self.patience.min(PROBE_PATIENCE),
            false => self.patience,
        };
        match self.discover(probe).await? {
            FirstAnswer::Modern { version, about } => Ok(self.settled(version, about)),
            FirstAnswer::Legacy { was_silent } => match self.initialize().await {
                // It was only slow: it speaks, and not the older way.
                Err(LinkError::Rpc(error)) if was_silent => {
                    match self.discover(self.patience).await? {
                        FirstAnswer::Modern { version, about } => Ok(self.settled(version, about)),
                        FirstAnswer::Legacy { .. } => Err(LinkError::Rpc(error)),
                    }
                }
                settled => settled,
            },
        }
    }

    fn settled(&self, version: String, about: ServerAbout) -> (ProtocolEra, ServerAbout) {
        self.link.settle_version(&version, true);
        (ProtocolEra::Modern { version }, about)
    }

    /// The first question of the newer era. Whatever is no answer of that era means the older one.
    async fn discover(&self, patience: Duration) -> Result<FirstAnswer, LinkError> {
        let params = with_meta(json!({}), MODERN_VERSION, &json!({}));
        let mut told = self.ask("server/discover", params.clone(), patience).await;
        // It refuses the version and names it as one it speaks: it meant another moment.
        if let Err(LinkError::Rpc(error)) = &told
            && error.code == RpcError::UNSUPPORTED_VERSION
            && supported_by(error).is_some_and(speaks_modern)
        {
            told = self.ask("server/discover", params, patience).await;
        }
        let legacy = |was_silent| Ok(FirstAnswer::Legacy { was_silent });
        match &told {
            Ok(told) => match told["supportedVersions"].as_array() {
                Some(versions) if speaks_modern(versions) => Ok(FirstAnswer::Modern {
                    version: MODERN_VERSION.to_owned(),
                    about: ServerAbout::read(told, told["_meta"].get(SERVER_KEY)),
                }),
                Some(versions) if !speaks_legacy(versions) => Err(unknown_versions(versions)),
                _ => legacy(false),
            },
            Err(LinkError::Rpc(error)) if error.is_of_newer_era() => match supported_by(error) {
                Some(versions) if speaks_legacy(versions) => legacy(false),
                Some(versions) => Err(unknown_versions(versions)),
                None => Err(LinkError::Rpc(error.clone())),
            },
            Err(LinkError::Rpc(_) | LinkError::Misbehaved(_)) => legacy(false),
            Err(LinkError::Status { status, .. }) if (400..500).contains(status) => legacy(false),
            Err(LinkError::Timeout(_)) if self.is_program => legacy(true),
            Err(error) => Err(error.clone()),
        }
    }

    /// The handshake of the older era.
    async fn initialize(&self) -> Result<(ProtocolEra, ServerAbout), LinkError> {
        self.link.settle_version(LEGACY_VERSION, false);
        let params = json!({
            "protocolVersion": LEGACY_VERSION,
            "capabilities": {},
            "clientInfo": own_name(),
        });
        let told = &self.ask("initialize", params, self.patience).await?;
        let version = told["protocolVersion"].as_str().unwrap_or_default();
        if !LEGACY_VERSIONS.contains(&version) {
            return Err(unknown_versions(&[version.into()]));
        }
        self.link.settle_version(version, false);
        self.link
            .notify("notifications/initialized", Value::Null)
            .await?;
        let era = ProtocolEra::Legacy {
            version: version.to_owned(),
        };
        Ok((era, ServerAbout::read(told, told.get("serverInfo"))))
    }

    async fn ask(
        &self,
        method: &'static str,
        params: Value,
        patience: Duration,
    ) -> Result<Value, LinkError> {
        let request = LinkRequest {
            id: self.ids.fetch_add(1, Ordering::SeqCst),
            method,
            params,
            headers: Vec::new(),
            patience,
        };
        self.link.request(request).await
    }
}

/// The versions a server names where it refuses one.
fn supported_by(error: &RpcError) -> Option<&[Value]> {
    let data = &error.data;
    data["supported"].as_array().map(Vec::as_slice)
}

fn speaks_modern(versions: &[Value]) -> bool {
    versions.iter().any(|version| version == MODERN_VERSION)
}

fn speaks_legacy(versions: &[Value]) -> bool {
    let mut known = LEGACY_VERSIONS.iter();
    known.any(|known| versions.iter().any(|version| version == known))
}

fn unknown_versions(versions: &[Value]) -> LinkError {
    let named: Vec<String> = versions
        .iter()
        .take(5)
        .map(|version| shown(version.as_str().unwrap_or_default()))
        .collect();
    LinkError::Rpc(RpcError::new(
        RpcError::UNSUPPORTED_VERSION,
        format!(
            "it speaks {} of the protocol, and Chela {MODERN_VERSION} and {}",
            named.join(", "),
            LEGACY_VERSIONS.join(", ")
        ),
    ))
}
