//! What of an agent other programs can have: memory, skills, its context, its sessions, an answer.
//!
//! A caller is not the owner. It has what its scopes open and nothing else, it changes nothing, and what
//! it says to the agent is said by a stranger. What it reads went through the redactor, and text that
//! nobody answers for is marked as such.

mod asking;
mod tool_table;

use std::sync::Arc;

use chela_core::{AgentId, Audience, ContentHash, SessionKey, Trust};
use chela_guard::{ExternalSource, wrap};
use chela_mcp::RpcError;
use chela_mcp::serve::{
    ServedAnswer, ServedContent, ServedFuture, ServedPrompt, ServedResource, ServedText, ServedTool,
};
use chela_memory::tool::{GetRequest, MemoryToolError, ToolText, memory_get, memory_search};
use chela_memory::{MemoryQuestion, SearchScope, SearchSources};
use chela_skills::Skill;
use chela_tools::{HistoryAsk, ToolMessages};
use serde_json::{Map, Value, json};

use crate::agent::Agents;
use crate::assemble::PromptRequest;
use crate::caller_tokens::{ServedScope, ServedScopes};
use crate::context_builder::sessions_view_of;

pub use asking::{AskBoard, AskDesk, AskFuture, AskedQuestion, ConversationDesk, caller_speaker};

/// Where skills are read.
const SKILL_START: &str = "skill://";
const SKILL_END: &str = "/SKILL.md";
/// A skill is told in at most so many bytes.
const MOST_SKILL: usize = 512 << 10;
const MOST_SESSIONS: usize = 100;
const MOST_MESSAGES: usize = 200;

/// An agent, as one caller has it.
pub struct ServedAgent {
    pub agents: Arc<Agents>,
    pub agent: AgentId,
    /// Who calls, as the owner named it.
    pub caller: String,
    pub scopes: ServedScopes,
    /// Where questions to the agent are kept while it works on them.
    pub board: Arc<AskBoard>,
}

impl std::fmt::Debug for ServedAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServedAgent")
            .field("agent", &self.agent)
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}

impl ServedAgent {
    /// A text for the caller: without secrets, and marked where nobody answers for it.
    fn told(&self, text: &str, trust: Trust, what: &str) -> String {
        let clean = self.agents.redactor().redact(text).into_owned();
        match trust {
            Trust::External => {
                let source = ExternalSource::Api {
                    name: what.to_owned(),
                };
                wrap(&clean, &source, &*self.agents.host().entropy)
            }
            _ => clean,
        }
    }

    /// What of memory is open to the caller.
    fn open_sources(&self) -> SearchSources {
        match self.scopes.has(ServedScope::Sessions) {
            true => SearchSources::All,
            false => SearchSources::Notes,
        }
    }

    async fn search_memory(&self, arguments: &Map<String, Value>) -> ServedAnswer {
        let query = text_of(arguments, "query");
        let most = arguments.get("maxResults").and_then(Value::as_u64);
        let most = most.and_then(|most| usize::try_from(most).ok());
        let sources = self.open_sources();
        self.remember("memory_search", move |memory| {
            let ask = MemoryQuestion {
                max_results: most.map(|most| most.clamp(1, 50)),
                scope: SearchScope {
                    sources,
                    ..SearchScope::default()
                },
                ..MemoryQuestion::new(&query, Audience::Private)
            };
            memory_search(memory, &ask)
        })
        .await
    }

    async fn read_memory(&self, arguments: &Map<String, Value>) -> ServedAnswer {
        let path = text_of(arguments, "path");
        let line = |name: &str| {
            let line = arguments.get(name).and_then(Value::as_u64);
            line.and_then(|line| u32::try_from(line).ok())
        };
        let (from, lines) = (line("from"), line("lines"));
        let sources = self.open_sources();
        self.remember("memory_get", move |memory| {
            let ask = GetRequest {
                path: &path,
                from,
                lines,
                audience: Audience::Private,
                sources,
            };
            memory_get(memory, &ask)
        })
        .await
    }

