//! How long a full prompt takes, next to copying its bytes.
//!
//! 25 tools, 8 files of 10 KB and 50 skills make about 110 KB; rendering it should take at most
//! four times as long as copying it. Run with `cargo bench -p chela-prompt`.
#![expect(
    clippy::expect_used,
    reason = "a benchmark without a prompt has nothing to say"
)]

use std::hint::black_box;

use chela_core::{Origin, Trust};
use chela_prompt::{
    CleanText, ContextFile, PromptInput, PromptTool, SkillsListing, SourcedValue, core_tools,
    render,
};
use chela_testkit::bench::measure;

fn main() {
    let input = large_input();
    let prompt = render(&input).expect("the session is private");
    let bytes = prompt.text.len();
    let copy = measure("copy", bytes, || black_box(&prompt.text).clone());
    copy.print(None);
    measure("render 110 KB", bytes, || render(black_box(&input))).print(Some(&copy));

    let small = small_input();
    measure("render, no files or skills", 0, || {
        render(black_box(&small))
    })
    .print(Some(&copy));
    let raw: Vec<&str> = input
        .files
        .iter()
        .map(|file| file.content.as_str())
        .collect();
    let clean = || {
        raw.iter()
            .map(|raw| CleanText::new(raw))
            .collect::<Vec<_>>()
    };
    let bytes = raw.iter().map(|raw| raw.len()).sum();
    measure("clean its files, once per change", bytes, clean).print(Some(&copy));
}

fn large_input() -> PromptInput {
    let mut input = small_input();
    let paragraph = "- Keep notes short and dated; ask before anything that cannot be undone.\n";
    let content = paragraph.repeat(10_240 / paragraph.len());
    let names = [
        "AGENTS",
        "SOUL",
        "IDENTITY",
        "USER",
        "TOOLS",
        "BOOTSTRAP",
        "MEMORY",
        "EXTRA",
    ];
    input.files = names
        .iter()
        .map(|name| ContextFile::new(format!("{name}.md"), &content))
        .collect();
    let skills: String = (0..50)
        .map(|at| {
            format!(
                "  <skill>\n    <name>skill-{at}</name>\n    <description>{}</description>\n    \
                 <location>~/.chela/skills/skill-{at}/SKILL.md</location>\n    \
                 <version>{at}</version>\n  </skill>\n",
                "Ship a release, check the site and tell everyone who asked for it. ".repeat(5)
            )
        })
        .collect();
    let listing = format!("<available_skills>\n{skills}</available_skills>");
    input.skills = SkillsListing::new(&listing, Origin::Runtime, Trust::Owner);
    input
}

fn small_input() -> PromptInput {
    let mut input = PromptInput::new("/home/ada/.chela/workspace");
    input.tools = core_tools().take(25).map(PromptTool::core).collect();
    input.time_zone = Some("Europe/Berlin".into());
    input.heartbeat = Some(SourcedValue::config(
        "heartbeat.prompt",
        "Look after things.",
    ));
    input.runtime.channel = Some("telegram".into());
    input.runtime.model = Some("anthropic/claude-opus-4-6".into());
    input
}
