//! `gateway`: how an agent looks at the config, changes what the owner lets it change, and starts
//! the process over when the owner says so.
//!
//! Every change is asked about with a diff (its effect is `config`, which no rule lets pass by
//! itself). What widens authority is not for the agent to change at all, whatever the answer:
//! [`changeable`] lists what is.

mod changeable;
mod config_change;

use std::sync::{Arc, LazyLock};

use chela_agent::prelude::{AgentId, Host, SessionKey};
use chela_config::{KeyPath, explain, redacted, schema_at};
use chela_core::ContentHash;
use chela_tools::schema::{ArgumentKind, ArgumentSchema, read};
use chela_tools::{
    ApprovalChoice, CallFuture, CallProspect, CallWrites, Effect, FilePreview, RunCall, Tool,
    ToolOffer, ToolOutput, ToolSpec, WriteExtent,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::restart_desk::{RestartAsk, RestartDesk};
use config_change::ConfigChange;

/// So much of the config a model is shown at once.
const MOST_SHOWN: usize = 12_000;

/// The tool, for one session of one agent.
pub(crate) struct GatewayTool {
    spec: ToolSpec,
    host: Host,
    agent: AgentId,
    session: SessionKey,
    restart: Arc<RestartDesk>,
    version: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum GatewayAction {
    #[serde(rename = "config.get")]
    Get,
    #[serde(rename = "config.schema.lookup")]
    Lookup,
    #[serde(rename = "config.patch")]
    Patch,
    #[serde(rename = "config.apply")]
    Apply,
    #[serde(rename = "restart")]
    Restart,
    #[serde(rename = "update.run")]
    Update,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GatewayArguments {
    action: GatewayAction,
    path: Option<String>,
    /// A config, or what is merged into it, as JSON text.
    config: Option<String>,
    base_hash: Option<String>,
    why: Option<String>,
}

impl GatewayTool {
    pub fn new(
        host: &Host,
        (agent, session): (AgentId, SessionKey),
        restart: Arc<RestartDesk>,
    ) -> Self {
        Self {
            spec: SPEC.clone(),
            host: host.clone(),
            agent,
            session,
            restart,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    fn change(&self, arguments: &GatewayArguments) -> Result<ConfigChange, String> {
        let text = arguments.config.as_deref();
        let text =
            text.ok_or("`config` is missing: JSON text, such as {\"cron\": {\"enabled\": false}}")?;
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("`config` is not JSON: {error}"))?;
        let base = arguments.base_hash.as_deref();
        let base = base.ok_or("`baseHash` is missing: config.get gives it")?;
        match arguments.action {
            GatewayAction::Apply => ConfigChange::replacing(&self.host, &value, base),
            _ => ConfigChange::merging(&self.host, &value, base),
        }
    }

    fn act(&self, arguments: &GatewayArguments, judged: &CallWrites) -> Result<ToolOutput, String> {
        match arguments.action {
            GatewayAction::Get => self.get(arguments.path.as_deref()),
            GatewayAction::Lookup => self.look_up(arguments.path.as_deref()),
            GatewayAction::Patch | GatewayAction::Apply => {
                let change = self.change(arguments)?;
                // What was judged to change nothing may be possible only since then.
                if !matches!(judged, CallWrites::Files { .. }) {
                    return Err("the config has changed meanwhile; try again".to_owned());
                }
                let told = change.write(&self.host)?;
                Ok(ToolOutput::said(told))
            }
            GatewayAction::Restart => {
                let why = arguments.why.as_deref().unwrap_or("the owner asked");
                self.restart.ask(RestartAsk {
                    why: why.chars().take(200).collect(),
                    session: Some((self.agent.clone(), self.session.clone())),
                });
                Ok(ToolOutput::said(
                    "The gateway restarts once this turn has ended. End your turn now; you are told here when it is back.",
                ))
            }
            GatewayAction::Update => Ok(ToolOutput::said(format!(
                "This is Chela {}. `chela update --check` says whether there is a newer one; `chela update` installs it after checking its signature, and keeps this one for `chela update --rollback`. Only the owner runs it: tell them.",
                self.version
            ))),
        }
    }

    fn get(&self, path: Option<&str>) -> Result<ToolOutput, String> {
        let path = read_path(path)?;
        let loaded = chela_config::load(&self.host);
        let node = loaded.tree.at_path(&path);
        let value = node.map_or(Value::Null, |node| redacted(node, &path));
        let told = json!({
            "path": path.to_string(), "value": value, "baseHash": file_hash(&self.host)?,
        });
        let text = serde_json::to_string_pretty(&told).map_err(|error| error.to_string())?;
        if text.len() > MOST_SHOWN {
            let keys = value.as_object().map(|members| members.keys().cloned());
            let keys: Vec<String> = keys.into_iter().flatten().collect();
            return Err(format!(
                "that is too much at once; give a `path`: {}",
                keys.join(", ")
            ));
        }
        Ok(ToolOutput::said(text))
    }

    fn look_up(&self, path: Option<&str>) -> Result<ToolOutput, String> {
        let path = read_path(path)?;
        let loaded = chela_config::load(&self.host);
        let schema = schema_at(&path).filter(|_| !path.is_root());
        let schema = schema.ok_or_else(|| {
            format!("there is no key `{path}`; config.get without a path shows what is set")
        })?;
        let known = explain(&loaded, &path);
        let told = json!({
            "path": path.to_string(),
            "about": known.as_ref().and_then(|known| known.doc.clone()),
            "default": known.as_ref().and_then(|known| known.default.clone()),
            "unused": known.as_ref().and_then(|known| known.kept.clone()),
            "yoursToChange": changeable::is_changeable(&path.to_string()),
            "schema": schema,
        });
        let text = told.to_string();
        match text.len() > MOST_SHOWN {
            true => Err(format!(
                "`{path}` is too large a part; look up a key inside it"
            )),
            false => Ok(ToolOutput::said(text)),
        }
    }
}

impl Tool for GatewayTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn offer(&self) -> ToolOffer {
        ToolOffer::Deferred
    }

    fn prospect(&self, arguments: &Map<String, Value>) -> CallProspect {
        let Ok(arguments) = read::<GatewayArguments>(arguments) else {
            return CallProspect::of(Effect::Config);
        };
        let (effect, words) = match arguments.action {
            GatewayAction::Get | GatewayAction::Lookup | GatewayAction::Update => {
                return CallProspect::of(Effect::Read);
            }
            // It will be refused: nobody needs to be asked about that.
            GatewayAction::Patch | GatewayAction::Apply if self.change(&arguments).is_err() => {
                return CallProspect::of(Effect::Read);
            }
            GatewayAction::Patch | GatewayAction::Apply => (Effect::Config, "changes the config"),
            GatewayAction::Restart => (Effect::Config, "restarts the gateway once this turn ends"),
        };
        CallProspect {
            words: Some(words.to_owned()),
            binds: arguments.base_hash.as_ref().map(ContentHash::of),
            // A change is looked at each time.
            choices: vec![ApprovalChoice::deny(), ApprovalChoice::once()],
            ..CallProspect::of(effect)
        }
    }

    fn writes(&self, arguments: &Map<String, Value>) -> CallWrites {
        let is_change = match read::<GatewayArguments>(arguments) {
            Ok(arguments) => {
                matches!(
                    arguments.action,
                    GatewayAction::Patch | GatewayAction::Apply
                ) && self.change(&arguments).is_ok()
            }
            Err(_) => arguments.is_empty(),
        };
        match is_change {
            true => CallWrites::Files {
                paths: vec![config_change::file_of(&self.host)],
                extent: WriteExtent::Part,
            },
            false => CallWrites::Nothing,
        }
    }

    fn preview(&self, arguments: &Map<String, Value>) -> Vec<FilePreview> {
        let change = read::<GatewayArguments>(arguments).ok();
        let change = change.and_then(|arguments| self.change(&arguments).ok());
        change.map(ConfigChange::preview).into_iter().collect()
    }

    fn run<'a>(&'a self, call: RunCall<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let arguments: GatewayArguments = match read(call.arguments) {
                Ok(arguments) => arguments,
                Err(refused) => return refused,
            };
            // It reads and writes files: short, and rarely.
            tokio::task::block_in_place(|| {
                self.act(&arguments, call.writes)
                    .unwrap_or_else(ToolOutput::failed)
            })
        })
    }
}