    /// Asks memory on a thread that may wait.
    async fn remember(
        &self,
        what: &str,
        ask: impl FnOnce(&mut chela_memory::Memory<'_>) -> Result<ToolText, MemoryToolError>
        + Send
        + 'static,
    ) -> ServedAnswer {
        let Some(memory) = self.agents.memory(&self.agent) else {
            return ServedAnswer::error("Memory is switched off for this agent.");
        };
        let asked = tokio::task::spawn_blocking(move || {
            memory.with(|memory| {
                if memory.syncs_on_search() || memory.is_empty()? {
                    let depth = chela_memory::index::SyncDepth::Quick;
                    memory.sync(depth, &mut |_| std::ops::ControlFlow::Continue(()))?;
                }
                ask(memory)
            })
        });
        match asked.await {
            Ok(Ok(found)) => ServedAnswer {
                text: self.told(&found.text, found.trust, what),
                structured: Some(json!({ "trust": found.trust })),
                is_error: false,
            },
            Ok(Err(error)) => ServedAnswer::error(error.to_string()),
            Err(error) => {
                tracing::error!(%error, "memory broke while a caller asked it");
                ServedAnswer::error("Memory failed inside Chela.")
            }
        }
    }

    /// The skills the agent uses, described as the caller may read it, with how far each is trusted.
    fn skills(&self) -> Result<Vec<(Skill, Trust)>, RpcError> {
        let skills = self
            .agents
            .assembler
            .skills(&self.agent)
            .map_err(internal)?;
        let listed = skills.listed_with_trust();
        let described = listed.map(|(skill, trust)| {
            let description = self.told(&skill.description, trust, "a skill");
            let mut skill = skill.clone();
            skill.description = description;
            (skill, trust)
        });
        Ok(described.collect())
    }

    fn list_skills(&self) -> Result<ServedAnswer, RpcError> {
        let skills = self.skills()?;
        let lines: Vec<String> = skills
            .iter()
            .map(|(skill, _)| format!("- {}: {}", skill.name, skill.description))
            .collect();
        let all: Vec<Value> = skills
            .iter()
            .map(|(skill, trust)| {
                json!({ "name": skill.name, "description": skill.description, "trust": trust })
            })
            .collect();
        Ok(ServedAnswer {
            text: match lines.is_empty() {
                true => "There are no skills.".to_owned(),
                false => lines.join("\n"),
            },
            structured: Some(json!({ "skills": all })),
            is_error: false,
        })
    }

    /// The text of a skill, as it lies on the disk.
    fn skill_text(&self, name: &str) -> Result<Option<String>, RpcError> {
        let skills = self.skills()?;
        let Some((skill, trust)) = skills.iter().find(|(skill, _)| skill.name == name) else {
            return Ok(None);
        };
        let read = std::fs::read(&skill.file).map_err(internal)?;
        if read.len() > MOST_SKILL {
            return Err(internal("the skill is too long"));
        }
        // What is read is what was judged.
        if ContentHash::of(&read) != skill.version {
            return Err(internal("the skill changed a moment ago"));
        }
        let text = String::from_utf8_lossy(&read);
        Ok(Some(self.told(&text, *trust, "a skill")))
    }

    fn context_report(&self) -> Result<ServedAnswer, RpcError> {
        let ask = PromptRequest {
            agent: Some(self.agent.clone()),
            ..PromptRequest::default()
        };
        let assembled = self.agents.assembler.assemble(&ask).map_err(internal)?;
        let raw = |_: &chela_workspace::FileReport| None;
        let report = chela_inspect::report::ContextReport::of(&assembled, &raw);
        let sections = report.sections.iter();
        let mut text = format!(
            "{} tokens before a word is said; the system prompt has {}.\n",
            report.total.tokens, report.prompt.tokens
        );
        for section in sections.filter(|section| section.own.tokens > 0) {
            text.push_str(&format!(
                "- {}: {} tokens\n",
                section.id, section.own.tokens
            ));
        }
        Ok(ServedAnswer {
            text,
            structured: serde_json::to_value(&report).ok(),
            is_error: false,
        })
    }

    async fn list_sessions(&self) -> Result<ServedAnswer, RpcError> {
        let view = sessions_view_of(&self.agents, &self.agent);
        let listed = tokio::task::spawn_blocking(move || view.sessions());
        let rows = listed.await.map_err(internal)?.map_err(internal)?;
        let own = rows.into_iter().filter(|row| row.agent == self.agent);
        let own: Vec<_> = own.take(MOST_SESSIONS).collect();
        // A label is a text of the session.
        let trust = own
            .iter()
            .map(|row| row.trust)
            .fold(Trust::Agent, Trust::join);
        let rows: Vec<Value> = own
            .iter()
            .map(|row| {
                json!({
                    "session": row.key.to_string(),
                    "label": row.label,
                    "updatedAt": row.updated_at,
                    "messages": row.messages,
                })
            })
            .collect();
        let lines: Vec<String> = rows.iter().map(ToString::to_string).collect();
        Ok(ServedAnswer {
            text: self.told(&lines.join("\n"), trust, "sessions"),
            structured: None,
            is_error: false,
        })
    }

    async fn session_history(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<ServedAnswer, RpcError> {
        let Ok(key) = SessionKey::parse(&text_of(arguments, "session")) else {
            return Ok(ServedAnswer::error(
                "That is not a session; sessions_list names them.",
            ));
        };
        let number = |name: &str, usual: u64| {
            let number = arguments.get(name).and_then(Value::as_u64).unwrap_or(usual);
            usize::try_from(number).unwrap_or(usize::MAX)
        };
        let (limit, offset) = (number("limit", 50).min(MOST_MESSAGES), number("offset", 0));
        if key.agent.as_deref() != Some(self.agent.as_str()) {
            return Ok(ServedAnswer::error(
                "Sessions of other agents are not open to this caller.",
            ));
        }
        let view = sessions_view_of(&self.agents, &self.agent);
        let read = tokio::task::spawn_blocking(move || {
            view.history(&HistoryAsk {
                session: &key,
                offset,
                limit,
                tools: ToolMessages::LeftOut,
            })
        });
        let page = match read.await.map_err(internal)? {
            Ok(page) => page,
            Err(error) => return Ok(ServedAnswer::error(error.to_string())),
        };
        let mut text = format!("{} messages in all.\n", page.total);
        for message in &page.messages {
            let told = self.told(&message.text, message.trust, "a conversation");
            text.push_str(&format!("\n[{}]\n{told}\n", message.role));
        }
        Ok(ServedAnswer::text(text))
    }
}

impl ServedContent for ServedAgent {
    fn instructions(&self) -> String {
        tool_table::instructions(&self.scopes)
    }

    fn tools(&self) -> Vec<ServedTool> {
        tool_table::tools(&self.scopes)
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a Map<String, Value>,
    ) -> ServedFuture<'a, ServedAnswer> {
        Box::pin(async move {
            match tool {
                "memory_search" => Ok(self.search_memory(arguments).await),
                "memory_get" => Ok(self.read_memory(arguments).await),
                "skills_list" => self.list_skills(),
                "skills_get" => Ok(match self.skill_text(&text_of(arguments, "name"))? {
                    Some(text) => ServedAnswer::text(text),
                    None => ServedAnswer::error("There is no such skill; skills_list names them."),
                }),
                "context_report" => self.context_report(),
                "sessions_list" => self.list_sessions().await,
                "sessions_history" => self.session_history(arguments).await,
                "ask" => Ok(self.board.ask(self, arguments).await),
                "ask_result" => Ok(self.board.result(&self.caller, arguments).await),
                other => Err(RpcError::unknown_method(other)),
            }
        })
    }

    fn resources(&self) -> ServedFuture<'_, Vec<ServedResource>> {
        Box::pin(async move {
            if !self.scopes.has(ServedScope::Skills) {
                return Ok(Vec::new());
            }
            let skills = self.skills()?.into_iter();
            Ok(skills
                .map(|(skill, _)| ServedResource {
                    uri: format!("{SKILL_START}{}{SKILL_END}", skill.name),
                    name: skill.name,
                    description: skill.description,
                    mime: "text/markdown",
                })
                .collect())
        })
    }

