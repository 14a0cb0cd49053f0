//! What is known about one model: the config first, then Chela's own table.

use chela_config::model::{self, ModelCost};

use crate::Prices;
use crate::builtin::{KnownModels, known};
use crate::info::{InfoSource, ModelInput};
use crate::provider::ModelProvider;
use crate::{EndpointCompat, ModelApi, ModelInfo, ReplyFormat, ThinkingFormat};

pub fn model(
    provider: &ModelProvider,
    api: ModelApi,
    id: &str,
    entry: Option<&model::Model>,
) -> ModelInfo {
    let row = known(id);
    let family = provider.family(api);
    let mut compat = EndpointCompat::of(family);
    if let Some(set) = provider.inject_num_ctx {
        compat.num_ctx = set;
    }
    if api == ModelApi::AnthropicMessages && thinks_adaptively(id) {
        compat.thinking = ThinkingFormat::Adaptive;
    }
    if let Some(entry) = entry {
        compat = compat.with(&entry.compat);
    }
    compat.reply_format = ReplyFormat::of(id, entry.map(|entry| &entry.compat));
    let window = entry
        .and_then(|entry| entry.context_window)
        .or(provider.context_window)
        // A local server runs a model with the window it was started with.
        .or_else(|| row.filter(|_| !provider.is_local()).map(|row| row.window));
    let cap = entry.and_then(|entry| entry.context_tokens);
    ModelInfo {
        reference: format!("{}/{id}", provider.id),
        provider: provider.id.clone(),
        id: id.to_owned(),
        name: entry
            .and_then(|entry| entry.name.clone())
            .unwrap_or_else(|| id.to_owned()),
        api,
        context_window: match (window, cap) {
            (Some(window), Some(cap)) => Some(window.min(cap)),
            (window, cap) => window.or(cap),
        },
        max_tokens: entry.and_then(|entry| entry.max_tokens).or_else(|| {
            row.filter(|_| !provider.is_local())
                .map(|row| row.max_tokens)
        }),
        input: input(entry, row),
        reasoning: entry
            .and_then(|entry| entry.reasoning)
            .unwrap_or_else(|| row.is_some_and(|row| row.reasoning)),
        cost: cost(provider, entry.and_then(|entry| entry.cost.as_ref()), row),
        compat,
        source: if entry.is_some() {
            InfoSource::Config
        } else if row.is_some() {
            InfoSource::Table
        } else {
            InfoSource::Unknown
        },
    }
}

fn input(entry: Option<&model::Model>, row: Option<&KnownModels>) -> Vec<ModelInput> {
    let set = entry
        .map(|entry| entry.input.as_slice())
        .unwrap_or_default();
    let sees = if set.is_empty() {
        row.is_some_and(|row| row.images)
    } else {
        set.iter().any(|kind| kind == "image")
    };
    if sees {
        vec![ModelInput::Text, ModelInput::Image]
    } else {
        vec![ModelInput::Text]
    }
}

fn cost(
    provider: &ModelProvider,
    set: Option<&ModelCost>,
    row: Option<&KnownModels>,
) -> Option<Prices> {
    if let Some(set) = set {
        let input = set.input.unwrap_or_default();
        return Some(Prices {
            input,
            output: set.output.unwrap_or_default(),
            // What has no price of its own is input like any other: a limit on spending must not
            // take it for a gift.
            cache_read: set.cache_read.unwrap_or(input),
            cache_write: set.cache_write.unwrap_or(input),
        });
    }
    let [input, output, cache_read, cache_write] = row.filter(|_| !provider.is_local())?.price?;
    Some(Prices {
        input,
        output,
        cache_read,
        // Lists without a price for writing charge what is written as input.
        cache_write: cache_write.max(input),
    })
}

/// Anthropic's models from 4.6 on decide themselves how long to think.
fn thinks_adaptively(id: &str) -> bool {
    ["claude-opus-4-6", "claude-sonnet-4-6"]
        .iter()
        .any(|prefix| id.starts_with(prefix))
}
