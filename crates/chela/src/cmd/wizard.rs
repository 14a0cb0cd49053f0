//! `chela setup`: from nothing to a model that answers.

mod asking;
mod key_store;
mod server_url;

use std::io::Read;

use chela_config::KeyPath;
use chela_config::store::ConfigStore;
use chela_config::text::edit;
use chela_core::Host;
use chela_model::{
    CallFailure, FoundModel, ModelError, ModelHttp, ModelKey, ModelMessage, ModelRequest,
    ModelTarget, Models, call_model, discover, known_providers, learn_from_server, list_models,
};
use serde_json::{Value, json};

use super::chat::somebody_is_there;
use super::{CommandOutcome, CommandSetup, chat, config};
use crate::chat::{clean_line, print_note};
use crate::cli::ChatArgs;
use crate::cli::setup::SetupArgs;
use crate::fail::{CommandError, CommandExit, NO_MODEL_CODE};
use crate::screen::Screen;
use key_store::{KeptKey, keep_key};

/// As many models as anybody reads through.
const MOST_LISTED: usize = 30;

pub fn run(host: &Host, screen: &mut Screen, args: &SetupArgs) -> CommandOutcome {
    let setup = CommandSetup::look(host);
    setup.warn_on_stderr(screen.paint);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::new(format!("cannot start: {error}")))?;
    let wizard = SetupWizard {
        host,
        args,
        asks: somebody_is_there() && !args.yes && !args.key_stdin,
    };
    let chosen = runtime.block_on(wizard.find_model(screen, &setup))?;
    config::mend(host, |source| {
        edit::merge_patch(source, &KeyPath::root(), &chosen.patch)
    })?;
    let reference = chosen.target.reference();
    if args.json {
        screen.json(&json!({
            "model": reference, "keyIn": chosen.key_in, "why": chosen.why,
        }))?;
        return Ok(CommandExit::Fine);
    }
    screen.line(format!("{reference} answers and is now the default."))?;
    if let Some(place) = &chosen.key_in {
        screen.line(format!("Its key is stored in {}.", clean_line(place)))?;
    }
    screen.flush()?;
    if args.no_chat || !somebody_is_there() {
        screen.line("Start with `chela chat`.")?;
        return Ok(CommandExit::Fine);
    }
    chat::run(host, screen, &ChatArgs::default())
}

struct SetupWizard<'a> {
    host: &'a Host,
    args: &'a SetupArgs,
    /// Whether a person answers.
    asks: bool,
}

/// A model that has answered, and what makes it the default.
struct ChosenModel {
    target: ModelTarget,
    patch: Value,
    key_in: Option<String>,
    why: String,
}

/// What a person may choose first.
enum FirstChoice {
    Found(Box<FoundModel>),
    Provider(&'static str),
    OwnServer,
}

impl SetupWizard<'_> {
    async fn find_model(
        &self,
        screen: &Screen,
        setup: &CommandSetup,
    ) -> Result<ChosenModel, CommandError> {
        if let Some(provider) = &self.args.provider {
            return self.set_up_provider(screen, provider, None).await;
        }
        let models = Models::of(self.host, &setup.loaded);
        if let Some(url) = &self.args.base_url {
            let name = free_name(&models, url)?;
            return self.set_up_provider(screen, name, None).await;
        }
        let http = ModelHttp::new(self.host, &setup.loaded);
        let found = discover(&http, &models).await.models;
        if !self.asks {
            let first = found.into_iter().next().ok_or_else(|| CommandError {
                code: NO_MODEL_CODE,
                ..CommandError::new("no local server and no key in the environment was found")
                    .hint("chela setup --provider openai --key-stdin < KEYFILE")
            })?;
            return self.take_found(first, &models, &http).await;
        }
        match choose_first(found)? {
            FirstChoice::Found(found) => self.take_found(*found, &models, &http).await,
            FirstChoice::Provider(id) => self.set_up_provider(screen, id, None).await,
            FirstChoice::OwnServer => {
                let url = asking::ask("Its URL (most end in /v1): ")?;
                let id = asking::ask("A short name for it: ")?;
                self.set_up_provider(screen, &id, Some(url)).await
            }
        }
    }

