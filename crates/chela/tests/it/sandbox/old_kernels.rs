//! Kernels with older rules of Landlock, and none: the helper is told to use those rules only,
//! on whatever kernel this is, and the filter of system calls has to do the rest.

use std::path::Path;
use std::process::{Child, Command};

use serde_json::{Value, json};

use super::{SECRET, WITHOUT_NAMESPACES, is_here, this_program, with_bwrap};
use crate::home::{CommandRun, TestHome};

/// What the helper is told by a plan for a kernel with this version and no namespaces.
fn order(version: u8, home: &TestHome) -> Value {
    let signals = match version {
        ..6 => "Denied",
        _ => "Fenced",
    };
    let system = ["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"];
    let system = system.into_iter().filter(|path| Path::new(path).exists());
    let mut read: Vec<String> = system.map(str::to_owned).collect();
    read.push(this_program().display().to_string());
    json!({
        "stage": "Supervise",
        "name": "sh",
        "bounds": { "processes": 64, "memory": 1 << 30, "memoryAndSwap": 1 << 30,
                    "processorPercent": null, "openFiles": 256, "cpuSeconds": 60,
                    "fileBytes": 1 << 20 },
        "walls": { "read": read, "write": [home.path("own")], "keep": [] },
        "landlock": version,
        "namespaces": "given",
        "sockets": "None",
        "signals": signals,
        "egress": null,
        "groups": [],
    })
}

fn under(version: u8, home: &TestHome, script: &str) -> CommandRun {
    let order = order(version, home).to_string();
    home.run(&["__sandbox-exec", &order, "/bin/sh", "-c", script])
}

struct Bystander(Child);

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_walls_hold_with_the_rules_of_every_version() {
    if is_here("landlock").is_none() {
        return;
    }
    for version in 3..=7 {
        let home = TestHome::empty();
        home.write(".ssh/id_ed25519", SECRET);
        home.write("own/mine", "mine");
        let secret = home.path(".ssh/id_ed25519");
        let run = under(
            version,
            &home,
            &format!(
                "cd {own} && cat mine; cat {secret}; echo x > {secret}; truncate -s 0 {secret}; \
                 chmod 777 {secret}; mv {secret} {own}/taken; ln {secret} {own}/taken; echo tried",
                own = home.path("own").display(),
                secret = secret.display(),
            ),
        );
        assert!(
            run.out.contains("mine") && run.out.contains("tried"),
            "{version}: {run:?}"
        );
        assert!(!run.out.contains(SECRET), "{version}: {run:?}");
        assert_eq!(home.read(".ssh/id_ed25519"), SECRET, "{version}");
        assert!(!home.exists("own/taken"), "{version}");

        let mut bystander = Bystander(Command::new("sleep").arg("300").spawn().unwrap());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let probe = |what: &str, facts: &str| {
            let run = under(
                version,
                &home,
                &format!(
                    "ESCAPE={what} {facts} exec '{}' --exact sandbox::inside::probe --nocapture \
                     --test-threads 1",
                    this_program().display()
                ),
            );
            assert!(run.out.contains(": held ("), "{version} {what}: {run:?}");
            assert!(!run.out.contains("ESCAPED"), "{version} {what}: {run:?}");
        };
        probe("processes", &format!("TARGET={}", bystander.0.id()));
        probe(
            "sockets",
            &format!("TCP={}", listener.local_addr().unwrap()),
        );
        assert!(bystander.0.try_wait().unwrap().is_none(), "{version}");
    }
}

#[test]
fn where_there_is_neither_backend_the_prompt_says_so_and_exec_is_refused() {
    // The kernel answers as one without Landlock, and there is no bubblewrap on the path.
    let home = TestHome::with_config(r#"{ agents: { defaults: { sandbox: { mode: "all" } } } }"#);
    let folder = home.path("programs");
    std::fs::create_dir_all(&folder).unwrap();
    let home = home.env("PATH", &folder.display().to_string());
    let without = |words: &str| {
        let script = format!(
            "ESCAPE=without-landlock CHELA='{}' WORDS='{words}' exec '{}' --exact \
             sandbox::inside::probe --nocapture --test-threads 1",
            env!("CARGO_BIN_EXE_chela"),
            this_program().display()
        );
        let output = home.command_of("/bin/sh").args(["-c", &script]).output();
        let output = output.unwrap();
        let both = [output.stdout, output.stderr].concat();
        let both = String::from_utf8_lossy(&both).into_owned();
        let flat = both.split_whitespace().collect::<Vec<_>>().join(" ");
        (output.status.code().unwrap_or(-1), flat)
    };
    without("init");
    let (_, prompt) = without("prompt");
    assert!(
        prompt.contains("You must run in a sandbox and none can be built"),
        "{prompt}"
    );
    assert!(prompt.contains("`exec` is refused"), "{prompt}");
    let (code, explained) = without("sandbox explain");
    assert_eq!(code, 1, "{explained}");
    for part in ["is not installed", "has no Landlock", "exec refused"] {
        assert!(explained.contains(part), "{part}: {explained}");
    }
    let (code, ran) = without("sandbox run -- /bin/echo it-ran");
    assert_eq!(code, 1, "{ran}");
    assert!(ran.contains("exec is refused"), "{ran}");
    assert!(
        !ran.replace("/bin/echo it-ran", "").contains("it-ran"),
        "{ran}"
    );
}

#[test]
fn without_namespaces_explain_names_what_is_missing() {
    if is_here(super::BARE).is_none() {
        return;
    }
    let config = r#"{ agents: { defaults: { sandbox: {
        mode: "all", backend: "landlock", workspaceAccess: "rw" } } } }"#;
    let home = with_bwrap(TestHome::with_config(config)).through(&WITHOUT_NAMESPACES);
    home.run(&["init"]).ok();
    let explained = home.run(&["sandbox", "explain"]).flat();
    for part in [
        "modes, owners and attributes of files cannot be changed",
        "commands can see that a file outside exists",
    ] {
        assert!(explained.contains(part), "{part}: {explained}");
    }
}
