//! `web_search`: Brave, or a SearXNG of one's own.

use std::sync::Arc;
use std::time::Duration;

use chela_config::model::{OpenMap, SecretSetting, SecretSource, WebSearch};
use chela_core::{ContentHash, Host, Origin};
use chela_guard::{ExternalSource, LabelledText, WebAddress};
use reqwest::Url;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::address::{AddressPolicy, PrivateAddresses};
use super::cache::TimedCache;
use super::fetch::SharedEntropy;
use super::web_access::WebAccess;
use super::web_tls::WebTls;
use crate::foresight;
use crate::schema::{self, ArgumentKind, ArgumentSchema};
use crate::spec::shared_spec;
use crate::{
    CallFuture, CallSink, CallTarget, Effect, RedirectJudge, RunCall, SinkKind, Tool, ToolOutput,
    ToolSpec,
};
use chela_sandbox::SystemLookup;

const BRAVE: &str = "https://api.search.brave.com/res/v1/web/search";
const MOST_RESULTS: u64 = 20;
/// No answer of a search service is longer.
const MOST_BYTES: usize = 4 << 20;
const LONGEST_SNIPPET: usize = 500;

/// A search service.
#[derive(Clone, PartialEq, Eq)]
pub enum SearchService {
    Brave {
        key: String,
        address: String,
    },
    SearXng {
        /// Where it runs.
        base: String,
    },
}

impl std::fmt::Debug for SearchService {
    /// Never shows the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Brave { .. } => f.write_str("Brave"),
            Self::SearXng { base } => write!(f, "SearXng({base})"),
        }
    }
}

impl SearchService {
    /// The service that is set up, if one is: the one named, else the one whose key or address
    /// is known from the config or the environment.
    pub fn of(config: &WebSearch, host: &Host) -> Option<Self> {
        if config.enabled == Some(false) {
            return None;
        }
        let brave = || {
            let key = match &config.api_key {
                Some(SecretSetting::Text(key)) => Some(key.trim().to_owned()),
                Some(SecretSetting::Reference(at)) if at.source == SecretSource::Env => {
                    host.var(&at.id).map(str::to_owned)
                }
                Some(SecretSetting::Reference(_)) => None,
                None => text(&config.other, "brave", "apiKey")
                    .or_else(|| host.var("BRAVE_API_KEY").map(str::to_owned)),
            };
            key.filter(|key| !key.is_empty()).map(|key| Self::Brave {
                key,
                address: BRAVE.to_owned(),
            })
        };
        let searxng = || {
            text(&config.other, "searxng", "baseUrl")
                .or_else(|| text(&config.other, "searxng", "url"))
                .or_else(|| host.var("SEARXNG_BASE_URL").map(str::to_owned))
                .map(|base| Self::SearXng { base })
        };
        match config.provider.as_deref() {
            Some("brave") => brave(),
            Some("searxng") => searxng(),
            Some(_) => None,
            None => brave().or_else(searxng),
        }
    }
}

fn text(map: &OpenMap, key: &str, inner: &str) -> Option<String> {
    let found = map.get(key).and_then(|value| value.get(inner));
    let found = found.or_else(|| map.get(inner)).and_then(Value::as_str);
    found.map(str::to_owned).filter(|text| !text.is_empty())
}

/// The `web_search` tool.
#[derive(Debug)]
pub struct WebSearchTool {
    spec: ToolSpec,
    service: SearchService,
    most: u64,
    way: WebAccess,
    entropy: SharedEntropy,
    cache: TimedCache<String, Vec<Found>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    title: String,
    url: String,
    snippet: String,
    age: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    query: String,
    count: Option<u64>,
    country: Option<String>,
    freshness: Option<String>,
}

impl WebSearchTool {
    /// The tool, when a service is set up.
    pub fn new(config: &WebSearch, host: &Host) -> Option<Self> {
        let service = SearchService::of(config, host)?;
        let mut tool =
            Self::with_service(config, service, SharedEntropy(Arc::clone(&host.entropy)));
        tool.way.tls = WebTls::of(host);
        Some(tool)
    }

