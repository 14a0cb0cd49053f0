//! How long it takes to read, gather and edit a config of 2,000 lines.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures and stops where it cannot go on"
)]

use std::fmt::Write as _;

use chela_config::sources::{gather, gather_text};
use chela_config::store::ConfigStore;
use chela_config::text;
use chela_config::text::edit::{merge_patch, replace_all, set, unset};
use chela_config::{FileId, KeyPath};
use chela_core::Host;
use chela_testkit::bench::measure;
use serde_json::json;

fn main() {
    let source = config(2_000);
    let lines = source.lines().count();
    println!("a config of {lines} lines, {} KiB", source.len() / 1024);

    let folder = tempfile::tempdir().unwrap();
    let host = Host::fixed(folder.path());
    std::fs::create_dir_all(host.state_dir()).unwrap();
    std::fs::write(host.config_file(), &source).unwrap();
    let path = |text: &str| KeyPath::parse(text).unwrap();
    let (deep, last) = (
        path("agents.list[40].tools.exec.timeoutSec"),
        path("brandNew.key"),
    );
    let whole = text::parse(&source, FileId(0)).root.unwrap().to_json();

    let baseline = measure("copy", source.len(), || source.clone());
    let report = |what: &str, run: &mut dyn FnMut() -> usize| {
        measure(what, source.len(), run).print(Some(&baseline));
    };
    report("parse", &mut || {
        usize::from(text::parse(&source, FileId(0)).root.is_some())
    });
    report("gather from disk", &mut || {
        gather(&host).root.members().len()
    });
    report("gather from text", &mut || {
        gather_text(&host, &source).root.members().len()
    });
    let store = ConfigStore::new(&host);
    let good = gather(&host);
    report("remember it, unchanged", &mut || {
        usize::from(store.remember_good(&good).is_none())
    });
    report("set a deep value", &mut || {
        set(&source, &deep, &json!(7)).unwrap().len()
    });
    report("set a new key", &mut || {
        set(&source, &last, &json!({ "a": [1, 2] })).unwrap().len()
    });
    report("unset", &mut || unset(&source, &deep).unwrap().0.len());
    report("merge a patch", &mut || {
        merge_patch(
            &source,
            &KeyPath::root(),
            &json!({ "gateway": { "port": 1 }, "x": null }),
        )
        .unwrap()
        .len()
    });
    report("replace all, unchanged", &mut || {
        replace_all(&source, &whole).unwrap().len()
    });
}

/// A config as people write them, with `lines` lines or a few more.
fn config(lines: usize) -> String {
    let mut text = String::from(
        "// Many agents.\n{\n  gateway: { port: 18789, bind: 'loopback' },\n  agents: {\n    list: [\n",
    );
    for n in 0.. {
        if text.lines().count() >= lines - 4 {
            break;
        }
        write!(
            text,
            "      // Agent number {n}.\n      {{\n        id: \"agent-{n}\",\n        name: 'Number {n}', // as people say\n        workspace: \"~/.chela/workspace-{n}\",\n        model: {{\n          primary: \"anthropic/claude-sonnet-4-5\",\n          fallbacks: [\"openai/gpt-5\", \"local/qwen3\"],\n        }},\n        apiKey: \"${{KEY_{n}}}\",\n        tools: {{\n          exec: {{ timeoutSec: {n}, ask: \"on-miss\" }},\n          allow: [\"read\", \"write\", \"exec\"],\n        }},\n      }},\n"
        )
        .unwrap();
    }
    text.push_str("    ],\n  },\n}\n");
    text
}
