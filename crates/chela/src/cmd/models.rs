//! `chela models …`: which there are, and whether they answer.

use std::time::{Duration, Instant};

use chela_core::Host;
use chela_model::{
    FoundModel, HOW_TO_GET_ONE, KNOWN_SINCE, ModelError, ModelHttp, ModelInfo, ModelInput,
    ModelMessage, ModelRequest, ModelResponse, ModelTarget, Models, ResolveError, call_model,
    discover, learn_from_server,
};
use serde_json::{Value, json};

use super::{CommandOutcome, CommandSetup};
use crate::cli::ModelsCommand;
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, grouped};

pub fn run(host: &Host, screen: &mut Screen, command: ModelsCommand) -> CommandOutcome {
    let setup = CommandSetup::look(host);
    setup.warn_on_stderr(screen.paint);
    let models = Models::of(host, &setup.loaded);
    match command {
        ModelsCommand::List { json } => list(&models, screen, json),
        ModelsCommand::Probe {
            models: names,
            json,
        } => {
            let http = ModelHttp::new(host, &setup.loaded);
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| CommandError::new(format!("cannot start: {error}")))?;
            runtime.block_on(probe(&models, &http, screen, names, json))
        }
    }
}

fn list(models: &Models, screen: &mut Screen, as_json: bool) -> CommandOutcome {
    let known = models.list();
    let default = default_reference(models);
    let key_of = |info: &ModelInfo| {
        let target = models.resolve(&info.reference).ok()?;
        let nothing = if target.is_local() {
            "none needed"
        } else {
            "missing"
        };
        Some(target.key_from().unwrap_or_else(|| nothing.to_owned()))
    };
    if as_json {
        let entries: Vec<Value> = known
            .iter()
            .map(|info| {
                let mut entry = serde_json::to_value(info).unwrap_or_default();
                entry["aliases"] = json!(aliases(models, &info.reference));
                entry["key"] = json!(key_of(info));
                entry
            })
            .collect();
        screen.json(&json!({
            "default": default,
            "models": entries,
            "figuresOf": KNOWN_SINCE,
        }))?;
        return Ok(CommandExit::Fine);
    }
    if known.is_empty() {
        screen.line("No model is configured.")?;
        for (target, key) in models.with_keys() {
            screen.line(format!(
                "  {} could be used: its key is in {key}",
                target.reference()
            ))?;
        }
        screen.raw(HOW_TO_GET_ONE)?;
        screen.line("`chela models probe` looks for a server on this machine.")?;
        return Ok(CommandExit::Fine);
    }
    let paint = screen.paint;
    let mut rows = vec![
        [
            "",
            "model",
            "alias",
            "context",
            "reads",
            "$/M in/out",
            "key",
        ]
        .map(|head| paint.dim(head))
        .to_vec(),
    ];
    for info in &known {
        let is_default = default.as_deref() == Some(info.reference.as_str());
        rows.push(vec![
            if is_default { "*" } else { "" }.to_owned(),
            info.reference.clone(),
            aliases(models, &info.reference).join(", "),
            info.context_window
                .map_or("?".to_owned(), |window| grouped(window as usize)),
            if info.reads(ModelInput::Image) {
                "text, image"
            } else {
                "text"
            }
            .to_owned(),
            info.cost.map_or("-".to_owned(), |cost| {
                format!("{}/{}", cost.input, cost.output)
            }),
            key_of(info).unwrap_or_default(),
        ]);
    }
    screen.table("", &rows)?;
    screen.line(paint.dim(format!(
        "* is the default. Windows and prices not set in the config are as of {KNOWN_SINCE}."
    )))?;
    Ok(CommandExit::Fine)
}

fn default_reference(models: &Models) -> Option<String> {
    let target = models.resolve(models.default_model()?).ok()?;
    Some(target.reference().to_owned())
}

fn aliases(models: &Models, reference: &str) -> Vec<String> {
    models
        .aliases()
        .iter()
        .filter(|(_, model)| model == reference)
        .map(|(alias, _)| alias.clone())
        .collect()
}

async fn probe(
    models: &Models,
    http: &ModelHttp,
    screen: &mut Screen,
    names: Vec<String>,
    as_json: bool,
) -> CommandOutcome {
    let names = if names.is_empty() {
        configured(models)
    } else {
        names
    };
    if names.is_empty() {
        return found(models, http, screen, as_json).await;
    }
    let mut all_answered = true;
    let mut told = Vec::new();
    for name in names {
        let probed = Probed::of(models, http, &name).await;
        all_answered &= probed.answer.is_ok();
        if as_json {
            told.push(probed.json());
        } else {
            probed.tell(screen)?;
            screen.flush()?;
        }
    }
    if as_json {
        screen.json(&json!({ "probes": told }))?;
    }
    Ok(if all_answered {
        CommandExit::Fine
    } else {
        CommandExit::Findings
    })
}

/// The default model and what is tried after it.
fn configured(models: &Models) -> Vec<String> {
    models.chosen().map(str::to_owned).collect()
}