    /// A model that needs nothing more.
    async fn take_found(
        &self,
        found: FoundModel,
        models: &Models,
        http: &ModelHttp,
    ) -> Result<ChosenModel, CommandError> {
        let listed = list_models(http, &found.target).await.unwrap_or_default();
        let provider = found.target.info().provider.clone();
        let usual = found.target.info().id.clone();
        let model = self.pick_model(&provider, listed, &usual)?;
        let target = match model == usual {
            true => found.target,
            false => learn_from_server(http, self.resolve(models, &provider, &model)?).await,
        };
        models.keep_learned(&target);
        test_model(&target, http).await?;
        let mut patch = default_patch(target.reference());
        let known = models.resolve(target.reference());
        if !known.is_ok_and(|known| known.base_url() == target.base_url()) {
            let info = target.info();
            patch["models"] = json!({ "providers": { info.provider.as_str(): {
                "baseUrl": target.base_url(), "api": info.api.name(),
            } } });
        }
        Ok(ChosenModel {
            target,
            patch,
            key_in: None,
            why: found.why,
        })
    }

    /// A provider by name: its key, one of its models, a request to see that it answers. The key is
    /// kept when it has worked and not before: one that does not takes no other's place, and whoever
    /// gives up in the middle leaves nothing behind.
    async fn set_up_provider(
        &self,
        screen: &Screen,
        provider: &str,
        base_url: Option<String>,
    ) -> Result<ChosenModel, CommandError> {
        let provider = checked_name(provider)?;
        let base_url = base_url.or_else(|| self.args.base_url.clone());
        let base_url = base_url.as_deref().map(server_url::complete_url);
        let mut entry = json!({});
        if let Some(url) = base_url.transpose()? {
            entry["baseUrl"] = url.into();
        }
        if let Some(api) = &self.args.api {
            entry["api"] = api.as_str().into();
        }
        let key = self.key_for(&provider)?;
        let target = self
            .try_provider(screen, &provider, &entry, key.as_ref())
            .await?;
        let mut patch = default_patch(target.reference());
        let mut place = None;
        if let Some(key) = &key {
            let kept = keep_key(self.host, &provider, key, self.args.keep)?;
            let KeptKey {
                reference, source, ..
            } = kept;
            entry["apiKey"] = reference;
            patch["secrets"] = json!({ "providers": { source.0.as_str(): source.1 } });
            place = Some(kept.place);
        }
        patch["models"] = json!({ "providers": { provider.as_str(): entry } });
        Ok(ChosenModel {
            target,
            patch,
            key_in: place,
            why: format!("the provider {provider}"),
        })
    }

    /// A model of the provider that has answered, with the key in memory only.
    async fn try_provider(
        &self,
        screen: &Screen,
        provider: &str,
        entry: &Value,
        key: Option<&ModelKey>,
    ) -> Result<ModelTarget, CommandError> {
        let mut entry = entry.clone();
        if let Some(key) = key {
            entry["apiKey"] = key.expose().into();
            print_note(screen.paint, "testing the key; it is stored if it works");
        }
        let tried = self.with_patch(&json!({ "models": { "providers": { provider: entry } } }))?;
        let models = Models::of(self.host, &tried);
        let http = ModelHttp::new(self.host, &tried);
        let usual = known_providers()
            .find(|known| known.id == provider)
            .map_or("", |known| known.model);
        let any = self.resolve(
            &models,
            provider,
            if usual.is_empty() { "any" } else { usual },
        )?;
        let listed = list_models(&http, &any).await;
        if usual.is_empty() && self.args.model.is_none() {
            self.check_list(&http, &any, provider, listed.as_deref())
                .await?;
        }
        let model = self.pick_model(provider, listed.unwrap_or_default(), usual)?;
        let target = learn_from_server(&http, self.resolve(&models, provider, &model)?).await;
        models.keep_learned(&target);
        test_model(&target, &http).await?;
        Ok(target)
    }

