//! What a sandbox costs: from asking for `true` until it has ended, as a session's exec runs it.

#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up has nothing to measure"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use chela_core::{AgentId, Host, SessionKey};
use chela_sandbox::{SandboxAsk, SandboxStanding, standing};
use chela_testkit::bench::BenchEffort;
use chela_tools::exec::{CommandTools, CommandsAsk, CommandsSetup};

fn runs() -> usize {
    BenchEffort::asked().pick(50, 1)
}

#[expect(
    clippy::print_stdout,
    reason = "a benchmark reports to the person who runs it"
)]
fn main() {
    println!("{:<44} {:>9} {:>9}", "true, run as", "median", "slowest");
    for (name, settings) in [
        ("a plain command", r#"{ mode: "off" }"#),
        (
            "bubblewrap",
            r#"{ mode: "all", backend: "bwrap", workspaceAccess: "rw" }"#,
        ),
        (
            "landlock and seccomp",
            r#"{ mode: "all", backend: "landlock", workspaceAccess: "rw" }"#,
        ),
        (
            "bubblewrap, with a way out",
            r#"{ mode: "all", backend: "bwrap", egress: ["example.org"] }"#,
        ),
    ] {
        match times(settings) {
            Ok(times) => println!(
                "{name:<44} {:>6.2} ms {:>6.2} ms",
                times[times.len() / 2].as_secs_f64() * 1e3,
                times[times.len() - 1].as_secs_f64() * 1e3
            ),
            Err(why) => println!("{name:<44} {why}"),
        }
    }
}

/// How long each run took, shortest first.
fn times(settings: &str) -> Result<Vec<Duration>, String> {
    let home = tempfile::tempdir().expect("a folder for the home");
    let commands = commands(home.path(), settings)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let one = || {
        runtime.block_on(async {
            let start = Instant::now();
            let job = commands
                .exec
                .for_the_owner(vec!["true".to_owned()], None, Duration::from_secs(60))
                .expect("it starts");
            let ended = job.ended().await;
            assert_eq!(ended, chela_tools::process::CommandEnd::Code(0));
            start.elapsed()
        })
    };
    // The first one finds out what the machine allows.
    one();
    let mut times: Vec<Duration> = (0..runs()).map(|_| one()).collect();
    times.sort();
    Ok(times)
}

fn commands(home: &Path, settings: &str) -> Result<CommandTools, String> {
    let folder = home.join(".chela");
    std::fs::create_dir_all(folder.join("workspace/.git")).expect("a workspace");
    let config = format!("{{ agents: {{ defaults: {{ sandbox: {settings} }} }} }}");
    std::fs::write(folder.join("chela.json"), config).expect("a config");
    let mut host = Host::fixed(home);
    host.program = Some(env!("CARGO_BIN_EXE_chela").into());
    let path = std::env::var("PATH").unwrap_or_default();
    host.env.insert("PATH".to_owned(), path);
    let loaded = chela_config::load(&host);
    let view = loaded.agent(&AgentId::main()).expect("the main agent");
    let session = SessionKey::main(&AgentId::main());
    let sandbox = standing(&SandboxAsk {
        host: &host,
        loaded: &loaded,
        view: &view,
        session: &session,
        channel: None,
        readable: &[],
        folders: &[],
    });
    if let SandboxStanding::Refused { why, .. } = &sandbox {
        return Err(why.clone());
    }
    Ok(CommandTools::new(CommandsSetup::of(CommandsAsk {
        host: &host,
        loaded: &loaded,
        view: &view,
        spool: home.join("spool"),
        sandbox,
    })))
}
