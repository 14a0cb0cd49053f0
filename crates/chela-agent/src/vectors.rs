//! Who makes the vectors of an agent, and the way to a service that does.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chela_config::model::{SecretSetting, SecretSource};
use chela_config::{AgentView, LoadedConfig};
use chela_core::Host;
use chela_core::secret::{self, Redactor};
use chela_memory::embed::provider::{ChosenEmbedder, EmbedKeys, VectorSettings, choose};
use chela_memory::embed::remote::{ApiKey, EmbedHttpRequest, EmbedHttpResponse, EmbedTransport};
use chela_model::{KeySource, ModelHttp, ModelKey};
use tokio::runtime::{Builder, Runtime};

/// What the config says, with the keys of the environment and the network at hand.
/// A key that is fetched for them is one the redactor knows from then on.
pub fn vectors_of(
    host: &Host,
    loaded: &LoadedConfig,
    view: &AgentView,
    redactor: &Redactor,
) -> ChosenEmbedder {
    let env = loaded.env();
    let mut keys = EmbedKeys::of(view, |name| env.get(name).map(|value| value.to_string()));
    let transport: Arc<dyn EmbedTransport> = Arc::new(EmbedHttp::new(ModelHttp::new(host, loaded)));
    let mut wanted = VectorSettings::of(view);
    wanted.model_file = wanted
        .model_file
        .map(|file| host.expand(&file.to_string_lossy()));
    if let Some(source) = kept_elsewhere(host, loaded, view)
        && asks_a_service(&wanted)
    {
        match fetched(&source) {
            Ok(key) => {
                if let Some(key) = &key {
                    redactor.learn(secret::KnownSecret {
                        name: "memory.search.remote.apiKey".to_owned(),
                        value: key.expose().to_owned(),
                    });
                }
                keys.own = key.and_then(|key| ApiKey::new(key.expose()));
                keys.own_problem = None;
            }
            Err(why) => keys.own_problem = Some(why),
        }
    }
    choose(&wanted, &keys, Some(&transport))
}

/// Where `remote.apiKey` is, when it is in a file or a command prints it.
fn kept_elsewhere(host: &Host, loaded: &LoadedConfig, view: &AgentView) -> Option<KeySource> {
    let secret = view.memory_search.value.remote.api_key.as_ref()?;
    let SecretSetting::Reference(reference) = secret else {
        return None;
    };
    matches!(reference.source, SecretSource::File | SecretSource::Exec).then(|| {
        let secrets = &loaded.config.secrets;
        KeySource::of(secret, secrets, host, loaded.env(), "remote.apiKey")
    })
}

/// No file is read and no command run for what is inside the binary.
fn asks_a_service(wanted: &VectorSettings) -> bool {
    match wanted.provider.as_deref() {
        Some("local" | "none") => false,
        None | Some("auto") => wanted.model.is_some(),
        Some(_) => true,
    }
}

/// Waits for it in a thread of its own: this may be called from where a runtime is at work.
fn fetched(source: &KeySource) -> Result<Option<ModelKey>, String> {
    let fetch = || {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("cannot start: {error}"))?;
        runtime
            .block_on(source.fetch())
            .map_err(|error| error.to_string())
    };
    std::thread::scope(|scope| scope.spawn(fetch).join())
        .unwrap_or_else(|_| Err("the key could not be fetched".to_owned()))
}

/// A batch of texts takes a slow machine a while.
const PATIENCE: Duration = Duration::from_secs(120);

/// HTTP for code that waits. Nothing is set up before the first request.
pub struct EmbedHttp {
    http: ModelHttp,
    runtime: OnceLock<Result<Runtime, String>>,
}

impl EmbedHttp {
    pub fn new(http: ModelHttp) -> Self {
        Self {
            http,
            runtime: OnceLock::new(),
        }
    }

    fn runtime(&self) -> Result<&Runtime, String> {
        self.runtime
            .get_or_init(|| {
                Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .map_err(|error| format!("cannot start: {error}"))
            })
            .as_ref()
            .map_err(Clone::clone)
    }
}

