#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up fails here"
)]

use chela_agent::assemble::{AssembleError, MachineMention, PromptAssembler, PromptRequest};
use chela_config::LoadedConfig;
use chela_core::{Host, SessionKey, tokens};
use chela_prompt::{PromptMode, SectionId};
use chela_workspace::{RepositoryMode, SeedMode, SeedOptions, seed};

use crate::swept::Swept;

struct Home {
    _dir: Swept,
    host: Host,
    loaded: LoadedConfig,
}

impl Home {
    fn with(config: &str) -> Self {
        let dir = Swept::new();
        let host = dir.host();
        let loaded = chela_config::load_text(&host, config);
        let options = SeedOptions {
            mode: SeedMode::Fill,
            skip_optional: Vec::new(),
            repository: RepositoryMode::Leave,
        };
        for agent in loaded.agents() {
            let workspace = loaded.workspace_dir(&agent).value;
            seed(&host, &workspace, &options).expect("a workspace");
            std::fs::write(
                workspace.join("MEMORY.md"),
                "The safe is behind the picture.\n",
            )
            .expect("a memory");
        }
        Self {
            _dir: dir,
            host,
            loaded,
        }
    }

    fn prompt(&self, session: &str) -> Result<String, AssembleError> {
        let session = Some(SessionKey::parse(session).expect("a session key"));
        let ask = PromptRequest {
            session,
            ..PromptRequest::default()
        };
        PromptAssembler::new(&self.host, &self.loaded)
            .assemble(&ask)
            .map(|done| done.prompt.text)
    }
}

/// Every form in which others read along.
const SHARED: [&str; 7] = [
    "agent:main:whatsapp:group:1@g.us",
    "agent:main:discord:channel:2",
    "agent:main:matrix:room:!r:example.org",
    "agent:main:slack:channel:C1:thread:17.2",
    "agent:main:telegram:work:group:-100:topic:7",
    "agent:main:some:unknown:form",
    "hook:8f1c",
];

#[test]
fn private_files_never_enter_a_shared_session() {
    let home =
        Home::with("{ commands: { ownerAllowFrom: ['telegram:555'], ownerDisplay: 'raw' } }");
    for session in SHARED {
        let prompt = home.prompt(session).expect(session);
        for secret in [
            "behind the picture",
            "## USER.md",
            "## MEMORY.md",
            "telegram:555",
        ] {
            assert!(!prompt.contains(secret), "{secret} in {session}");
        }
    }
    let private = home.prompt("agent:main:main").expect("the main session");
    assert!(private.contains("behind the picture") && private.contains("telegram:555"));
}

#[test]
fn the_stable_zone_is_the_same_whoever_asks_through_which_channel() {
    let home = Home::with("{ channels: { telegram: { capabilities: ['inlineButtons'] } } }");
    let assembler = PromptAssembler::new(&home.host, &home.loaded);
    let stable = |channel: &str| {
        let ask = PromptRequest {
            channel: Some(channel.to_owned()),
            ..PromptRequest::default()
        };
        let done = assembler.assemble(&ask).expect("a prompt");
        done.prompt.stable().to_owned()
    };
    assert_eq!(stable("signal"), stable("discord"));
}

#[test]
fn children_get_the_minimal_prompt_with_safety() {
    let home = Home::with("{ context: { inherit: ['SOUL.md'] } }");
    for session in ["agent:main:subagent:1", "cron:nightly"] {
        let ask = PromptRequest {
            session: SessionKey::parse(session).ok(),
            ..PromptRequest::default()
        };
        let done = PromptAssembler::new(&home.host, &home.loaded)
            .assemble(&ask)
            .expect(session);
        assert_eq!(done.input.mode, PromptMode::Minimal, "{session}");
        assert!(done.prompt.section(SectionId::Safety).is_some());
        assert!(!done.prompt.text.contains("## USER.md"));
        assert!(
            done.prompt.text.contains("## SOUL.md"),
            "inherited on request"
        );
    }
}

#[test]
fn a_fresh_home_costs_less_than_promised() {
    let home = Home::with("{}");
    let prompt = home.prompt("agent:main:main").expect("a prompt");
    assert!(tokens::count(&prompt) < 4_500, "{}", tokens::count(&prompt));
}

#[test]
fn agents_are_kept_apart() {
    let home = Home::with("{ agents: { list: [{ id: 'main' }, { id: 'two', name: 'Two' }] } }");
    let two = home
        .loaded
        .workspace_dir(&chela_core::AgentId::parse("two").expect("an id"))
        .value;
    std::fs::write(two.join("SOUL.md"), "I am the second.\n").expect("a soul");
    assert!(
        home.prompt("agent:two:main")
            .expect("two")
            .contains("I am the second.")
    );
    assert!(
        !home
            .prompt("agent:main:main")
            .expect("main")
            .contains("I am the second.")
    );
    assert!(matches!(
        home.prompt("agent:three:main"),
        Err(AssembleError::NoAgent { .. })
    ));
}

#[test]
fn prompts_for_anywhere_do_not_speak_of_this_machine() {
    let home = Home::with("{}");
    let ask = PromptRequest {
        machine: MachineMention::Anywhere,
        ..PromptRequest::default()
    };
    let done = PromptAssembler::new(&home.host, &home.loaded)
        .assemble(&ask)
        .expect("a prompt");
    let here = home.host.user_home.display().to_string();
    assert!(!done.prompt.text.contains(&here), "{}", done.prompt.text);
}

#[test]
fn extra_files_are_loaded_by_glob_and_only_by_known_names() {
    let home = Home::with(
        "{ hooks: { internal: { entries: { 'bootstrap-extra-files': { paths: ['teams/*/AGENTS.md', '*.txt'] } } } } }",
    );
    let agent = home.loaded.default_agent();
    let team = home.loaded.workspace_dir(&agent).value.join("teams/red");
    std::fs::create_dir_all(&team).expect("a folder");
    std::fs::write(team.join("AGENTS.md"), "Red rules.\n").expect("a file");
    std::fs::write(team.join("../../notes.txt"), "Not for the model.\n").expect("a file");
    let prompt = home.prompt("agent:main:main").expect("a prompt");
    assert!(prompt.contains("Red rules.") && !prompt.contains("Not for the model."));
}
