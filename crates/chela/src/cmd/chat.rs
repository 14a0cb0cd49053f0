//! `chela chat`: the conversation, in a terminal or in a script.

mod chat_mode;
mod local_models;
mod message_input;
mod one_message;
mod which_session;
mod work_folder;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chela_agent::agent::Agents;
use chela_agent::conversation::{Conversation, ConversationAsk, InboundMessage, ToolUse};
use chela_agent::slash::{self, SessionSetting};
use chela_config::model::ChatTheme;
use chela_core::{Host, OwnerProof, Speaker};
use chela_gateway::RunningGateway;
use chela_model::{ModelHttp, ResolveError};
use chela_workspace::SeedMode;

use super::mcp::offer_project_servers;
use super::{CommandOutcome, CommandSetup, auth, init, ledger};
use crate::chat::{
    self, AfterAnswer, AwaitedWork, ChatLeave, ChatStart, ForNow, GatewayTalk, GatewayTalkAsk,
    InputHistory, OneShotRequest, OutputForm, WaitAfter,
};
use crate::cli::{ChatArgs, ResumeArgs, TalkArgs};
use crate::fail::CommandError;
use crate::process_log;
use crate::screen::{ColourMode, Screen};
pub(super) use chat_mode::ChatMode;
use which_session::SessionChoice;
use work_folder::FolderChoice;

/// `chela chat`.
pub fn talk(host: &Host, screen: &mut Screen, args: TalkArgs) -> CommandOutcome {
    let TalkArgs {
        words,
        print,
        mut chat,
    } = args;
    // `-` is standard input, as elsewhere.
    if !words.is_empty() && words != ["-"] {
        chat.message = Some(words.join(" "));
    }
    if print && chat.message.is_none() && io::stdin().is_terminal() {
        return Err(CommandError::usage("there is no message to answer")
            .hint("chela -p MESSAGE; or pipe it in"));
    }
    run(host, screen, &chat)
}

/// What was piped in, answered; `None` where nothing was.
pub fn answer_piped(host: &Host, screen: &mut Screen) -> Option<CommandOutcome> {
    let piped = match message_input::read_piped_text(true) {
        Ok(piped) => piped?,
        Err(error) => return Some(Err(error)),
    };
    let args = ChatArgs {
        piped: Some(piped),
        ..ChatArgs::default()
    };
    Some(run(host, screen, &args))
}

pub fn run(host: &Host, screen: &mut Screen, args: &ChatArgs) -> CommandOutcome {
    let chosen = SessionChoice::of(args);
    run_chosen(host, screen, args, chosen, ChatStart::Writing)
}

/// `chela resume`.
pub fn resume(host: &Host, screen: &mut Screen, args: ResumeArgs) -> CommandOutcome {
    if args.chat.session.is_some() || args.chat.new_session.is_some() {
        return Err(
            CommandError::usage("which one? give `resume` an id or words, without a flag")
                .hint("chela resume 3f2a"),
        );
    }
    let words = args.which.join(" ");
    if !words.trim().is_empty() {
        let chosen = match words.trim() {
            "last" | "latest" => SessionChoice::Last,
            _ => SessionChoice::Found(words),
        };
        return run_chosen(host, screen, &args.chat, chosen, ChatStart::Writing);
    }
    if args.chat.message.is_some() || !screen.is_terminal || !io::stdin().is_terminal() {
        return Err(CommandError::usage(
            "which conversation? without a terminal you cannot pick one",
        )
        .hint("`chela sessions list --all` shows them; `chela chat --continue` uses the newest"));
    }
    run_chosen(
        host,
        screen,
        &args.chat,
        SessionChoice::Main,
        ChatStart::Picking,
    )
}

