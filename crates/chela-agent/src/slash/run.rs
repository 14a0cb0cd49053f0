//! Carrying commands out.

use chela_core::{SessionForm, suggest};
use chela_tools::Scope;

use super::parse::Directive;
use super::table::{self, Command, Id};
use super::talk::{ModelRow, Setting, Talk, Trouble, Undone};
use super::{context, levels, status};

/// What a command says, and what the surface does next.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Markdown; may be empty.
    pub text: String,
    pub then: Then,
}

/// What only the surface can do.
#[derive(Debug, Clone, PartialEq)]
pub enum Then {
    Nothing,
    /// Send this to the model, as if the person had written it.
    Say(String),
    /// The conversation is a new one: what is on the screen belongs to the old one.
    Begun(Option<String>),
    /// Put this back where people write.
    Edit(String),
    Stop,
    /// Shorten the conversation, keeping what is asked for.
    Compact(Option<String>),
    Approve {
        id: String,
        decision: Scope,
    },
    Leave,
}

impl Answer {
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            then: Then::Nothing,
        }
    }

    pub fn then(then: Then) -> Self {
        Self {
            text: String::new(),
            then,
        }
    }
}

/// Carries out one command. What goes wrong is an answer too.
pub fn run(talk: &dyn Talk, command: &Command, args: &str) -> Answer {
    attempt(talk, command, args.trim()).unwrap_or_else(Answer::text)
}

/// Makes a directive hold from now on, or says how things stand.
pub fn apply(talk: &dyn Talk, directive: &Directive) -> Answer {
    let value = directive.value.as_deref().unwrap_or("");
    run(talk, directive.command, value)
}

fn attempt(talk: &dyn Talk, command: &Command, args: &str) -> Result<Answer, Trouble> {
    if needs_owner(command.id) && !talk.is_owner() {
        return Err(format!("Only the owner can use `/{}`.", command.name));
    }
    match command.id {
        Id::Help => Ok(Answer::text(table::help(args))),
        Id::Whoami => Ok(Answer::text(whoami(talk))),
        Id::Status => Ok(Answer::text(status::card(talk))),
        Id::Usage => usage(talk, args),
        Id::Context => context::answer(talk, args),
        Id::Tools => Ok(Answer::text(tools(talk, args))),
        Id::Skills => Ok(Answer::text(skills(talk))),
        Id::Skill => skill(talk, args),
        Id::Models => Ok(Answer::text(models(talk, args))),
        Id::Model => model(talk, args),
        Id::Think => level(talk, command, Setting::Thinking, args),
        Id::Reasoning => level(talk, command, Setting::Reasoning, args),
        Id::Verbose => level(talk, command, Setting::Verbose, args),
        Id::Elevated => level(talk, command, Setting::Elevated, args),
        Id::New => new(talk, args),
        Id::Reset => reset(talk, args),
        Id::Name => name(talk, args),
        Id::Undo => undo(talk, args),
        Id::Export => export(talk, args),
        Id::Compact => Ok(Answer::then(Then::Compact(
            (!args.is_empty()).then(|| args.to_owned()),
        ))),
        Id::Stop if args.eq_ignore_ascii_case("all") => {
            talk.stop_all()?;
            Ok(Answer {
                then: Then::Stop,
                ..Answer::text("Every agent is stopped. `chela stop --lift` lets them work again.")
            })
        }
        Id::Stop => Ok(Answer::then(Then::Stop)),
        Id::Release => release(talk),
        Id::Exit => Ok(Answer::then(Then::Leave)),
        Id::Approve => approve(args),
    }
}

/// What decides over what the agent may do, or shows what is the owner's.
fn needs_owner(command: Id) -> bool {
    matches!(
        command,
        Id::Approve | Id::Release | Id::Export | Id::Undo | Id::Context | Id::Model
    )
}

fn release(talk: &dyn Talk) -> Result<Answer, Trouble> {
    let text = match talk.release()? {
        Some(by) => format!(
            "Released: {by} no longer makes it ask. What it read keeps its labels; the next text from outside makes it ask again."
        ),
        None => "Nothing from outside was read in this conversation.".to_owned(),
    };
    Ok(Answer::text(text))
}

fn whoami(talk: &dyn Talk) -> String {
    let session = talk.session();
    let place = match &session.form {
        SessionForm::Chat { .. } => session.channel().unwrap_or("a chat").to_owned(),
        _ => "this machine".to_owned(),
    };
    format!("You are `{}`, on {place}.", talk.sender())
}

