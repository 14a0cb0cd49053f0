use std::collections::BTreeMap;
use std::time::Duration;

use chela_core::Host;
use serde_json::{Map, Value, json};

use super::{
    CommandChannel, CommandEnd, CommandLaunch, EndNotices, ProcessTool, ProcessesSetup,
    SessionProcesses, whole,
};
use crate::{CallSuccess, HeadlessApprover, RunCall, Tool, ToolOutput};

struct Desk {
    processes: SessionProcesses,
    _folder: tempfile::TempDir,
}

fn desk() -> Desk {
    let folder = tempfile::tempdir().unwrap();
    let processes = SessionProcesses::new(ProcessesSetup {
        host: Host::fixed(folder.path()),
        spool_dir: folder.path().join("spool"),
        keep_finished: Duration::from_secs(60),
        notices: EndNotices::Noteworthy,
        most_shown: 16_000,
        redactor: std::sync::Arc::default(),
    });
    Desk {
        processes,
        _folder: folder,
    }
}

fn sh(script: &str) -> CommandLaunch {
    CommandLaunch {
        command: script.to_owned(),
        program: "/bin/sh".into(),
        name: "sh".into(),
        arguments: vec!["-c".into(), script.into()],
        folder: std::env::temp_dir(),
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        talk: CommandChannel::Pipe,
        timeout: Duration::from_secs(60),
        fetches: None,
        watch: chela_sandbox::FamilyWatch::default(),
        group: None,
        walls: super::CommandWalls::None,
        written: None,
    }
}

/// A gate that lets everything pass.
fn open_gate(folder: &std::path::Path) -> std::sync::Arc<crate::approvals::CommandGate> {
    use crate::approvals::{CommandGate, GateSetup, NoDoubts};
    std::sync::Arc::new(CommandGate::new(GateSetup {
        host: chela_core::Host::fixed(folder),
        agent: chela_core::AgentId::main(),
        config: chela_config::model::Exec {
            mode: Some(chela_config::model::ExecMode::Full),
            ..chela_config::model::Exec::default()
        },
        document: folder.join("exec-approvals.json"),
        workspace: folder.to_owned(),
        doubts: std::sync::Arc::new(NoDoubts),
        expires_after: Duration::from_secs(60),
    }))
}

impl Desk {
    async fn run(&self, launch: CommandLaunch) -> (CommandEnd, ToolOutput) {
        let job = self.processes.start(launch).unwrap();
        let ended = job.ended().await;
        (ended, whole(&job, "c1", self.processes.setup()))
    }

    async fn call(&self, arguments: Value) -> ToolOutput {
        let Value::Object(arguments) = arguments else {
            return ToolOutput::failed("no object");
        };
        let gate = open_gate(self._folder.path());
        call(&ProcessTool::new(self.processes.clone(), gate), &arguments).await
    }
}

async fn call(tool: &ProcessTool, arguments: &Map<String, Value>) -> ToolOutput {
    let call = RunCall {
        id: "c1",
        writes: &crate::CallWrites::Anything,
        arguments,
        progress: &|_| {},
        approver: &HeadlessApprover,
        targets: &[],
        redirects: &crate::AnyRedirect,
        bound: None,
    };
    tool.run(call).await
}

/// Whether a process of this id lives.
fn lives(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.contains(") Z"))
}

#[tokio::test]
async fn output_and_errors_come_in_their_order_with_the_exit_code() {
    let (ended, output) = desk()
        .run(sh("echo one; echo two >&2; echo three; exit 3"))
        .await;
    assert_eq!(ended, CommandEnd::Code(3));
    assert!(
        output
            .text()
            .starts_with("one\ntwo\nthree\nExit code 3 after"),
        "{}",
        output.text()
    );
    assert_eq!(output.success, CallSuccess::Failed);
    assert_eq!(output.details["exitCode"], 3);
}

#[tokio::test]
async fn a_gigabyte_of_output_stays_bounded() {
    let desk = desk();
    let (ended, output) = desk
        .run(sh("head -c 1000000000 /dev/zero | tr '\\0' 'x'"))
        .await;
    assert_eq!(ended, CommandEnd::Code(0));
    assert_eq!(output.details["bytes"], 1_000_000_000_u64);
    let text = output.text();
    assert!(text.len() < 17_000, "{}", text.len());
    assert!(text.contains("bytes left out; read them with `process`, action log"));
    let spool = output.details["spool"].as_str().unwrap();
    // What fits, and the end after it.
    let kept = std::fs::metadata(spool).unwrap().len();
    assert!((64 << 20..65 << 20).contains(&kept), "{kept}");
    desk.processes.forget("p1");
    assert!(!std::path::Path::new(spool).exists());
}

