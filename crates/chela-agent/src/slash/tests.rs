use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use chela_core::SessionKey;
use chela_ledger::UsageSum;
use chela_model::Usage;
use chela_store::block_on;

use super::*;
use crate::turn::ContextMeter;
use chela_inspect::report::ContextReport;

/// A conversation of nothing but values.
#[derive(Default)]
struct Fake {
    settings: Mutex<BTreeMap<SessionSetting, String>>,
    begun: Mutex<u32>,
    no_models: bool,
    stranger: bool,
}

impl CommandContext for Fake {
    fn session(&self) -> SessionKey {
        SessionKey::parse("agent:main:main").unwrap()
    }
    fn sender(&self) -> String {
        "local:me".to_owned()
    }
    async fn refresh(&self) {}
    fn default_of(&self, which: SessionSetting) -> Option<String> {
        (which == SessionSetting::Thinking).then(|| "low".to_owned())
    }
    fn setting(&self, which: SessionSetting) -> Option<String> {
        self.settings.lock().unwrap().get(&which).cloned()
    }
    async fn set(&self, which: SessionSetting, value: Option<&str>) -> Result<(), CommandTrouble> {
        let mut settings = self.settings.lock().unwrap();
        match value {
            Some(value) => settings.insert(which, value.to_owned()),
            None => settings.remove(&which),
        };
        Ok(())
    }
    fn model(&self) -> ModelState {
        if self.no_models {
            return ModelState {
                missing: vec!["Start Ollama.".to_owned()],
                ..ModelState::default()
            };
        }
        ModelState {
            selected: self
                .setting(SessionSetting::Model)
                .or_else(|| Some("anthropic/opus".to_owned())),
            ..ModelState::default()
        }
    }
    async fn served_models(&self, provider: Option<&str>) -> Vec<ModelRow> {
        let served = [
            "ollama/llama3:8b",
            "ollama/mistral:7b",
            "vllm/mistral-large",
        ];
        let wanted =
            |name: &&str| provider.is_none_or(|provider| name.split('/').next() == Some(provider));
        let row = |name: &str| ModelRow {
            name: name.to_owned(),
            ..ModelRow::default()
        };
        match self.no_models {
            true => Vec::new(),
            false => served.iter().copied().filter(wanted).map(row).collect(),
        }
    }
    fn models(&self) -> Vec<ModelRow> {
        if self.no_models {
            return Vec::new();
        }
        [
            ("anthropic/opus", Some("big")),
            ("ollama/qwen3:8b", None),
            ("ollama/qwen3:1b", None),
        ]
        .map(|(name, alias)| ModelRow {
            name: name.to_owned(),
            alias: alias.map(str::to_owned),
            window: Some(200_000),
            note: None,
        })
        .into()
    }
    async fn begin(&self) -> Result<Option<String>, CommandTrouble> {
        *self.begun.lock().unwrap() += 1;
        Ok(None)
    }
    async fn conversations(&self) -> Result<Vec<ConversationRow>, CommandTrouble> {
        Ok(vec![ConversationRow {
            id: "3f2a9c01-0000".to_owned(),
            title: "plan the trip".to_owned(),
            age: "2d".to_owned(),
            ..ConversationRow::default()
        }])
    }
    async fn find_conversation(&self, given: &str) -> Result<ConversationRow, CommandTrouble> {
        let mut rows = self.conversations().await?;
        match rows.remove(0) {
            row if row.id.starts_with(given) || row.title.contains(given) => Ok(row),
            _ => Err(format!("There is no conversation `{given}`.")),
        }
    }
    async fn undo(&self) -> Result<Option<UndoOutcome>, CommandTrouble> {
        Ok(Some(UndoOutcome::Message {
            message: "what I wrote".to_owned(),
            entries: 3,
        }))
    }
    async fn changed_files(&self) -> Result<Vec<(String, String)>, CommandTrouble> {
        Ok(vec![("notes.md".to_owned(), "-a\n+b\n".to_owned())])
    }

