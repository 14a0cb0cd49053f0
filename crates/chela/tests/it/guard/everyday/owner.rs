//! An owner who says yes, in a home where one task is done by the real engine with its real tools.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use chela_agent::agent::Agents;
use chela_agent::conversation::{Conversation, ConversationAsk, InboundMessage};
use chela_agent::machine::this_machine;
use chela_agent::turn::{TurnEvent, TurnSurface};
use chela_core::{Host, OwnerProof, SessionKey, Speaker};
use chela_guard::approval::{ApprovalQuestion, ApprovalScope, Approver, OwnerAnswer};
use chela_testkit::{EndpointScript, ScriptStep, ScriptedCall, ScriptedEndpoint, StepRule};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::super::running::SandboxHere;
use super::super::web_scene::asked;
use super::ReadBefore;
use super::tasks::{EverydayTask, TaskTurn};
use crate::scene::{APIS, ScriptedHome};

/// The page that was read before.
const PAGE: &str = "/weather";

pub(super) struct AttendedHome {
    scene: ScriptedHome,
    web: ScriptedEndpoint,
    agents: Arc<Agents>,
    runtime: Runtime,
    asked: AgreeingOwner,
}

/// What came of a task.
#[derive(Debug)]
pub(super) struct TaskOutcome {
    pub questions: Vec<String>,
    pub undone: Vec<String>,
    /// Requests nobody wanted.
    pub outward: Vec<String>,
}