fn usage(talk: &dyn Talk, args: &str) -> Result<Answer, Trouble> {
    if args.eq_ignore_ascii_case("cost") {
        return Ok(Answer::text(status::cost(talk)));
    }
    let command = table::find("usage").ok_or("no such command")?;
    if args.is_empty() {
        let now = status::value(talk, Setting::Usage);
        return Ok(Answer::text(format!(
            "{}\n\nUnder each reply: **{now}**. `/usage {}`",
            status::cost(talk),
            command.words.join("|")
        )));
    }
    level(talk, command, Setting::Usage, args)
}

fn level(
    talk: &dyn Talk,
    command: &Command,
    setting: Setting,
    args: &str,
) -> Result<Answer, Trouble> {
    let choices = command.words.join("|");
    if args.is_empty() {
        let now = status::value(talk, setting);
        return Ok(Answer::text(format!(
            "{}: **{now}**. `/{} {choices}`",
            status::title(setting),
            command.name
        )));
    }
    let Some(level) = levels::level(command.id, args) else {
        return Err(format!(
            "`{args}` is none of the choices: `/{} {choices}`",
            command.name
        ));
    };
    let value = (level != "default").then_some(level);
    talk.set(setting, value)?;
    let now = status::value(talk, setting);
    let default = if value.is_none() {
        " (the default)"
    } else {
        ""
    };
    Ok(Answer::text(format!(
        "{}: **{now}**{default}.",
        status::title(setting)
    )))
}

fn tools(talk: &dyn Talk, args: &str) -> String {
    let tools = talk.tools();
    if tools.is_empty() {
        return "It has no tools in this conversation.".to_owned();
    }
    if args.eq_ignore_ascii_case("verbose") {
        let rows = tools
            .iter()
            .map(|tool| format!("- `{}` {}", tool.name, tool.description));
        return rows.collect::<Vec<_>>().join("\n");
    }
    let names: Vec<String> = tools
        .iter()
        .map(|tool| format!("`{}`", tool.name))
        .collect();
    format!(
        "{} tools: {}. `/tools verbose` says what each does.",
        tools.len(),
        names.join(", ")
    )
}

fn skills(talk: &dyn Talk) -> String {
    let skills = talk.skills();
    if skills.is_empty() {
        return "It knows no skills yet; `chela skills new NAME` makes one.".to_owned();
    }
    let rows = skills
        .iter()
        .map(|skill| format!("- `/{}` {}", skill.command, skill.description));
    rows.collect::<Vec<_>>().join("\n")
}

