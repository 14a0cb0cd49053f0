use std::path::PathBuf;
use std::sync::Arc;

use chela_config::load_text;
use chela_core::secret::{KnownSecret, Redactor};
use chela_core::{AgentId, Audience, Host, SessionKey, Trust};
use chela_memory::source::MemoryPlaces;
use chela_memory::{AgentMemory, MemoryParts};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::testing::{run, run_in};
use crate::{
    CallFuture, CallSuccess, ChangeJournal, Effect, ImageInput, MemoryAccess, ModelFacts,
    NoSessions, OutputPiece, RunCall, SandboxChoice, Tool, ToolOutput, ToolRules, ToolSpec,
    Toolbox, ToolboxSettings, offered_tools,
};

/// A home with a workspace, and a toolbox over it.
pub(crate) struct ToolboxFixture {
    pub(crate) home: TempDir,
    pub(crate) toolbox: Toolbox,
}

impl ToolboxFixture {
    pub(crate) fn new() -> Self {
        Self::with("{}", ImageInput::Yes)
    }

    pub(crate) fn with(config: &str, images: ImageInput) -> Self {
        Self::keeping(config, images, None)
    }

    pub(crate) fn keeping(
        config: &str,
        images: ImageInput,
        journal: Option<Arc<dyn ChangeJournal>>,
    ) -> Self {
        let home = tempfile::tempdir().unwrap();
        let host = Host::fixed(home.path());
        let workspace = home.path().join(".chela/workspace");
        std::fs::create_dir_all(&workspace).unwrap();
        let loaded = load_text(&host, config);
        let view = loaded.agent(&AgentId::main()).unwrap();
        let session = SessionKey::main(&AgentId::main());
        let toolbox = Toolbox::build(ToolboxSettings {
            host: &host,
            loaded: &loaded,
            view: &view,
            workspace: workspace.clone(),
            session: &session,
            model: ModelFacts {
                provider: Some("local".to_owned()),
                model: Some("small".to_owned()),
                window: Some(32_768),
                images,
            },
            sender: None,
            sandboxed: SandboxChoice::No,
            roots: Vec::new(),
            started_in: None,
            closed: Vec::new(),
            trust_of: Some(Arc::new(|path, _| match path.ends_with("SOUL.md") {
                true => Trust::Owner,
                false => Trust::Agent,
            })),
            journal,
            spool: Some(home.path().join(".chela/spool/s1")),
            sessions: Arc::new(NoSessions),
            company: crate::SessionCompany::Alone,
            spawner: None,
            jobs: None,
            memory: Some(MemoryAccess {
                memory: Arc::new(AgentMemory::new(MemoryParts {
                    index_file: chela_memory::index_file(&host, &AgentId::main()),
                    places: MemoryPlaces {
                        workspace,
                        sessions: None,
                        ..Default::default()
                    },
                    settings: chela_memory::MemorySettings::of(&view),
                    embedder: None,
                    provider_problem: None,
                    transcripts: None,
                    host: host.clone(),
                })),
                audience: Audience::Private,
                session: "agent:main:main".to_owned(),
                max_chars: None,
            }),
            redactor: Arc::new(Redactor::new(
                None,
                vec![KnownSecret {
                    name: "vault".to_owned(),
                    value: "open sesame 7".to_owned(),
                }],
            )),
            others: vec![
                Arc::new(Shout::new("zz_shout")),
                Arc::new(Shout::new("exec")),
            ],
        });
        Self { home, toolbox }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(".chela/workspace").join(path)
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.path(path)).unwrap()
    }

    pub(crate) fn text(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).unwrap()
    }

    pub(crate) fn run(&self, tool: &str, arguments: Value) -> ToolOutput {
        run_in(&self.toolbox, tool, arguments)
    }

    /// What a call that works says, with the home folder left out.
    pub(crate) fn said(&self, tool: &str, arguments: Value) -> String {
        let output = self.run(tool, arguments);
        assert_eq!(output.success, CallSuccess::Done, "{}", output.text());
        self.plain(&output)
    }

    /// What a call that fails says.
    pub(crate) fn refused(&self, tool: &str, arguments: Value) -> String {
        let output = self.run(tool, arguments);
        assert_eq!(output.success, CallSuccess::Failed, "{}", output.text());
        self.plain(&output)
    }

    fn plain(&self, output: &ToolOutput) -> String {
        let home = self.home.path().display().to_string();
        output.text().replace(&home, "HOME")
    }
}

/// A tool from elsewhere.
struct Shout(ToolSpec);

impl Shout {
    fn new(name: &str) -> Self {
        Self(ToolSpec {
            name: name.into(),
            description: "Says a lot.".into(),
            parameters: Arc::new(
                json!({"type": "object", "properties": {"times": {"type": "integer"}}}),
            ),
            effect: Effect::Read,
            sinks: [].into(),
        })
    }
}

