//! Carrying commands out.

use chela_core::{SessionForm, suggest};

use super::command_context::{
    CommandContext, CommandTrouble, ConversationRow, ModelRow, SessionSetting, TrustWord,
    UndoOutcome,
};
use super::parse::InlineDirective;
use super::table::{self, CommandId, SlashCommand};
use super::{context, levels, status};

/// What a command says, and what the surface does next.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandAnswer {
    /// Markdown; may be empty.
    pub text: String,
    pub then: SurfaceAction,
}

/// What only the surface can do.
#[derive(Debug, Clone, PartialEq)]
pub enum SurfaceAction {
    Nothing,
    /// Send this to the model, as if the person had written it.
    Say(String),
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
        }
    }

    pub fn then(then: SurfaceAction) -> Self {
        Self {
            text: String::new(),
            then,
        }
    }
}

/// Carries out one command. What goes wrong is an answer too.
pub async fn run(talk: &impl CommandContext, command: &SlashCommand, args: &str) -> CommandAnswer {
    talk.refresh().await;
    let answer = attempt(talk, command, args.trim()).await;
    answer.unwrap_or_else(CommandAnswer::text)
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
        CommandId::Context => context::answer(talk, args).await,
        CommandId::Tools => Ok(CommandAnswer::text(tools(talk, args).await)),
        CommandId::Skills => Ok(CommandAnswer::text(skills(talk))),
        CommandId::Skill => skill(talk, args),
        CommandId::Models => Ok(CommandAnswer::text(models(talk, args))),
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

async fn tools(talk: &impl CommandContext, args: &str) -> String {
    let tools = talk.tools().await;
    if tools.is_empty() {
        return "It has no tools in this conversation.".to_owned();
    }
    if args.eq_ignore_ascii_case("verbose") {
        let rows = tools.iter().map(|tool| {
            let found = if tool.is_deferred {
                " (loaded when needed)"
            } else {
                ""
            };
            format!("- `{}`{found} {}", tool.name, tool.description)
        });
        return rows.collect::<Vec<_>>().join("\n");
    }
    let names = |is_deferred: bool| {
        let names = tools.iter().filter(|tool| tool.is_deferred == is_deferred);
        let names: Vec<String> = names.map(|tool| format!("`{}`", tool.name)).collect();
        names.join(", ")
    };
    let found = match names(true) {
        none if none.is_empty() => none,
        deferred => format!(" Loaded when needed: {deferred}."),
    };
    format!(
        "{} tools: {}.{found} `/tools verbose` says what each does.",
        tools.len(),
        names(false),
    )
}

fn skills(talk: &impl CommandContext) -> String {
    let skills = talk.skills();
    if skills.is_empty() {
        return "It has no skills yet; `chela skills new NAME` creates one.".to_owned();
    }
    let rows = skills
        .iter()
        .map(|skill| format!("- `/{}` {}", skill.command, skill.description));
    rows.collect::<Vec<_>>().join("\n")
}

fn skill(talk: &impl CommandContext, args: &str) -> Result<CommandAnswer, CommandTrouble> {
    if args.is_empty() {
        return Ok(CommandAnswer::text(skills(talk)));
    }
    let (name, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    let message = talk.call_skill(name, rest.trim())?;
    Ok(CommandAnswer::then(SurfaceAction::Say(message)))
}

fn models(talk: &impl CommandContext, provider: &str) -> String {
    let rows = talk.models();
    let wanted = |row: &&(usize, &ModelRow)| {
        provider.is_empty()
            || row
                .1
                .name
                .split('/')
                .next()
                .is_some_and(|own| own.eq_ignore_ascii_case(provider))
    };
    let numbered: Vec<(usize, &ModelRow)> = (1..).zip(rows.iter()).collect();
    let shown: Vec<String> = numbered
        .iter()
        .filter(wanted)
        .map(|(number, row)| model_line(*number, row, talk.model().selected.as_deref()))
        .collect();
    if shown.is_empty() {
        return match provider {
            "" => no_model(talk),
            _ => format!("There is no model from `{provider}`; `/models` lists all."),
        };
    }
    format!(
        "{}\n\nChoose one with `/model NAME` or `/model #`.",
        shown.join("\n")
    )
}

fn model_line(number: usize, row: &ModelRow, selected: Option<&str>) -> String {
    let mut line = format!("{number}. `{}`", row.name);
    if let Some(alias) = &row.alias {
        line.push_str(&format!(" ({alias})"));
    }
    if let Some(window) = row.window {
        line.push_str(&format!(", {} tokens", status::thousands(window)));
    }
    if let Some(note) = &row.note {
        line.push_str(&format!(", {note}"));
    }
    if selected == Some(row.name.as_str()) {
        line.push_str(" **← now**");
    }
    line
}

fn no_model(talk: &impl CommandContext) -> String {
    let missing = talk.model().missing;
    if missing.is_empty() {
        "There is no model yet.".to_owned()
    } else {
        missing.join("\n\n")
    }
}

async fn model(talk: &impl CommandContext, asked: &str) -> Result<CommandAnswer, CommandTrouble> {
    if asked.is_empty() || asked.eq_ignore_ascii_case("status") {
        return Ok(CommandAnswer::text(model_status(talk)));
    }
    if asked.eq_ignore_ascii_case("default") {
        talk.set(SessionSetting::Model, None).await?;
        return Ok(CommandAnswer::text(model_status(talk)));
    }
    let chosen = pick(&talk.models(), asked)?;
    talk.set(SessionSetting::Model, Some(&chosen)).await?;
    Ok(CommandAnswer::text(format!("Now using `{chosen}`.")))
}

fn model_status(talk: &impl CommandContext) -> String {
    let state = talk.model();
    let Some(selected) = state.selected else {
        return no_model(talk);
    };
    let mut text = format!("Model: `{selected}`");
    if talk.setting(SessionSetting::Model).is_some() {
        text.push_str(", chosen for this conversation");
    }
    text.push('.');
    if let Some((model, why)) = state.fallback {
        text.push_str(&format!(" The last answer came from `{model}`: {why}."));
    }
    text.push_str(" `/models` lists others.");
    text
}

/// A number of the list, an alias, `provider/model`, or the part of a name that fits one only.
fn pick(rows: &[ModelRow], asked: &str) -> Result<String, CommandTrouble> {
    let number = asked.trim_start_matches('#').parse::<usize>().ok();
    if let Some(row) = number.and_then(|number| rows.get(number.checked_sub(1)?)) {
        return Ok(row.name.clone());
    }
    let exact = rows.iter().find(|row| {
        row.name.eq_ignore_ascii_case(asked)
            || row
                .alias
                .as_deref()
                .is_some_and(|alias| alias.eq_ignore_ascii_case(asked))
    });
    if let Some(row) = exact {
        return Ok(row.name.clone());
    }
    let wanted = asked.to_ascii_lowercase();
    let close: Vec<&ModelRow> = rows
        .iter()
        .filter(|row| row.name.to_ascii_lowercase().contains(&wanted))
        .collect();
    match close.as_slice() {
        [one] => Ok(one.name.clone()),
        // A name in full may be one the endpoint knows and the list does not.
        [] if asked.contains('/') => Ok(asked.to_owned()),
        [] => Err(
            match suggest::nearest(asked, rows.iter().map(|row| row.name.as_str())) {
                Some(near) => format!("There is no model `{asked}`. Did you mean `{near}`?"),
                None => format!("There is no model `{asked}`; `/models` lists them."),
            },
        ),
        many => {
            let names: Vec<String> = many.iter().map(|row| format!("`{}`", row.name)).collect();
            Err(format!("`{asked}` could be {}.", names.join(" or ")))
        }
    }
}

/// `/new x`: a model, or else the first message.
async fn new(talk: &impl CommandContext, args: &str) -> Result<CommandAnswer, CommandTrouble> {
    let rows = talk.models();
    let one_word = !args.is_empty() && !args.contains(char::is_whitespace);
    let provider = || {
        rows.iter()
            .find(|row| {
                row.name
                    .split_once('/')
                    .is_some_and(|(provider, _)| provider.eq_ignore_ascii_case(args))
            })
            .map(|row| row.name.clone())
    };
    let model = if one_word {
        provider().or_else(|| {
            let known = pick(&rows, args).ok()?;
            rows.iter().any(|row| row.name == known).then_some(known)
        })
    } else {
        None
    };
    let note = talk.begin().await?;
    forget_settings(talk).await?;
    if let Some(model) = &model {
        talk.set(SessionSetting::Model, Some(model)).await?;
    }
    let first = (model.is_none() && !args.is_empty()).then(|| args.to_owned());
    Ok(CommandAnswer {
        text: begun(
            &match &model {
                Some(model) => format!("A new conversation, with `{model}`."),
                None => "A new conversation.".to_owned(),
            },
            note.as_deref(),
        ),
        then: SurfaceAction::Begun(first),
    })
}

/// What is said when a conversation begins; whoever left one behind hears where it is.
fn begun(text: &str, note: Option<&str>) -> String {
    match note {
        Some(note) => format!(
            "{text} `/resume` returns to the old one; what you asked in it is noted in `{note}`."
        ),
        None => text.to_owned(),
    }
}

async fn reset(talk: &impl CommandContext, args: &str) -> Result<CommandAnswer, CommandTrouble> {
    let (word, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    let soft = word.eq_ignore_ascii_case("soft");
    let message = if soft { rest.trim() } else { args };
    let note = talk.begin().await?;
    if !soft {
        forget_settings(talk).await?;
    }
    let text = if soft {
        "Started over; model and settings are kept."
    } else {
        "Started over, with the settings from the config."
    };
    Ok(CommandAnswer {
        text: begun(text, note.as_deref()),
        then: SurfaceAction::Begun((!message.is_empty()).then(|| message.to_owned())),
    })
}

async fn resume(talk: &impl CommandContext, given: &str) -> Result<CommandAnswer, CommandTrouble> {
    if given.is_empty() {
        let rows = talk.conversations().await?;
        return Ok(match rows.iter().all(|row| row.is_open) {
            true => CommandAnswer::text("There is no other conversation yet."),
            false => CommandAnswer::then(SurfaceAction::Choose(rows)),
        });
    }
    let row = talk.find_conversation(given).await?;
    Ok(match row.is_open {
        true => CommandAnswer::text("You are already in this conversation."),
        false => CommandAnswer::then(SurfaceAction::Resume(row.id)),
    })
}

/// The conversations that can be gone back to, where nothing can be picked from a list.
pub fn list_conversations(rows: &[ConversationRow]) -> String {
    let lines = rows.iter().map(|row| {
        let id = row.id.get(..8).unwrap_or(&row.id);
        let title: String = row.title.chars().take(70).collect();
        let now = if row.is_open { " **← now**" } else { "" };
        format!("- `{id}` {}, {title}{now}", row.age)
    });
    let lines: Vec<String> = lines.collect();
    format!("{}\n\nReturn to one with `/resume ID`.", lines.join("\n"))
}

async fn forget_settings(talk: &impl CommandContext) -> Result<(), CommandTrouble> {
    for setting in [
        SessionSetting::Model,
        SessionSetting::Thinking,
        SessionSetting::Reasoning,
        SessionSetting::Verbose,
        SessionSetting::Elevated,
        SessionSetting::Title,
    ] {
        if talk.setting(setting).is_some() {
            talk.set(setting, None).await?;
        }
    }
    Ok(())
}

async fn name(talk: &impl CommandContext, title: &str) -> Result<CommandAnswer, CommandTrouble> {
    if title.is_empty() {
        let text = match talk.setting(SessionSetting::Title) {
            Some(title) => format!("This conversation is called “{title}”."),
            None => "This conversation has no title; set one with `/name TITLE`.".to_owned(),
        };
        return Ok(CommandAnswer::text(text));
    }
    let title = chela_core::sanitize::literal(title);
    talk.set(SessionSetting::Title, Some(&title)).await?;
    Ok(CommandAnswer::text(format!(
        "This conversation is now called “{title}”."
    )))
}

async fn undo(talk: &impl CommandContext, args: &str) -> Result<CommandAnswer, CommandTrouble> {
    match args.to_ascii_lowercase().as_str() {
        "" => {}
        "files" => {
            let lines = talk.undo_files().await?;
            let listed: Vec<String> = lines.iter().map(|line| format!("- {line}")).collect();
            return Ok(CommandAnswer::text(format!(
                "Undone in files:\n\n{}",
                listed.join("\n")
            )));
        }
        other => {
            return Err(format!(
                "`{other}` cannot be undone: use `/undo` or `/undo files`"
            ));
        }
    }
    let Some(undone) = talk.undo().await? else {
        return Ok(CommandAnswer::text("Nothing to undo."));
    };
    Ok(match undone {
        UndoOutcome::Message { message, entries } => CommandAnswer {
            text: format!(
                "Undone: your last message and what followed ({entries} entries). File \
                 changes are kept; `/undo files` undoes them."
            ),
            then: SurfaceAction::Edit(message),
        },
        UndoOutcome::Compaction { tokens } => CommandAnswer::text(format!(
            "Undone: the compaction. The full conversation is back ({} tokens).",
            chela_core::grouped(usize::try_from(tokens).unwrap_or(usize::MAX))
        )),
    })
}

async fn diff(talk: &impl CommandContext) -> Result<CommandAnswer, CommandTrouble> {
    let files = talk.changed_files().await?;
    let mut text = String::new();
    for (path, diff) in &files {
        match diff.is_empty() {
            true => text.push_str(&format!("`{path}`: unchanged\n\n")),
            // A fence longer than any in the file.
            false => text.push_str(&format!("`{path}`\n\n``````diff\n{diff}\n``````\n\n")),
        }
    }
    Ok(CommandAnswer::text(text.trim_end()))
}

async fn export(talk: &impl CommandContext, path: &str) -> Result<CommandAnswer, CommandTrouble> {
    let written = talk.export((!path.is_empty()).then_some(path)).await?;
    Ok(CommandAnswer::text(format!(
        "Written to `{}`.",
        written.display()
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