fn skill(talk: &dyn Talk, args: &str) -> Result<Answer, Trouble> {
    if args.is_empty() {
        return Ok(Answer::text(skills(talk)));
    }
    let (name, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    let message = talk.call_skill(name, rest.trim())?;
    Ok(Answer::then(Then::Say(message)))
}

fn models(talk: &dyn Talk, provider: &str) -> String {
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
            _ => format!("There is no model of `{provider}`; `/models` lists all."),
        };
    }
    format!(
        "{}\n\n`/model NAME` or `/model #` chooses one.",
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

fn no_model(talk: &dyn Talk) -> String {
    let missing = talk.model().missing;
    if missing.is_empty() {
        "There is no model yet.".to_owned()
    } else {
        missing.join("\n\n")
    }
}

fn model(talk: &dyn Talk, asked: &str) -> Result<Answer, Trouble> {
    if asked.is_empty() || asked.eq_ignore_ascii_case("status") {
        return Ok(Answer::text(model_status(talk)));
    }
    if asked.eq_ignore_ascii_case("default") {
        talk.set(Setting::Model, None)?;
        return Ok(Answer::text(model_status(talk)));
    }
    let chosen = pick(&talk.models(), asked)?;
    talk.set(Setting::Model, Some(&chosen))?;
    Ok(Answer::text(format!("From now on `{chosen}` answers.")))
}

fn model_status(talk: &dyn Talk) -> String {
    let state = talk.model();
    let Some(selected) = state.selected else {
        return no_model(talk);
    };
    let mut text = format!("Model: `{selected}`");
    if talk.setting(Setting::Model).is_some() {
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
fn pick(rows: &[ModelRow], asked: &str) -> Result<String, Trouble> {
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
fn new(talk: &dyn Talk, args: &str) -> Result<Answer, Trouble> {
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
    talk.begin()?;
    forget_settings(talk)?;
    if let Some(model) = &model {
        talk.set(Setting::Model, Some(model))?;
    }
    let first = (model.is_none() && !args.is_empty()).then(|| args.to_owned());
    Ok(Answer {
        text: match &model {
            Some(model) => format!("A new conversation, with `{model}`."),
            None => "A new conversation.".to_owned(),
        },
        then: Then::Begun(first),
    })
}

fn reset(talk: &dyn Talk, args: &str) -> Result<Answer, Trouble> {
    let (word, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    let soft = word.eq_ignore_ascii_case("soft");
    let message = if soft { rest.trim() } else { args };
    talk.begin()?;
    if !soft {
        forget_settings(talk)?;
    }
    let text = if soft {
        "Begun again; model and settings stay."
    } else {
        "Begun again, with the settings of the config."
    };
    Ok(Answer {
        text: text.to_owned(),
        then: Then::Begun((!message.is_empty()).then(|| message.to_owned())),
    })
}

fn forget_settings(talk: &dyn Talk) -> Result<(), Trouble> {
    for setting in [
        Setting::Model,
        Setting::Thinking,
        Setting::Reasoning,
        Setting::Verbose,
        Setting::Elevated,
        Setting::Title,
    ] {
        if talk.setting(setting).is_some() {
            talk.set(setting, None)?;
        }
    }
    Ok(())
}

fn name(talk: &dyn Talk, title: &str) -> Result<Answer, Trouble> {
    if title.is_empty() {
        let text = match talk.setting(Setting::Title) {
            Some(title) => format!("This conversation is called “{title}”."),
            None => "This conversation has no title; `/name TITLE` gives it one.".to_owned(),
        };
        return Ok(Answer::text(text));
    }
    let title = chela_core::sanitize::literal(title);
    talk.set(Setting::Title, Some(&title))?;
    Ok(Answer::text(format!(
        "This conversation is now called “{title}”."
    )))
}

fn undo(talk: &dyn Talk, args: &str) -> Result<Answer, Trouble> {
    match args.to_ascii_lowercase().as_str() {
        "" => {}
        "files" => {
            let lines = talk.undo_files()?;
            let listed: Vec<String> = lines.iter().map(|line| format!("- {line}")).collect();
            return Ok(Answer::text(format!(
                "Taken back in files:\n\n{}",
                listed.join("\n")
            )));
        }
        other => {
            return Err(format!(
                "`{other}` cannot be taken back: `/undo` or `/undo files`"
            ));
        }
    }
    let Some(undone) = talk.undo()? else {
        return Ok(Answer::text("There is nothing to take back."));
    };
    Ok(match undone {
        Undone::Message { message, entries } => Answer {
            text: format!(
                "Taken back: your last message and what came of it ({entries} entries). What tools did to files stays done; `/undo files` takes that back."
            ),
            then: Then::Edit(message),
        },
        Undone::Compaction { tokens } => Answer::text(format!(
            "Taken back: the compaction. The conversation is whole again ({} tokens).",
            chela_core::grouped(usize::try_from(tokens).unwrap_or(usize::MAX))
        )),
    })
}

fn export(talk: &dyn Talk, path: &str) -> Result<Answer, Trouble> {
    let written = talk.export((!path.is_empty()).then_some(path))?;
    Ok(Answer::text(format!("Written to `{}`.", written.display())))
}

fn approve(args: &str) -> Result<Answer, Trouble> {
    let usage = "`/approve ID once|session|always|deny`";
    let mut words = args.split_whitespace();
    let (Some(id), Some(decision)) = (words.next(), words.next()) else {
        return Err(format!("Which question, and what is the answer? {usage}"));
    };
    let decision = match decision.to_ascii_lowercase().as_str() {
        "once" | "allow-once" | "yes" | "y" => Scope::Once,
        "session" | "allow-session" | "s" => Scope::Session,
        "always" | "allow-always" | "a" => Scope::Always,
        "deny" | "no" | "n" => Scope::Deny,
        other => return Err(format!("`{other}` is no answer: {usage}")),
    };
    Ok(Answer::then(Then::Approve {
        id: id.to_owned(),
        decision,
    }))
}
