//! The commands there are.

use super::known_elsewhere::known_elsewhere;

/// One command, as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlashCommand {
    pub id: CommandId,
    /// Without the slash.
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// What may follow, as people read it.
    pub args: &'static str,
    /// The first words that may follow, for completion. Empty where anything may.
    pub words: &'static [&'static str],
    pub help: &'static str,
    pub group: CommandGroup,
    pub kind: CommandKind,
}

/// Which command it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandId {
    Approve,
    Cd,
    Compact,
    Context,
    Copy,
    Cost,
    Diff,
    Exit,
    Export,
    Help,
    Model,
    Models,
    Elevated,
    Name,
    New,
    Reasoning,
    Release,
    Reset,
    Resume,
    Skill,
    Skills,
    Status,
    Stop,
    Think,
    Tools,
    Trust,
    Undo,
    Usage,
    Verbose,
    Whoami,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandGroup {
    Session,
    Run,
    Discovery,
    Skills,
}

impl CommandGroup {
    pub const ALL: [Self; 4] = [Self::Session, Self::Run, Self::Discovery, Self::Skills];

    pub fn title(self) -> &'static str {
        match self {
            Self::Session => "The conversation",
            Self::Run => "How it answers",
            Self::Discovery => "What it has",
            Self::Skills => "Skills and permissions",
        }
    }
}

/// What a command is inside a longer message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandKind {
    /// A message of its own, or plain text.
    Standalone,
    /// Taken out of the message: alone it holds from now on, inside a message for that one only.
    Directive,
    /// Taken out of the message and answered beside it.
    Shortcut,
}

/// Every command, in the order of the help.
pub const COMMANDS: &[SlashCommand] = &[
    SlashCommand {
        id: CommandId::New,
        name: "new",
        aliases: &["clear"],
        args: "[model | first message]",
        words: &[],
        help: "start a new conversation; the old one is kept",
        group: CommandGroup::Session,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Reset,
        name: "reset",
        aliases: &[],
        args: "[soft [message]]",
        words: &["soft"],
        help: "start over; soft keeps model and settings",
        group: CommandGroup::Session,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Resume,
        name: "resume",
        aliases: &["continue"],
        args: "[id | words]",
        words: &[],
        help: "return to an earlier conversation: pick one, or give its id or words from it",
        group: CommandGroup::Session,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Name,
        name: "name",
        aliases: &["rename"],
        args: "[title]",
        words: &[],
        help: "show or set the title of this conversation",
        group: CommandGroup::Session,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Compact,
        name: "compact",
        aliases: &[],
        args: "[what to keep]",
        words: &[],
        help: "compact: replace older messages with a summary",
        group: CommandGroup::Session,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Cd,
        name: "cd",
        aliases: &[],
        args: "DIR",
        words: &[],
        help: "also work in this folder; asks once for each",
        group: CommandGroup::Session,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Trust,
        name: "trust",
        aliases: &[],
        args: "PATH [yes]",
        words: &[],
        help: "review a file or folder; with yes you approve it as it is",
        group: CommandGroup::Session,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Undo,
        name: "undo",
        aliases: &[],
        args: "[files]",
        words: &["files"],
        help: "undo your last message and what followed; files: undo what the last turn did to \
            files",
        group: CommandGroup::Session,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Diff,
        name: "diff",
        aliases: &[],
        args: "",
        words: &[],
        help: "show the last file changes",
        group: CommandGroup::Session,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Copy,
        name: "copy",
        aliases: &[],
        args: "",
        words: &[],
        help: "copy the last reply to the clipboard of your terminal",
        group: CommandGroup::Session,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Export,
        name: "export",
        aliases: &["export-session"],
        args: "[path]",
        words: &[],
        help: "write the conversation to a file: JSON lines, or Markdown for a path that ends in .md",
        group: CommandGroup::Session,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Stop,
        name: "stop",
        aliases: &["abort"],
        args: "[all]",
        words: &["all"],
        help: "stop what it is doing; `all` stops every agent until `chela stop --lift`",
        group: CommandGroup::Session,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Release,
        name: "release",
        aliases: &[],
        args: "",
        words: &[],
        help: "stop asking because of untrusted content read so far",
        group: CommandGroup::Session,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Exit,
        name: "exit",
        aliases: &["quit", "q"],
        args: "",
        words: &[],
        help: "leave the chat; the conversation is kept",
        group: CommandGroup::Session,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Model,
        name: "model",
        aliases: &[],
        args: "[name | # | status | default]",
        words: &["status", "default"],
        help: "show or choose the model of this conversation",
        group: CommandGroup::Run,
        kind: CommandKind::Directive,
    },
    SlashCommand {
        id: CommandId::Models,
        name: "models",
        aliases: &[],
        args: "[provider]",
        words: &[],
        help: "the models that can be chosen",
        group: CommandGroup::Run,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Think,
        name: "think",
        aliases: &["t", "thinking"],
        args: "[off | minimal | low | medium | high | xhigh | default]",
        words: &[
            "off", "minimal", "low", "medium", "high", "xhigh", "default",
        ],
        help: "how much it thinks before it answers",
        group: CommandGroup::Run,
        kind: CommandKind::Directive,
    },
    SlashCommand {
        id: CommandId::Reasoning,
        name: "reasoning",
        aliases: &["reason"],
        args: "[off | on | stream | default]",
        words: &["off", "on", "stream", "default"],
        help: "whether its reasoning is shown: afterwards (on), or as it comes (stream)",
        group: CommandGroup::Run,
        kind: CommandKind::Directive,
    },
    SlashCommand {
        id: CommandId::Verbose,
        name: "verbose",
        aliases: &["v"],
        args: "[off | on | full | default]",
        words: &["off", "on", "full", "default"],
        help: "how much of tool calls is shown",
        group: CommandGroup::Run,
        kind: CommandKind::Directive,
    },
    SlashCommand {
        id: CommandId::Elevated,
        name: "elevated",
        aliases: &["elev"],
        args: "[off | on | ask | full | default]",
        words: &["off", "on", "ask", "full", "default"],
        help: "whether commands may leave the sandbox, if the config allows it",
        group: CommandGroup::Run,
        kind: CommandKind::Directive,
    },
    SlashCommand {
        id: CommandId::Help,
        name: "help",
        aliases: &["commands", "?"],
        args: "[command]",
        words: &[],
        help: "this list, or one command in full",
        group: CommandGroup::Discovery,
        kind: CommandKind::Shortcut,
    },
    SlashCommand {
        id: CommandId::Status,
        name: "status",
        aliases: &[],
        args: "",
        words: &[],
        help: "model, context, cost and settings at a glance",
        group: CommandGroup::Discovery,
        kind: CommandKind::Shortcut,
    },
    SlashCommand {
        id: CommandId::Context,
        name: "context",
        aliases: &[],
        args: "[list | detail | map | why WHAT | json]",
        words: &["list", "detail", "map", "why", "json"],
        help: "what the model reads, what each part costs, and why it is there",
        group: CommandGroup::Discovery,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Usage,
        name: "usage",
        aliases: &[],
        args: "[off | tokens | full | cost | default]",
        words: &["off", "tokens", "full", "cost", "default"],
        help: "tokens under each reply, or what this conversation has cost",
        group: CommandGroup::Discovery,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Cost,
        name: "cost",
        aliases: &[],
        args: "",
        words: &[],
        help: "what this conversation and this day have cost: tokens and money",
        group: CommandGroup::Discovery,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Tools,
        name: "tools",
        aliases: &[],
        args: "[compact | verbose]",
        words: &["compact", "verbose"],
        help: "what it can do in this conversation",
        group: CommandGroup::Discovery,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Whoami,
        name: "whoami",
        aliases: &["id"],
        args: "",
        words: &[],
        help: "who it thinks you are",
        group: CommandGroup::Discovery,
        kind: CommandKind::Shortcut,
    },
    SlashCommand {
        id: CommandId::Skill,
        name: "skill",
        aliases: &[],
        args: "NAME [what to do]",
        words: &[],
        help: "use a skill; same as /NAME",
        group: CommandGroup::Skills,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Skills,
        name: "skills",
        aliases: &[],
        args: "",
        words: &[],
        help: "its skills",
        group: CommandGroup::Skills,
        kind: CommandKind::Standalone,
    },
    SlashCommand {
        id: CommandId::Approve,
        name: "approve",
        aliases: &[],
        args: "ID once | session | always | deny",
        words: &[],
        help: "answer an approval question",
        group: CommandGroup::Skills,
        kind: CommandKind::Standalone,
    },
];