impl std::fmt::Debug for EmbedHttp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmbedHttp").finish_non_exhaustive()
    }
}

impl Drop for EmbedHttp {
    /// It may be dropped where waiting is not allowed.
    fn drop(&mut self) {
        if let Some(Ok(runtime)) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl EmbedTransport for EmbedHttp {
    fn post(&self, request: EmbedHttpRequest) -> Result<EmbedHttpResponse, String> {
        let EmbedHttpRequest { url, headers, body } = request;
        let posted = self
            .runtime()?
            .block_on(self.http.post(&url, &headers, body, PATIENCE))?;
        Ok(EmbedHttpResponse {
            status: posted.status,
            headers: posted.headers,
            body: posted.body,
        })
    }

    fn pause(&self, how_long: Duration) {
        std::thread::sleep(how_long);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::{EmbedHttp, Redactor, vectors_of};
    use chela_memory::embed::remote::{EmbedHttpRequest, EmbedTransport};
    use chela_model::ModelHttp;

    #[tokio::test]
    async fn a_key_in_a_file_or_from_a_command_is_fetched_or_the_reason_told() {
        let home = tempfile::tempdir().unwrap();
        let host = chela_core::Host::fixed(home.path());
        std::fs::write(home.path().join("key.txt"), "secret-key\n").unwrap();
        let problem = |path: &str, provider: &str| {
            let path = home.path().join(path);
            let config = serde_json::json!({
                "secrets": { "providers": { "mine": { "source": "file", "path": path, "mode": "singleValue" } } },
                "memory": { "search": { "provider": provider,
                    "remote": { "apiKey": { "source": "file", "provider": "mine", "id": "value" } } } },
            });
            let loaded = chela_config::load_text(&host, &config.to_string());
            let view = loaded.agent(&chela_core::AgentId::main()).unwrap();
            let redactor = Redactor::default();
            let chosen = vectors_of(&host, &loaded, &view, &redactor);
            if chosen.problem.is_none() && provider != "local" {
                assert!(!redactor.redact("secret-key").contains("secret-key"));
            }
            chosen.problem
        };
        assert_eq!(problem("key.txt", "openai"), None);
        let told = problem("none.txt", "openai").unwrap();
        assert!(told.contains("cannot read the secret in"), "{told}");
        // What is inside the binary needs no key.
        assert_eq!(problem("none.txt", "local"), None);
    }

    fn request(url: String) -> EmbedHttpRequest {
        EmbedHttpRequest {
            url,
            headers: vec![("authorization".into(), "Bearer secret".into())],
            body: b"{}".to_vec(),
        }
    }

    #[test]
    fn requests_of_several_threads_are_answered_and_a_cut_answer_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            for at in 0..3 {
                let (mut stream, _) = listener.accept().unwrap();
                let mut bytes = [0; 4096];
                let count = stream.read(&mut bytes).unwrap();
                assert!(String::from_utf8_lossy(&bytes[..count]).contains("Bearer secret"));
                let length = if at == 2 { 99 } else { 4 };
                let reply = format!(
                    "HTTP/1.1 429 x\r\nretry-after: 3\r\nconnection: close\r\ncontent-length: {length}\r\n\r\nbody"
                );
                stream.write_all(reply.as_bytes()).unwrap();
            }
        });
        let way = EmbedHttp::new(ModelHttp::direct());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let answer = way.post(request(format!("{base}/embeddings"))).unwrap();
                    assert_eq!((answer.status, &answer.body[..]), (429, &b"body"[..]));
                    assert!(answer.headers.contains(&("retry-after".into(), "3".into())));
                });
            }
        });
        let cut = way.post(request(format!("{base}/embeddings"))).unwrap_err();
        assert!(!cut.is_empty() && !cut.contains("secret"), "{cut}");
        server.join().unwrap();
        let nobody = way
            .post(request("http://127.0.0.1:1/x".into()))
            .unwrap_err();
        assert!(nobody.contains("refused"), "{nobody}");
    }
}
