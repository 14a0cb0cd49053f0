//! How long a full prompt takes, next to copying its bytes.
//!
//! 25 tools, 8 files of 10 KB and 50 skills make about 110 KB. Run with `cargo bench -p
//! chela-prompt`.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a benchmark prints its figures"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use chela_core::{Origin, Trust};
use chela_prompt::{
    CleanText, ContextFile, PromptInput, SkillsListing, Sourced, Tool, core_tools, render,
};

fn main() {
    let input = large_input();
    let prompt = render(&input).expect("the session is private");
    let copy = best(|| black_box(&prompt.text).clone());
    let full = best(|| render(black_box(&input)));
    let ratio = full.as_secs_f64() / copy.as_secs_f64();
    println!("render: a prompt of {} bytes", prompt.text.len());
    println!("  copy its bytes   {:>9.2} µs", micros(copy));
    println!(
        "  render           {:>9.2} µs   {ratio:.2}x of copying (limit 4x)",
        micros(full)
    );

    let raw: Vec<&str> = input
        .files
        .iter()
        .map(|file| file.content.as_str())
        .collect();
    let cleaning = best(|| {
        raw.iter()
            .map(|raw| CleanText::new(raw))
            .collect::<Vec<_>>()
    });
    println!(
        "  clean its files  {:>9.2} µs   (once per change of a file)",
        micros(cleaning)
    );

    let small = best(|| render(black_box(&small_input())));
    println!("  render, no files {:>9.2} µs", micros(small));
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
    input.tools = core_tools().take(25).map(Tool::core).collect();
    input.time_zone = Some("Europe/Berlin".into());
    input.heartbeat = Some(Sourced::config("heartbeat.prompt", "Look after things."));
    input.runtime.channel = Some("telegram".into());
    input.runtime.model = Some("anthropic/claude-opus-4-6".into());
    input
}

/// The best of many runs: the time the work takes when nothing else is going on.
fn best<T>(mut work: impl FnMut() -> T) -> Duration {
    let mut best = Duration::MAX;
    let end = Instant::now() + Duration::from_millis(600);
    while Instant::now() < end {
        let start = Instant::now();
        for _ in 0..16 {
            black_box(work());
        }
        best = best.min(start.elapsed() / 16);
    }
    best
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