impl Tool for Shout {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: RunCall<'a>) -> CallFuture<'a> {
        let times = call.arguments.get("times").and_then(Value::as_u64);
        let text = "AH ".repeat(times.unwrap_or(1) as usize);
        Box::pin(async move { ToolOutput::said(text) })
    }
}

#[test]
fn the_order_is_fixed() {
    let bench = ToolboxFixture::new();
    let names: Vec<&str> = bench.toolbox.specs().map(|spec| &*spec.name).collect();
    assert_eq!(
        names.join(" "),
        "read write edit apply_patch grep find ls exec agents_list sessions_list sessions_history session_status memory_search memory_get image update_plan zz_shout tools_find"
    );
}

#[test]
fn what_nobody_needs_yet_is_found_and_not_listed() {
    let bench = ToolboxFixture::with("{}", ImageInput::No);
    let listed: Vec<&str> = bench.toolbox.listed().map(|spec| &*spec.name).collect();
    assert_eq!(
        listed.join(" "),
        "read write edit apply_patch grep find ls exec session_status memory_search memory_get update_plan zz_shout tools_find"
    );
    assert!(bench.toolbox.is_deferred("sessions_list"));
    let found = run_in(
        &bench.toolbox,
        "tools_find",
        json!({ "query": "sessions_list" }),
    );
    assert_eq!(
        offered_tools(&found.details).collect::<Vec<_>>(),
        ["sessions_list"]
    );
    // Begun with others, it stays as it began.
    let begun = bench.toolbox.as_begun(
        vec!["read".into(), "tools_find".into()],
        vec!["session_status".into()],
    );
    let names: Vec<&str> = begun.specs().map(|spec| &*spec.name).collect();
    assert_eq!(names, ["read", "session_status", "tools_find"]);
    assert!(begun.is_deferred("session_status"));
    // Nothing is hidden where it cannot be found.
    let closed = begun.restrict(&["read".into(), "session_status".into()]);
    assert!(!closed.is_deferred("session_status"));
}

#[test]
fn whoever_lists_tools_has_them_listed() {
    let config = r#"{ "tools": { "allow": ["read", "sessions_list"] } }"#;
    let bench = ToolboxFixture::with(config, ImageInput::No);
    let listed: Vec<&str> = bench.toolbox.listed().map(|spec| &*spec.name).collect();
    assert_eq!(listed, ["read", "sessions_list"]);
}

#[test]
fn what_the_model_is_told() {
    let bench = ToolboxFixture::new();
    let specs: Vec<Value> = bench
        .toolbox
        .specs()
        .filter(|spec| !spec.description.starts_with("Says"))
        .map(|spec| {
            json!({
                "name": *spec.name,
                "description": *spec.description,
                "parameters": spec.model_schema(),
                "effect": spec.effect,
                "sinks": *spec.sinks,
            })
        })
        .collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&specs).unwrap());
}

/// The schema and the type behind it say the same: every argument of one is one of the other,
/// and what is required here is required there.
#[test]
fn schemas_and_types_agree() {
    let bench = ToolboxFixture::new();
    let unusable = |tool: &dyn Tool, arguments: &Map<String, Value>| {
        let output = run(tool, arguments);
        let text = output.text();
        text.strip_prefix("The arguments cannot be used: ")
            .map(str::to_owned)
    };
    let own = bench.toolbox.tools.iter();
    for tool in own.filter(|tool| !tool.spec().description.starts_with("Says")) {
        let tool = tool.as_ref();
        let parameters = &tool.spec().parameters;
        let name = &*tool.spec().name;
        let properties = parameters["properties"].as_object().unwrap();
        let required: Vec<&str> = parameters["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let full: Map<String, Value> = properties
            .iter()
            .map(|(key, schema)| (key.clone(), sample(schema)))
            .collect();
        assert_eq!(unusable(tool, &full), None, "{name} with everything");
        for key in properties.keys() {
            let mut less = full.clone();
            less.remove(key);
            let complaint = unusable(tool, &less);
            let wanted = required.contains(&key.as_str());
            assert_eq!(complaint.is_some(), wanted, "{name} without {key}");
        }
        let stranger = Map::from_iter([("zebra".to_owned(), json!(1))]);
        let complaint = unusable(tool, &stranger).unwrap();
        let known: Vec<&str> = complaint.split('`').skip(3).step_by(2).collect();
        let told: Vec<&str> = properties.keys().map(String::as_str).collect();
        let sorted = |mut names: Vec<&str>| {
            names.sort_unstable();
            names.join(" ")
        };
        assert_eq!(sorted(known), sorted(told), "{name}: {complaint}");
    }
}

/// A value the schema allows.
fn sample(schema: &Value) -> Value {
    if let Some(first) = schema["examples"].get(0).or(schema["enum"].get(0)) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("integer") => schema["minimum"].clone(),
        Some("number") => json!(0.5),
        Some("boolean") => json!(true),
        Some("array") => json!([sample(&schema["items"])]),
        Some("object") => {
            let properties = schema["properties"].as_object().unwrap();
            let pairs = properties
                .iter()
                .map(|(key, inner)| (key.clone(), sample(inner)));
            Value::Object(pairs.collect())
        }
        _ => json!("x"),
    }
}

