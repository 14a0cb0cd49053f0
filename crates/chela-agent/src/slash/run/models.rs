//! `/models`, `/model`: which there are, which one answers.

use chela_core::suggest;

use super::CommandAnswer;
use crate::slash::command_context::{CommandContext, CommandTrouble, ModelRow, SessionSetting};
use crate::slash::status;

pub(super) fn models(talk: &impl CommandContext, provider: &str) -> String {
    let rows = talk.models();
    let wanted = |row: &&(usize, &ModelRow)| {
        provider.is_empty()
            || row
                .1
                .name
                .split('/')
                .next()
                .is_some_and(|own| own.eq_ignore_ascii_case(provider))
    };
    let numbered: Vec<(usize, &ModelRow)> = (1..).zip(rows.iter()).collect();
    let shown: Vec<String> = numbered
        .iter()
        .filter(wanted)
        .map(|(number, row)| model_line(*number, row, talk.model().selected.as_deref()))
        .collect();
    if shown.is_empty() {
        return match provider {
            "" => no_model(talk),
            _ => format!("There is no model of `{provider}`; `/models` lists all."),
        };
    }
    format!(
        "{}\n\n`/model NAME` or `/model #` chooses one.",
        shown.join("\n")
    )
}

fn model_line(number: usize, row: &ModelRow, selected: Option<&str>) -> String {
    let mut line = format!("{number}. `{}`", row.name);
    if let Some(alias) = &row.alias {
        line.push_str(&format!(" ({alias})"));
    }
    if let Some(window) = row.window {
        line.push_str(&format!(", {} tokens", status::thousands(window)));
    }
    if let Some(note) = &row.note {
        line.push_str(&format!(", {note}"));
    }
    if selected == Some(row.name.as_str()) {
        line.push_str(" **← now**");
    }
    line
}

fn no_model(talk: &impl CommandContext) -> String {
    let missing = talk.model().missing;
    if missing.is_empty() {
        "There is no model yet.".to_owned()
    } else {
        missing.join("\n\n")
    }
}

pub(super) async fn model(
    talk: &impl CommandContext,
    asked: &str,
) -> Result<CommandAnswer, CommandTrouble> {
    if asked.is_empty() || asked.eq_ignore_ascii_case("status") {
        return Ok(CommandAnswer::text(model_status(talk)));
    }
    if asked.eq_ignore_ascii_case("default") {
        talk.set(SessionSetting::Model, None).await?;
        return Ok(CommandAnswer::text(model_status(talk)));
    }
    let chosen = pick(&talk.models(), asked)?;
    talk.set(SessionSetting::Model, Some(&chosen)).await?;
    Ok(CommandAnswer::text(format!(
        "From now on `{chosen}` answers."
    )))
}

fn model_status(talk: &impl CommandContext) -> String {
    let state = talk.model();
    let Some(selected) = state.selected else {
        return no_model(talk);
    };
    let mut text = format!("Model: `{selected}`");
    if talk.setting(SessionSetting::Model).is_some() {
        text.push_str(", chosen for this conversation");
    }
    text.push('.');
    if let Some((model, why)) = state.fallback {
        text.push_str(&format!(" The last answer came from `{model}`: {why}."));
    }
    text.push_str(" `/models` lists others.");
    text
}

/// A number of the list, an alias, `provider/model`, or the part of a name that fits one only.
pub(super) fn pick(rows: &[ModelRow], asked: &str) -> Result<String, CommandTrouble> {
    let number = asked.trim_start_matches('#').parse::<usize>().ok();
    if let Some(row) = number.and_then(|number| rows.get(number.checked_sub(1)?)) {
        return Ok(row.name.clone());
    }
    let exact = rows.iter().find(|row| {
        row.name.eq_ignore_ascii_case(asked)
            || row
                .alias
                .as_deref()
                .is_some_and(|alias| alias.eq_ignore_ascii_case(asked))
    });
    if let Some(row) = exact {
        return Ok(row.name.clone());
    }
    let wanted = asked.to_ascii_lowercase();
    let close: Vec<&ModelRow> = rows
        .iter()
        .filter(|row| row.name.to_ascii_lowercase().contains(&wanted))
        .collect();
    match close.as_slice() {
        [one] => Ok(one.name.clone()),
        // A name in full may be one the endpoint knows and the list does not.
        [] if asked.contains('/') => Ok(asked.to_owned()),
        [] => Err(
            match suggest::nearest(asked, rows.iter().map(|row| row.name.as_str())) {
                Some(near) => format!("There is no model `{asked}`. Did you mean `{near}`?"),
                None => format!("There is no model `{asked}`; `/models` lists them."),
            },
        ),
        many => {
            let names: Vec<String> = many.iter().map(|row| format!("`{}`", row.name)).collect();
            Err(format!("`{asked}` could be {}.", names.join(" or ")))
        }
    }
}