    async fn undo_files(&self) -> Result<Vec<String>, CommandTrouble> {
        Ok(vec!["notes.md: line 2 changed".to_owned()])
    }
    async fn export(&self, path: Option<&str>) -> Result<PathBuf, CommandTrouble> {
        Ok(PathBuf::from(path.unwrap_or("chosen.jsonl")))
    }
    async fn report(&self) -> Result<ContextReport, CommandTrouble> {
        Err("no report here".to_owned())
    }
    async fn why(&self, what: &str) -> Result<Vec<chela_inspect::why::WhyAnswer>, CommandTrouble> {
        Err(format!("asked for {what}"))
    }
    async fn tools(&self) -> Vec<ToolRow> {
        vec![ToolRow {
            name: "read".to_owned(),
            is_deferred: false,
            description: "Read a file.".to_owned(),
        }]
    }
    fn skills(&self) -> Vec<SkillRow> {
        vec![SkillRow {
            name: "deploy-site".to_owned(),
            command: "deploy_site".to_owned(),
            description: "Puts the site online".to_owned(),
            hint: None,
        }]
    }
    async fn call_skill(&self, name: &str, args: &str) -> Result<CalledSkill, CommandTrouble> {
        Ok(CalledSkill {
            message: format!("use {name}: {args}"),
            model: None,
        })
    }
    fn is_owner(&self) -> bool {
        !self.stranger
    }
    fn stop_all(&self) -> Result<(), CommandTrouble> {
        Ok(())
    }
    async fn trust_path(&self, path: &str, word: TrustWord) -> Result<String, CommandTrouble> {
        Ok(format!("{path}: {word:?}"))
    }
    async fn release(&self) -> Result<Option<String>, CommandTrouble> {
        Ok(Some("tool:c1".to_owned()))
    }
    async fn status(&self) -> SessionStatus {
        SessionStatus {
            guard: "standard".to_owned(),
            tainted_by: Some("tool:c1".to_owned()),
            waiting: 0,
            context: ContextMeter {
                used: 5_000,
                window: Some(20_000),
            },
            last: Usage {
                input: 4_000,
                output: 100,
                cache_read: 3_000,
                ..Usage::default()
            },
            spent: Some(SpentSums {
                session: UsageSum {
                    requests: 2,
                    input: 1_000_000,
                    output: 100_000,
                    cost: 7_500_000,
                    ..UsageSum::default()
                },
                today: UsageSum {
                    requests: 3,
                    cost: 8_000_000,
                    unpriced: 1,
                    ..UsageSum::default()
                },
            }),
            turns: 1,
            execution: "directly".to_owned(),
            ..SessionStatus::default()
        }
    }
}

fn typed(talk: &Fake, line: &str) -> CommandAnswer {
    match parse(line) {
        ParsedLine::Command { command, args } => block_on(run(talk, command, &args)),
        ParsedLine::Directives(directives) => block_on(apply(talk, &directives[0])),
        other => panic!("{line} is {other:?}"),
    }
}

