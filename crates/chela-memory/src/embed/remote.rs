//! Vectors from a service. The way there is given: this module knows what to say and what to make
//! of the answer, not how bytes travel.

mod prices;
mod wire;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{
    EmbedCost, EmbedError, EmbedPrice, EmbedRole, EmbedText, Embedder, ModelId, RetryAdvice,
};
use wire::EmbedBatch;

pub use prices::{KnownModel, known_model, price_of};
pub use wire::EmbedWire;

/// A request, ready to be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct EmbedHttpRequest {
    pub url: String,
    /// The key is among them.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl std::fmt::Debug for EmbedHttpRequest {
    /// Headers stay unseen: one of them is the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmbedHttpRequest")
            .field("url", &self.url)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// What came back, whatever the status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmbedHttpResponse {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// The way to a service. `Err` says why there was no answer at all.
pub trait EmbedTransport: Send + Sync {
    /// Called from threads that may wait, several at once.
    fn post(&self, request: EmbedHttpRequest) -> Result<EmbedHttpResponse, String>;
    /// Waits before another try.
    fn pause(&self, how_long: Duration);
}

/// A credential. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// `None` for blank text.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    fn scrub(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// What is said to a service, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteSettings {
    /// Its name, as the config and the index write it.
    pub provider: String,
    pub wire: EmbedWire,
    pub model: String,
    /// Where it lives; the service's own address without it.
    pub base_url: Option<String>,
    pub key: Option<ApiKey>,
    /// What to do when the key is refused, such as the variable to set.
    pub key_hint: String,
    pub headers: Vec<(String, String)>,
    /// Requests at the same time.
    pub concurrency: usize,
    pub dimensions: Option<usize>,
    /// What questions and documents are called, where the service should not choose.
    pub query_type: Option<String>,
    pub document_type: Option<String>,
}

/// A service that makes vectors.
pub struct RemoteEmbedder {
    settings: RemoteSettings,
    transport: Arc<dyn EmbedTransport>,
    /// How long the vectors are, once known: a service that changes its mind is not believed.
    length: AtomicUsize,
}

impl std::fmt::Debug for RemoteEmbedder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteEmbedder")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// When to try once more, where that may help at all.
#[derive(Clone, Copy)]
enum Again {
    Soon,
    /// The service says when.
    After(Duration),
    /// Nobody answered: perhaps nobody is there.
    IfThere,
}

/// What came of one batch.
type Answer = Result<Vec<Vec<f32>>, EmbedError>;

/// Tries for one batch.
const TRIES: u32 = 5;
const FEW_TRIES: u32 = 2;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// A service that asks for more patience than this is left alone until later.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Longer texts are cut: services refuse them. About 2,000 tokens.
const MOST_CHARS: usize = 8_000;
/// Characters in one request; about 25,000 tokens.
const BATCH_CHARS: usize = 100_000;
/// What a hosted service and one on this machine take in, roughly.
const HOSTED_TOKENS_PER_SECOND: f64 = 40_000.0;
const OWN_TOKENS_PER_SECOND: f64 = 4_000.0;

impl RemoteEmbedder {
    pub fn new(settings: RemoteSettings, transport: Arc<dyn EmbedTransport>) -> Self {
        let length = settings.dimensions.or_else(|| {
            known_model(&settings.provider, &settings.model).map(|known| known.dimensions)
        });
        Self {
            length: AtomicUsize::new(length.unwrap_or(0)),
            settings,
            transport,
        }
    }

    pub fn settings(&self) -> &RemoteSettings {
        &self.settings
    }

