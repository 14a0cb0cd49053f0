//! What is said of the sandbox is what holds.

use serde_json::json;

use super::{SandboxedHome, everywhere, in_namespaces};
use crate::home::TestHome;

fn section(cell: &SandboxedHome) -> String {
    let prompt = cell.home.run(&["prompt"]).ok();
    let start = prompt.find("## Sandbox").unwrap();
    let rest = &prompt[start..];
    let end = rest[3..].find("\n## ").map_or(rest.len(), |end| end + 3);
    rest[..end].to_owned()
}

#[test]
fn the_prompt_names_the_walls_there_are() {
    everywhere(&json!({ "workspaceAccess": "rw" }), |cell| {
        let section = section(cell);
        for line in [
            "Agent workspace access: rw (read and write).",
            "Network for commands: none.",
            "Limits for commands: 256 processes, 1024 MiB of memory, 1024 open files",
            "not the rest of the home folder, other processes or their memory",
            "Elevated exec (on the host): not available in this session.",
        ] {
            assert!(section.contains(line), "{line}: {section}");
        }
        let prompt = cell.home.run(&["prompt"]).ok();
        assert!(
            prompt.contains("Working directory: ~/.chela/workspace\n"),
            "{prompt}"
        );
    });
    in_namespaces(
        &json!({ "workspaceAccess": "ro", "egress": ["example.org", "*.crates.io"] }),
        |cell| {
            let section = section(cell);
            for line in [
                "Agent workspace access: ro (read only).",
                "Agent workspace mounted at: ~/.chela/workspace",
                "in the environment: example.org, *.crates.io",
            ] {
                assert!(section.contains(line), "{line}: {section}");
            }
            let prompt = cell.home.run(&["prompt"]).ok();
            assert!(
                prompt.contains("Working directory: ~/.chela/sandboxes/agent-main/work\n"),
                "{prompt}"
            );
        },
    );
    everywhere(&json!({ "workspaceAccess": "none" }), |cell| {
        assert!(
            section(cell).contains("Agent workspace access: none"),
            "{}",
            section(cell)
        );
    });
}

#[test]
fn where_there_is_no_backend_everything_says_so() {
    let home = TestHome::with_config(
        r#"{ agents: { defaults: { sandbox: { mode: "all", backend: "docker" } } } }"#,
    );
    home.run(&["init"]).ok();
    let prompt = home.run(&["prompt"]).ok();
    assert!(
        prompt.contains("You must run in a sandbox and none can be built"),
        "{prompt}"
    );
    assert!(prompt.contains("`exec` is refused"), "{prompt}");
    assert!(!prompt.contains("You run in a sandbox"), "{prompt}");
    let explained = home.run(&["sandbox", "explain"]);
    assert_eq!(explained.code, 1, "{explained:?}");
    assert!(
        explained.out.contains("use `bwrap` or `landlock`"),
        "{explained:?}"
    );
    let run = home.run(&["sandbox", "run", "--", "echo", "ran"]);
    assert_eq!((run.code, run.out.as_str()), (1, ""), "{run:?}");
    assert!(run.err.contains("exec is refused"), "{run:?}");
    let doctor = home.run(&["doctor"]);
    assert!(
        doctor
            .out
            .contains("must be sandboxed (mode all) and cannot be"),
        "{doctor:?}"
    );
}

#[test]
fn a_main_session_is_outside_where_only_others_are_sandboxed() {
    everywhere(&json!({ "mode": "non-main" }), |cell| {
        let explained = |args: &[&str]| {
            let all = [&["sandbox", "explain", "--json"], args].concat();
            cell.home.run(&all).json()
        };
        // Its commands are, each until the owner lets it out.
        let main = explained(&[]);
        assert_eq!(
            (&main["sandboxed"], &main["exec"]),
            (&json!(false), &json!("sandbox"))
        );
        let prompt = cell.home.run(&["prompt"]).ok();
        assert!(
            prompt.contains("Commands run in a sandbox; your other tools do not."),
            "{prompt}"
        );
        cell.home
            .run(&["config", "set", "tools.exec.mode", "ask"])
            .ok();
        assert_eq!(explained(&[])["exec"], "host");
        assert!(!cell.home.run(&["prompt"]).ok().contains("## Sandbox"));
        let cron = explained(&["--session", "agent:main:cron:nightly"]);
        assert_eq!(cron["exec"], "sandbox", "{cron}");
        let external = explained(&["--channel", "telegram"]);
        assert_eq!(external["exec"], "sandbox", "{external}");
        let mixed = cell.home.run(&[
            "sandbox",
            "explain",
            "--agent",
            "other",
            "--session",
            "agent:main:main",
        ]);
        assert_eq!(mixed.code, 2, "{mixed:?}");
    });
}

#[test]
fn explain_reads_well() {
    in_namespaces(
        &json!({ "workspaceAccess": "ro", "egress": ["example.org", "not a host"],
        "docker": { "network": "bridge", "memory": "lots" } }),
        |cell| {
            let text = cell.home.run(&["sandbox", "explain"]).ok();
            for part in [
                "sandboxed   yes",
                "ro: ~/.chela/workspace can be read",
                "through the proxy to example.org",
                "sandbox.egress `not a host` is ignored",
                "sandbox.docker.network `bridge` is for containers",
                "sandbox.docker.memory `lots`",
            ] {
                let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(flat.contains(&part), "{part}: {text}");
            }
        },
    );
}
