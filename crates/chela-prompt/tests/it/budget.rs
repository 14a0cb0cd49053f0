//! What our own words cost, in o200k tokens.

use chela_core::tokens;
use chela_prompt::{PromptInput, PromptMode, PromptTool, SourcedValue, core_tools, render};

fn cost(mode: PromptMode) -> usize {
    let mut input = PromptInput::new("/home/ada/.chela/workspace");
    input.mode = mode;
    input.tools = core_tools().map(PromptTool::core).collect();
    input.time_zone = Some("Europe/Berlin".into());
    input.docs_path = Some("/usr/share/doc/chela".into());
    let heartbeat = "Read HEARTBEAT.md if it exists and follow it strictly. \
                     If nothing needs attention, reply HEARTBEAT_OK.";
    input.heartbeat = Some(SourcedValue::config("heartbeat.prompt", heartbeat));
    tokens::count(&render(&input).unwrap().text)
}

#[test]
fn the_fixed_prompt_stays_small() {
    assert_eq!(core_tools().count(), 28);
    let (full, minimal) = (cost(PromptMode::Full), cost(PromptMode::Minimal));
    assert!(full < 1900, "full: {full} tokens");
    assert!(minimal < 950, "minimal: {minimal} tokens");
}
