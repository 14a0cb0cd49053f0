use chela_config::{AgentView, LoadedConfig, load_text};
use chela_core::{AgentId, Host, SessionKey};

use super::{PolicyAsk, PolicyVerdict, SandboxChoice, Sender, ToolRules};

struct Case {
    loaded: LoadedConfig,
    view: AgentView,
    session: SessionKey,
    provider: Option<&'static str>,
    model: Option<&'static str>,
    sender: Option<Sender>,
    sandboxed: SandboxChoice,
}

impl Case {
    fn new(config: &str) -> Self {
        let loaded = load_text(&Host::fixed("/home/me"), config);
        let view = loaded.agent(&AgentId::main()).unwrap();
        Self {
            loaded,
            view,
            session: SessionKey::main(&AgentId::main()),
            provider: None,
            model: None,
            sender: None,
            sandboxed: SandboxChoice::No,
        }
    }

    fn session(mut self, key: &str) -> Self {
        self.session = SessionKey::parse(key).unwrap();
        self
    }

    fn model(mut self, provider: &'static str, model: &'static str) -> Self {
        (self.provider, self.model) = (Some(provider), Some(model));
        self
    }

    fn sender(mut self, sender: Sender) -> Self {
        self.sender = Some(sender);
        self
    }

    fn policy(&self) -> ToolRules {
        ToolRules::of(&PolicyAsk {
            loaded: &self.loaded,
            view: &self.view,
            session: &self.session,
            provider: self.provider,
            model: self.model,
            sender: self.sender.as_ref(),
            sandboxed: self.sandboxed,
        })
    }

    /// Which of some well-known tools are there.
    fn tools(&self) -> String {
        const ASKED: [&str; 19] = [
            "read",
            "write",
            "edit",
            "apply_patch",
            "grep",
            "exec",
            "process",
            "web_search",
            "web_fetch",
            "browser",
            "cron",
            "message",
            "agents_list",
            "sessions_list",
            "session_status",
            "memory_search",
            "image",
            "update_plan",
            "docs__lookup",
        ];
        let policy = self.policy();
        let there = ASKED.into_iter().filter(|tool| policy.allows(tool));
        there.collect::<Vec<_>>().join(" ")
    }

    fn why(&self, tool: &str) -> PolicyVerdict {
        self.policy().explain(tool)
    }
}

fn out(why: &str) -> PolicyVerdict {
    PolicyVerdict::Out(why.to_owned())
}

#[test]
fn profiles() {
    let of = |profile: &str| Case::new(&format!("{{tools: {{profile: '{profile}'}}}}")).tools();
    assert_eq!(of("minimal"), "session_status");
    assert_eq!(
        of("coding"),
        "read write edit apply_patch grep exec process web_search web_fetch cron sessions_list session_status memory_search image update_plan docs__lookup"
    );
    assert_eq!(
        of("messaging"),
        "message sessions_list session_status docs__lookup"
    );
    assert_eq!(of("full"), Case::new("{}").tools());
    assert_eq!(Case::new("{}").tools().split(' ').count(), 19);
}

#[test]
fn also_allow_adds_to_the_profile_and_deny_wins() {
    let case = Case::new(
        "{tools: {profile: 'minimal', alsoAllow: ['group:web', 'Browser'], deny: ['web_f*']}}",
    );
    assert_eq!(case.tools(), "web_search browser session_status");
    assert_eq!(case.why("web_fetch"), out("tools.deny (`web_f*`)"));
    assert_eq!(
        case.why("read"),
        out("tools.profile: minimal does not name it")
    );
    assert_eq!(
        case.why("web_search"),
        PolicyVerdict::In("tools.profile: minimal (`group:web`)".to_owned())
    );
}

