//! What a small model can bear: a short prompt, and tool calls it cannot get wrong.

use crate::api::EndpointFamily;
use crate::{FormReader, ModelInfo, PromptProfile, ToolMode};

/// Windows up to this size have no room for the whole prompt.
const SMALL_WINDOW: u64 = 8_192;
/// Models below this many billion parameters lose the thread of a long prompt.
const SMALL_BILLIONS: f64 = 4.0;

/// The prompt that suits a model; the config's `compat.promptProfile` decides where it is set.
pub fn profile_for(info: &ModelInfo) -> PromptProfile {
    info.compat.prompt_profile.unwrap_or(if is_small(info) {
        PromptProfile::Short
    } else {
        PromptProfile::Full
    })
}

/// How a model is told to call tools; the config's `compat.toolMode` decides where it is set.
/// Only local servers take a grammar for the whole answer, and only small models need one.
pub fn tool_mode(info: &ModelInfo, family: EndpointFamily) -> ToolMode {
    let local = matches!(
        family,
        EndpointFamily::LlamaCpp
            | EndpointFamily::LmStudio
            | EndpointFamily::Vllm
            | EndpointFamily::Ollama
            | EndpointFamily::Other
    );
    info.compat
        .tool_mode
        .unwrap_or(if (local && is_small(info)) || !info.compat.tools {
            ToolMode::Constrained
        } else {
            ToolMode::Native
        })
}

/// Who reads the form that answers are held to: servers on this machine make a grammar of it.
pub fn form_reader(family: EndpointFamily) -> FormReader {
    match family {
        EndpointFamily::LlamaCpp
        | EndpointFamily::LmStudio
        | EndpointFamily::Vllm
        | EndpointFamily::Ollama
        | EndpointFamily::Other => FormReader::Server,
        _ => FormReader::Model,
    }
}

fn is_small(info: &ModelInfo) -> bool {
    info.context_window
        .is_some_and(|window| window <= SMALL_WINDOW)
        || billions(&info.id).is_some_and(|billions| billions < SMALL_BILLIONS)
}

/// The number of parameters a name tells: `qwen3:1.7b`, `SmolLM2-135M-Instruct`. In the name of a
/// mixture, such as `30b-a3b`, the larger one counts.
fn billions(name: &str) -> Option<f64> {
    name.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
        .filter_map(|word| {
            let (digits, unit) = word.split_at_checked(word.len().checked_sub(1)?)?;
            let scale = match unit {
                "b" | "B" => 1.0,
                "m" | "M" => 0.001,
                _ => return None,
            };
            let number: f64 = digits.parse().ok()?;
            // `1m` is how long contexts are named, not models.
            (number > 0.0 && (scale == 1.0 || number >= 10.0)).then_some(number * scale)
        })
        .max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::billions;

    #[test]
    fn names_tell_their_size() {
        let close = |name: &str, wanted: f64| {
            let found = billions(name).unwrap_or_default();
            assert!((found - wanted).abs() < 1e-9, "{name}: {found}");
        };
        close("qwen3:1.7b", 1.7);
        close("SmolLM2-135M-Instruct-Q4_1.gguf", 0.135);
        close("qwen3-30b-a3b", 30.0);
        close("meta-llama/Llama-3.1-8B-Instruct", 8.0);
        for stranger in ["gpt-5.1", "claude-opus-4-6", "claude-4-1m", "gemma", "b"] {
            assert_eq!(billions(stranger), None, "{stranger}");
        }
    }
}
