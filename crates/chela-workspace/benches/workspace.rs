//! Loading context files: warm (nothing changed), after a restart, and nine bare `stat` calls to
//! compare with.
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot set itself up should stop"
)]

use std::collections::BTreeSet;
use std::path::Path;

use chela_core::{AgentId, Audience, Host};
use chela_testkit::bench::{BenchEffort, measure};
use chela_workspace::{
    BootstrapSettings, CoreFile, LoadRequest, SessionScope, TurnPosition, Workspace, WorkspaceAge,
    load_context,
};

fn main() {
    let temp = tempfile::tempdir().unwrap();
    let host = Host::fixed(temp.path());
    let names: Vec<_> = CoreFile::ALL
        .into_iter()
        .map(CoreFile::name)
        .chain([CoreFile::LOWER_MEMORY])
        .collect();
    for name in &names {
        let text = format!("# {name}\n\n{}", "- A rule that is followed.\n".repeat(200));
        std::fs::write(temp.path().join(name), text).unwrap();
    }
    let agent = AgentId::main();
    let settings = BootstrapSettings::default();
    let seen = BTreeSet::new();
    let request = LoadRequest {
        agent: &agent,
        session: SessionScope::Main,
        audience: Audience::Private,
        turn: TurnPosition::Full,
        age: WorkspaceAge::BrandNew,
        settings: &settings,
        execution: None,
        extensions: &[],
        notices_seen: &seen,
        custody: None,
    };
    let open = |dir: &Path| Workspace::open(&host, dir).unwrap();
    let workspace = open(temp.path());
    assert_eq!(load_context(&workspace, &request).files.len(), names.len());

    let paths: Vec<_> = names.iter().map(|name| temp.path().join(name)).collect();
    let stats = measure("stat of 9 files", 0, || {
        paths.iter().filter(|path| path.metadata().is_ok()).count()
    });
    stats.print(None);
    let load = |name: &str| measure(name, 0, || load_context(&workspace, &request).files.len());
    load("load 9 files, warm").print(Some(&stats));
    let cold = |name: &str| {
        measure(name, 0, || {
            load_context(&open(temp.path()), &request).files.len()
        })
    };
    cold("load 9 files, cold").print(Some(&stats));
    let giant = temp.path().join("AGENTS.md");
    let megabytes = BenchEffort::asked().pick(54, 1);
    let text = "- A rule that is followed.\n".repeat(megabytes * 1_000_000 / 27);
    std::fs::write(&giant, text).unwrap();
    cold(&format!("the same, one of {megabytes} MB")).print(Some(&stats));
}