#[test]
fn names_groups_and_aliases() {
    let only = |allow: &str| Case::new(&format!("{{tools: {{allow: [{allow}]}}}}")).tools();
    assert_eq!(only("'BASH'"), "exec");
    assert_eq!(only("'write'"), "write apply_patch");
    assert_eq!(only("'group:fs'"), "read write edit apply_patch grep");
    assert_eq!(
        only("'mem*', 'session_status'"),
        "session_status memory_search"
    );
    assert_eq!(only("'group:plugins'"), "docs__lookup");
    assert_eq!(only("'bundle-mcp'"), "docs__lookup");
    assert_eq!(only("'docs'"), "docs__lookup");
    assert_eq!(only("'docs__*'"), "docs__lookup");
    assert_eq!(only(""), "");
    assert_eq!(
        only("'group:openclaw'"),
        "web_search web_fetch browser cron message agents_list sessions_list session_status memory_search image update_plan"
    );
    let deny = |deny: &str| Case::new(&format!("{{tools: {{deny: [{deny}]}}}}"));
    assert!(deny("'write'").policy().allows("apply_patch"));
    assert!(!deny("'read'").policy().allows("grep"));
    assert_eq!(deny("'*'").tools(), "");
    assert_eq!(deny("'bash'").why("exec"), out("tools.deny"));
    let unknown = deny("'group:files'").policy();
    assert_eq!(
        unknown.warnings(),
        ["tools.deny: there is no tool group `group:files`"]
    );
}

#[test]
fn each_step_only_narrows() {
    let case = Case::new(
        "{tools: {allow: ['read', 'exec', 'web_fetch'],
                  byProvider: {ollama: {allow: ['read', 'exec', 'browser']},
                               'ollama/tiny': {profile: 'minimal', alsoAllow: ['read']}}},
          agents: {list: [{id: 'main', tools: {allow: ['read', 'web_fetch', 'image']}}]}}",
    );
    assert_eq!(case.tools(), "read web_fetch");
    let case = case.model("Ollama", "big");
    assert_eq!(case.tools(), "read");
    assert_eq!(
        case.why("web_fetch"),
        out("tools.byProvider.ollama.allow does not name it")
    );
    assert_eq!(
        case.why("exec"),
        out("agents.main.tools.allow does not name it")
    );
    let case = case.model("ollama", "tiny");
    assert_eq!(case.tools(), "read");
    assert_eq!(
        case.why("web_fetch"),
        out("tools.byProvider.ollama/tiny.profile: minimal does not name it")
    );
}

#[test]
fn an_agents_profile_replaces_the_one_of_all() {
    let case = Case::new(
        "{tools: {profile: 'coding', deny: ['exec']},
          agents: {list: [{id: 'main', tools: {profile: 'messaging', alsoAllow: ['exec', 'read']}}]}}",
    );
    assert_eq!(
        case.tools(),
        "read message sessions_list session_status docs__lookup"
    );
}

#[test]
fn senders() {
    const CONFIG: &str = "{tools: {toolsBySender: {
            'channel:telegram:42': {allow: ['read']},
            'id:42': {allow: ['write']},
            'username:@Bo': {allow: ['exec']},
            'name:Bo': {allow: ['image']},
            '*': {allow: ['session_status']}}},
        agents: {list: [{id: 'main', tools: {toolsBySender: {'e164:+49123': {}}}}]}}";
    let of = |sender: Sender| Case::new(CONFIG).sender(sender).tools();
    let some = |text: &str| Some(text.to_owned());
    let mut bo = Sender {
        channel: some("telegram"),
        id: some("42"),
        username: some("bo"),
        name: some("Bo"),
        e164: None,
    };
    assert_eq!(of(bo.clone()), "read");
    bo.channel = some("signal");
    assert_eq!(of(bo.clone()), "write apply_patch");
    bo.id = some("43");
    assert_eq!(of(bo.clone()), "exec");
    bo.username = None;
    assert_eq!(of(bo.clone()), "image");
    bo.name = some("Somebody");
    assert_eq!(of(bo.clone()), "session_status");
    // The agent's own entry replaces the one of all, even when it says nothing.
    bo.e164 = some("+49123");
    assert_eq!(of(bo).split(' ').count(), 19);
    assert_eq!(Case::new(CONFIG).tools(), "session_status");
}

#[test]
fn whoever_is_not_the_owner_reaches_nothing_of_theirs() {
    let sender = |id: &str| Sender {
        channel: Some("api".to_owned()),
        id: Some(id.to_owned()),
        ..Sender::default()
    };
    let config = "{commands: {ownerAllowFrom: ['api:ann']}}";
    let theirs = Case::new(config).sender(sender("mallory"));
    for tool in [
        "read",
        "write",
        "grep",
        "exec",
        "process",
        "image",
        "sessions_spawn",
    ] {
        let kept_out = theirs.why(tool);
        assert!(!kept_out.is_in(), "{tool}: {kept_out:?}");
        assert!(
            Case::new(config).sender(sender("ann")).why(tool).is_in(),
            "{tool}"
        );
        assert!(Case::new(config).why(tool).is_in(), "{tool}");
    }
    assert!(theirs.why("web_fetch").is_in());
    let let_in = "{tools: {toolsBySender: {'id:mallory': {allow: ['read']}}}}";
    assert_eq!(Case::new(let_in).sender(sender("mallory")).tools(), "read");
}

