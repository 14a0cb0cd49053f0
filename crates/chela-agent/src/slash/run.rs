//! Carrying commands out.

mod abilities;
mod changes;
mod models;
mod sessions;

use chela_core::SessionForm;

use super::command_context::{
    CalledSkill, CommandContext, CommandTrouble, ConversationRow, SessionSetting, TrustWord,
};
use super::parse::InlineDirective;
use super::table::{self, CommandId, SlashCommand};
use super::{context, levels, status};

use abilities::{skill, skills, tools};
use changes::{diff, export, undo};
use models::{model, models};
pub use sessions::list_conversations;
use sessions::{name, new, reset, resume};

/// What a command says, and what the surface does next.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandAnswer {
    /// Markdown; may be empty.
    pub text: String,
    pub then: SurfaceAction,
    pub outcome: AnswerOutcome,
}

/// Whether a command did what was asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnswerOutcome {
    #[default]
    Done,
    /// The text says why not.
    Failed,
}

/// What only the surface can do.
#[derive(Debug, Clone, PartialEq)]
pub enum SurfaceAction {
    Nothing,
    /// Send this to the model, as if the person had written it.
    Say(String),
    /// Send the message that calls a skill, to its model where it names one.
    UseSkill(CalledSkill),
    /// The conversation is a new one: what is on the screen belongs to the old one.
    Begun(Option<String>),
    /// Let the person choose one of these conversations.
    Choose(Vec<ConversationRow>),
    /// Go on with the conversation of this id.
    Resume(String),
    /// Go on in this folder.
    Folder(String),
    /// Keep this within reach of where people write: they may want to write it again, or not.
    Edit(String),
    /// Put the last reply where people paste from.
    Copy,
    Stop,
    /// Shorten the conversation, keeping what is asked for.
    Compact(Option<String>),
    Approve {
        id: String,
        /// The word of one of the question's choices.
        answer: String,
    },
    Leave,
}

impl CommandAnswer {
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            then: SurfaceAction::Nothing,
            outcome: AnswerOutcome::Done,
        }
    }

    /// What went wrong.
    pub fn failed(text: impl Into<String>) -> Self {
        Self {
            outcome: AnswerOutcome::Failed,
            ..Self::text(text)
        }
    }

    pub fn then(then: SurfaceAction) -> Self {
        Self {
            then,
            ..Self::text("")
        }
    }
}

/// Carries out one command. What goes wrong is an answer too.
pub async fn run(talk: &impl CommandContext, command: &SlashCommand, args: &str) -> CommandAnswer {
    talk.refresh().await;
    let answer = attempt(talk, command, args.trim()).await;
    answer.unwrap_or_else(CommandAnswer::failed)
}

/// Makes a directive hold from now on, or says how things stand.
pub async fn apply(talk: &impl CommandContext, directive: &InlineDirective) -> CommandAnswer {
    let value = directive.value.as_deref().unwrap_or("");
    run(talk, directive.command, value).await
}

async fn attempt(
    talk: &impl CommandContext,
    command: &SlashCommand,
    args: &str,
) -> Result<CommandAnswer, CommandTrouble> {
    if needs_owner(command.id) && !talk.is_owner() {
        return Err(format!("Only the owner can use `/{}`.", command.name));
    }
    match command.id {
        CommandId::Help => Ok(CommandAnswer::text(table::help(args))),
        CommandId::Whoami => Ok(CommandAnswer::text(whoami(talk))),
        CommandId::Status => Ok(CommandAnswer::text(status::card(talk).await)),
        CommandId::Usage => usage(talk, args).await,
        CommandId::Cost => Ok(CommandAnswer::text(status::cost(talk).await)),
        CommandId::Context => context::answer(talk, args).await,
        CommandId::Tools => Ok(CommandAnswer::text(tools(talk, args).await)),
        CommandId::Skills => Ok(CommandAnswer::text(skills(talk))),
        CommandId::Skill => skill(talk, args).await,
        CommandId::Models => Ok(CommandAnswer::text(models(talk, args).await)),
        CommandId::Model => model(talk, args).await,
        CommandId::Think => level(talk, command, SessionSetting::Thinking, args).await,
        CommandId::Reasoning => level(talk, command, SessionSetting::Reasoning, args).await,
        CommandId::Verbose => level(talk, command, SessionSetting::Verbose, args).await,
        CommandId::Elevated => level(talk, command, SessionSetting::Elevated, args).await,
        CommandId::New => new(talk, args).await,
        CommandId::Reset => reset(talk, args).await,
        CommandId::Resume => resume(talk, args).await,
        CommandId::Cd if args.is_empty() => Ok(CommandAnswer::text(table::help("cd"))),
        CommandId::Cd => Ok(CommandAnswer::then(SurfaceAction::Folder(args.to_owned()))),
        CommandId::Name => name(talk, args).await,
        CommandId::Undo => undo(talk, args).await,
        CommandId::Diff => diff(talk).await,
        CommandId::Copy => Ok(CommandAnswer::then(SurfaceAction::Copy)),
        CommandId::Export => export(talk, args).await,
        CommandId::Compact => Ok(CommandAnswer::then(SurfaceAction::Compact(
            (!args.is_empty()).then(|| args.to_owned()),
        ))),
        CommandId::Stop if args.eq_ignore_ascii_case("all") => {
            talk.stop_all()?;
            Ok(CommandAnswer {
                then: SurfaceAction::Stop,
                ..CommandAnswer::text(
                    "Every agent is stopped. `chela stop --lift` lets them work again.",
                )
            })
        }
        CommandId::Stop => Ok(CommandAnswer::then(SurfaceAction::Stop)),
        CommandId::Release => release(talk).await,
        CommandId::Trust => trust(talk, args).await,
        CommandId::Exit => Ok(CommandAnswer::then(SurfaceAction::Leave)),
        CommandId::Approve => approve(talk, args).await,
    }
}

