use chela_core::Host;

use super::super::{HttpTransport, McpEffect, ServerReach, ServerWalls, host_of, without_query};
use super::{SpecFault, prefix_of, specs_of};

fn specs(config: &str) -> (Vec<super::McpServerSpec>, Vec<SpecFault>) {
    let host = Host::fixed("/home/me");
    let loaded = chela_config::load_text(&host, config);
    specs_of(&host, &loaded)
}

#[test]
fn a_program_gets_what_is_named_and_nothing_else() {
    let (specs, faults) = specs(
        r#"{ mcp: { servers: {
            files: { command: "mcp-files", args: ["--root", "~/docs"], env: { LEVEL: 2 },
                folders: ["~/docs", { path: "~/out", access: "write" }], hosts: ["a.example"],
                passEnv: ["LANG"], effects: { "read_*": "read" }, requestTimeoutMs: 5 },
            off: { command: "never", enabled: false },
        } } }"#,
    );
    assert_eq!(faults, []);
    let [files] = specs.as_slice() else {
        panic!("{specs:?}")
    };
    assert!(files.is_networked() && files.writes_folders());
    assert_eq!(files.grants.hosts, ["a.example"]);
    assert_eq!(files.grants.walls, ServerWalls::Required);
    assert_eq!(
        files.grants.effects.of_tool("read_it"),
        Some(McpEffect::Read)
    );
    assert_eq!(files.grants.effects.of_tool("write_it"), None);
    assert_eq!(files.patience.request.as_millis(), 5);
    assert_eq!(files.describe(), "mcp-files (2 arguments)");
}

#[test]
fn an_address_is_one_or_the_server_is_not_used() {
    let (good, faults) = specs(
        r#"{ mcp: { servers: {
            a: { url: "https://a.example/mcp?key=secret" },
            b: { url: "https://b.example/sse", transport: "sse" },
        } } }"#,
    );
    assert_eq!(faults, []);
    assert_eq!(good[0].describe(), "https://a.example/mcp");
    assert!(matches!(
        good[1].reach,
        ServerReach::Http {
            transport: HttpTransport::Events,
            ..
        }
    ));
    for (server, key) in [
        ("{}", "neither"),
        (r#"{ command: "x", url: "https://a.example" }"#, "both"),
        (r#"{ url: "file:///etc/passwd" }"#, "not an http"),
        (
            r#"{ url: "https://a.example", transport: "stdio" }"#,
            "needs a command",
        ),
        (
            r#"{ command: "x", toolFilter: { include: ["["] } }"#,
            "not a pattern",
        ),
    ] {
        let (none, faults) = specs(&format!("{{ mcp: {{ servers: {{ s: {server} }} }} }}"));
        assert!(none.is_empty());
        assert!(faults[0].to_string().contains(key), "{faults:?}");
    }
}

#[test]
fn names_of_tools_begin_with_a_plain_name() {
    assert_eq!(prefix_of("docs"), "docs");
    assert_eq!(prefix_of("my.server 2"), "my-server-2");
    assert_eq!(prefix_of("2fast"), "mcp-2fast");
    assert_eq!(prefix_of("a__b"), "a_-b");
    assert_eq!(prefix_of("ü"), "mcp--");
    assert_eq!(prefix_of(&"x".repeat(90)).len(), 24);
    let (specs, faults) =
        specs(r#"{ mcp: { servers: { "a.b": { command: "x" }, "a-b": { command: "y" } } } }"#);
    assert_eq!(specs.len(), 1);
    assert!(matches!(&faults[0], SpecFault::SamePrefix { .. }));
}

#[test]
fn hosts_of_addresses() {
    assert_eq!(
        host_of("https://A.example:8443/x").as_deref(),
        Some("a.example")
    );
    assert_eq!(host_of("http://[::1]:9/x").as_deref(), Some("::1"));
    assert_eq!(
        host_of("https://user:pass@b.example/").as_deref(),
        Some("b.example")
    );
    assert_eq!(host_of("nothing"), None);
    assert_eq!(
        without_query("https://u:p@a.example/x?k=1#y"),
        "https://a.example/x"
    );
}