#[test]
fn sandboxes_and_sub_agents_have_less() {
    let config = "{tools: {sandbox: {tools: {deny: ['group:web']}},
                           subagents: {tools: {allow: ['read', 'session_status', 'web_fetch']}}}}";
    let mut case = Case::new(config);
    case.sandboxed = SandboxChoice::Yes;
    assert!(!case.tools().contains("web_"));
    assert_eq!(
        case.why("web_fetch"),
        out("tools.sandbox.tools.deny (`group:web`)")
    );
    let sub = Case::new(config).session("agent:main:subagent:1");
    assert_eq!(sub.tools(), "read web_fetch");
    assert_eq!(sub.why("session_status"), out("sub-agents do not have it"));
    let open = "{agents: {defaults: {subagents: {maxSpawnDepth: 3}}}}";
    let leaf = Case::new("{}").session("agent:main:subagent:1");
    assert!(!leaf.policy().allows("sessions_spawn"));
    let first = Case::new(open).session("agent:main:subagent:1");
    assert!(first.policy().allows("sessions_spawn"));
    assert!(!first.policy().allows("conversations_send"));
    let second = Case::new(open).session("agent:main:subagent:1:subagent:2");
    assert!(second.policy().allows("sessions_list"));
    assert!(!second.policy().allows("sessions_spawn"));
}

#[test]
fn switches_turn_single_tools_off() {
    let off = |config: &str, tool: &str| {
        let case = Case::new(config).model("openai", "gpt");
        assert!(Case::new("{}").policy().allows(tool));
        assert!(!case.policy().allows(tool), "{config}");
    };
    off("{tools: {updatePlan: false}}", "update_plan");
    off(
        "{tools: {exec: {applyPatch: {enabled: false}}}}",
        "apply_patch",
    );
    off(
        "{tools: {exec: {applyPatch: {allowModels: ['other']}}}}",
        "apply_patch",
    );
    off("{tools: {exec: {mode: 'deny'}}}", "exec");
    off("{tools: {web: {fetch: {enabled: false}}}}", "web_fetch");
    off("{tools: {web: {search: {enabled: false}}}}", "web_search");
    let named = "{tools: {exec: {applyPatch: {allowModels: ['openai/GPT']}}}}";
    assert!(
        Case::new(named)
            .model("openai", "gpt")
            .policy()
            .allows("apply_patch")
    );
    // An agent may run commands though others may not.
    let own = "{tools: {exec: {mode: 'deny'}},
                agents: {list: [{id: 'main', tools: {exec: {mode: 'ask'}}}]}}";
    assert!(Case::new(own).policy().allows("exec"));
}

#[test]
fn a_limit_that_cannot_be_understood_closes_everything() {
    for config in [
        "{tools: {deny: 5}}",
        "{tools: {deny: ['exec', {}]}}",
        "{tools: {allow: {}}}",
        "{tools: {exec: {mode: 'sometimes'}}}",
        "{tools: {profile: 'minmal'}}",
        "{agents: {defaults: {sandbox: {mode: 7}}}}",
        "{tools: {fs: {workspaceOnly: 'perhaps'}}}",
    ] {
        let case = Case::new(config);
        assert_eq!(case.tools(), "", "{config}");
        let why = case.why("read");
        assert!(why.why().contains("cannot be used"), "{config}: {why:?}");
    }
    let broken = Case::new("{tools: {deny: ['exec'");
    assert_eq!(broken.tools(), "");
    insta::assert_snapshot!(broken.why("read").why(), @r#"the config file cannot be used, so what it limits is unknown; run `chela config validate`"#);
    insta::assert_snapshot!(Case::new("{tools: {deny: 5}}").why("read").why(), @r#"tools.deny limits tools and cannot be used, so no tools are available until it is fixed: is a number, expected a list of text; left out, and the default may allow more"#);
    // What has nothing to do with tools closes none.
    assert!(
        Case::new("{agents: {defaults: {bootstrapMaxChars: 'x'}}}")
            .policy()
            .allows("read")
    );
}