    /// One batch, tried again where that may help.
    fn batch(&self, texts: &[String], role: EmbedRole) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut pause = FIRST_PAUSE;
        let mut tried = 0;
        loop {
            tried += 1;
            let (problem, again) = match self.once(texts, role) {
                Ok(vectors) => return Ok(vectors),
                Err(failed) => failed,
            };
            let wait = match again {
                Again::After(wait) => wait,
                Again::Soon | Again::IfThere => pause,
            };
            // Whoever asks a question waits for the answer, and somebody stands in.
            let most = match (role, again) {
                (EmbedRole::Query, _) | (_, Again::IfThere) => FEW_TRIES,
                (EmbedRole::Document, _) => TRIES,
            };
            if problem.retry == RetryAdvice::Never || tried >= most || wait > LONGEST_PAUSE {
                return Err(problem);
            }
            self.transport.pause(wait);
            pause *= 2;
        }
    }

    /// One try.
    fn once(
        &self,
        texts: &[String],
        role: EmbedRole,
    ) -> Result<Vec<Vec<f32>>, (EmbedError, Again)> {
        let settings = &self.settings;
        let input_type = match role {
            EmbedRole::Query => settings.query_type.as_deref(),
            EmbedRole::Document => settings.document_type.as_deref(),
        };
        let body = settings.wire.body(&EmbedBatch {
            model: &settings.model,
            texts,
            role,
            input_type,
            dimensions: settings.dimensions,
        });
        let base = settings.base_url.as_deref();
        let url = settings
            .wire
            .url(base.unwrap_or(settings.wire.usual_base()), &settings.model);
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        headers.extend(
            settings
                .key
                .as_ref()
                .map(|key| settings.wire.key_header(&key.0)),
        );
        // The operator's own headers win.
        headers.retain(|(name, _)| {
            !settings
                .headers
                .iter()
                .any(|(own, _)| own.eq_ignore_ascii_case(name))
        });
        headers.extend(settings.headers.iter().cloned());
        let request = EmbedHttpRequest {
            url,
            headers,
            body: body.to_string().into_bytes(),
        };
        let response = self
            .transport
            .post(request)
            .map_err(|why| (self.unreachable(&why), Again::IfThere))?;
        if !(200..300).contains(&response.status) {
            let again = asked_to_wait(&response.headers).map_or(Again::Soon, Again::After);
            return Err((self.refused(&response), again));
        }
        let answer: serde_json::Value = serde_json::from_slice(&response.body).map_err(|_| {
            (
                self.failed("the answer was cut off or is not JSON", RetryAdvice::Later),
                Again::Soon,
            )
        })?;
        let vectors = settings.wire.vectors(&answer, texts.len()).ok_or_else(|| {
            let reason = format!(
                "the answer does not contain {} vectors; check that `{}` is an embedding model",
                texts.len(),
                settings.model
            );
            (self.failed(&reason, RetryAdvice::Never), Again::Soon)
        })?;
        self.same_length(&vectors)
            .map_err(|problem| (problem, Again::Soon))?;
        Ok(vectors)
    }

    /// All vectors of a model are as long as its first.
    fn same_length(&self, vectors: &[Vec<f32>]) -> Result<(), EmbedError> {
        for vector in vectors {
            let known = self
                .length
                .compare_exchange(0, vector.len(), Ordering::Relaxed, Ordering::Relaxed)
                .unwrap_or_else(|known| known);
            if known != 0 && known != vector.len() {
                let reason = format!(
                    "got vectors with {} numbers where {known} were expected; check `model` and \
                     `outputDimensionality`",
                    vector.len()
                );
                return Err(self.failed(&reason, RetryAdvice::Never));
            }
        }
        Ok(())
    }

    fn unreachable(&self, why: &str) -> EmbedError {
        let settings = &self.settings;
        let base = settings
            .base_url
            .as_deref()
            .unwrap_or(settings.wire.usual_base());
        let hint = match settings.wire {
            EmbedWire::Ollama => "; start it with `ollama serve`",
            _ => "; check the network and `remote.baseUrl`",
        };
        self.failed(
            &format!("{base} did not answer: {why}{hint}"),
            RetryAdvice::Later,
        )
    }

    fn refused(&self, response: &EmbedHttpResponse) -> EmbedError {
        let settings = &self.settings;
        let (what, retry) = match response.status {
            401 | 403 => (
                format!("the API key was rejected; {}", settings.key_hint),
                RetryAdvice::Never,
            ),
            404 => (
                format!(
                    "there is no model `{}` at this URL; check `model` and `remote.baseUrl`",
                    settings.model
                ),
                RetryAdvice::Never,
            ),
            402 => (
                "the account has no credit left; top it up or choose another provider".to_owned(),
                RetryAdvice::Never,
            ),
            429 => (
                "too many requests or no quota left; wait, or check the account".to_owned(),
                RetryAdvice::Later,
            ),
            408 | 409 | 425 | 500..=599 => {
                ("the service has a problem".to_owned(), RetryAdvice::Later)
            }
            _ => ("the request was refused".to_owned(), RetryAdvice::Never),
        };
        let said = wire::complaint(&response.body);
        let said = match said.is_empty() {
            true => String::new(),
            false => format!(" (it says: {said})"),
        };
        self.failed(&format!("{} {what}{said}", response.status), retry)
    }

    fn failed(&self, reason: &str, retry: RetryAdvice) -> EmbedError {
        let reason = match &self.settings.key {
            Some(key) => key.scrub(reason),
            None => reason.to_owned(),
        };
        EmbedError {
            provider: self.settings.provider.clone(),
            reason,
            retry,
        }
    }
}