    /// A server nobody knows a model of, and that names none: what is wrong with it. Somebody who
    /// is there can still name one.
    async fn check_list(
        &self,
        http: &ModelHttp,
        any: &ModelTarget,
        provider: &str,
        listed: Option<&[String]>,
    ) -> Result<(), CommandError> {
        let url = clean_line(any.base_url());
        match listed {
            Some([]) => Err(CommandError {
                code: NO_MODEL_CODE,
                ..CommandError::new(format!("the server at {url} has no models"))
            }
            .hint(
                "load or pull one there and run `chela setup` again, or name one with --model NAME",
            )),
            Some(_) => Ok(()),
            None => {
                // Whether nobody is there, the key is wrong, or it keeps its list to itself, a
                // request tells.
                match ask_model(any, http).await {
                    Err(error) if !is_about_model(&error) => Err(in_words(error)),
                    _ if self.asks => Ok(()),
                    _ => Err(CommandError::new(format!(
                        "the server at {url} answers, but does not list models for {provider}"
                    ))
                    .hint("name one with --model NAME; most URLs end in /v1")),
                }
            }
        }
    }

    /// The key to keep; `None` where the environment has it, or none is needed.
    fn key_for(&self, provider: &str) -> Result<Option<ModelKey>, CommandError> {
        if self.args.key_stdin {
            let mut text = String::new();
            std::io::stdin()
                .take(MOST_KEY_BYTES)
                .read_to_string(&mut text)
                .map_err(|error| CommandError::new(format!("cannot read the key: {error}")))?;
            return match ModelKey::new(&text) {
                Some(key) => Ok(Some(key)),
                None => Err(CommandError::usage("standard input has no key")),
            };
        }
        let known = known_providers().find(|known| known.id == provider);
        let in_environment = known.is_some_and(|known| {
            let mut names = known.keys.iter();
            names.any(|name| {
                self.host
                    .var(name)
                    .is_some_and(|key| !key.trim().is_empty())
            })
        });
        match (in_environment, known.is_some(), self.asks) {
            (true, ..) => Ok(None),
            (false, true, true) => asking::ask_key(provider).map(Some),
            (false, true, false) => {
                let names = known.map_or(&[][..], |known| known.keys);
                Err(
                    CommandError::usage(format!("{provider} needs a key")).hint(format!(
                        "--key-stdin reads it; or set {}",
                        names.first().copied().unwrap_or("its variable")
                    )),
                )
            }
            // A server of one's own may need one.
            (false, false, true) => asking::ask_optional_key(provider),
            (false, false, false) => Ok(None),
        }
    }

    fn pick_model(
        &self,
        provider: &str,
        mut listed: Vec<String>,
        usual: &str,
    ) -> Result<String, CommandError> {
        if let Some(model) = &self.args.model {
            let own = model.strip_prefix(&format!("{provider}/"));
            return Ok(own.unwrap_or(model).to_owned());
        }
        // The one to start with comes first.
        if let Some(at) = listed.iter().position(|name| name == usual) {
            let usual = listed.remove(at);
            listed.insert(0, usual);
        }
        listed.truncate(MOST_LISTED);
        match listed.as_slice() {
            [] if usual.is_empty() && self.asks => asking::ask("The name of the model: "),
            [] if usual.is_empty() => Err(CommandError::new(format!(
                "{provider} does not list its models"
            ))
            .hint("name one with --model NAME")),
            [] => Ok(usual.to_owned()),
            [only] => Ok(only.clone()),
            _ if self.asks => {
                let shown: Vec<String> = listed.iter().map(|name| clean_line(name)).collect();
                let at = asking::choose(&format!("Models of {provider}:"), &shown)?;
                Ok(listed.swap_remove(at))
            }
            _ => Ok(listed.swap_remove(0)),
        }
    }