#[test]
fn unknown_tools_and_bad_arguments_are_explained() {
    let bench = ToolboxFixture::with("{tools: {deny: ['write']}}", ImageInput::No);
    insta::assert_snapshot!(
        [
            bench.refused("reed", json!({})),
            bench.refused("make_coffee", json!({})),
            bench.refused("write", json!({"path": "x", "content": ""})),
            bench.refused("read", json!({})),
            bench.refused("read", json!({"file_path": "x"})),
            bench.refused("grep", json!({"pattern": "x", "limit": 0})),
            bench.refused("update_plan", json!({"plan": [{"step": "a", "status": "done"}]})),
        ]
        .join("\n"),
        @r#"
    There is no tool `reed`. Did you mean `read`?
    There is no tool `make_coffee`. The tools are: read, edit, apply_patch, grep, find, ls, exec, agents_list, sessions_list, sessions_history, session_status, memory_search, memory_get, update_plan, zz_shout, tools_find.
    write is not available here: tools.deny. Do not try it again.
    read: argument `path` is missing: expected text that is not empty. Example of a valid call: {"path":"notes.md"}
    read: argument `file_path` does not exist; the arguments are path, offset, limit, column, lineNumbers. Example of a valid call: {"path":"notes.md"}
    grep: argument `limit` is 0; expected a whole number from 1 to 2000. Example of a valid call: {"pattern":"fn main","limit":1}
    update_plan: argument `plan[0].status` is "done"; expected one of pending, in_progress, completed. Example of a valid call: {"plan":[{"step":"Read the config","status":"pending"}]}
    "#
    );
}

#[test]
fn a_session_keeps_the_tools_it_began_with() {
    let bench = ToolboxFixture::new();
    let began = ["read".to_owned(), "ls".to_owned(), "gone".to_owned()];
    let toolbox = bench.toolbox.restrict(&began);
    let names: Vec<&str> = toolbox.specs().map(|spec| &*spec.name).collect();
    assert_eq!(names, ["read", "ls"]);
    assert!(toolbox.get("write").is_none());
}

#[test]
fn what_could_be_found_when_a_session_began_and_is_gone_is_lost() {
    let bench = ToolboxFixture::new();
    let listed = vec!["read".to_owned(), "tools_find".to_owned()];
    let toolbox = bench.toolbox.as_begun(listed, vec!["kit__add".to_owned()]);
    assert_eq!(toolbox.lost(), ["kit__add"]);
}