fn run_chosen(
    host: &Host,
    screen: &mut Screen,
    args: &ChatArgs,
    chosen: SessionChoice,
    start: ChatStart,
) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    args.thinking.as_deref().map(level).transpose()?;
    let way = ChatMode::of(args, screen, host)?;
    make_workspace(&setup, args, screen)?;
    // One thread: a chat waits for one person and one model.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::new(format!("cannot start: {error}")))?;
    let lost_ledger = ledger::ledger_loss(host);
    let outcome = runtime.block_on(async {
        let mut plan = ChatPlan {
            args,
            chosen,
            start,
            folder: None,
            for_now: None,
        };
        let mut talk = open(setup, &plan, screen, &way).await?;
        let losses = talk.agents().record_losses(talk.agent());
        for loss in lost_ledger.into_iter().chain(losses) {
            chat::print_warning(screen.paint, &loss.to_string());
        }
        for survivor in chela_sandbox::end_surviving_commands(host) {
            let told = format!(
                "stopped a command left running by an earlier process: {}",
                survivor.shown
            );
            chat::print_warning(screen.paint, &told);
        }
        let mut notes = Vec::new();
        if let Err(ResolveError::Nothing) = talk.chain() {
            match local_models::offer_found_model(&talk, screen, args, &way).await? {
                local_models::OfferOutcome::Taken => {
                    talk = open(plan.setup(host), &plan, screen, &way).await?;
                }
                local_models::OfferOutcome::ForNow(patch) => {
                    plan.for_now = Some(patch);
                    talk = open(plan.setup(host), &plan, screen, &way).await?;
                }
                local_models::OfferOutcome::Nothing(told) => notes = told,
            }
        }
        let mut way = way;
        loop {
            let next = way.again();
            let held = talk_until_left(&talk, screen, &plan, way, &mut notes).await;
            ledger::note_ledger(host);
            way = next;
            plan.start = ChatStart::Writing;
            let old = SessionChoice::Found(talk.session().id.to_string());
            let came_from = (plan.chosen.clone(), plan.folder.clone());
            match held? {
                ChatLeave::Over(exit) => return Ok(exit),
                ChatLeave::Resume(id) => plan.chosen = SessionChoice::Found(id),
                ChatLeave::Folder(folder) => {
                    plan.folder = Some(PathBuf::from(folder));
                    // What was written so far goes on there.
                    if !talk.session().fresh {
                        plan.chosen = old;
                    }
                }
            }
            drop(talk);
            talk = match open(plan.setup(host), &plan, screen, &way).await {
                Ok(talk) => talk,
                // Whoever mistyped a folder is still in a conversation.
                Err(fail) => {
                    chat::print_warning(screen.paint, &fail.message);
                    (plan.chosen, plan.folder) = came_from;
                    open(plan.setup(host), &plan, screen, &way).await?
                }
            };
        }
    });
    // A thread that still waits for a line of input must not keep the process.
    runtime.shutdown_background();
    outcome
}

/// A conversation that is to be held.
struct ChatPlan<'a> {
    args: &'a ChatArgs,
    chosen: SessionChoice,
    start: ChatStart,
    /// The folder `/cd` named.
    folder: Option<PathBuf>,
    /// What the config says besides, this time only.
    for_now: Option<serde_json::Value>,
}

impl ChatPlan<'_> {
    /// The config as it is now, with what holds for this time.
    fn setup(&self, host: &Host) -> CommandSetup {
        match &self.for_now {
            Some(patch) => local_models::load_with(host, patch),
            None => CommandSetup::load(host),
        }
    }
}

/// Holds a conversation with the settings of this time only.
async fn talk_until_left(
    talk: &Conversation,
    screen: &mut Screen,
    plan: &ChatPlan<'_>,
    way: ChatMode,
    notes: &mut Vec<String>,
) -> Result<ChatLeave, CommandError> {
    let mut for_now = ForNow::new(talk);
    if let Some(level) = plan.args.thinking.as_deref().map(level).transpose()? {
        let set = for_now.set(SessionSetting::Thinking, level).await;
        set.map_err(CommandError::new)?;
    }
    let held = hold(talk, screen, plan, way, std::mem::take(notes)).await;
    if let Err(error) = talk.note_left_commands().await {
        chat::print_warning(screen.paint, &error.to_string());
    }
    for_now.put_back().await;
    screen.flush()?;
    talk.agents().finish_keeping();
    if let Some(notice) = talk.agents().take_upkeep_notice() {
        chat::print_warning(screen.paint, &notice);
    }
    held
}

/// The files an agent is made of, on first use.
fn make_workspace(
    setup: &CommandSetup,
    args: &ChatArgs,
    screen: &Screen,
) -> Result<(), CommandError> {
    let agent = setup.agent(args.agent.agent.as_deref())?;
    if setup.workspace_dir(&agent).is_dir() {
        return Ok(());
    }
    if let Err(fail) = init::seed_agent(setup, Some(agent.as_str()), SeedMode::IfNew) {
        chat::print_warning(screen.paint, &fail.message);
    }
    Ok(())
}