/// Nothing is configured: what is here?
async fn found(
    models: &Models,
    http: &ModelHttp,
    screen: &mut Screen,
    as_json: bool,
) -> CommandOutcome {
    let found = discover(http, models).await.models;
    if as_json {
        let entries: Vec<Value> = found
            .iter()
            .map(|FoundModel { target, why }| {
                json!({ "model": target.reference(), "why": why, "context": target.info().context_window })
            })
            .collect();
        screen.json(&json!({ "found": entries }))?;
    } else if found.is_empty() {
        screen.line("No model is configured, and none was found on this machine.")?;
        screen.raw(HOW_TO_GET_ONE)?;
    } else {
        screen.line("No model is configured. Found:")?;
        for FoundModel { target, why } in &found {
            screen.line(format!("  {} - {why}", target.reference()))?;
        }
        screen.line(format!(
            "Use one: chela config set agents.defaults.model {}",
            found[0].target.reference()
        ))?;
    }
    Ok(if found.is_empty() {
        CommandExit::NoModel
    } else {
        CommandExit::Fine
    })
}

/// What came of asking one model.
struct Probed {
    name: String,
    target: Option<ModelTarget>,
    answer: Result<Answered, Trouble>,
}

struct Answered {
    response: ModelResponse,
    first: Duration,
    whole: Duration,
}

struct Trouble {
    message: String,
    hint: Option<String>,
}

impl From<ResolveError> for Trouble {
    fn from(error: ResolveError) -> Self {
        let error = CommandError::from(error);
        Self {
            message: error.message,
            hint: error.hint,
        }
    }
}

impl From<ResolveError> for CommandError {
    fn from(error: ResolveError) -> Self {
        let hint = match &error {
            ResolveError::NoAddress { provider } => {
                format!("`chela setup --provider {provider} --base-url URL` sets it")
            }
            ResolveError::UnknownApi { .. } => {
                "`chela config explain models.providers` shows what it may be".to_owned()
            }
            ResolveError::NotAllowed { .. } => {
                "`chela config get agents` shows where that is set".to_owned()
            }
            ResolveError::Nothing
            | ResolveError::Unknown { .. }
            | ResolveError::UnknownProvider { .. } => {
                "`chela models list` shows the models, `chela setup` adds a provider".to_owned()
            }
        };
        Self::new(error).hint(hint)
    }
}

impl From<ModelError> for Trouble {
    fn from(error: ModelError) -> Self {
        Self {
            message: error.message,
            hint: error.hint,
        }
    }
}

impl Probed {
    async fn of(models: &Models, http: &ModelHttp, name: &str) -> Self {
        let target = match models.resolve(name) {
            Ok(target) => {
                let target = learn_from_server(http, target).await;
                models.keep_learned(&target);
                target
            }
            Err(error) => {
                return Self {
                    name: name.to_owned(),
                    target: None,
                    answer: Err(error.into()),
                };
            }
        };
        let request = ModelRequest {
            messages: vec![ModelMessage::user("Answer with the one word: pong").into()],
            max_tokens: Some(64),
            ..ModelRequest::default()
        };
        let start = Instant::now();
        let mut first = None;
        let mut listen = |_| {
            first.get_or_insert_with(|| start.elapsed());
        };
        let answer = call_model(&target, http, &request, &mut listen).await;
        let whole = start.elapsed();
        Self {
            name: target.reference().to_owned(),
            answer: answer.map_err(Trouble::from).map(|response| Answered {
                response,
                first: first.unwrap_or(whole),
                whole,
            }),
            target: Some(target),
        }
    }

    fn tell(&self, screen: &mut Screen) -> std::io::Result<()> {
        let paint = screen.paint;
        match &self.answer {
            Ok(answered) => {
                let usage = answered.response.usage;
                let window = self
                    .target
                    .as_ref()
                    .and_then(|target| target.info().context_window);
                let window = window
                    .map(|window| format!(", context {}", grouped(window as usize)))
                    .unwrap_or_default();
                screen.line(format!(
                    "{} {}  first word after {} ms, done after {} ms, {} tokens in, {} out{window}",
                    paint.good("ok"),
                    self.name,
                    answered.first.as_millis(),
                    answered.whole.as_millis(),
                    grouped(usage.input as usize),
                    grouped(usage.output as usize),
                ))
            }
            Err(trouble) => {
                screen.line(format!("{} {}", paint.bad("failed"), trouble.message))?;
                match &trouble.hint {
                    Some(hint) => screen.line(format!("{} {hint}", paint.accent("  →"))),
                    None => Ok(()),
                }
            }
        }
    }

    fn json(&self) -> Value {
        match &self.answer {
            Ok(answered) => json!({
                "model": self.name,
                "ok": true,
                "firstMs": answered.first.as_millis() as u64,
                "wholeMs": answered.whole.as_millis() as u64,
                "usage": answered.response.usage,
                "context": self.target.as_ref().and_then(|target| target.info().context_window),
            }),
            Err(trouble) => json!({
                "model": self.name,
                "ok": false,
                "message": trouble.message,
                "hint": trouble.hint,
            }),
        }
    }
}