/// What decides over what the agent may do, or shows what is the owner's.
fn needs_owner(command: CommandId) -> bool {
    matches!(
        command,
        CommandId::Approve
            | CommandId::Release
            | CommandId::Cd
            | CommandId::Resume
            | CommandId::Trust
            | CommandId::Export
            | CommandId::Diff
            | CommandId::Undo
            | CommandId::Context
            | CommandId::Model
    )
}

async fn release(talk: &impl CommandContext) -> Result<CommandAnswer, CommandTrouble> {
    let text = match talk.release().await? {
        Some(by) => format!(
            "Released: {by} is no longer a reason to ask. What was read stays marked as \
                untrusted; new untrusted content makes it ask again."
        ),
        None => "No untrusted content was read in this conversation.".to_owned(),
    };
    Ok(CommandAnswer::text(text))
}

/// Shows first, and takes a yes only for what was shown.
async fn trust(talk: &impl CommandContext, args: &str) -> Result<CommandAnswer, CommandTrouble> {
    let args = args.trim();
    let (path, word) = match args.rsplit_once(char::is_whitespace) {
        Some((path, "yes")) => (path.trim(), TrustWord::Yes),
        _ => (args, TrustWord::Show),
    };
    if path.is_empty() {
        return Ok(CommandAnswer::text(table::help("trust")));
    }
    talk.trust_path(path, word).await.map(CommandAnswer::text)
}

fn whoami(talk: &impl CommandContext) -> String {
    let session = talk.session();
    let place = match &session.form {
        SessionForm::Chat { .. } => session.channel().unwrap_or("a chat").to_owned(),
        _ => "this machine".to_owned(),
    };
    format!("You are `{}`, on {place}.", talk.sender())
}

async fn usage(talk: &impl CommandContext, args: &str) -> Result<CommandAnswer, CommandTrouble> {
    if args.eq_ignore_ascii_case("cost") {
        return Ok(CommandAnswer::text(status::cost(talk).await));
    }
    let command = table::find("usage").ok_or("no such command")?;
    if args.is_empty() {
        let now = status::value(talk, SessionSetting::Usage);
        return Ok(CommandAnswer::text(format!(
            "{}\n\nUnder each reply: **{now}**. `/usage {}`",
            status::cost(talk).await,
            command.words.join("|")
        )));
    }
    level(talk, command, SessionSetting::Usage, args).await
}

async fn level(
    talk: &impl CommandContext,
    command: &SlashCommand,
    setting: SessionSetting,
    args: &str,
) -> Result<CommandAnswer, CommandTrouble> {
    let choices = command.words.join("|");
    if args.is_empty() {
        let now = status::value(talk, setting);
        return Ok(CommandAnswer::text(format!(
            "{}: **{now}**. `/{} {choices}`",
            status::title(setting),
            command.name
        )));
    }
    let Some(level) = levels::level(command.id, args) else {
        return Err(format!(
            "`{args}` is not one of the choices: `/{} {choices}`",
            command.name
        ));
    };
    let value = (level != "default").then_some(level);
    talk.set(setting, value).await?;
    let now = status::value(talk, setting);
    let default = if value.is_none() {
        " (the default)"
    } else {
        ""
    };
    Ok(CommandAnswer::text(format!(
        "{}: **{now}**{default}.",
        status::title(setting)
    )))
}

async fn approve(talk: &impl CommandContext, args: &str) -> Result<CommandAnswer, CommandTrouble> {
    let mut words = args.split_whitespace();
    let (Some(id), answer, None) = (words.next(), words.next(), words.next()) else {
        return Err(HOW_TO_APPROVE.to_owned());
    };
    let answer = answer.map(str::to_lowercase);
    if let Some(told) = talk.answer_queued(id, answer.as_deref()).await? {
        return Ok(CommandAnswer::text(told));
    }
    let Some(answer) = answer else {
        return Err(HOW_TO_APPROVE.to_owned());
    };
    Ok(CommandAnswer::then(SurfaceAction::Approve {
        id: id.to_owned(),
        answer,
    }))
}

const HOW_TO_APPROVE: &str =
    "Which question, and what is the answer? `/approve ID once|session|always|deny`";
