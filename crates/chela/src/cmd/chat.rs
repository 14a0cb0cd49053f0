//! `chela chat`: the conversation, in a terminal or in a script.

mod found;
mod given;

use std::io::{self, IsTerminal};
use std::sync::Arc;

use chela_agent::agent::Agents;
use chela_agent::conversation::{Conversation, ConversationAsk, Inbound, ToolUse};
use chela_agent::slash::{self, Answer, Parsed, Setting, Then};
use chela_core::{AgentId, Host, OwnerProof, SessionKey, Speaker};
use chela_model::{Input, ResolveError};
use chela_store::block_on;
use chela_workspace::SeedMode;

use super::{Outcome, Setup, init};
use crate::chat::{self, Asked, ForNow, Form, History};
use crate::cli::ChatArgs;
use crate::fail::{Exit, Fail};
use crate::process_log;
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, args: &ChatArgs) -> Outcome {
    let setup = Setup::load(host);
    setup.warn_on_stderr(screen.paint);
    let thinking = args.thinking.as_deref().map(level).transpose()?;
    let way = Way::of(args, screen, host)?;
    make_workspace(&setup, args, screen)?;
    // One thread: a chat waits for one person and one model.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Fail::new(format!("cannot start: {error}")))?;
    let outcome = runtime.block_on(async {
        let mut talk = open(setup, args)?;
        for loss in talk.agents().record_losses(talk.agent()) {
            chat::note(screen.paint, &loss.to_string());
        }
        let mut notes = Vec::new();
        if let Err(ResolveError::Nothing) = talk.chain() {
            match found::offer(&talk, screen, args, &way).await? {
                found::Offered::Taken => {
                    talk = open(Setup::load(host), args)?;
                }
                found::Offered::Nothing(told) => notes = told,
            }
        }
        let mut for_now = ForNow::new(&talk);
        if let Some(level) = thinking {
            for_now.set(Setting::Thinking, level).map_err(Fail::new)?;
        }
        let held = hold(&talk, screen, args, way, notes).await;
        screen.flush()?;
        talk.agents().finish_keeping();
        held
    });
    // A thread that still waits for a line of input must not keep the process.
    runtime.shutdown_background();
    outcome
}

/// What kind of conversation it is.
pub(super) enum Way {
    Once(String),
    /// In the terminal, with everything.
    Room,
    /// Line by line.
    Lines,
}

impl Way {
    fn of(args: &ChatArgs, screen: &Screen, host: &Host) -> Result<Self, Fail> {
        let piped = given::piped(args.message.is_some())?;
        match (&args.message, piped) {
            (Some(message), None) => Ok(Self::Once(message.clone())),
            (Some(message), Some(piped)) => Ok(Self::Once(format!("{message}\n\n{piped}"))),
            (None, Some(piped)) if piped.trim().is_empty() => {
                Err(Fail::usage("there is no message: standard input is empty")
                    .hint("chela chat -m MESSAGE"))
            }
            (None, Some(piped)) => Ok(Self::Once(piped)),
            (None, None) if !args.image.is_empty() => Ok(Self::Once(String::new())),
            (None, None) if args.json => {
                Err(Fail::usage("--json needs a message").hint("chela chat -m MESSAGE --json"))
            }
            (None, None) if screen.is_terminal && host.var("TERM") != Some("dumb") => {
                Ok(Self::Room)
            }
            (None, None) => Ok(Self::Lines),
        }
    }
}

/// The files an agent is made of, on first use.
fn make_workspace(setup: &Setup, args: &ChatArgs, screen: &Screen) -> Result<(), Fail> {
    let agent = setup.agent(args.agent.agent.as_deref())?;
    if setup.workspace_dir(&agent).is_dir() {
        return Ok(());
    }
    if let Err(fail) = init::seed_agent(setup, Some(agent.as_str()), SeedMode::IfNew) {
        chat::note(screen.paint, &fail.message);
    }
    Ok(())
}

fn open(setup: Setup, args: &ChatArgs) -> Result<Conversation, Fail> {
    let agent = setup.agent(args.agent.agent.as_deref())?;
    let agents = Agents::open(&setup.host, Arc::new(setup.loaded));
    process_log::hide_with(agents.redactor());
    let session = args
        .session
        .as_deref()
        .map(|typed| session_key(&agents, &agent, typed))
        .transpose()?;
    let ask = ConversationAsk {
        own: chela_agent::conversation::OwnTools::default(),
        // A session key names its agent.
        agent: (args.agent.agent.is_some() || session.is_none()).then_some(agent),
        session,
        model: args.model.clone(),
        speaker: Speaker::Owner(OwnerProof::terminal()),
        channel: None,
        tools: match args.no_tools {
            true => ToolUse::None,
            false => ToolUse::AsConfigured,
        },
    };
    block_on(agents.conversation(ask)).map_err(|error| {
        Fail::new(error)
            .hint("`chela sessions list` shows the conversations, `chela doctor` what is wrong")
    })
}