impl Embedder for RemoteEmbedder {
    fn id(&self) -> ModelId {
        let model = match self.settings.dimensions {
            Some(length) => format!("{}@{length}", self.settings.model),
            None => self.settings.model.clone(),
        };
        ModelId {
            provider: self.settings.provider.clone(),
            model,
        }
    }

    fn cost(&self) -> EmbedCost {
        let settings = &self.settings;
        EmbedCost::PerBatch {
            texts: settings.wire.most_texts() * settings.concurrency.max(1),
            price: match settings.wire {
                EmbedWire::Ollama => EmbedPrice::Free,
                _ => price_of(&settings.provider, &settings.model),
            },
            tokens_per_second: match settings.wire {
                EmbedWire::Ollama => OWN_TOKENS_PER_SECOND,
                _ => HOSTED_TOKENS_PER_SECOND,
            },
        }
    }

    /// Cuts into requests the service takes and sends several at once.
    fn embed(&self, texts: &[EmbedText<'_>], role: EmbedRole) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts: Vec<String> = texts.iter().map(written).collect();
        let batches = cut(&texts, self.settings.wire.most_texts());
        let threads = self.settings.concurrency.max(1).min(batches.len());
        if threads <= 1 {
            let mut made = Vec::with_capacity(texts.len());
            for batch in batches {
                made.extend(self.batch(batch, role)?);
            }
            return Ok(made);
        }
        let next = AtomicUsize::new(0);
        let results: Vec<Mutex<Option<Answer>>> =
            batches.iter().map(|_| Mutex::new(None)).collect();
        let failed = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while !failed.load(Ordering::Relaxed) {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(batch) = batches.get(at) else { break };
                        let result = self.batch(batch, role);
                        if result.is_err() {
                            failed.store(true, Ordering::Relaxed);
                        }
                        if let Some(Ok(mut slot)) = results.get(at).map(Mutex::lock) {
                            *slot = Some(result);
                        }
                    }
                });
            }
        });
        let mut made = Vec::with_capacity(texts.len());
        let mut missing = None;
        for slot in results {
            match slot.into_inner().ok().flatten() {
                Some(Ok(vectors)) => made.extend(vectors),
                Some(Err(problem)) => return Err(problem),
                // Not asked for, because another batch failed; that one's error is returned.
                None => missing = Some(()),
            }
        }
        match missing {
            Some(()) => Err(self.failed("not every batch was answered", RetryAdvice::Later)),
            None => Ok(made),
        }
    }
}

/// The text with what was said before it, and never empty: services refuse empty texts.
fn written(text: &EmbedText<'_>) -> String {
    let whole = match text.context.trim() {
        "" => text.text.to_owned(),
        context => format!("{context}\n{}", text.text),
    };
    // The end matters more than what was said before.
    let skip = whole.chars().count().saturating_sub(MOST_CHARS);
    let kept: String = whole.chars().skip(skip).collect();
    match kept.trim().is_empty() {
        true => "-".to_owned(),
        false => kept,
    }
}

/// Batches of at most `most` texts and of bounded size.
fn cut(texts: &[String], most: usize) -> Vec<&[String]> {
    let mut batches = Vec::new();
    let mut rest = texts;
    while !rest.is_empty() {
        let mut chars = 0;
        let mut count = 0;
        for text in rest.iter().take(most) {
            chars += text.len();
            if count > 0 && chars > BATCH_CHARS {
                break;
            }
            count += 1;
        }
        let (batch, after) = rest.split_at(count);
        batches.push(batch);
        rest = after;
    }
    batches
}

/// `retry-after` in seconds, or `retry-after-ms`. A date is not read: the clock may be wrong.
fn asked_to_wait(headers: &[(String, String)]) -> Option<Duration> {
    let number = |name: &str| {
        headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .and_then(|(_, value)| value.trim().parse::<f64>().ok())
            .filter(|number| number.is_finite() && *number >= 0.0 && *number < 1e7)
    };
    number("retry-after-ms")
        .map(|millis| Duration::from_secs_f64(millis / 1_000.0))
        .or_else(|| number("retry-after").map(Duration::from_secs_f64))
}

#[cfg(test)]
mod tests;