impl AttendedHome {
    pub fn for_task(task: &EverydayTask) -> Self {
        let web = ScriptedEndpoint::start(EndpointScript::default()).unwrap();
        let at = format!("http://localhost:{}", web.port());
        web.play(EndpointScript::steps(pages(task, &at)));
        let config = json!({ "tools": { "web": {
            "fetch": { "ssrfPolicy": { "allowedHostnames": ["localhost"] } },
            "search": { "provider": "searxng", "searxng": { "baseUrl": at } },
        } } });
        let scene = ScriptedHome::without_canary(APIS[0], EndpointScript::default(), config);
        for (file, text) in &task.files {
            scene.home.write(&format!(".chela/workspace/{file}"), text);
        }
        let repository = "git init -q . && git config user.name ann \
                          && git config user.email ann@home.example";
        let setup = [repository, task.setup.as_str()].join("\n");
        let mut shell = scene.home.command_of("sh");
        let shell = shell.args(["-ec", &setup]);
        let ran = shell
            .current_dir(scene.home.path(".chela/workspace"))
            .status();
        assert!(ran.unwrap().success(), "{}", task.name);
        let host = host_of(&scene);
        let loaded = chela_config::load_text(&host, &scene.home.read(".chela/chela.json"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        Self {
            agents: Agents::open(&host, Arc::new(loaded)),
            runtime: runtime.unwrap(),
            scene,
            web,
            asked: AgreeingOwner::default(),
        }
    }

    pub fn does(&self, task: &EverydayTask, before: ReadBefore) -> TaskOutcome {
        let mut session = 0;
        let mut talk = self.talk(session);
        if before == ReadBefore::Page {
            self.say(&talk, task, &page_turn());
        }
        for turn in &task.turns {
            if turn.anew {
                session += 1;
                talk = self.talk(session);
            }
            self.say(&talk, task, turn);
        }
        drop(talk);
        let told = self.told();
        let fetched = asked(&self.web);
        let fetched = fetched
            .iter()
            .map(|path| path.split('?').next().unwrap_or(path));
        let fetched: Vec<&str> = fetched.filter(|path| *path != PAGE).collect();
        let wanted = &task.done.fetched;
        let missing = wanted
            .iter()
            .filter(|path| !fetched.contains(&path.as_str()));
        let outward = fetched
            .iter()
            .filter(|path| !wanted.iter().any(|one| one == *path));
        TaskOutcome {
            undone: missing
                .map(|path| format!("{path} was not read: {told:#?}"))
                .chain(self.missing_files(task, &told))
                .chain(self.missing_words(task, &told))
                .collect(),
            outward: outward.map(ToString::to_string).collect(),
            questions: std::mem::take(&mut *self.asked.0.lock().unwrap()),
        }
    }

    fn talk(&self, session: usize) -> Conversation {
        let key = SessionKey::try_from(format!("agent:main:task{session}")).unwrap();
        let ask = ConversationAsk {
            session: Some(key),
            ..ConversationAsk::new(Speaker::Owner(OwnerProof::terminal()))
        };
        self.runtime
            .block_on(self.agents.conversation(ask))
            .unwrap()
    }

    fn say(&self, talk: &Conversation, task: &EverydayTask, turn: &TaskTurn) {
        let at = format!("http://localhost:{}", self.web.port());
        self.scene.endpoint.play(script(task, turn, &at));
        let message = InboundMessage {
            text: turn.says.replace("{web}", &at),
            ..InboundMessage::default()
        };
        let ended = self.runtime.block_on(async {
            let ended = talk.say(message, &self.asked).await;
            while talk.background().subagents_running() > 0 {
                talk.background().until_news(&self.asked).await;
                tokio::task::yield_now().await;
            }
            ended
        });
        ended.unwrap();
    }

    /// What the tools brought back, whoever had called them.
    fn told(&self) -> Vec<String> {
        let mut told: Vec<String> = Vec::new();
        for call in self.scene.endpoint.calls() {
            let messages = call.json()["messages"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let results = messages.iter().filter(|message| message["role"] == "tool");
            for result in results {
                let text = result["content"].as_str().unwrap_or_default().to_owned();
                if !told.contains(&text) {
                    told.push(text);
                }
            }
        }
        told
    }

    fn missing_files(&self, task: &EverydayTask, told: &[String]) -> Vec<String> {
        let place = |file: &str| self.scene.home.path(".chela/workspace").join(file);
        let holds = |file: &str, text: &str| {
            std::fs::read_to_string(place(file)).is_ok_and(|found| found.contains(text))
        };
        let unmade = task
            .done
            .holds
            .iter()
            .filter(|(file, text)| !holds(file, text));
        let unmade = unmade.map(|(file, text)| format!("{file} has no {text:?}: {told:#?}"));
        let left = task.done.gone.iter().filter(|file| place(file).exists());
        unmade
            .chain(left.map(|file| format!("{file} is still there")))
            .collect()
    }

    fn missing_words(&self, task: &EverydayTask, told: &[String]) -> Vec<String> {
        let is_there = |words: &str| told.iter().any(|text| text.contains(words));
        let missing = task.done.told.iter().filter(|words| !is_there(words));
        missing
            .map(|words| format!("no tool said {words:?}: {told:#?}"))
            .collect()
    }
}

/// The machine of the tests, with the binary to put sandboxes around commands.
fn host_of(scene: &ScriptedHome) -> Host {
    let home = scene.home.path("");
    let home = home.canonicalize().unwrap();
    let env = [
        ("HOME", home.display().to_string()),
        ("PATH", std::env::var("PATH").unwrap_or_default()),
        ("SHELL", "/bin/sh".to_owned()),
        ("TZ", "Europe/Berlin".to_owned()),
    ];
    Host {
        user_home: home.clone(),
        cwd: home,
        env: env.map(|(name, value)| (name.to_owned(), value)).into(),
        program: Some(env!("CARGO_BIN_EXE_chela").into()),
        ..this_machine(None)
    }
}

fn pages(task: &EverydayTask, at: &str) -> Vec<ScriptStep> {
    let weather = (
        PAGE.to_owned(),
        json!("Weather: sunny, no rain before Friday."),
    );
    let pages = task
        .pages
        .iter()
        .map(|(path, page)| (path.clone(), page.clone()));
    let steps = pages.chain([weather]).map(|(path, page)| {
        let step = match &page {
            Value::String(text) => ScriptStep::page(200, "text/html", format!("<p>{text}</p>")),
            found => {
                let found = found.to_string().replace("{web}", at);
                ScriptStep::page(200, "application/json", found)
            }
        };
        step.when(StepRule {
            path: Some(path),
            ..StepRule::default()
        })
    });
    steps.collect()
}

fn page_turn() -> TaskTurn {
    TaskTurn {
        says: format!("Will it rain? See {{web}}{PAGE}."),
        anew: false,
        calls: vec![(
            "web_fetch".to_owned(),
            json!({ "url": format!("{{web}}{PAGE}") }),
        )],
        reply: "Not before Friday.".to_owned(),
    }
}

fn script(task: &EverydayTask, turn: &TaskTurn, at: &str) -> EndpointScript {
    let calls = turn
        .calls
        .iter()
        .map(|(tool, arguments)| step(tool, arguments, at));
    let child = task.child.iter().flat_map(|child| {
        let calls = child.calls.iter().map(|(tool, arguments)| {
            step(tool, arguments, at).when(StepRule {
                contains: Some(child.told.clone()),
                after_tool: Some(false),
                ..StepRule::default()
            })
        });
        calls.collect::<Vec<_>>()
    });
    let reply = match turn.reply.is_empty() {
        true => "Done.",
        false => &turn.reply,
    };
    EndpointScript {
        otherwise: Some(ScriptStep::reply(reply)),
        ..EndpointScript::steps(child.chain(calls))
    }
}

/// A call as a model makes it that sees what the tool offers on this machine.
fn step(tool: &str, arguments: &Value, at: &str) -> ScriptStep {
    let text = arguments.to_string().replace("{web}", at);
    let mut arguments: Value = serde_json::from_str(&text).unwrap();
    if SandboxHere::asked_for() == SandboxHere::Missing
        && let Some(arguments) = arguments.as_object_mut()
    {
        arguments.retain(|name, _| name != "outside" && name != "hosts");
    }
    ScriptStep {
        tool_calls: vec![ScriptedCall {
            name: tool.to_owned(),
            arguments,
            id: None,
        }],
        ..ScriptStep::default()
    }
}

/// Says yes, once, and keeps what was asked.
#[derive(Default)]
struct AgreeingOwner(Mutex<Vec<String>>);

impl TurnSurface for AgreeingOwner {
    fn event(&self, _: TurnEvent) {}
}

impl Approver for AgreeingOwner {
    fn ask<'a>(
        &'a self,
        question: &'a ApprovalQuestion,
    ) -> Pin<Box<dyn Future<Output = OwnerAnswer> + Send + 'a>> {
        let calls = question.calls.iter();
        let asked = calls.map(|call| format!("{} {:?}: {}", call.tool, call.exact, call.why));
        let asked: Vec<String> = asked.collect();
        self.0.lock().unwrap().push(asked.join("; "));
        Box::pin(std::future::ready(OwnerAnswer::given(
            Some(ApprovalScope::Once),
            question,
        )))
    }
}
