//! The commands there are.

/// One command, as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    pub id: Id,
    /// Without the slash.
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// What may follow, as people read it.
    pub args: &'static str,
    /// The first words that may follow, for completion. Empty where anything may.
    pub words: &'static [&'static str],
    pub help: &'static str,
    pub group: Group,
    pub kind: Kind,
}

/// Which command it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Id {
    Approve,
    Compact,
    Context,
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
    Skill,
    Skills,
    Status,
    Stop,
    Think,
    Tools,
    Undo,
    Usage,
    Verbose,
    Whoami,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    Session,
    Run,
    Discovery,
    Skills,
}

impl Group {
    pub const ALL: [Self; 4] = [Self::Session, Self::Run, Self::Discovery, Self::Skills];

    pub fn title(self) -> &'static str {
        match self {
            Self::Session => "The conversation",
            Self::Run => "How it answers",
            Self::Discovery => "What there is",
            Self::Skills => "Skills and permissions",
        }
    }
}

/// What a command is inside a longer message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A message of its own, or plain text.
    Standalone,
    /// Taken out of the message: alone it holds from now on, inside a message for that one only.
    Directive,
    /// Taken out of the message and answered beside it.
    Shortcut,
}

/// Every command, in the order of the help.
pub const COMMANDS: &[Command] = &[
    Command {
        id: Id::New,
        name: "new",
        aliases: &[],
        args: "[model | first message]",
        words: &[],
        help: "begin a new conversation; the old one is kept",
        group: Group::Session,
        kind: Kind::Standalone,
    },
    Command {
        id: Id::Reset,
        name: "reset",
        aliases: &[],
        args: "[soft [message]]",
        words: &["soft"],
        help: "begin again; soft keeps model and settings",
        group: Group::Session,
        kind: Kind::Standalone,
    },
    Command {
        id: Id::Name,
        name: "name",
        aliases: &["rename"],
        args: "[title]",
        words: &[],
        help: "show or set the title of this conversation",
        group: Group::Session,
        kind: Kind::Standalone,
    },
    Command {
        id: Id::Compact,
        name: "compact",
        aliases: &[],
        args: "[what to keep]",
        words: &[],
        help: "shorten what the model has to read again",
        group: Group::Session,
        kind: Kind::Standalone,
    },
    Command {
        id: Id::Undo,
        name: "undo",
        aliases: &[],
        args: "[files]",
        words: &["files"],
        help: "take back your last message and what came of it; files: what the last turn did to files instead",
        group: Group::Session,
        kind: Kind::Standalone,
    },
    Command {
        id: Id::Export,
        name: "export",
        aliases: &["export-session"],
        args: "[path]",
        words: &[],
        help: "write the conversation to a file (JSONL)",
        group: Group::Session,
        kind: Kind::Standalone,
    },
    Command {
        id: Id::Stop,
        name: "stop",
        aliases: &["abort"],
        args: "[all]",
        words: &["all"],
        help: "stop what it is doing; `all` stops every agent until `chela stop --lift`",
        group: Group::Session,
        kind: Kind::Standalone,
    },
    Command {
        id: Id::Release,
        name: "release",
        aliases: &[],
        args: "",
        words: &[],
        help: "text from outside that was read so far is no reason to ask any more",
        group: Group::Session,
        kind: Kind::Standalone,
    },
    Command {
        id: Id::Exit,
        name: "exit",
        aliases: &["quit", "q"],
        args: "",
        words: &[],
        help: "leave the chat; the conversation is kept",
        group: Group::Session,
        kind: Kind::Standalone,
    },
    Command {
        id: Id::Model,
        name: "model",
        aliases: &[],
        args: "[name | # | status | default]",
        words: &["status", "default"],
        help: "show or choose the model of this conversation",
        group: Group::Run,
        kind: Kind::Directive,
    },
    Command {
        id: Id::Models,
        name: "models",
        aliases: &[],
        args: "[provider]",
        words: &[],
        help: "the models that can be chosen",
        group: Group::Run,
        kind: Kind::Standalone,
    },
    Command {
        id: Id::Think,
        name: "think",
        aliases: &["t", "thinking"],
        args: "[off | minimal | low | medium | high | xhigh | default]",
        words: &[
            "off", "minimal", "low", "medium", "high", "xhigh", "default",
        ],
        help: "how long it thinks before it answers",
        group: Group::Run,
        kind: Kind::Directive,
    },
    Command {
        id: Id::Reasoning,
        name: "reasoning",
        aliases: &["reason"],
        args: "[off | on | stream | default]",
        words: &["off", "on", "stream", "default"],
        help: "whether its thoughts are shown: afterwards (on), or as they come (stream)",
        group: Group::Run,
        kind: Kind::Directive,
    },
    Command {
        id: Id::Verbose,
        name: "verbose",
        aliases: &["v"],
        args: "[off | on | full | default]",
        words: &["off", "on", "full", "default"],
        help: "how much of tool calls is shown",
        group: Group::Run,
        kind: Kind::Directive,
    },
    Command {
        id: Id::Elevated,
        name: "elevated",
        aliases: &["elev"],
        args: "[off | on | ask | full | default]",
        words: &["off", "on", "ask", "full", "default"],
        help: "whether commands may leave the sandbox, where the config lets you",
        group: Group::Run,
        kind: Kind::Directive,
    },
    Command {
        id: Id::Help,
        name: "help",
        aliases: &["commands", "?"],
        args: "[command]",
        words: &[],
        help: "this list, or one command in full",
        group: Group::Discovery,
        kind: Kind::Shortcut,
    },
    Command {
        id: Id::Status,
        name: "status",
        aliases: &[],
        args: "",
        words: &[],
        help: "model, context, cost and settings at a glance",
        group: Group::Discovery,
        kind: Kind::Shortcut,
    },
    Command {
        id: Id::Context,
        name: "context",
        aliases: &[],
        args: "[list | detail | map | why WHAT | json]",
        words: &["list", "detail", "map", "why", "json"],
        help: "what the model reads, what each part costs, and why it is there",
        group: Group::Discovery,
        kind: Kind::Standalone,
    },
    Command {
        id: Id::Usage,
        name: "usage",
        aliases: &[],
        args: "[off | tokens | full | cost | default]",
        words: &["off", "tokens", "full", "cost", "default"],
        help: "tokens under each reply, or what this conversation has cost",
        group: Group::Discovery,
        kind: Kind::Standalone,
    },
    Command {
        id: Id::Tools,
        name: "tools",
        aliases: &[],
        args: "[compact | verbose]",
        words: &["compact", "verbose"],
        help: "what it can do in this conversation",
        group: Group::Discovery,
        kind: Kind::Standalone,
    },
    Command {
        id: Id::Whoami,
        name: "whoami",
        aliases: &["id"],
        args: "",
        words: &[],
        help: "who it takes you for",
        group: Group::Discovery,
        kind: Kind::Shortcut,
    },
    Command {
        id: Id::Skill,
        name: "skill",
        aliases: &[],
        args: "NAME [what to do]",
        words: &[],
        help: "use a skill; /NAME does the same",
        group: Group::Skills,
        kind: Kind::Standalone,
    },
    Command {
        id: Id::Skills,
        name: "skills",
        aliases: &[],
        args: "",
        words: &[],
        help: "the skills it knows",
        group: Group::Skills,
        kind: Kind::Standalone,
    },
    Command {
        id: Id::Approve,
        name: "approve",
        aliases: &[],
        args: "ID once | session | always | deny",
        words: &[],
        help: "answer a question for permission",
        group: Group::Skills,
        kind: Kind::Standalone,
    },
];

/// The command of this name or alias, in any casing.
pub fn find(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| {
        command.name.eq_ignore_ascii_case(name)
            || command
                .aliases
                .iter()
                .any(|alias| alias.eq_ignore_ascii_case(name))
    })
}

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
    for group in Group::ALL {
        text.push_str(&format!("**{}**\n\n", group.title()));
        for command in COMMANDS.iter().filter(|command| command.group == group) {
            text.push_str(&format!("- `/{}` {}\n", command.name, command.help));
        }
        text.push('\n');
    }
    text.push_str("`/help COMMAND` tells more about one.");
    text
}

/// What is said about a command that does not exist.
pub fn unknown(name: &str) -> String {
    let names = COMMANDS
        .iter()
        .flat_map(|command| std::iter::once(&command.name).chain(command.aliases))
        .copied();
    match chela_core::suggest::nearest(name, names) {
        Some(near) => format!("There is no command `/{name}`. Did you mean `/{near}`?"),
        None => format!("There is no command `/{name}`; `/help` lists them."),
    }
}

fn in_full(command: &Command) -> String {
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
        Kind::Directive if command.id != Id::Model => text.push_str(
            "\n\nAlone it holds from now on; inside a message it holds for that message only.",
        ),
        _ => {}
    }
    text
}