async fn open(
    setup: CommandSetup,
    plan: &ChatPlan<'_>,
    screen: &Screen,
    way: &ChatMode,
) -> Result<Conversation, CommandError> {
    let args = plan.args;
    let agent = setup.agent(args.agent.agent.as_deref())?;
    let workspace = setup.workspace_dir(&agent);
    let choice = FolderChoice {
        host: &setup.host,
        workspace: &workspace,
        args,
        chosen: plan.folder.as_deref(),
    };
    let folders = choice.choose(screen, way)?;
    let setup = match folders.first() {
        Some(folder) if offers_servers(&setup, &folder.path, screen, way) => {
            plan.setup(&setup.host)
        }
        _ => setup,
    };
    let http = ModelHttp::new(&setup.host, &setup.loaded);
    for told in auth::renew_logins(&setup.host, &http).await {
        chat::print_warning(screen.paint, &told);
    }
    let agents = Agents::open(&setup.host, Arc::new(setup.loaded));
    process_log::hide_with(agents.redactor());
    work_folder::ask_about_rules(&agents, &agent, &folders, screen, way)?;
    let session = plan.chosen.open(&agents, &agent).await?;
    let ask = ConversationAsk {
        own: chela_agent::conversation::OwnTools::default(),
        process: chela_agent::conversation::OwnTools::default(),
        folders,
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
    agents.conversation(ask).await.map_err(|error| {
        CommandError::new(error).hint("`chela doctor` shows what is wrong, and what to do")
    })
}

/// Asks about tool servers that the folder one works in names; says whether any were set up.
fn offers_servers(setup: &CommandSetup, folder: &Path, screen: &Screen, way: &ChatMode) -> bool {
    let is_there = !matches!(way, ChatMode::Once(_)) && somebody_is_there();
    offer_project_servers(&setup.host, setup, folder, screen, is_there)
}

async fn hold(
    talk: &Conversation,
    screen: &mut Screen,
    plan: &ChatPlan<'_>,
    way: ChatMode,
    notes: Vec<String>,
) -> Result<ChatLeave, CommandError> {
    let args = plan.args;
    let images = chat::read_images(&args.image)?;
    if !images.is_empty()
        && let Some(told) = chat::who_looks_at_pictures(talk)
    {
        chat::print_warning(screen.paint, &told);
    }
    let gateway = gateway_for(talk, screen, plan, &way).await;
    let gateway = gateway.as_ref();
    match way {
        ChatMode::Once(message) => {
            let host = talk.agents().host();
            // Lines of the log would stand in the middle of what is drawn.
            let can_draw = host.var("TERM") != Some("dumb") && !process_log::is_on_terminal();
            let form = match (args.json_stream, args.json) {
                (true, _) => OutputForm::JsonStream,
                (false, true) => OutputForm::Json,
                (false, false) => OutputForm::for_people(screen, can_draw),
            };
            let asked = OneShotRequest {
                message: InboundMessage { images, ..message },
                form,
                wait: wait_after(args),
                afterwards: AfterAnswer::ProcessEnds,
            };
            one_message::answer_one(talk, gateway, screen, asked)
                .await
                .map(ChatLeave::Over)
        }
        ChatMode::Lines => {
            chat::run_line_chat(talk, gateway, screen, &notes, wait_after(args)).await
        }
        ChatMode::Room => {
            screen.flush()?;
            let _memory = talk.keep_memory();
            let file = talk
                .agents()
                .host()
                .state_dir()
                .join("state/chat")
                .join(format!("{}.jsonl", talk.agent()));
            let opening = chat::ChatOpening {
                talk,
                gateway,
                paint: themed(screen.paint, talk.agents().loaded().config.ui.theme),
                history: InputHistory::open(file),
                notes,
                start: plan.start,
                renew_logins: &|| {
                    let agents = talk.agents();
                    let (host, http) = (agents.host().clone(), agents.http().clone());
                    Box::pin(async move { auth::renew_logins(&host, &http).await })
                },
            };
            chat::run_chat(opening).await
        }
    }
}

/// The gateway that runs the turns of this chat, if one runs and what was asked for can be had
/// there.
async fn gateway_for(
    talk: &Conversation,
    screen: &Screen,
    plan: &ChatPlan<'_>,
    way: &ChatMode,
) -> Option<GatewayTalk> {
    let args = plan.args;
    if args.local {
        return None;
    }
    let host = talk.agents().host();
    if args.no_tools || plan.for_now.is_some() {
        if RunningGateway::find(host).is_some() && matches!(way, ChatMode::Room) {
            let told = "this chat runs here and not in the gateway: --no-tools and a model for \
                this time only are this process's own";
            chat::print_note(screen.paint, told);
        }
        return None;
    }
    let asks = match way {
        ChatMode::Once(_) => !args.json && !args.json_stream && somebody_is_there(),
        ChatMode::Room => true,
        ChatMode::Lines => somebody_is_there(),
    };
    let ask = GatewayTalkAsk {
        host,
        folders: talk.work_folders(),
        model: args.model.clone(),
        asks,
    };
    match GatewayTalk::find(talk, ask).await {
        Ok(found) => found,
        Err(error) => {
            chat::print_warning(screen.paint, &format!("{error}; this chat runs here"));
            None
        }
    }
}

/// The colours the owner chose, where there are colours at all.
fn themed(paint: ColourMode, theme: ChatTheme) -> ColourMode {
    match (paint, theme) {
        (ColourMode::Plain, _) | (_, ChatTheme::Terminal) => paint,
        (_, ChatTheme::Light) => ColourMode::Light,
        (_, ChatTheme::Mono) => ColourMode::Mono,
    }
}

/// How long is waited once the answer is there, and for what.
fn wait_after(args: &ChatArgs) -> WaitAfter {
    WaitAfter {
        limit: Duration::from_secs(args.wait.unwrap_or(600)),
        awaited: match args.wait_commands {
            true => AwaitedWork::Everything,
            false => AwaitedWork::Subagents,
        },
    }
}

fn level(typed: &str) -> Result<&'static str, CommandError> {
    slash::thinking_level(typed).ok_or_else(|| {
        CommandError::usage(format!("`{typed}` is not a thinking level"))
            .hint("off, minimal, low, medium, high or xhigh")
    })
}

/// Whether a person can be asked.
pub(super) fn somebody_is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}