/// A key, the last part of one, or the id of a session.
fn session_key(agents: &Agents, agent: &AgentId, typed: &str) -> Result<SessionKey, Fail> {
    if typed.contains(':') {
        return SessionKey::parse(typed).map_err(Fail::usage);
    }
    let known = agents
        .sessions(agent)
        .and_then(|sessions| block_on(sessions.list(&chela_session::Filter::default())))
        .unwrap_or_default();
    if let Some(info) = known
        .iter()
        .find(|info| info.session_id.to_string() == typed || info.name() == Some(typed))
    {
        return Ok(info.key.clone());
    }
    SessionKey::parse(&format!("agent:{agent}:{typed}")).map_err(Fail::usage)
}

async fn hold(
    talk: &Conversation,
    screen: &mut Screen,
    args: &ChatArgs,
    way: Way,
    notes: Vec<String>,
) -> Outcome {
    let images = given::images(&args.image)?;
    if !images.is_empty()
        && let Ok(chain) = talk.chain()
        && !chain.primary().info().reads(Input::Image)
    {
        let model = chain.primary().reference();
        chat::note(screen.paint, &format!("{model} reads no pictures"));
    }
    match way {
        Way::Once(text) => {
            let host = talk.agents().host();
            // Lines of the log would stand in the middle of what is drawn.
            let can_draw = host.var("TERM") != Some("dumb") && !process_log::is_on_terminal();
            let form = Form::of(args.json, screen, can_draw);
            let asked = Asked {
                message: Inbound { text, images },
                form,
                wait: args.wait(),
            };
            one(talk, screen, asked).await
        }
        Way::Lines => chat::lines(talk, screen, &notes, args.wait()).await,
        Way::Room => {
            screen.flush()?;
            let _memory = talk.keep_memory();
            let file = talk
                .agents()
                .host()
                .state_dir()
                .join("state/chat")
                .join(format!("{}.jsonl", talk.agent()));
            let opening = chat::Opening {
                talk,
                paint: screen.paint,
                history: History::open(file),
                notes,
            };
            chat::chat(opening).await.map(|()| Exit::Fine)
        }
    }
}

/// One message; commands work here too, so that scripts can use them.
async fn one(talk: &Conversation, screen: &mut Screen, asked: Asked) -> Outcome {
    let mut for_now = ForNow::new(talk);
    let Asked {
        message,
        form,
        wait,
    } = asked;
    let answer = match slash::parse(&message.text) {
        Parsed::Command { command, args } => slash::run(talk, command, &args),
        Parsed::Directives(directives) => {
            let told = directives
                .iter()
                .map(|directive| slash::apply(talk, directive).text);
            Answer::text(told.collect::<Vec<_>>().join("\n\n"))
        }
        Parsed::Unknown { name, args } => match slash::find("skill") {
            Some(skill) if chat::is_skill(talk, &name) => {
                slash::run(talk, skill, &format!("{name} {args}"))
            }
            _ => Answer::then(Then::Say(message.text.clone())),
        },
        Parsed::Message {
            text, directives, ..
        } => {
            for directive in &directives {
                for_now.direct(directive);
            }
            Answer::then(Then::Say(text))
        }
    };
    let text = match answer.then {
        Then::Say(text) | Then::Begun(Some(text)) => {
            let asked = Asked {
                message: Inbound { text, ..message },
                form,
                wait,
            };
            return chat::once(talk, screen, asked).await;
        }
        Then::Compact(keep) => talk
            .compact(keep.as_deref())
            .await
            .map_err(Fail::new)?
            .in_words(),
        _ => answer.text,
    };
    match form {
        Form::Json => screen.json(&serde_json::json!({ "reply": text, "command": true }))?,
        Form::Plain | Form::Drawn => chat::page(screen, &text)?,
    }
    Ok(Exit::Fine)
}

fn level(typed: &str) -> Result<&'static str, Fail> {
    slash::thinking_level(typed).ok_or_else(|| {
        Fail::usage(format!("`{typed}` is no level of thinking"))
            .hint("off, minimal, low, medium, high or xhigh")
    })
}

/// Whether a person can be asked.
pub(super) fn somebody_is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}
