//! With nothing configured: what is here, and whether to use it.

use chela_agent::conversation::Conversation;
use chela_config::text::edit;
use chela_config::{ConfigSource, KeyPath};
use chela_core::Host;
use chela_model::{FoundModel, HOW_TO_GET_ONE, discover};
use serde_json::{Value, json};

use super::{ChatMode, somebody_is_there};
use crate::chat::line_questions;
use crate::cli::ChatArgs;
use crate::cmd::CommandSetup;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

/// What came of it.
pub enum OfferOutcome {
    /// It is in the config now.
    Taken,
    /// It is used this time only: a patch of the config that nobody writes.
    ForNow(Value),
    /// There is none; what to do stands in these lines.
    Nothing(Vec<String>),
}

/// Looks for a model, says what it found, and remembers it after a yes.
pub async fn offer_found_model(
    talk: &Conversation,
    screen: &mut Screen,
    args: &ChatArgs,
    way: &ChatMode,
) -> Result<OfferOutcome, CommandError> {
    let agents = talk.agents();
    let found = discover(agents.http(), agents.models()).await;
    let Some(first) = found.models.first() else {
        return match way {
            ChatMode::Once(message) if !message.text.trim_start().starts_with('/') => {
                Err(no_model(
                    "no model is configured, and none was found on this machine",
                    HOW_TO_GET_ONE,
                ))
            }
            _ => Ok(OfferOutcome::Nothing(how_to_get_one())),
        };
    };
    let reference = first.target.reference();
    let what = format!("{reference} ({})", first.why);
    if args.yes {
        tell(
            screen,
            &format!(
                "Using {what} this time; to keep it: chela config set agents.defaults.model {reference}"
            ),
        );
        return Ok(OfferOutcome::ForNow(config_patch(talk, first)));
    }
    if !somebody_is_there() {
        return match way {
            ChatMode::Once(message) if !message.text.trim_start().starts_with('/') => {
                Err(no_model(
                    &format!("no model is configured; found {what}"),
                    "use it with --yes, or: chela config set agents.defaults.model PROVIDER/MODEL",
                ))
            }
            _ => Ok(OfferOutcome::Nothing(how_to_get_one())),
        };
    }
    tell(screen, "No model is configured. Found:");
    for model in &found.models {
        tell(
            screen,
            &format!("  {} - {}", model.target.reference(), model.why),
        );
    }
    if line_questions::ask_yes_or_no(&format!("Use {reference}, and remember that?")) {
        remember(talk, first)?;
        Ok(OfferOutcome::Taken)
    } else {
        Ok(OfferOutcome::Nothing(how_to_get_one()))
    }
}

/// Writes the choice into the config; the rest of the file stays as it is.
fn remember(talk: &Conversation, found: &FoundModel) -> Result<(), CommandError> {
    let patch = config_patch(talk, found);
    let host = talk.agents().host();
    crate::cmd::config::mend(host, |source| {
        edit::merge_patch(source, &KeyPath::root(), &patch)
    })
    .map(drop)
}

/// The config with a choice that holds this time only. A file that cannot be read as it is stays
/// the business of whoever loads it.
pub fn load_with(host: &Host, patch: &Value) -> CommandSetup {
    let setup = CommandSetup::load(host);
    let written = setup.loaded.written().files.first();
    let source = match setup.loaded.source {
        ConfigSource::File => written.map_or("{}", |file| file.source.as_str()),
        ConfigSource::Defaults(_) => "{}",
        // A copy is not a file of its own: it would have to be taken out of its wrapping first.
        ConfigSource::LastGood { .. } => return setup,
    };
    match edit::merge_patch(source, &KeyPath::root(), patch) {
        Ok(source) => CommandSetup {
            loaded: chela_config::load_text(host, &source),
            ..setup
        },
        Err(error) => {
            tracing::warn!(%error, "a choice for this time cannot be put into the config");
            setup
        }
    }
}

/// What the config would say of it.
fn config_patch(talk: &Conversation, found: &FoundModel) -> Value {
    let target = &found.target;
    let reference = target.reference();
    let mut patch = json!({ "agents": { "defaults": { "model": { "primary": reference } } } });
    // What the name alone would not find is written down too.
    let known = talk.agents().models().resolve(reference);
    if !known.is_ok_and(|known| known.base_url() == target.base_url()) {
        let info = target.info();
        let provider = json!({ "baseUrl": target.base_url(), "api": info.api.name() });
        if let Value::Object(patch) = &mut patch {
            patch.insert(
                "models".to_owned(),
                json!({ "providers": { info.provider.as_str(): provider } }),
            );
        }
    }
    patch
}

fn how_to_get_one() -> Vec<String> {
    vec![format!(
        "**There is no model yet**; commands, memory, skills and context work without one.\n\n{}",
        HOW_TO_GET_ONE.trim_end()
    )]
}

fn no_model(what: &str, hint: &str) -> CommandError {
    CommandError {
        code: CommandExit::NoModel.code(),
        ..CommandError::new(what).hint(hint.trim_end().replace('\n', "\n    "))
    }
}

/// Beside the output: standard output belongs to the answer.
fn tell(screen: &Screen, text: &str) {
    crate::chat::print_note(screen.paint, text);
}
