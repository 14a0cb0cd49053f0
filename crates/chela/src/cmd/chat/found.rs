//! With nothing configured: what is here, and whether to use it.

use chela_agent::conversation::Conversation;
use chela_config::KeyPath;
use chela_config::text::edit;
use chela_model::{FoundModel, HOW_TO_GET_ONE, discover};
use serde_json::{Value, json};

use super::{Way, somebody_is_there};
use crate::chat::asking;
use crate::cli::ChatArgs;
use crate::fail::{Exit, Fail};
use crate::screen::Screen;

/// What came of it.
pub enum Offered {
    /// It is in the config now.
    Taken,
    /// There is none; what to do stands in these lines.
    Nothing(Vec<String>),
}

/// Looks for a model, says what it found, and remembers it after a yes.
pub async fn offer(
    talk: &Conversation,
    screen: &mut Screen,
    args: &ChatArgs,
    way: &Way,
) -> Result<Offered, Fail> {
    let agents = talk.agents();
    let found = discover(agents.http(), agents.models()).await;
    let Some(first) = found.models.first() else {
        return match way {
            Way::Once(text) if !text.trim_start().starts_with('/') => Err(no_model(
                "no model is configured, and none was found on this machine",
                HOW_TO_GET_ONE,
            )),
            _ => Ok(Offered::Nothing(how_to_get_one())),
        };
    };
    let reference = first.target.reference();
    let what = format!("{reference} ({})", first.why);
    if args.yes {
        remember(talk, first)?;
        tell(screen, &format!("Using {what}."));
        return Ok(Offered::Taken);
    }
    if !somebody_is_there() {
        return match way {
            Way::Once(text) if !text.trim_start().starts_with('/') => Err(no_model(
                &format!("no model is configured; found {what}"),
                "use it with --yes, or: chela config set agents.defaults.model PROVIDER/MODEL",
            )),
            _ => Ok(Offered::Nothing(how_to_get_one())),
        };
    }
    tell(screen, "No model is configured. Found:");
    for model in &found.models {
        tell(
            screen,
            &format!("  {} - {}", model.target.reference(), model.why),
        );
    }
    if asking::yes(&format!("Use {reference}, and remember that?")) {
        remember(talk, first)?;
        Ok(Offered::Taken)
    } else {
        Ok(Offered::Nothing(how_to_get_one()))
    }
}

/// Writes the choice into the config; the rest of the file stays as it is.
fn remember(talk: &Conversation, found: &FoundModel) -> Result<(), Fail> {
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
    let host = talk.agents().host();
    crate::cmd::config::mend(host, |source| {
        edit::merge_patch(source, &KeyPath::root(), &patch)
    })
    .map(drop)
}

fn how_to_get_one() -> Vec<String> {
    vec![format!(
        "**There is no model yet**; commands, memory, skills and context work without one.\n\n{}",
        HOW_TO_GET_ONE.trim_end()
    )]
}

fn no_model(what: &str, hint: &str) -> Fail {
    Fail {
        code: Exit::NoModel.code(),
        ..Fail::new(what).hint(hint.trim_end().replace('\n', "\n    "))
    }
}

/// Beside the output: standard output belongs to the answer.
fn tell(screen: &Screen, text: &str) {
    crate::chat::note(screen.paint, text);
}