/// Text, directives with their values, shortcuts.
type Understood = (
    String,
    Vec<(&'static str, Option<String>)>,
    Vec<&'static str>,
);

fn message(line: &str) -> Understood {
    match parse(line) {
        ParsedLine::Message {
            text,
            directives,
            shortcuts,
        } => (
            text,
            directives
                .into_iter()
                .map(|found| (found.command.name, found.value))
                .collect(),
            shortcuts.iter().map(|command| command.name).collect(),
        ),
        other => panic!("{line} is {other:?}"),
    }
}

#[test]
fn names_and_aliases_are_unique_and_findable() {
    let mut seen = std::collections::BTreeSet::new();
    for command in COMMANDS {
        for name in std::iter::once(&command.name).chain(command.aliases) {
            assert!(seen.insert(*name), "{name} is there twice");
            assert_eq!(
                find(&name.to_uppercase()).map(|found| found.id),
                Some(command.id)
            );
        }
        assert!(help("").contains(&format!("`/{}`", command.name)));
    }
}

#[test]
fn commands_take_a_colon_and_any_casing() {
    for line in [
        "/NEW hello there",
        "/new: hello there",
        "/new:hello there",
        "  /new   hello there ",
    ] {
        let ParsedLine::Command { command, args } = parse(line) else {
            panic!("{line}");
        };
        assert_eq!(
            (command.id, args.as_str()),
            (CommandId::New, "hello there"),
            "{line}"
        );
    }
}

#[test]
fn directives_alone_hold_and_inside_a_message_are_taken_out() {
    let alone = |line: &str| match parse(line) {
        ParsedLine::Directives(found) => found
            .into_iter()
            .map(|found| (found.command.name, found.value.unwrap_or_default()))
            .collect::<Vec<_>>(),
        other => panic!("{line} is {other:?}"),
    };
    assert_eq!(alone("/t: high"), [("think", "high".to_owned())]);
    assert_eq!(alone("/think"), [("think", String::new())]);
    assert_eq!(alone("/think banana"), [("think", "banana".to_owned())]);
    assert_eq!(
        alone("/t high /v on"),
        [("think", "high".to_owned()), ("verbose", "on".to_owned())]
    );
    assert_eq!(
        message("please /t:max count the files"),
        (
            "please count the files".to_owned(),
            vec![("think", Some("max".to_owned()))],
            vec![]
        )
    );
    assert_eq!(
        message("/model opus why is the sky blue?"),
        (
            "why is the sky blue?".to_owned(),
            vec![("model", Some("opus".to_owned()))],
            vec![]
        )
    );
}

#[test]
fn shortcuts_are_answered_beside_a_message() {
    assert_eq!(
        message("hi /status how are you"),
        ("hi how are you".to_owned(), vec![], vec!["status"])
    );
}

#[test]
fn paths_code_and_words_that_are_no_level_stay_text() {
    for line in [
        "/etc/hosts is empty, why?",
        "what does `/think high` do",
        "see /think-tank for more",
        "a/think high",
        "either /think or not, tell me",
        "write /new into the readme",
        "1 /2",
    ] {
        assert_eq!(message(line), (line.to_owned(), vec![], vec![]), "{line}");
    }
}

#[test]
fn what_is_no_command_may_be_a_skill() {
    assert_eq!(
        parse("/deploy_site now please"),
        ParsedLine::Unknown {
            name: "deploy_site".to_owned(),
            args: "now please".to_owned()
        }
    );
    assert!(help("statsu").contains("`/status`"));
}

#[test]
fn levels_are_set_shown_and_cleared() {
    let talk = Fake::default();
    assert!(
        typed(&talk, "/think").text.contains("**low**"),
        "the config's counts"
    );
    assert!(typed(&talk, "/t max").text.contains("**xhigh**"));
    assert_eq!(
        talk.setting(SessionSetting::Thinking).as_deref(),
        Some("xhigh")
    );
    assert!(
        typed(&talk, "/think default")
            .text
            .contains("**low** (the default)")
    );
    assert!(typed(&talk, "/think banana").text.contains("off|minimal"));
    assert_eq!(talk.setting(SessionSetting::Thinking), None);
    typed(&talk, "/usage tokens");
    assert_eq!(
        talk.setting(SessionSetting::Usage).as_deref(),
        Some("tokens")
    );
    let told = typed(&talk, "/cost").text;
    assert_eq!(told, typed(&talk, "/usage cost").text);
    assert!(told.contains("This conversation: 1,000,000 in, 100,000 out, in 2 requests: $7.50."));
    assert!(
        told.contains("$8.00 and 1 request without a known price"),
        "{told}"
    );
}

#[test]
fn models_are_chosen_by_number_alias_name_or_part() {
    let talk = Fake::default();
    for (asked, name) in [
        ("2", "ollama/qwen3:8b"),
        ("#1", "anthropic/opus"),
        ("BIG", "anthropic/opus"),
        ("8b", "ollama/qwen3:8b"),
        ("groq/anything", "groq/anything"),
    ] {
        typed(&talk, &format!("/model {asked}"));
        assert_eq!(talk.model().selected.as_deref(), Some(name), "{asked}");
    }
    assert!(typed(&talk, "/model qwen3").text.contains(" or "));
    // What is not configured and an endpoint has is found, too.
    for (asked, name) in [
        ("llama3", "ollama/llama3:8b"),
        ("ollama/mistral:7b", "ollama/mistral:7b"),
        ("mistral-large", "vllm/mistral-large"),
        ("6", "vllm/mistral-large"),
        ("openai/unlisted", "openai/unlisted"),
    ] {
        let told = typed(&talk, &format!("/model {asked}")).text;
        assert!(told.contains(&format!("`{name}`")), "{asked}: {told}");
    }
    assert!(
        typed(&talk, "/model mistral")
            .text
            .contains("could be `ollama/mistral:7b` or")
    );
    let wrong = typed(&talk, "/model ollama/llama3:9b").text;
    assert!(
        wrong.contains("Did you mean `ollama/llama3:8b`?"),
        "{wrong}"
    );
    assert!(
        typed(&talk, "/models")
            .text
            .contains("6. `vllm/mistral-large`")
    );
    assert!(
        typed(&talk, "/model default")
            .text
            .contains("anthropic/opus")
    );
    assert!(
        typed(&talk, "/models ollama")
            .text
            .starts_with("2. `ollama/qwen3:8b`")
    );
    let nobody = Fake {
        no_models: true,
        ..Fake::default()
    };
    assert_eq!(typed(&nobody, "/models").text, "Start Ollama.");
    assert_eq!(typed(&nobody, "/model").text, "Start Ollama.");
}

#[test]
fn new_takes_a_model_or_a_first_message() {
    let talk = Fake::default();
    block_on(talk.set(SessionSetting::Verbose, Some("on"))).unwrap();
    let answer = typed(&talk, "/new ollama");
    assert_eq!(answer.then, SurfaceAction::Begun(None));
    assert_eq!(
        talk.setting(SessionSetting::Model).as_deref(),
        Some("ollama/qwen3:8b")
    );
    assert_eq!(talk.setting(SessionSetting::Verbose), None);
    let answer = typed(&talk, "/new tell me a story");
    assert_eq!(
        answer.then,
        SurfaceAction::Begun(Some("tell me a story".to_owned()))
    );
    assert_eq!(talk.setting(SessionSetting::Model), None);
    block_on(talk.set(SessionSetting::Model, Some("anthropic/opus"))).unwrap();
    let answer = typed(&talk, "/reset soft go on");
    assert_eq!(answer.then, SurfaceAction::Begun(Some("go on".to_owned())));
    assert!(talk.setting(SessionSetting::Model).is_some());
    typed(&talk, "/reset");
    assert!(talk.setting(SessionSetting::Model).is_none());
    assert_eq!(*talk.begun.lock().unwrap(), 4);
}

#[test]
fn what_the_surface_must_do_comes_back_as_a_value() {
    let talk = Fake::default();
    assert_eq!(typed(&talk, "/stop").then, SurfaceAction::Stop);
    assert_eq!(typed(&talk, "/quit").then, SurfaceAction::Leave);
    assert_eq!(
        typed(&talk, "/compact the plan").then,
        SurfaceAction::Compact(Some("the plan".to_owned()))
    );
    assert_eq!(
        typed(&talk, "/undo").then,
        SurfaceAction::Edit("what I wrote".to_owned())
    );
    assert_eq!(
        typed(&talk, "/skill deploy-site to staging").then,
        SurfaceAction::UseSkill(CalledSkill {
            message: "use deploy-site: to staging".to_owned(),
            model: None,
        })
    );
    assert_eq!(
        typed(&talk, "/approve a1 always").then,
        SurfaceAction::Approve {
            id: "a1".to_owned(),
            answer: "always".to_owned()
        }
    );
    assert!(typed(&talk, "/approve a1").text.contains("deny"));
    assert!(
        typed(&talk, "/approve a1 no thank you")
            .text
            .contains("deny")
    );
    assert!(
        typed(&talk, "/context why SOUL.md")
            .text
            .contains("SOUL.md")
    );
}

#[test]
fn the_card_is_short_and_complete() {
    let talk = Fake::default();
    block_on(talk.set(SessionSetting::Title, Some("The garden"))).unwrap();
    insta::assert_snapshot!(typed(&talk, "/status").text, @r"
    - 🧠 Model: `anthropic/opus`
    - 📚 Context: 5,000 of 20,000 tokens (25 %)
    - 🧮 Last turn: 4,000 in, 100 out, 75 % from the cache
    - 💵 Cost: $7.50
    - 🧵 Session: `agent:main:main` “The garden”, 1 turn, Compactions: 0
    - ⚙️ Settings: think low · reasoning off · verbose off · usage off
    - 🛡️ Guard: standard, untrusted content in context from `tool:c1`; `/release` lifts it
    - 🛠️ Commands: run directly
    ");
}

#[test]
fn tab_offers_commands_skills_words_and_models() {
    let talk = Fake::default();
    let lines = |line: &str| {
        complete(&talk, line)
            .into_iter()
            .map(|candidate| candidate.line)
            .collect::<Vec<_>>()
    };
    assert_eq!(lines("/st"), ["/stop ", "/status"]);
    assert_eq!(lines("/v"), ["/verbose "]);
    assert_eq!(lines("/dep"), ["/deploy_site "]);
    assert_eq!(lines("/think m"), ["/think minimal", "/think medium"]);
    assert_eq!(lines("/model op"), ["/model anthropic/opus"]);
    assert_eq!(lines("/model ollama/qwen3:8"), ["/model ollama/qwen3:8b"]);
    assert_eq!(lines("/skill d"), ["/skill deploy-site"]);
    assert!(lines("hello").is_empty() && lines("/model a b").is_empty());
}

/// W21: who may decide is checked by code, not told to the model.
#[test]
fn w21_a_stranger_decides_nothing() {
    let stranger = Fake {
        stranger: true,
        ..Fake::default()
    };
    for line in [
        "/approve a1 once",
        "/release",
        "/undo",
        "/model x",
        "/export",
    ] {
        let answer = typed(&stranger, line);
        assert_eq!(answer.then, SurfaceAction::Nothing, "{line}");
        assert!(
            answer.text.contains("Only the owner"),
            "{line}: {}",
            answer.text
        );
    }
    let owner = Fake::default();
    assert!(typed(&owner, "/release").text.contains("Released"));
}
