//! A home with one model: the thread that answers at once.

use std::io::Read;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use chela_agent::agent::Agents;
use chela_agent::conversation::{Conversation, ConversationAsk, InboundMessage};
use chela_agent::turn::{TurnEvent, TurnSurface};
use chela_core::{Clock, Entropy, Host, OwnerProof, SessionKey, Speaker};
use chela_store::block_on;
use chela_tools::{ApprovalQuestion, ApprovalScope, Approver, OwnerAnswer};
use serde_json::json;

/// Sees nothing, and says no to everything.
pub struct Nobody;

impl TurnSurface for Nobody {
    fn event(&self, _: TurnEvent) {}
}

impl Approver for Nobody {
    fn ask<'a>(
        &'a self,
        question: &'a ApprovalQuestion,
    ) -> Pin<Box<dyn Future<Output = OwnerAnswer> + Send + 'a>> {
        Box::pin(std::future::ready(OwnerAnswer::of_owner(
            ApprovalScope::Deny,
            question,
        )))
    }
}

struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// Several processes write to one home, one after the other: their ids must differ.
struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        std::fs::File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(bytes))
            .expect("random bytes");
    }
}

/// The agents of a home, its workspace made when it is not there.
pub fn agents(dir: &Path, model: &str) -> Arc<Agents> {
    let mut host = Host::fixed(dir);
    host.clock = Arc::new(WallClock);
    host.entropy = Arc::new(SystemEntropy);
    let workspace = host.state_dir().join("workspace");
    std::fs::create_dir_all(&workspace).expect("a workspace");
    for number in 1..=10 {
        let note = workspace.join(format!("note-{number}.txt"));
        if !note.exists() {
            std::fs::write(note, format!("The safe in room {number} is blue.\n")).expect("a note");
        }
    }
    let config = json!({
        "models": { "providers": { "bench": {
            "baseUrl": format!("{model}/v1"),
            "api": "openai-completions",
            "models": [{ "id": "instant", "contextWindow": 2_000_000 }],
        } } },
        "agents": { "defaults": { "model": "bench/instant" } },
    });
    let loaded = chela_config::load_text(&host, &config.to_string());
    Agents::open(&host, Arc::new(loaded))
}

pub fn conversation(agents: &Arc<Agents>, number: usize) -> Conversation {
    let session = SessionKey::parse(&format!("agent:main:bench-{number}")).expect("a key");
    let ask = ConversationAsk {
        session: Some(session),
        ..ConversationAsk::new(Speaker::Owner(OwnerProof::terminal()))
    };
    block_on(agents.conversation(ask)).expect("a conversation")
}

/// One turn, which must have gone as the model says.
pub async fn say(talk: &Conversation, text: String, calls: u32) {
    let message = InboundMessage {
        text,
        ..InboundMessage::default()
    };
    let outcome = talk.say(message, &Nobody).await.expect("a turn");
    assert_eq!(outcome.tool_calls, calls, "{outcome:?}");
}

/// With one thread as the terminal chat has it; with more as a server would.
pub fn runtime(threads: usize) -> tokio::runtime::Runtime {
    let mut builder = match threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    if threads > 1 {
        builder.worker_threads(threads);
    }
    builder.enable_all().build().expect("a runtime")
}
