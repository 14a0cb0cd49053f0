//! The process itself: found, one per home, ended in order, kept as a service.

use chela_testkit::{EndpointScript, ScriptStep, StepRule, find_part, wait_until};
use rustix::process::Signal;
use serde_json::json;

use super::{TestGateway, message, said};
use crate::home::TestHome;
use crate::parts::program;
use crate::scene::ScriptedHome;

#[test]
fn it_is_healthy_and_found_and_the_only_one() {
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::reply("hello")));
    let before = scene.home.run(&["gateway", "status"]);
    assert_eq!(before.code, 1, "{before:?}");
    assert!(before.out.contains("does not run"), "{before:?}");

    let gateway = TestGateway::start(&scene.home);
    assert_eq!(gateway.ask("GET", "/healthz", &[], "").status, 200);
    assert_eq!(gateway.ask("GET", "/readyz", &[], "").status, 200);
    let status = scene.home.run(&["gateway", "status", "--json"]).ok();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["answers"], true);
    assert_eq!(status["running"]["pid"], gateway.pid());
    assert!(scene.home.run(&["status"]).ok().contains("answers)"));

    let second = scene.home.run(&["gateway", "run", "--port", "0"]);
    assert_eq!(second.code, 75, "{second:?}");
    assert!(second.err.contains("runs already"), "{second:?}");

    let stopped = scene.home.run(&["gateway", "stop"]).ok();
    assert!(stopped.contains("has ended"), "{stopped}");
    assert_eq!(gateway.wait(), Some(0));
    assert!(!scene.home.exists(".chela/state/gateway.json"));
}

#[test]
fn the_token_is_the_owners_alone_and_a_new_one_replaces_it_at_once() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = ScriptedHome::new(EndpointScript::default());
    let gateway = TestGateway::start(&scene.home);
    let file = scene.home.path(".chela/state/gateway.token");
    let mode = std::fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(gateway.get("/v1/models").status, 200);
    scene.home.run(&["gateway", "token", "rotate"]).ok();
    assert_eq!(gateway.get("/v1/models").status, 401);
    let token = scene.home.run(&["gateway", "token"]).ok();
    let bearer = format!("Bearer {}", token.trim());
    let again = gateway.ask("GET", "/v1/models", &[("authorization", &bearer)], "");
    assert_eq!(again.status, 200, "{again:?}");
}

#[test]
fn a_turn_that_runs_comes_to_its_end_before_the_process_does() {
    let slow = ScriptStep {
        delay_ms: 700,
        ..ScriptStep::reply("done in time")
    };
    let scene = ScriptedHome::new(EndpointScript::always(slow));
    let gateway = TestGateway::start(&scene.home);
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| gateway.post("/v1/chat/completions", &message("hi")));
        wait_until("the model is asked", || !scene.endpoint.calls().is_empty());
        gateway.signal(Signal::TERM);
        assert_eq!(said(&asked.join().unwrap()), "done in time");
    });
    assert_eq!(gateway.wait(), Some(0));
}

#[test]
fn it_starts_again_as_the_same_process_and_answers_what_came_before() {
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::reply("here")));
    let config = scene.home.read(".chela/chela.json");
    let mut config: serde_json::Value = serde_json::from_str(&config).unwrap();
    // A port of its own, so that it is found at the same place afterwards.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    config["gateway"] = json!({ "port": port });
    scene.home.write(".chela/chela.json", &config.to_string());
    let mut gateway = TestGateway::start(&scene.home);
    let pid = gateway.pid();
    assert_eq!(said(&gateway.say("main", "one")), "here");
    scene.home.run(&["gateway", "restart"]).ok();
    let status = scene.home.run(&["gateway", "status", "--json"]).ok();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["running"]["pid"], pid);
    gateway.port = u16::try_from(status["running"]["port"].as_u64().unwrap()).unwrap();
    assert_eq!(said(&gateway.say("main", "two")), "here");
}

#[test]
fn ways_to_be_let_in_that_are_not_offered_are_refused() {
    for mode in ["none", "trusted-proxy"] {
        let home =
            TestHome::with_config(&format!("{{ gateway: {{ auth: {{ mode: '{mode}' }} }} }}"));
        let run = home.run(&["gateway", "run", "--port", "0"]);
        assert_eq!(run.code, 78, "{run:?}");
        assert!(run.err.contains(mode), "{run:?}");
    }
}

