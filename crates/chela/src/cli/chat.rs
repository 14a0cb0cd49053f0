//! `chela chat`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueHint};

use super::AgentArg;

/// `chela chat`.
#[derive(Debug, Default, Args)]
pub struct TalkArgs {
    /// Say this, print the answer and end; the same as --message
    #[arg(value_name = "MESSAGE", conflicts_with = "message")]
    pub words: Vec<String>,

    /// Print one answer and end; a message does so by itself, this also reads it from a pipe only
    #[arg(long, short)]
    pub print: bool,

    #[command(flatten)]
    pub chat: ChatArgs,
}

/// What a conversation takes, begun or gone back to.
#[derive(Debug, Default, Args)]
pub struct ChatArgs {
    /// Send this message, print the answer and exit
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub message: Option<String>,

    #[command(flatten)]
    pub agent: AgentArg,

    /// Which conversation: its id or the start of it, its name, or a session key. A full key
    /// (agent:main:notes) starts one if there is none
    #[arg(long, short, value_name = "KEY")]
    pub session: Option<String>,

    /// Start a conversation with this name
    #[arg(long, value_name = "NAME", conflicts_with = "session")]
    pub new_session: Option<String>,

    /// Continue your last conversation
    #[arg(long = "continue", short, conflicts_with_all = ["session", "new_session"])]
    pub continue_last: bool,

    /// Use this model, this time only: provider/model or an alias
    #[arg(long, value_name = "MODEL", value_parser = NonEmptyStringValueParser::new())]
    pub model: Option<String>,

    /// How much it thinks, this time only: off, minimal, low, medium, high, xhigh
    #[arg(long, value_name = "LEVEL")]
    pub thinking: Option<String>,

    /// Use this skill for the message, as `/skill NAME` does
    #[arg(long, value_name = "NAME")]
    pub skill: Option<String>,

    /// Attach an image (PNG, JPEG, GIF or WebP); may be repeated
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub image: Vec<PathBuf>,

    /// Use this folder instead of the current one
    #[arg(long, short = 'C', value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub cd: Option<PathBuf>,

    /// Also let it work in this folder, this time only; may be repeated
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub add_dir: Vec<PathBuf>,

    /// Run the turn in this process, also while a gateway runs
    #[arg(long)]
    pub local: bool,

    /// Offer it no tools
    #[arg(long)]
    pub no_tools: bool,

    /// Use the first model found, without asking, this time only
    #[arg(long, short)]
    pub yes: bool,

    /// After the answer, wait at most this long for the sub-agents it started [default: 600]
    #[arg(long, value_name = "SECONDS")]
    pub wait: Option<u64>,

    /// Also wait for background commands
    #[arg(long)]
    pub wait_commands: bool,

    /// Print one JSON object at the end, for scripts
    #[arg(long)]
    pub json: bool,

    /// Print one JSON object per line as it works; the last is as with --json
    #[arg(long, conflicts_with = "json")]
    pub json_stream: bool,

    /// What was piped in, where it has been read already.
    #[arg(skip)]
    pub piped: Option<String>,
}

/// `chela resume`.
#[derive(Debug, Default, Args)]
pub struct ResumeArgs {
    /// Its id, the start of it, its name, or words you wrote in it; without it you pick one
    #[arg(value_name = "ID|WORDS", conflicts_with_all = ["continue_last", "session", "new_session"])]
    pub which: Vec<String>,

    #[command(flatten)]
    pub chat: ChatArgs,
}

/// Examples and exit codes, under the options.
pub const AFTER_HELP: &str = "\
Examples:
  chela chat                                     talk
  chela chat 'what is on my list today?'         one answer; also without the word chat
  git diff | chela chat -m 'review this'         piped input follows the message
  chela chat -m hi --json | jq -r .reply         for scripts
  chela chat --continue                          your last conversation
  chela chat --new-session notes                 another conversation, with a name
  chela chat -s notes -m 'and eggs'              back in it
  chela chat --add-dir . -m 'what is this?'      let it work here, this time

In the chat: Enter sends, Alt-Enter or a trailing \\ starts a new line, Esc stops, Tab completes
commands, what you type while it works is read before its next step. /help lists the commands.

With --json the object has reply, silent, session, sessionId, model, usage, context, steps, toolCalls,
ended (done, stopped, limit, loop), stop (end, length, refused) and refused: [{tool, what, why}]. A
command that fails prints {\"error\": {message, hint, code}}. With --json-stream each line has a type:
calling, text, reasoning, tool-started, tool-ended (outcome done, failed, refused), retracted and
restarted (what was said since calling does not count), notice, waiting, warning, called, and at the
end result or error.

Exit codes: 0 answered (or chose silence), 1 failed or an empty answer, 2 usage error, 3 no model
answers, 4 stopped or at a limit, 5 answered, but something it tried was refused,
78 invalid config.";

pub const RESUME_HELP: &str = "\
Examples:
  chela resume                     pick one with the arrow keys
  chela resume 3f2a                by the start of its id
  chela resume trip lisbon         by words from your first or last message
  chela resume 3f2a -m 'go on'     one message in it";