fn read_path(path: Option<&str>) -> Result<KeyPath, String> {
    match path.map(str::trim) {
        None | Some("") => Ok(KeyPath::root()),
        Some(path) => KeyPath::parse(path).map_err(|error| error.to_string()),
    }
}

/// What a change is based on: another one meanwhile makes it void.
fn file_hash(host: &Host) -> Result<String, String> {
    config_change::read_file(host).map(|text| ContentHash::of(text).short())
}

/// Made once: every conversation of the owner's has the tool.
static SPEC: LazyLock<ToolSpec> = LazyLock::new(make_spec);

fn make_spec() -> ToolSpec {
    let actions = [
        "config.get",
        "config.schema.lookup",
        "config.patch",
        "config.apply",
        "restart",
        "update.run",
    ];
    ToolSpec {
        name: "gateway".into(),
        description: "Read the config (secrets hidden), change what the owner asks you to change, restart the gateway. The owner sees every change as a diff first; what widens what you may do is refused."
            .into(),
        parameters: ArgumentSchema::object()
            .required("action", ArgumentKind::one_of(&actions), "")
            .optional("path", ArgumentKind::text(), "One key in dots: agents.defaults.model")
            .optional(
                "config",
                ArgumentKind::text().not_empty(),
                "JSON text: what config.patch merges (null deletes), or the whole config for config.apply",
            )
            .optional("baseHash", ArgumentKind::text(), "The baseHash of config.get")
            .optional("why", ArgumentKind::text(), "For restart: what it is for")
            .build()
            .into(),
        effect: Effect::Config,
        sinks: [].into(),
    }
}