    pub fn with_service(
        config: &WebSearch,
        service: SearchService,
        entropy: SharedEntropy,
    ) -> Self {
        // The operator named the address; it may be on the own network.
        let private = match &service {
            SearchService::Brave { address, .. } if address == BRAVE => PrivateAddresses::Refused,
            SearchService::Brave { .. } | SearchService::SearXng { .. } => {
                PrivateAddresses::Allowed
            }
        };
        let way = WebAccess {
            policy: AddressPolicy {
                private,
                ..AddressPolicy::default()
            },
            lookup: Arc::new(SystemLookup),
            user_agent: concat!("chela/", env!("CARGO_PKG_VERSION")).to_owned(),
            timeout: Duration::from_secs(config.timeout_seconds),
            most_redirects: 1,
            tls: WebTls::default(),
        };
        Self {
            spec: shared_spec!(spec()),
            service,
            most: u64::from(config.max_results),
            way,
            entropy,
            cache: TimedCache::for_minutes(config.cache_ttl_minutes),
        }
    }

    async fn act(&self, call: RunCall<'_>) -> Result<ToolOutput, ToolOutput> {
        let arguments: Arguments = schema::read(call.arguments)?;
        let count = arguments.count.unwrap_or(self.most).clamp(1, MOST_RESULTS);
        let (url, headers) = self.request(&arguments, count)?;
        let found = match self.cache.get(&url) {
            Some(found) => found,
            None => {
                let found = self.ask(&url, headers, call.redirects).await?;
                self.cache.put(url, found.clone());
                found
            }
        };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Ok(self.told(
            &arguments.query,
            found.get(..count).unwrap_or(&found),
            call.id,
        ))
    }

    fn request(
        &self,
        arguments: &Arguments,
        count: u64,
    ) -> Result<(String, HeaderMap), ToolOutput> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let wrong = |what: &str| {
            ToolOutput::failed(format!("The search service is not set up right: {what}."))
        };
        let mut url = match &self.service {
            SearchService::Brave { key, address } => {
                let mut key = HeaderValue::from_str(key).map_err(|_| wrong("its key is no key"))?;
                key.set_sensitive(true);
                headers.insert("x-subscription-token", key);
                Url::parse(address).map_err(|_| wrong("its address is none"))?
            }
            SearchService::SearXng { base } => {
                let base = format!("{}/search", base.trim_end_matches('/'));
                Url::parse(&base).map_err(|_| wrong("its address is none"))?
            }
        };
        let mut query = url.query_pairs_mut();
        query.append_pair("q", &arguments.query);
        match &self.service {
            SearchService::Brave { .. } => {
                query.append_pair("count", &count.to_string());
                for (name, value) in [
                    ("country", &arguments.country),
                    ("freshness", &arguments.freshness),
                ] {
                    if let Some(value) = value {
                        query.append_pair(name, value);
                    }
                }
            }
            SearchService::SearXng { .. } => {
                query.append_pair("format", "json");
                let range = match arguments.freshness.as_deref() {
                    Some("pd") => Some("day"),
                    Some("pm") => Some("month"),
                    Some("py") => Some("year"),
                    _ => None,
                };
                if let Some(range) = range {
                    query.append_pair("time_range", range);
                }
            }
        }
        drop(query);
        Ok((url.to_string(), headers))
    }

    async fn ask(
        &self,
        url: &str,
        headers: HeaderMap,
        redirects: &dyn RedirectJudge,
    ) -> Result<Vec<Found>, ToolOutput> {
        let failed = |why: String| ToolOutput::failed(format!("The search failed: {why}."));
        let address = WebAddress::parse(url).map_err(|fault| failed(fault.to_string()))?;
        let mut response = self
            .way
            .get(&address, headers, redirects)
            .await
            .map_err(|error| failed(error.to_string()))?;
        let status = response.status().as_u16();
        match status {
            200..300 => {}
            401 | 403 => {
                return Err(failed(format!(
                    "the service refused its key or this program (status {status}); tell the owner"
                )));
            }
            429 => {
                return Err(failed(
                    "the service asks to wait; try again later".to_owned(),
                ));
            }
            status => return Err(failed(format!("the service answered with status {status}"))),
        }
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > MOST_BYTES {
                return Err(failed("its answer is too long".to_owned()));
            }
        }
        let answer: Value = serde_json::from_slice(&body).map_err(|_| {
            failed(
                "the service did not answer with JSON; a SearXNG needs `json` among its formats"
                    .to_owned(),
            )
        })?;
        Ok(read(&self.service, &answer))
    }

    fn told(&self, query: &str, found: &[Found], call: &str) -> ToolOutput {
        if found.is_empty() {
            return ToolOutput::said("Nothing was found.");
        }
        let mut text = String::new();
        for (number, found) in found.iter().enumerate() {
            let age = found
                .age
                .as_ref()
                .map(|age| format!(" ({age})"))
                .unwrap_or_default();
            text += &format!(
                "{}. {}{age}\n   {}\n   {}\n",
                number + 1,
                found.title,
                found.url,
                found.snippet
            );
        }
        let origin = Origin::Tool {
            call: call.to_owned(),
            hash: ContentHash::of(&text),
        };
        let source = ExternalSource::WebSearch {
            query: query.to_owned(),
        };
        let urls: Vec<&str> = found.iter().map(|found| found.url.as_str()).collect();
        ToolOutput::of(LabelledText::external(
            text.trim_end(),
            &source,
            origin,
            &*self.entropy.0,
        ))
        .with_details(json!({ "query": query, "results": urls }))
    }
}

