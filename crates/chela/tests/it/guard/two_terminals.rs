//! The owner at a second terminal while something is open, or runs, in the first.

use std::io::Read as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::{Value, json};

use super::at_the_card::{ASKED, asking_home, command, leave, open_and_say, press};
use crate::chat::terminal::ChatTerminal;
use crate::scene::{APIS, ScriptedHome};

const ESCAPE: &str = "\u{1b}";

/// A home whose agent runs commands outside of any sandbox, unasked.
fn running_home(line: &str) -> ScriptedHome {
    let script = EndpointScript::steps([
        ScriptStep::tool("exec", json!({ "command": line, "yieldMs": 60_000 })),
        ScriptStep::reply("done"),
    ]);
    ScriptedHome::with(
        APIS[0],
        script,
        json!({ "tools": { "exec": { "mode": "full", "protectState": false } },
                "agents": { "defaults": { "sandbox": { "mode": "off" } } } }),
    )
}

fn approvals(scene: &ScriptedHome) -> String {
    std::fs::read_to_string(scene.home.path(".chela/exec-approvals.json")).unwrap_or_default()
}

/// Waits until a file of the workspace is there.
fn wait_for(scene: &ScriptedHome, file: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !scene.home.exists(&format!(".chela/workspace/{file}")) {
        assert!(Instant::now() < deadline, "no {file}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn asked_chat(scene: &ScriptedHome) -> ChatTerminal {
    let mut terminal = open_and_say(scene, "go");
    terminal.sees(ASKED);
    terminal
}

#[test]
fn what_the_owner_allows_while_a_question_is_open_stays_however_it_ends() {
    for no in [ESCAPE, "\r"] {
        let scene = asking_home([command("touch made"), ScriptStep::reply("all right")]);
        let mut terminal = asked_chat(&scene);
        scene.home.run(&["approvals", "allow", "wget"]).ok();
        scene
            .home
            .run(&["config", "set", "guard.policy", "strict"])
            .ok();
        press(&mut terminal, no);
        std::thread::sleep(Duration::from_millis(700));
        leave(terminal);
        assert!(approvals(&scene).contains("wget"), "{no:?}");
        assert!(
            scene.home.read(".chela/chela.json").contains("strict"),
            "{no:?}"
        );
        assert!(!scene.home.exists(".chela/workspace/made"));
    }
}

#[test]
fn what_the_owner_changes_while_a_command_runs_stays() {
    let scene = running_home("touch started; while [ ! -e go ]; do sleep 0.1; done; echo over");
    let chat = scene
        .home
        .command()
        .args(["chat", "-m", "go"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&scene, "started");
    scene.home.run(&["approvals", "allow", "wget"]).ok();
    scene
        .home
        .run(&["config", "set", "guard.policy", "strict"])
        .ok();
    scene.home.write(".chela/workspace/go", "");
    let output = chat.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!told.contains("changed while a command"), "{told}");
    assert!(approvals(&scene).contains("wget"), "{told}");
    assert!(
        scene.home.read(".chela/chela.json").contains("strict"),
        "{told}"
    );
    let left = std::fs::read_dir(scene.home.path(".chela/state/watchers")).unwrap();
    assert_eq!(left.count(), 0);
}

/// Says what the program says before it writes a file, to everybody who listens.
const FORGER: &str = r#"
import os, socket, sys, time
home = os.path.expanduser('~/.chela')
text = b'{"version":1,"agents":{"*":{"allowlist":[{"pattern":"evil"}]}}}\n'
target = home + '/exec-approvals.json'
for name in os.listdir(home + '/state/watchers'):
    s = socket.socket(socket.AF_UNIX)
    s.connect(home + '/state/watchers/' + name)
    try:
        s.sendall(target.encode() + b'\n')
        s.settimeout(3)
        answer = s.recv(1)
        open('answers.txt', 'ab').write(answer + b'|')
        open(target, 'wb').write(text)
        s.sendall(b'w' + text)
        s.shutdown(socket.SHUT_WR)
        s.recv(1)
    except OSError as error:
        open('answers.txt', 'a').write(str(error) + '|')
open(target, 'wb').write(text)
"#;

#[test]
fn a_command_cannot_say_that_the_owner_writes() {
    // As itself, and as one that was left behind on purpose.
    let ways = [
        "python3 forge.py",
        "(setsid env -i HOME=\"$HOME\" PATH=\"$PATH\" python3 forge.py > /dev/null 2>&1 &); sleep 2",
    ];
    for way in ways {
        let scene = running_home(way);
        scene.home.write(".chela/workspace/forge.py", FORGER);
        let run = scene.chat("go");
        let answers = scene.home.read(".chela/workspace/answers.txt");
        assert!(!answers.contains('+'), "{way}: {answers}");
        assert!(!approvals(&scene).contains("evil"), "{way}: {run:?}");
        assert!(run.err.contains("changed while a command"), "{run:?}");
    }
}

#[test]
fn what_a_command_writes_over_the_owners_change_is_put_back_to_that() {
    let line = "touch started; while [ ! -e go ]; do sleep 0.1; done; \
        echo '{\"version\":1,\"agents\":{\"*\":{\"allowlist\":[{\"pattern\":\"evil\"}]}}}' \
        > ../exec-approvals.json";
    let scene = running_home(line);
    let chat = scene
        .home
        .command()
        .args(["chat", "-m", "go"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&scene, "started");
    scene.home.run(&["approvals", "allow", "wget"]).ok();
    scene.home.write(".chela/workspace/go", "");
    let output = chat.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("changed while a command"), "{told}");
    let kept = approvals(&scene);
    assert!(kept.contains("wget") && !kept.contains("evil"), "{kept}");
}

#[test]
fn who_waits_behind_an_open_question_hears_it_at_once_and_can_see_it() {
    let scene = asking_home([command("touch made-by-me"), ScriptStep::reply("all right")]);
    let mut terminal = asked_chat(&scene);
    let listed = scene.home.run(&["approvals", "list", "--json"]).json();
    let open = &listed[0]["open"];
    assert_eq!(open["session"], "agent:main:main", "{listed}");
    assert!(
        open["since"].as_u64().is_some_and(|since| since > 0),
        "{listed}"
    );
    let id = open["id"].as_str().unwrap().to_owned();
    let table = scene.home.run(&["approvals", "list"]).ok();
    assert!(
        table.contains(&id) && table.contains("agent:main:main"),
        "{table}"
    );
    let whole = scene.home.run(&["approvals", "show", &id]).ok();
    assert!(
        whole.contains("touch made-by-me") && whole.contains("answer it there"),
        "{whole}"
    );
    let mut waiting = scene
        .home
        .command()
        .args(["chat", "-m", "hi"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut told = String::new();
    let mut heard = waiting.stderr.take().unwrap();
    let mut bytes = [0; 512];
    while !told.contains("--session NAME") {
        let length = heard.read(&mut bytes).unwrap();
        assert!(length > 0, "{told}");
        told.push_str(&String::from_utf8_lossy(&bytes[..length]));
    }
    assert!(
        told.contains("an open question") && told.contains(&id),
        "{told}"
    );
    press(&mut terminal, ESCAPE);
    std::thread::sleep(Duration::from_millis(700));
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    let after: Value = scene.home.run(&["approvals", "list", "--json"]).json();
    assert_eq!(after, json!([]), "{after}");
    leave(terminal);
}