/// The command of this name or alias, in any casing.
pub fn find(name: &str) -> Option<&'static SlashCommand> {
    COMMANDS.iter().find(|command| {
        command.name.eq_ignore_ascii_case(name)
            || command
                .aliases
                .iter()
                .any(|alias| alias.eq_ignore_ascii_case(name))
    })
}

/// What the terminal chat does with keys and marks, for its help.
const KEYS: &str = "\
**In the terminal**

- `@` completes files, `/` commands: choose with Tab or the arrow keys
- `!` and a command runs it in the agent's sandbox; its output is sent with your next message
- `Esc` stops, `Ctrl-R` searches your input history, `Ctrl-G` opens your editor, `Ctrl-O` expands tool calls
- `Alt-Enter` starts a new line, `Ctrl-C` twice quits

";

/// The whole list, or one command in full, in Markdown.
pub fn help(asked: &str) -> String {
    let asked = asked.trim().trim_start_matches('/');
    if !asked.is_empty() {
        return match find(asked) {
            Some(command) => in_full(command),
            None => unknown(asked),
        };
    }
    let mut text = String::new();
    for group in CommandGroup::ALL {
        text.push_str(&format!("**{}**\n\n", group.title()));
        for command in COMMANDS.iter().filter(|command| command.group == group) {
            text.push_str(&format!("- `/{}` {}\n", command.name, command.help));
        }
        text.push('\n');
    }
    text.push_str(KEYS);
    text.push_str("`/help COMMAND` explains one command.");
    text
}

/// What is said about a command that does not exist.
pub fn unknown(name: &str) -> String {
    let names = COMMANDS
        .iter()
        .flat_map(|command| std::iter::once(&command.name).chain(command.aliases))
        .copied();
    if let Some(here) = known_elsewhere(name) {
        return format!("There is no command `/{name}`: {here}.");
    }
    match chela_core::suggest::nearest(name, names) {
        Some(near) => format!("There is no command `/{name}`. Did you mean `/{near}`?"),
        None => format!("There is no command `/{name}`; `/help` lists them."),
    }
}

fn in_full(command: &SlashCommand) -> String {
    let usage = format!("/{} {}", command.name, command.args);
    let mut text = format!("`{}`: {}.", usage.trim_end(), command.help);
    if !command.aliases.is_empty() {
        let aliases: Vec<String> = command
            .aliases
            .iter()
            .map(|alias| format!("`/{alias}`"))
            .collect();
        text.push_str(&format!(" Also {}.", aliases.join(", ")));
    }
    match command.kind {
        CommandKind::Directive if command.id != CommandId::Model => text.push_str(
            "\n\nOn its own it applies from now on; inside a message, to that message only.",
        ),
        _ => {}
    }
    text
}