    fn prompts(&self) -> ServedFuture<'_, Vec<ServedPrompt>> {
        Box::pin(async move {
            if !self.scopes.has(ServedScope::Skills) {
                return Ok(Vec::new());
            }
            let skills = self.skills()?.into_iter();
            Ok(skills
                .map(|(skill, _)| ServedPrompt {
                    name: skill.name,
                    description: skill.description,
                })
                .collect())
        })
    }

    fn prompt<'a>(&'a self, name: &'a str) -> ServedFuture<'a, String> {
        Box::pin(async move {
            let is_open = self.scopes.has(ServedScope::Skills);
            let gone = || RpcError::invalid_params("there is no such prompt");
            let name = is_open.then_some(name).ok_or_else(gone)?;
            self.skill_text(name)?.ok_or_else(gone)
        })
    }

    fn read<'a>(&'a self, uri: &'a str) -> ServedFuture<'a, ServedText> {
        Box::pin(async move {
            let gone = || RpcError::invalid_params("there is no such resource");
            let name = uri
                .strip_prefix(SKILL_START)
                .and_then(|rest| rest.strip_suffix(SKILL_END))
                .filter(|_| self.scopes.has(ServedScope::Skills))
                .ok_or_else(gone)?;
            Ok(ServedText {
                text: self.skill_text(name)?.ok_or_else(gone)?,
                uri: uri.to_owned(),
                mime: "text/markdown",
            })
        })
    }
}

fn text_of(arguments: &Map<String, Value>, name: &str) -> String {
    let text = arguments.get(name).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// What goes wrong in here is for the log; a caller is told that something did.
fn internal(error: impl std::fmt::Display) -> RpcError {
    tracing::warn!(%error, "a caller could not be answered");
    RpcError::new(RpcError::INTERNAL, "it cannot be read at the moment")
}
