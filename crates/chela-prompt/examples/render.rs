//! Renders a facts document: `cargo run -p chela-prompt --example render -- facts.json [MODE]`.
#![expect(clippy::print_stdout, reason = "printing is what the example does")]

use chela_prompt::{PromptInput, PromptMode, render};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let facts = std::fs::read_to_string(args.next().ok_or("which facts?")?)?;
    let mut input = PromptInput::from_facts(&facts)?;
    if let Some(mode) = args.next() {
        input.mode = PromptMode::ALL
            .into_iter()
            .find(|known| known.as_str() == mode)
            .ok_or("full, minimal or none?")?;
    }
    println!("{}", render(&input)?.text);
    Ok(())
}