#[tokio::test]
async fn output_without_end_is_stopped_in_time_with_all_it_started() {
    let desk = desk();
    let mut launch = sh("sleep 1000 & echo $!; yes");
    launch.timeout = Duration::from_millis(200);
    let (ended, output) = desk.run(launch).await;
    assert_eq!(ended, CommandEnd::TimedOut);
    let text = output.text();
    assert!(text.contains("its time was up"));
    let sleeper = text.lines().next().unwrap();
    assert!(sleeper.parse::<u32>().is_ok() && !lives(sleeper));
}

#[tokio::test]
async fn who_does_not_listen_is_ended_too() {
    let mut launch = sh("trap '' TERM; echo ready; while :; do sleep 1; done");
    launch.timeout = Duration::from_millis(100);
    // It would go on for ever: that it ended at all is what counts.
    let (ended, _) = desk().run(launch).await;
    assert_eq!(ended, CommandEnd::TimedOut);
}

#[tokio::test]
async fn processes_that_left_the_group_are_found_and_ended() {
    let script = "setsid sh -c 'echo $$; exec sleep 1000' & \
                  (setsid setsid sleep 1001 >/dev/null 2>&1 </dev/null &) ; sleep 0.3; echo done";
    let desk = desk();
    let (ended, output) = desk.run(sh(script)).await;
    assert_eq!(ended, CommandEnd::Code(0));
    let text = output.text();
    assert!(
        text.contains("2 processes it left running were ended with it"),
        "{text}"
    );
    let pid = text.lines().next().unwrap();
    assert!(!lives(pid), "{pid}");
}

#[tokio::test]
async fn a_flood_of_processes_is_stopped_and_cleaned_up() {
    // Each in a session of its own; 10,000 would follow if nobody stopped it.
    let script = "i=0; while [ $i -lt 10000 ]; do setsid sleep 4711.5 & i=$((i+1)); done; wait";
    let (ended, _) = desk().run(sh(script)).await;
    assert_eq!(ended, CommandEnd::TooManyProcesses);
    let left = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read(entry.unwrap().path().join("cmdline")).ok())
        .filter(|line| line.starts_with(b"sleep\x004711.5"))
        .count();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn a_dropped_session_takes_its_commands_along() {
    let desk = desk();
    let job = desk.processes.start(sh("echo $$; sleep 1000")).unwrap();
    let mut watch = job.watch();
    watch.wait_for(|state| state.printed > 0).await.unwrap();
    let pid = job.pid.to_string();
    assert!(lives(&pid));
    drop(desk);
    job.ended().await;
    assert!(!lives(&pid));
}

#[tokio::test]
async fn a_terminal_is_one_and_takes_input() {
    let desk = desk();
    let mut launch =
        sh("test -t 0 && test -t 1 && echo terminal; read line; echo \"got $line\"; stty size");
    launch.talk = CommandChannel::Terminal;
    let job = desk.processes.start(launch).unwrap();
    desk.processes.to_background(&job);
    let told = desk
        .call(json!({"action": "submit", "sessionId": "p1", "data": "hello"}))
        .await;
    assert!(told.text().contains("got hello"), "{}", told.text());
    assert_eq!(job.ended().await, CommandEnd::Code(0));
    let log = desk
        .call(json!({"action": "log", "sessionId": "p1"}))
        .await
        .text();
    assert!(
        log.contains("terminal\n") && log.contains("30 120"),
        "{log}"
    );
}

#[tokio::test]
async fn a_command_in_the_background_is_followed_fed_and_ended() {
    let desk = desk();
    let mut launch = sh("echo start; while read line; do echo \"<$line>\"; done; echo over");
    launch.talk = CommandChannel::PipeWithInput;
    let job = desk.processes.start(launch).unwrap();
    desk.processes.to_background(&job);
    let first = desk
        .call(json!({"action": "poll", "sessionId": "p1"}))
        .await;
    assert!(
        first.text().starts_with("start\nStill running"),
        "{}",
        first.text()
    );
    let fed = desk
        .call(json!({"action": "write", "sessionId": "p1", "data": "a\nb\n", "eof": true}))
        .await;
    assert!(
        fed.text().starts_with("<a>\n<b>\nover\nExit code 0"),
        "{}",
        fed.text()
    );
    let lines = desk
        .call(json!({"action": "log", "sessionId": "p1", "offset": 1, "limit": 2}))
        .await;
    assert!(
        lines.text().starts_with("<a>\n<b>\nExit"),
        "{}",
        lines.text()
    );
    desk.processes.wait_finished().await;
    let finished = desk.processes.finished();
    assert_eq!(finished.len(), 1);
    assert_eq!(
        (finished[0].id.as_str(), &finished[0].ended),
        ("p1", &CommandEnd::Code(0))
    );
    assert!(desk.processes.finished().is_empty());
    assert!(
        desk.call(json!({"action": "list"}))
            .await
            .text()
            .contains("p1  echo start")
    );
    desk.call(json!({"action": "remove", "sessionId": "p1"}))
        .await;
    let gone = desk
        .call(json!({"action": "poll", "sessionId": "p1"}))
        .await;
    assert!(
        gone.text()
            .starts_with("`p1` has ended, and what it printed is not kept")
    );
}