#[test]
fn the_service_starts_this_program_for_this_home() {
    let home = TestHome::ready();
    let told = home
        .run(&["gateway", "install", "--file-only", "--manager", "systemd"])
        .ok();
    assert!(told.contains("systemctl --user enable --now"), "{told}");
    let unit = home.read(".config/systemd/user/chela-gateway.service");
    assert!(unit.contains("/chela\" gateway run\n"), "{unit}");
    assert!(unit.contains("Restart=always"), "{unit}");
    assert!(
        unit.contains("ExecReload=/bin/kill -HUP $MAINPID"),
        "{unit}"
    );
    let doctor = home.run(&["doctor", "--only", "gateway"]).out;
    assert!(doctor.contains("installed as a service"), "{doctor}");
    if let Some(analyze) = find_part("systemd-analyze", program("systemd-analyze")) {
        let file = home.path(".config/systemd/user/chela-gateway.service");
        let judged = std::process::Command::new(analyze)
            .args(["verify", "--user"])
            .arg(file)
            .env("XDG_RUNTIME_DIR", home.path(""))
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&judged.stderr);
        assert!(
            judged.status.success() && !told.contains("chela-gateway"),
            "{judged:?}"
        );
    }
    home.run(&[
        "gateway",
        "uninstall",
        "--file-only",
        "--manager",
        "systemd",
    ])
    .ok();
    assert!(!home.exists(".config/systemd/user/chela-gateway.service"));
    home.run(&["gateway", "install", "--file-only", "--manager", "launchd"])
        .ok();
    let plist = home.read("Library/LaunchAgents/ai.chela.gateway.plist");
    assert!(
        plist.contains("<string>gateway</string><string>run</string>"),
        "{plist}"
    );
}

#[test]
fn a_command_of_an_agent_that_has_the_token_is_not_the_owner() {
    // The command reads the token and speaks to the gateway it was started by.
    let speak = "exec 3<>/dev/tcp/127.0.0.1/$(cat port); printf 'GET /v1/models HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nConnection: close\\r\\nAuthorization: Bearer %s\\r\\n\\r\\n' $(cat token) >&3; head -1 <&3 > answer.txt";
    let call = ScriptStep::tool(
        "exec",
        json!({ "command": format!("bash -c \"{}\"", speak.replace('"', "\\\"").replace('$', "\\$")) }),
    );
    let script = EndpointScript::steps([
        call.when(StepRule {
            after_tool: Some(false),
            ..StepRule::default()
        }),
        crate::scene::after_tool(ScriptStep::reply("tried")),
    ]);
    let scene = ScriptedHome::with(
        crate::scene::APIS[0],
        script,
        json!({ "tools": { "exec": { "mode": "full" } }, "agents": { "defaults": { "sandbox": { "mode": "off" } } } }),
    );
    let gateway = TestGateway::start(&scene.home);
    scene
        .home
        .write(".chela/workspace/port", &gateway.port.to_string());
    scene.home.write(".chela/workspace/token", &gateway.token);
    said(&gateway.say("main", "try it"));
    let answer = scene.home.read(".chela/workspace/answer.txt");
    assert!(answer.contains("403"), "{answer}");
    // The same words from elsewhere are the owner's.
    assert_eq!(gateway.get("/v1/models").status, 200);
}

#[test]
fn doctor_knows_what_waits_for_it_and_who_can_read_its_token() {
    use std::os::unix::fs::PermissionsExt as _;
    let stalls = ScriptStep::reply("never").fault(chela_testkit::AnswerFault::Stall(0));
    let scene = ScriptedHome::new(EndpointScript::always(stalls));
    let gateway = TestGateway::start(&scene.home);
    let clean = scene
        .home
        .run(&["doctor", "--only", "gateway", "--json"])
        .out;
    assert!(clean.contains("\"findings\": []"), "{clean}");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let bearer = gateway.bearer();
            let body = message("hi").to_string();
            let head = format!("POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: {bearer}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            gateway.raw(head.as_bytes())
        });
        wait_until("the model is asked", || !scene.endpoint.calls().is_empty());
        gateway.signal(Signal::KILL);
    });
    gateway.wait();
    let token = scene.home.path(".chela/state/gateway.token");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    let told = scene.home.run(&["doctor", "--only", "gateway"]).out;
    assert!(told.contains("without an answer"), "{told}");
    assert!(told.contains("was killed or crashed"), "{told}");
    assert!(told.contains("can read"), "{told}");
    scene.home.run(&["doctor", "--only", "gateway", "--fix"]);
    let mode = std::fs::metadata(&token).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
