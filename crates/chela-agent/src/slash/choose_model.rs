//! `/models` and `/model`: those that are configured, and those the endpoints say they have.

use chela_core::suggest;

use super::command_context::{CommandContext, CommandTrouble, ModelRow};
use super::status;

/// As many of one provider as anybody reads through, where all are listed.
const MOST_OF_EACH: usize = 15;

/// The list, numbered as `/model #` counts.
pub(super) async fn list_models(talk: &impl CommandContext, provider: &str) -> Option<String> {
    let rows = all_models(talk).await;
    let selected = talk.model().selected;
    let mut shown = Vec::new();
    let mut of_provider = ("", 0);
    let mut left_out = 0;
    for (number, row) in (1..).zip(&rows) {
        let own = row.name.split('/').next().unwrap_or_default();
        if !provider.is_empty() && !own.eq_ignore_ascii_case(provider) {
            continue;
        }
        of_provider = match of_provider {
            (known, count) if known == own => (own, count + 1),
            _ => (own, 1),
        };
        let is_selected = selected.as_deref() == Some(row.name.as_str());
        match provider.is_empty() && of_provider.1 > MOST_OF_EACH && !is_selected {
            true => left_out += 1,
            false => shown.push(model_line(number, row, selected.as_deref())),
        }
    }
    if shown.is_empty() {
        return None;
    }
    if left_out > 0 {
        shown.push(format!(
            "… and {left_out} more; `/models PROVIDER` lists all of one."
        ));
    }
    Some(format!(
        "{}\n\nChoose one with `/model NAME` or `/model #`.",
        shown.join("\n")
    ))
}

async fn all_models(talk: &impl CommandContext) -> Vec<ModelRow> {
    let mut rows = talk.models();
    rows.extend(talk.served_models(None).await);
    rows
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

/// The model that is asked for: of the configured ones where one fits, else of what the endpoints
/// have.
pub(super) async fn find_model(
    talk: &impl CommandContext,
    asked: &str,
) -> Result<String, CommandTrouble> {
    let mut rows = talk.models();
    let by_number = asked.trim_start_matches('#').parse::<usize>().ok();
    let by_number = by_number.and_then(|number| rows.get(number.checked_sub(1)?));
    if let Some(row) = by_number {
        return Ok(row.name.clone());
    }
    if let Some(name) = pick_exactly(&rows, asked) {
        return Ok(name);
    }
    let provider = asked.split_once('/').map(|(provider, _)| provider);
    let served = talk.served_models(provider).await;
    let is_listed = !served.is_empty();
    // A whole name that an endpoint has counts before a part of a configured one.
    if pick_exactly(&served, asked).is_none()
        && let ModelMatch::One(name) = pick(&rows, asked)
    {
        return Ok(name);
    }
    rows.extend(served);
    match pick(&rows, asked) {
        ModelMatch::One(name) => Ok(name),
        ModelMatch::Several(names) => Err(format!("`{asked}` could be {}.", names.join(" or "))),
        // An endpoint that does not say what it has may have it.
        ModelMatch::None if provider.is_some() && !is_listed => Ok(asked.to_owned()),
        ModelMatch::None => Err(unknown(&rows, asked)),
    }
}

/// What a name fits among models.
pub(super) enum ModelMatch {
    One(String),
    /// In backticks.
    Several(Vec<String>),
    None,
}

/// A number of the list, an alias, `provider/model`, or the part of a name that fits one only.
pub(super) fn pick(rows: &[ModelRow], asked: &str) -> ModelMatch {
    let number = asked.trim_start_matches('#').parse::<usize>().ok();
    if let Some(row) = number.and_then(|number| rows.get(number.checked_sub(1)?)) {
        return ModelMatch::One(row.name.clone());
    }
    if let Some(name) = pick_exactly(rows, asked) {
        return ModelMatch::One(name);
    }
    let wanted = asked.to_ascii_lowercase();
    let close = |row: &&ModelRow| row.name.to_ascii_lowercase().contains(&wanted);
    let close: Vec<&ModelRow> = rows.iter().filter(close).collect();
    match close.as_slice() {
        [] => ModelMatch::None,
        [one] => ModelMatch::One(one.name.clone()),
        many => {
            let names = many.iter().take(MOST_OF_EACH);
            ModelMatch::Several(names.map(|row| format!("`{}`", row.name)).collect())
        }
    }
}

/// By a whole name: an alias, `provider/model`, or the model alone where one provider has it.
fn pick_exactly(rows: &[ModelRow], asked: &str) -> Option<String> {
    let named = |name: Option<&str>| name.is_some_and(|name| name.eq_ignore_ascii_case(asked));
    let whole = |row: &&ModelRow| named(Some(&row.name)) || named(row.alias.as_deref());
    if let Some(row) = rows.iter().find(whole) {
        return Some(row.name.clone());
    }
    let id = |row: &&ModelRow| named(row.name.split_once('/').map(|(_, id)| id));
    let mut by_id = rows.iter().filter(id);
    match (by_id.next(), by_id.next()) {
        (Some(one), None) => Some(one.name.clone()),
        _ => None,
    }
}

fn unknown(rows: &[ModelRow], asked: &str) -> CommandTrouble {
    let ids = rows.iter().filter_map(|row| row.name.split_once('/'));
    let near_id = suggest::nearest(asked, ids.clone().map(|(_, id)| id));
    let by_id = near_id.and_then(|near| rows.iter().find(|row| row.name.ends_with(near)));
    let names = rows.iter().map(|row| row.name.as_str());
    let near = by_id.map(|row| row.name.as_str());
    match near.or_else(|| suggest::nearest(asked, names)) {
        Some(near) => format!("There is no model `{asked}`. Did you mean `{near}`?"),
        None => format!("There is no model `{asked}`; `/models` lists them."),
    }
}
