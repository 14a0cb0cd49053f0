use std::path::Path;

use chela_config::model::WorkspaceAccess;
use chela_config::{LoadedConfig, load};
use chela_core::{AgentId, Host, SessionKey};

use super::{
    SandboxAsk, SandboxStanding, backend, binds, network, opens_too_much, shortcomings, standing,
    wants,
};
use crate::{NetworkAccess, PathAccess, SandboxBackend, SandboxNamespaces};

struct Desk {
    home: tempfile::TempDir,
    host: Host,
    loaded: LoadedConfig,
}

fn desk(config: &str) -> Desk {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join(".chela")).unwrap();
    std::fs::write(home.path().join(".chela/chela.json"), config).unwrap();
    let host = Host::fixed(home.path());
    Desk {
        loaded: load(&host),
        home,
        host,
    }
}

impl Desk {
    fn with<T>(&self, session: &str, channel: Option<&str>, then: fn(&SandboxAsk<'_>) -> T) -> T {
        let session = SessionKey::parse(session).unwrap();
        let agent = AgentId::parse(session.agent.as_deref().unwrap()).unwrap();
        let view = self.loaded.agent(&agent).unwrap();
        then(&SandboxAsk {
            host: &self.host,
            loaded: &self.loaded,
            view: &view,
            session: &session,
            channel,
            readable: &[],
            folders: &[],
        })
    }
}

const AGENTS: &str = r#"{ agents: {
    defaults: { sandbox: { mode: "non-main", workspaceAccess: "ro" } },
    list: [ { id: "main" }, { id: "free", sandbox: { mode: "off" } },
            { id: "tight", sandbox: { mode: "all", workspaceAccess: "none" } } ] } }"#;

#[test]
fn the_mode_decides_by_session_and_agents_override_it() {
    let desk = desk(AGENTS);
    for (session, channel, sandboxed) in [
        ("agent:main:main", None, false),
        ("agent:main:main", Some("webchat"), false),
        // Somebody on a channel shares the main session's history, not its rights.
        ("agent:main:main", Some("telegram"), true),
        ("agent:main:main:heartbeat", None, true),
        ("agent:main:telegram:direct:42", None, true),
        ("agent:main:subagent:1", None, true),
        ("agent:main:cron:nightly", None, true),
        ("agent:free:telegram:direct:42", None, false),
        ("agent:tight:main", None, true),
    ] {
        assert_eq!(
            desk.with(session, channel, wants),
            sandboxed,
            "{session} {channel:?}"
        );
    }
}

#[test]
fn without_a_way_to_build_one_it_is_refused_and_says_why() {
    let desk = desk(AGENTS);
    let standing = desk.with("agent:tight:main", None, standing);
    let SandboxStanding::Refused { why, access, .. } = &standing else {
        panic!("{standing:?}");
    };
    assert!(why.contains("no sandbox can be built"), "{why}");
    assert_eq!(*access, WorkspaceAccess::None);
    let workspace = Path::new("/w");
    assert!(
        standing
            .workdir(workspace)
            .ends_with("sandboxes/agent-tight/work")
    );
}

#[test]
fn backends_of_others_are_refused_by_name() {
    let bwrap = || Err("bubblewrap (`bwrap`) is not installed".to_owned());
    let landlock = || {
        Ok(SandboxBackend::Landlock {
            version: 6,
            namespaces: SandboxNamespaces::Own,
        })
    };
    let choose = |wanted| backend(wanted, bwrap, landlock);
    assert_eq!(choose(None).unwrap().name(), "landlock");
    assert!(choose(Some("bwrap")).is_err());
    for name in ["docker", "Podman", "ssh", "openshell", "else"] {
        let why = choose(Some(name)).unwrap_err();
        assert!(why.contains("`bwrap` or `landlock`"), "{why}");
    }
}

#[test]
fn a_workspace_around_the_home_is_not_shown() {
    let desk = desk("{}");
    let home = desk.home.path();
    std::fs::create_dir_all(home.join(".chela/workspace")).unwrap();
    assert!(opens_too_much(&desk.host, &home.join(".chela/workspace")).is_ok());
    for wide in [home.to_owned(), home.join(".chela"), "/".into()] {
        assert!(opens_too_much(&desk.host, &wide).is_err(), "{wide:?}");
    }
}

#[test]
fn folders_of_the_home_need_the_operators_word() {
    let desk = desk(
        r#"{ agents: { defaults: { sandbox: { docker: { binds: [
            "~/.cargo:ro", "/srv/data:/data", "/srv/data:/srv/data:ro", "/srv/out", "/" ] } } } } }"#,
    );
    let mut settings = desk.loaded.config.agents.defaults.sandbox.clone();
    let (mut walls, mut notes) = (PathAccess::default(), Vec::new());
    binds(&desk.host, &settings, &mut walls, &mut notes);
    assert_eq!(walls.read, [Path::new("/srv/data")]);
    assert_eq!(walls.write, [Path::new("/srv/out")]);
    assert_eq!(notes.len(), 3, "{notes:?}");
    settings.docker.dangerously_allow_external_bind_sources = true;
    let mut walls = PathAccess::default();
    binds(&desk.host, &settings, &mut walls, &mut Vec::new());
    assert!(walls.read.contains(&desk.home.path().join(".cargo")));
}

#[test]
fn what_a_machine_cannot_hold_is_left_out_and_told() {
    let settings = chela_config::model::Sandbox {
        egress: vec!["example.org".to_owned()],
        ..Default::default()
    };
    for (version, namespaces, reaches, told) in [
        (3, SandboxNamespaces::Own, true, &["signals"] as &[&str]),
        (5, SandboxNamespaces::Own, true, &["signals"]),
        (6, SandboxNamespaces::Own, true, &[]),
        (
            3,
            SandboxNamespaces::Given,
            false,
            &["chmod", "add anything", "signals"],
        ),
        (
            6,
            SandboxNamespaces::Given,
            false,
            &["chmod", "add anything"],
        ),
    ] {
        let backend = SandboxBackend::Landlock {
            version,
            namespaces,
        };
        let mut notes = Vec::new();
        let network = network(&settings, &backend, &mut notes);
        assert_eq!(
            matches!(network, NetworkAccess::Hosts(_)),
            reaches,
            "{version}"
        );
        assert_eq!(notes.is_empty(), reaches, "{notes:?}");
        let notes = shortcomings(&backend, WorkspaceAccess::Rw, "~/w");
        assert_eq!(notes.len(), told.len(), "{version}: {notes:?}");
        for (note, word) in notes.iter().zip(told) {
            assert!(note.contains(word), "{version}: {notes:?}");
        }
    }
    let bwrap = SandboxBackend::Bwrap {
        program: "/usr/bin/bwrap".into(),
    };
    assert!(shortcomings(&bwrap, WorkspaceAccess::Rw, "~/w").is_empty());
}
