//! Questions of callers to the agent: asked as strangers, answered at once or fetched later.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chela_core::{AgentId, ContentHash, Sender, SessionKey, Speaker, lock};
use chela_guard::approval::HeadlessApprover;
use chela_mcp::serve::ServedAnswer;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::{ServedAgent, text_of};
use crate::agent::Agents;
use crate::conversation::{Conversation, ConversationAsk, InboundMessage};

/// Callers give a call up after a minute, as a rule.
const PATIENCE: Duration = Duration::from_secs(45);
/// Questions that are worked on or wait to be fetched; of one caller half as many.
const MOST_QUESTIONS: usize = 64;
const LONGEST_MESSAGE: usize = 200_000;
/// The channel callers speak on.
const CHANNEL: &str = "mcp";

/// The answer, or why there is none, in the words of whoever runs the agent.
pub type AskFuture = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// A question on its way to an agent.
#[derive(Debug, Clone)]
pub struct AskedQuestion {
    pub agent: AgentId,
    pub caller: String,
    /// The session of this caller and this conversation.
    pub session: SessionKey,
    pub message: String,
}

/// Whoever runs turns.
pub trait AskDesk: Send + Sync {
    fn ask(&self, question: AskedQuestion) -> AskFuture;
}

/// The questions of callers, while they are worked on and until they are fetched.
pub struct AskBoard {
    desk: Box<dyn AskDesk>,
    questions: Mutex<HashMap<String, OpenQuestion>>,
}

struct OpenQuestion {
    caller: String,
    answer: watch::Receiver<Option<Result<String, String>>>,
}

impl std::fmt::Debug for AskBoard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AskBoard")
    }
}

impl AskBoard {
    pub fn new(desk: impl AskDesk + 'static) -> Arc<Self> {
        Arc::new(Self {
            desk: Box::new(desk),
            questions: Mutex::default(),
        })
    }

    pub(super) async fn ask(
        &self,
        from: &ServedAgent,
        arguments: &Map<String, Value>,
    ) -> ServedAnswer {
        let message = text_of(arguments, "message");
        if message.trim().is_empty() || message.len() > LONGEST_MESSAGE {
            return ServedAnswer::error("The message is empty or too long.");
        }
        let conversation = text_of(arguments, "conversation");
        let session = match session_of(&from.agent, &from.caller, &conversation) {
            Some(session) => session,
            None => return ServedAnswer::error("That cannot be a conversation."),
        };
        let ticket = from.agents.host().random_hex(8);
        let (tell, answer) = watch::channel(None);
        {
            let mut questions = lock(&self.questions);
            let own = questions.values().filter(|open| open.caller == from.caller);
            if own.count() >= MOST_QUESTIONS / 2 || questions.len() >= MOST_QUESTIONS {
                return ServedAnswer::error(
                    "Too many questions are open; fetch their answers with ask_result first.",
                );
            }
            let open = OpenQuestion {
                caller: from.caller.clone(),
                answer: answer.clone(),
            };
            questions.insert(ticket.clone(), open);
        }
        let asked = self.desk.ask(AskedQuestion {
            agent: from.agent.clone(),
            caller: from.caller.clone(),
            session,
            message,
        });
        tokio::spawn(async move {
            tell.send_replace(Some(asked.await));
        });
        self.wait_for(&ticket, answer).await
    }

    pub(super) async fn result(
        &self,
        caller: &str,
        arguments: &Map<String, Value>,
    ) -> ServedAnswer {
        let ticket = text_of(arguments, "ticket");
        let answer = {
            let questions = lock(&self.questions);
            let open = questions.get(&ticket).filter(|open| open.caller == caller);
            open.map(|open| open.answer.clone())
        };
        match answer {
            Some(answer) => self.wait_for(&ticket, answer).await,
            None => {
                ServedAnswer::error("There is no such ticket; its answer may have been fetched.")
            }
        }
    }

    /// The answer, where it comes soon enough.
    async fn wait_for(
        &self,
        ticket: &str,
        mut answer: watch::Receiver<Option<Result<String, String>>>,
    ) -> ServedAnswer {
        let waited = tokio::time::timeout(PATIENCE, answer.wait_for(Option::is_some)).await;
        let told = match waited {
            Ok(Ok(told)) => told.clone(),
            Ok(Err(_)) => Some(Err("the question was lost".to_owned())),
            Err(_) => None,
        };
        let Some(told) = told else {
            return ServedAnswer {
                text: format!("The agent is still at work. Call ask_result with ticket {ticket}."),
                structured: Some(json!({ "ticket": ticket })),
                is_error: false,
            };
        };
        lock(&self.questions).remove(ticket);
        match told {
            Ok(text) if text.trim().is_empty() => {
                ServedAnswer::text("The agent has nothing to say.")
            }
            Ok(text) => ServedAnswer::text(text),
            Err(why) => ServedAnswer::error(why),
        }
    }
}

/// The session of a caller's conversation. Its key says that it is shared: what is found out there, a
/// stranger is told.
fn session_of(agent: &AgentId, caller: &str, conversation: &str) -> Option<SessionKey> {
    let name = match conversation.trim() {
        "" => "main",
        name => name,
    };
    let peer = ContentHash::of(format!("{caller}\n{name}")).to_string();
    let peer: String = peer.chars().take(16).collect();
    SessionKey::parse(&format!("agent:{agent}:{CHANNEL}:user:{peer}")).ok()
}

/// Who a caller is: never the owner.
pub fn caller_speaker(caller: &str) -> Speaker {
    Speaker::Sender(Sender {
        channel: Some(CHANNEL.to_owned()),
        id: Some(caller.to_owned()),
        ..Sender::default()
    })
}

/// Runs the turns in this process.
#[derive(Debug)]
pub struct ConversationDesk(pub Arc<Agents>);

impl AskDesk for ConversationDesk {
    fn ask(&self, question: AskedQuestion) -> AskFuture {
        let agents = Arc::clone(&self.0);
        Box::pin(async move {
            let ask = ConversationAsk {
                agent: Some(question.agent),
                session: Some(question.session),
                channel: Some(CHANNEL.to_owned()),
                ..ConversationAsk::new(caller_speaker(&question.caller))
            };
            let conversation: Conversation = agents
                .conversation(ask)
                .await
                .map_err(|error| error.to_string())?;
            let message = InboundMessage::from(question.message);
            let outcome = conversation.say(message, &HeadlessApprover).await;
            let outcome = outcome.map_err(|error| error.to_string())?;
            Ok(outcome.reply.text().to_owned())
        })
    }
}