    fn resolve(
        &self,
        models: &Models,
        provider: &str,
        model: &str,
    ) -> Result<ModelTarget, CommandError> {
        models
            .resolve(&format!("{provider}/{model}"))
            .map_err(CommandError::from)
    }

    /// The config as it would be, without writing it.
    fn with_patch(&self, patch: &Value) -> Result<chela_config::LoadedConfig, CommandError> {
        let path = ConfigStore::new(self.host).path();
        let source = std::fs::read_to_string(path).unwrap_or_else(|_| "{}".to_owned());
        let text =
            edit::merge_patch(&source, &KeyPath::root(), patch).map_err(CommandError::new)?;
        Ok(chela_config::load_text(self.host, &text))
    }
}

const MOST_KEY_BYTES: u64 = 64 << 10;

fn choose_first(found: Vec<FoundModel>) -> Result<FirstChoice, CommandError> {
    let mut rows: Vec<String> = found
        .iter()
        .map(|found| format!("{} ({})", found.target.reference(), found.why))
        .collect();
    let mut choices: Vec<FirstChoice> = found
        .into_iter()
        .map(|found| FirstChoice::Found(Box::new(found)))
        .collect();
    for known in known_providers() {
        rows.push(format!("{} with a key", known.id));
        choices.push(FirstChoice::Provider(known.id));
    }
    rows.push("your own server".to_owned());
    choices.push(FirstChoice::OwnServer);
    let at = asking::choose("Which model should answer?", &rows)?;
    Ok(choices.swap_remove(at))
}

/// A name that can stand in the config and in the name of a file.
pub fn checked_name(name: &str) -> Result<String, CommandError> {
    let name = name.trim().to_ascii_lowercase();
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !name.is_empty() && name.len() <= 40 && name.chars().all(fits) {
        true => Ok(name),
        false => Err(CommandError::usage(
            "a provider name may have only letters, digits, - and _",
        )),
    }
}

/// A name for a server that was given without one.
fn free_name(models: &Models, url: &str) -> Result<&'static str, CommandError> {
    let url = server_url::complete_url(url)?;
    let name = server_url::usual_name(&url);
    match models.base_url_of(name) {
        Some(other) if other.trim_end_matches('/') != url => Err(CommandError::usage(format!(
            "`{name}` is another server already: {}",
            clean_line(other)
        ))
        .hint(format!("chela setup --base-url {url} --provider NAME"))),
        _ => Ok(name),
    }
}

fn default_patch(reference: &str) -> Value {
    json!({ "agents": { "defaults": { "model": { "primary": reference } } } })
}

/// A real request: a key that is only well formed is not enough.
async fn test_model(target: &ModelTarget, http: &ModelHttp) -> Result<(), CommandError> {
    ask_model(target, http).await.map_err(in_words)
}

async fn ask_model(target: &ModelTarget, http: &ModelHttp) -> Result<(), ModelError> {
    let request = ModelRequest {
        messages: vec![ModelMessage::user("Answer with the one word: pong").into()],
        max_tokens: Some(64),
        ..ModelRequest::default()
    };
    let answer = call_model(target, http, &request, &mut |_| {}).await;
    answer.map(drop)
}

/// Whether somebody answered, and did not know the model.
fn is_about_model(error: &ModelError) -> bool {
    matches!(
        error.failure,
        CallFailure::NoModel | CallFailure::Rejected | CallFailure::Malformed
    )
}

fn in_words(error: ModelError) -> CommandError {
    let fail = CommandError {
        code: NO_MODEL_CODE,
        ..CommandError::new(clean_line(&error.message))
    };
    fail.hint(match error.hint {
        Some(hint) => format!("{}; nothing was changed in the config", clean_line(&hint)),
        None => "nothing was changed in the config".to_owned(),
    })
}