#[tokio::test]
async fn kill_ends_a_command_at_once() {
    let desk = desk();
    desk.processes.start(sh("sleep 1000")).unwrap();
    let told = desk
        .call(json!({"action": "kill", "sessionId": "p1"}))
        .await;
    assert!(told.text().contains("Stopped after"), "{}", told.text());
}

/// A later process of the same session reads the output it was promised, and never another's.
#[tokio::test]
async fn names_are_given_once_in_a_session_and_promised_output_outlives_the_process() {
    let first = desk();
    let (_, told) = first.run(sh("seq 1 100000")).await;
    assert!(told.text().contains("sessionId p1 "), "{}", told.text());
    let (_, short) = first.run(sh("echo short")).await;
    assert!(short.text().starts_with("short"), "{}", short.text());
    let lost = first.processes.start(sh("echo begun; sleep 1000")).unwrap();
    first.processes.to_background(&lost);
    let mut watch = lost.watch();
    watch.wait_for(|state| state.printed > 0).await.unwrap();
    let setup = first.processes.setup().clone();
    let Desk { processes, _folder } = first;
    drop((processes, lost));

    let second = Desk {
        processes: SessionProcesses::new(setup),
        _folder,
    };
    let log = |id: &str, offset: u64| json!({"action": "log", "sessionId": id, "offset": offset, "limit": 1});
    let (_, other) = second.run(sh("echo other; exit 3")).await;
    assert_eq!(other.details["sessionId"], "p4");
    let line = second.call(log("p1", 54_320)).await;
    assert!(
        line.text().starts_with("54321\nExit code 0 after"),
        "{}",
        line.text()
    );
    let begun = second
        .call(json!({"action": "poll", "sessionId": "p3"}))
        .await;
    assert!(
        begun
            .text()
            .starts_with("begun\nEnded with the program that had started it."),
        "{}",
        begun.text()
    );
    // All of it was in its result.
    let gone = second.call(log("p2", 0)).await;
    assert!(
        gone.text().contains("is not kept any more"),
        "{}",
        gone.text()
    );
    let never = second.call(log("p9", 0)).await;
    assert!(
        never.text().starts_with("There is no command `p9`"),
        "{}",
        never.text()
    );
    for action in ["kill", "write", "submit"] {
        let ended = second
            .call(json!({"action": action, "sessionId": "p1", "data": "x"}))
            .await;
        assert_eq!(
            ended.text(),
            "`p1` has ended; action log shows what it printed."
        );
    }
    assert!(
        second
            .call(log("../p1", 0))
            .await
            .text()
            .starts_with("There is no command")
    );
    let listed = second.call(json!({"action": "list"})).await.text();
    assert!(listed.contains("p1  seq 1 100000  (earlier)"), "{listed}");
    second
        .call(json!({"action": "remove", "sessionId": "p1"}))
        .await;
    let gone = second.call(log("p1", 0)).await;
    assert!(
        gone.text().contains("is not kept any more"),
        "{}",
        gone.text()
    );
}

#[tokio::test]
async fn the_oldest_output_makes_room_for_the_newest() {
    let desk = desk();
    let kept = desk.processes.kept().clone().at_most(1_500_000);
    for _ in 0..4 {
        let job = desk.processes.start(sh("seq 1 100000")).unwrap();
        job.ended().await;
        kept.keep(&job).unwrap();
    }
    assert_eq!(kept.ids(), ["p3", "p4"]);
    assert!(kept.was_given("p1") && kept.find("p1").is_none());
}

/// What is on record of a command is put there whole: a name that leads elsewhere is replaced, not
/// written through.
#[tokio::test]
async fn records_of_commands_are_replaced_as_a_whole() {
    let desk = desk();
    let kept = desk.processes.kept().clone();
    let elsewhere = tempfile::tempdir().unwrap();
    let plant = |name: &str| {
        let target = elsewhere.path().join(name);
        std::fs::write(&target, "7").unwrap();
        std::os::unix::fs::symlink(&target, kept.output_file("p").with_file_name(name)).unwrap();
        target
    };
    std::fs::create_dir_all(kept.output_file("p").parent().unwrap()).unwrap();
    let counter = plant("last");
    let job = desk.processes.start(sh("echo hi")).unwrap();
    assert_eq!(job.id, "p8");
    job.ended().await;
    let record = plant("p8.json");
    kept.keep(&job).unwrap();
    assert!(kept.find("p8").is_some());
    for target in [counter, record] {
        assert_eq!(std::fs::read_to_string(target).unwrap(), "7");
    }
}