#[test]
fn a_turn_may_be_narrower_than_its_session() {
    let bench = ToolboxFixture::new();
    bench.put("a.md", "hello");
    let host = Host::fixed("/home/me");
    let loaded = load_text(&host, "{tools: {toolsBySender: {'*': {allow: ['ls']}}}}");
    let view = loaded.agent(&AgentId::main()).unwrap();
    let turn = bench.toolbox.for_turn(ToolRules::of(&crate::PolicyAsk {
        loaded: &loaded,
        view: &view,
        session: &SessionKey::main(&AgentId::main()),
        provider: None,
        model: None,
        sender: None,
        sandboxed: SandboxChoice::No,
    }));
    assert_eq!(turn.specs().count(), bench.toolbox.specs().count());
    let refused = run_in(&turn, "read", json!({"path": "a.md"}));
    insta::assert_snapshot!(refused.text(), @r#"read may not be used for this message: tools.toolsBySender.*.allow does not name it. Answer without it."#);
    assert_eq!(run_in(&turn, "ls", json!({})).success, CallSuccess::Done);
    assert_eq!(bench.said("read", json!({"path": "a.md"})), "hello");
}

#[test]
fn no_result_is_longer_than_the_bound() {
    let bench = ToolboxFixture::new();
    assert_eq!(bench.said("zz_shout", json!({"times": 2})), "AH AH ");
    let refused = bench.refused("zz_shout", json!({"times": 100_000}));
    insta::assert_snapshot!(refused, @r#"zz_shout gave 300000 characters, more than the 32000 that fit. Ask for less at once."#);
}

#[test]
fn what_is_kept_out_says_why() {
    let bench = ToolboxFixture::with("{tools: {profile: 'minimal'}}", ImageInput::No);
    let names: Vec<&str> = bench.toolbox.specs().map(|spec| &*spec.name).collect();
    assert_eq!(names, ["session_status"]);
    let (name, why) = &bench.toolbox.left_out()[0];
    assert_eq!(
        (name.as_str(), why.as_str()),
        ("read", "tools.profile: minimal does not name it")
    );
    assert!(!bench.toolbox.explain("exec").is_in());
}

#[test]
fn labels_follow_the_file() {
    let bench = ToolboxFixture::with("{tools: {fs: {workspaceOnly: false}}}", ImageInput::No);
    bench.put("SOUL.md", "soul");
    bench.put("notes.md", "notes");
    std::fs::write(bench.home.path().join("mail.txt"), "hello").unwrap();
    let label = |path: &str| match &bench.run("read", json!({"path": path})).content[0] {
        OutputPiece::Text(text) => (text.trust(), text.text().to_owned()),
        OutputPiece::Image { .. } => panic!("text"),
    };
    assert_eq!(label("SOUL.md"), (Trust::Owner, "soul".to_owned()));
    assert_eq!(label("notes.md"), (Trust::Agent, "notes".to_owned()));
    let (trust, text) = label("~/mail.txt");
    assert_eq!(trust, Trust::External);
    assert!(
        text.contains("EXTERNAL_UNTRUSTED_CONTENT") && text.contains("hello"),
        "{text}"
    );
    // Patches can be kept to the workspace by themselves.
    let mail = "*** Begin Patch\n*** Delete File: ~/mail.txt\n*** End Patch";
    let config = "{tools: {fs: {workspaceOnly: false}, exec: {applyPatch: {workspaceOnly: true}}}}";
    let narrow = ToolboxFixture::with(config, ImageInput::No);
    std::fs::write(narrow.home.path().join("mail.txt"), "hello").unwrap();
    assert!(
        narrow
            .refused("apply_patch", json!({"patch": mail}))
            .contains("outside")
    );
    narrow.said("read", json!({"path": "~/mail.txt"}));
    bench.said("apply_patch", json!({"patch": mail}));
    // A file of the state folder stays closed even so.
    std::fs::write(bench.home.path().join(".chela/chela.json"), "{}").unwrap();
    for (tool, arguments) in [
        ("read", json!({"path": "~/.chela/chela.json"})),
        (
            "write",
            json!({"path": "~/.chela/trust.json", "content": "{}"}),
        ),
        ("ls", json!({"path": "~/.chela"})),
        ("find", json!({"path": "~/.chela", "pattern": "*"})),
    ] {
        let refused = bench.refused(tool, arguments);
        assert!(refused.contains("belongs to Chela itself"), "{refused}");
    }
}

#[test]
fn secrets_stay_out_of_results_and_calls() {
    let bench = ToolboxFixture::new();
    bench.put(
        "notes.txt",
        "the word is open sesame 7, in base64 b3BlbiBzZXNhbWUgNw==",
    );
    let read = run_in(&bench.toolbox, "read", json!({ "path": "notes.txt" }));
    assert!(
        read.text()
            .contains("the word is [secret:vault], in base64 [secret:vault]"),
        "{read:?}"
    );
    assert_eq!(read.details["secrets"]["what"], "hidden");
    assert_eq!(read.details["secrets"]["names"], json!(["vault"]));
    let write = run_in(
        &bench.toolbox,
        "write",
        json!({ "path": "out.txt", "content": "open sesame 7" }),
    );
    assert_eq!(write.success, CallSuccess::Failed);
    assert_eq!(write.details["secrets"]["what"], "blocked");
    assert!(!write.text().contains("sesame"), "{write:?}");
    assert!(!bench.path("out.txt").exists());
    // A file may hold an example; nothing of the installation is in it.
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let write = run_in(
        &bench.toolbox,
        "write",
        json!({ "path": "out.txt", "content": token }),
    );
    assert_eq!(write.success, CallSuccess::Done, "{write:?}");
    let read = run_in(&bench.toolbox, "read", json!({ "path": "out.txt" }));
    assert!(!read.text().contains(&token), "{read:?}");
    // What does not fit is kept, without secrets.
    bench.put(
        "long.txt",
        format!("{token}\n{}", "many words here\n".repeat(4_000)),
    );
    run_in(&bench.toolbox, "read", json!({ "path": "long.txt" }));
    let spool = bench.home.path().join(".chela/spool/s1");
    for file in std::fs::read_dir(spool).into_iter().flatten().flatten() {
        let kept = std::fs::read_to_string(file.path()).unwrap();
        assert!(!kept.contains(&token));
    }
}
