use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use chela_core::Prices;
use chela_core::SessionKey;
use chela_model::Usage;
use chela_tools::Scope;

use super::*;
use crate::turn::ContextMeter;
use chela_inspect::report::ContextReport;

/// A conversation of nothing but values.
#[derive(Default)]
struct Fake {
    settings: RefCell<BTreeMap<Setting, String>>,
    begun: RefCell<u32>,
    no_models: bool,
    stranger: bool,
}

impl Talk for Fake {
    fn session(&self) -> SessionKey {
        SessionKey::parse("agent:main:main").unwrap()
    }
    fn sender(&self) -> String {
        "local:me".to_owned()
    }
    fn setting(&self, which: Setting) -> Option<String> {
        self.settings.borrow().get(&which).cloned()
    }
    fn set(&self, which: Setting, value: Option<&str>) -> Result<(), Trouble> {
        let mut settings = self.settings.borrow_mut();
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
                .setting(Setting::Model)
                .or_else(|| Some("anthropic/opus".to_owned())),
            ..ModelState::default()
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
    fn begin(&self) -> Result<(), Trouble> {
        *self.begun.borrow_mut() += 1;
        Ok(())
    }
    fn undo(&self) -> Result<Option<Undone>, Trouble> {
        Ok(Some(Undone::Message {
            message: "what I wrote".to_owned(),
            entries: 3,
        }))
    }
    fn undo_files(&self) -> Result<Vec<String>, Trouble> {
        Ok(vec!["notes.md: line 2 changed".to_owned()])
    }
    fn export(&self, path: Option<&str>) -> Result<PathBuf, Trouble> {
        Ok(PathBuf::from(path.unwrap_or("chosen.jsonl")))
    }
    fn report(&self) -> Result<ContextReport, Trouble> {
        Err("no report here".to_owned())
    }
    fn why(&self, what: &str) -> Result<Vec<chela_inspect::why::Answer>, Trouble> {
        Err(format!("asked for {what}"))
    }
    fn tools(&self) -> Vec<ToolRow> {
        vec![ToolRow {
            name: "read".to_owned(),
            description: "Read a file.".to_owned(),
        }]
    }
    fn skills(&self) -> Vec<SkillRow> {
        vec![SkillRow {
            name: "deploy-site".to_owned(),
            command: "deploy_site".to_owned(),
            description: "Puts the site online".to_owned(),
        }]
    }
    fn call_skill(&self, name: &str, args: &str) -> Result<String, Trouble> {
        Ok(format!("use {name}: {args}"))
    }
    fn is_owner(&self) -> bool {
        !self.stranger
    }
    fn stop_all(&self) -> Result<(), Trouble> {
        Ok(())
    }
    fn release(&self) -> Result<Option<String>, Trouble> {
        Ok(Some("tool:c1".to_owned()))
    }
    fn status(&self) -> Status {
        Status {
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
            total: Usage {
                input: 1_000_000,
                output: 100_000,
                ..Usage::default()
            },
            price: Some(Prices {
                input: 5.0,
                output: 25.0,
                ..Prices::default()
            }),
            turns: 1,
            execution: "direct".to_owned(),
            defaults: vec![(Setting::Thinking, "low".to_owned())],
            ..Status::default()
        }
    }
}

fn typed(talk: &Fake, line: &str) -> Answer {
    match parse(line) {
        Parsed::Command { command, args } => run(talk, command, &args),
        Parsed::Directives(directives) => apply(talk, &directives[0]),
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
        Parsed::Message {
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
        let Parsed::Command { command, args } = parse(line) else {
            panic!("{line}");
        };
        assert_eq!(
            (command.id, args.as_str()),
            (Id::New, "hello there"),
            "{line}"
        );
    }
}

#[test]
fn directives_alone_hold_and_inside_a_message_are_taken_out() {
    let alone = |line: &str| match parse(line) {
        Parsed::Directives(found) => found
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
        Parsed::Unknown {
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
    assert_eq!(talk.setting(Setting::Thinking).as_deref(), Some("xhigh"));
    assert!(
        typed(&talk, "/think default")
            .text
            .contains("**low** (the default)")
    );
    assert!(typed(&talk, "/think banana").text.contains("off|minimal"));
    assert_eq!(talk.setting(Setting::Thinking), None);
    typed(&talk, "/usage tokens");
    assert_eq!(talk.setting(Setting::Usage).as_deref(), Some("tokens"));
    assert!(typed(&talk, "/usage cost").text.contains("about $7.50"));
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
    talk.set(Setting::Verbose, Some("on")).unwrap();
    let answer = typed(&talk, "/new ollama");
    assert_eq!(answer.then, Then::Begun(None));
    assert_eq!(
        talk.setting(Setting::Model).as_deref(),
        Some("ollama/qwen3:8b")
    );
    assert_eq!(talk.setting(Setting::Verbose), None);
    let answer = typed(&talk, "/new tell me a story");
    assert_eq!(answer.then, Then::Begun(Some("tell me a story".to_owned())));
    assert_eq!(talk.setting(Setting::Model), None);
    talk.set(Setting::Model, Some("anthropic/opus")).unwrap();
    let answer = typed(&talk, "/reset soft go on");
    assert_eq!(answer.then, Then::Begun(Some("go on".to_owned())));
    assert!(talk.setting(Setting::Model).is_some());
    typed(&talk, "/reset");
    assert!(talk.setting(Setting::Model).is_none());
    assert_eq!(*talk.begun.borrow(), 4);
}

#[test]
fn what_the_surface_must_do_comes_back_as_a_value() {
    let talk = Fake::default();
    assert_eq!(typed(&talk, "/stop").then, Then::Stop);
    assert_eq!(typed(&talk, "/quit").then, Then::Leave);
    assert_eq!(
        typed(&talk, "/compact the plan").then,
        Then::Compact(Some("the plan".to_owned()))
    );
    assert_eq!(
        typed(&talk, "/undo").then,
        Then::Edit("what I wrote".to_owned())
    );
    assert_eq!(
        typed(&talk, "/skill deploy-site to staging").then,
        Then::Say("use deploy-site: to staging".to_owned())
    );
    assert_eq!(
        typed(&talk, "/approve a1 always").then,
        Then::Approve {
            id: "a1".to_owned(),
            decision: Scope::Always
        }
    );
    assert!(typed(&talk, "/approve a1 perhaps").text.contains("deny"));
    assert!(
        typed(&talk, "/context why SOUL.md")
            .text
            .contains("SOUL.md")
    );
}

#[test]
fn the_card_is_short_and_complete() {
    let talk = Fake::default();
    talk.set(Setting::Title, Some("The garden")).unwrap();
    insta::assert_snapshot!(typed(&talk, "/status").text, @r"
    - 🧠 Model: `anthropic/opus`
    - 📚 Context: 5,000 of 20,000 tokens (25 %)
    - 🧮 Last turn: 4,000 in, 100 out, 75 % from the cache
    - 💵 Cost: about $7.50
    - 🧵 Session: `agent:main:main` “The garden”, 1 turn, Compactions: 0
    - ⚙️ Settings: think low · reasoning off · verbose off · usage off
    - 🛡️ Guard: standard, tainted by `tool:c1`; `/release` lifts it
    - 🛠️ Commands: run direct
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
        assert_eq!(answer.then, Then::Nothing, "{line}");
        assert!(
            answer.text.contains("Only the owner"),
            "{line}: {}",
            answer.text
        );
    }
    let owner = Fake::default();
    assert!(typed(&owner, "/release").text.contains("Released"));
}
