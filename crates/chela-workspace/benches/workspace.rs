//! Loading context files: warm (nothing changed), after a restart, and nine bare `stat` calls to
//! compare with.
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot set itself up should stop"
)]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use chela_core::{AgentId, Audience, Host};
use chela_workspace::{
    BootstrapSettings, CoreFile, LoadRequest, SessionScope, Turn, Workspace, WorkspaceAge,
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
        turn: Turn::Full,
        age: WorkspaceAge::BrandNew,
        settings: &settings,
        execution: None,
        extensions: &[],
        notices_seen: &seen,
    };
    let open = |dir: &Path| Workspace::open(&host, dir).unwrap();
    let workspace = open(temp.path());
    assert_eq!(workspace.load(&request).files.len(), names.len());

    let paths: Vec<_> = names.iter().map(|name| temp.path().join(name)).collect();
    let stats = measure(|| paths.iter().filter(|path| path.metadata().is_ok()).count());
    let warm = measure(|| workspace.load(&request).files.len());
    let cold = measure(|| open(temp.path()).load(&request).files.len());
    let giant = temp.path().join("AGENTS.md");
    std::fs::write(&giant, "- A rule that is followed.\n".repeat(2_000_000)).unwrap();
    let started = Instant::now();
    open(temp.path()).load(&request);
    let huge = started.elapsed();
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "stat of 9 files          {stats:>10.1?}");
    let _ = writeln!(
        out,
        "load 9 files, warm       {warm:>10.1?}  (target: 100 µs)"
    );
    let _ = writeln!(out, "load 9 files, cold       {cold:>10.1?}");
    let _ = writeln!(out, "the same, one of 54 MB   {huge:>10.1?}");
}

/// The median time of one run.
fn measure(mut run: impl FnMut() -> usize) -> Duration {
    let mut times: Vec<_> = (0..2_000)
        .map(|_| {
            let started = Instant::now();
            std::hint::black_box(run());
            started.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}