fn read(service: &SearchService, answer: &Value) -> Vec<Found> {
    let (list, snippet) = match service {
        SearchService::Brave { .. } => (answer.pointer("/web/results"), "description"),
        SearchService::SearXng { .. } => (answer.get("results"), "content"),
    };
    let one_line = |value: &Value, most: usize| {
        let words = value
            .as_str()
            .unwrap_or_default()
            .replace("<strong>", "")
            .replace("</strong>", "");
        let words: Vec<&str> = words.split_whitespace().collect();
        words.join(" ").chars().take(most).collect::<String>()
    };
    let list = list.and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .take(usize::try_from(MOST_RESULTS).unwrap_or(usize::MAX))
        .map(|found| Found {
            title: one_line(&found["title"], 200),
            url: one_line(&found["url"], 2_000),
            snippet: one_line(&found[snippet], LONGEST_SNIPPET),
            age: found["age"].as_str().map(str::to_owned),
        })
        .filter(|found| found.url.starts_with("http"))
        .collect()
}

impl Tool for WebSearchTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// The service that is asked, whatever the question.
    fn targets(&self, _: &Map<String, Value>) -> Vec<CallTarget> {
        let service = match &self.service {
            SearchService::Brave { address, .. } => address,
            SearchService::SearXng { base } => base,
        };
        let targets = foresight::url_targets(service).into_iter();
        targets
            .filter(|target| matches!(target, CallTarget::Host(_)))
            .collect()
    }

    fn run<'a>(&'a self, call: RunCall<'a>) -> CallFuture<'a> {
        Box::pin(async move { self.act(call).await.unwrap_or_else(|failed| failed) })
    }
}

fn spec() -> ToolSpec {
    let parameters = ArgumentSchema::object()
        .required(
            "query",
            ArgumentKind::text().not_empty(),
            "What to look for.",
        )
        .optional(
            "count",
            ArgumentKind::integer().min(1).max(20),
            "How many results.",
        )
        .optional(
            "country",
            ArgumentKind::text().such_as("DE"),
            "Two letters of a country to prefer.",
        )
        .optional(
            "freshness",
            ArgumentKind::one_of(&["pd", "pw", "pm", "py"]),
            "Only results of the past day, week, month or year.",
        )
        .build();
    ToolSpec {
        name: "web_search".into(),
        description: "Search the web: titles, addresses and short excerpts. Read a result with \
            web_fetch where it is available."
            .into(),
        parameters: parameters.into(),
        effect: Effect::ReadUntrusted,
        sinks: [CallSink::new("query", SinkKind::Text)].into(),
    }
}
