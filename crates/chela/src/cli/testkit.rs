//! What can be typed after `chela testkit`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

#[derive(Debug, Subcommand)]
pub enum TestkitCommand {
    /// Serve a model endpoint that follows a script: replies, tool calls, faults
    #[command(after_help = "\
Examples:
  chela testkit serve --example > hello.json   a script with every kind of step, explained
  chela testkit serve hello.json               on a free port, until Ctrl-C
  chela testkit serve hello.json --port 8099 --once
                                               exits after the last step

It speaks OpenAI chat completions and responses, Anthropic messages, Gemini, Ollama and
llama.cpp, on this machine only, and prints how to point a provider at it.")]
    Serve {
        /// The script: a JSON file; `//` starts a comment
        #[arg(value_hint = ValueHint::FilePath, required_unless_present = "example")]
        script: Option<PathBuf>,
        /// Listen on this port (default: any free one)
        #[arg(long, default_value_t = 0, value_name = "PORT")]
        port: u16,
        /// Exit after the last step
        #[arg(long)]
        once: bool,
        /// Print a sample script instead
        #[arg(long, conflicts_with = "script")]
        example: bool,
    },
    /// Be an MCP server that follows a script, over standard input and output
    #[command(after_help = "\
Examples:
  echo '{ \"tools\": [{ \"name\": \"greet\", \"deeds\": [{ \"text\": \"Hello {{name}}\" }] }] }' > kit.json
  chela mcp add kit --read . -- chela testkit mcp \"$PWD/kit.json\"")]
    Mcp {
        /// The script: a JSON file; `//` starts a comment
        #[arg(value_hint = ValueHint::FilePath)]
        script: PathBuf,
    },
}
