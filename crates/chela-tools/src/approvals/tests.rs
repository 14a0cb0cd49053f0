use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Mutex;
use std::time::Duration;

use chela_config::model::{Exec, ExecAsk, ExecMode, ExecSecurity};
use chela_core::{AgentId, Host};

use super::{
    ApprovalEntry, ApprovalsDocument, AskAlways, ClearedBy, CommandCircumstances, CommandGate,
    CommandRefusal, GateSetup, NoDoubts, PlannedCommand, RunPlace, exact,
};
use crate::{ApprovalQuestion, ApprovalScope, Approver, OwnerAnswer};

/// A person who gives one answer, writes down what was asked, and may do something meanwhile.
struct Person {
    answer: Option<ApprovalScope>,
    asked: Mutex<Vec<ApprovalQuestion>>,
    meanwhile: Box<dyn Fn() + Send + Sync>,
}

impl Person {
    fn says(answer: Option<ApprovalScope>) -> Self {
        Self {
            answer,
            asked: Mutex::default(),
            meanwhile: Box::new(|| {}),
        }
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Approver for Person {
    fn ask<'a>(
        &'a self,
        question: &'a ApprovalQuestion,
    ) -> Pin<Box<dyn Future<Output = OwnerAnswer> + Send + 'a>> {
        self.asked.lock().unwrap().push(question.clone());
        (self.meanwhile)();
        Box::pin(std::future::ready(OwnerAnswer::given(
            self.answer,
            question,
        )))
    }
}

fn on_host(ask: AskAlways) -> CommandCircumstances<'static> {
    CommandCircumstances {
        ask,
        place: RunPlace::Host,
        taint: chela_guard::flow::SessionTaint::Clean,
        hosts: &[],
        state: super::StateReach::Kept,
    }
}

struct Desk {
    folder: tempfile::TempDir,
    config: Exec,
}

fn desk(mode: ExecMode) -> Desk {
    Desk {
        folder: tempfile::tempdir().unwrap(),
        config: Exec {
            mode: Some(mode),
            ..Exec::default()
        },
    }
}

impl Desk {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn document(&self) -> PathBuf {
        self.path("exec-approvals.json")
    }

    fn allow(&self, pattern: &str, arg_pattern: Option<&str>) {
        let entry = ApprovalEntry {
            pattern: pattern.to_owned(),
            arg_pattern: arg_pattern.map(str::to_owned),
            id: pattern.to_owned(),
            ..ApprovalEntry::default()
        };
        ApprovalsDocument::change(&self.document(), |document| document.allow("main", entry))
            .unwrap();
    }

    fn gate(&self) -> CommandGate {
        CommandGate::new(GateSetup {
            host: Host::fixed(self.folder.path()),
            agent: AgentId::main(),
            config: self.config.clone(),
            document: self.document(),
            workspace: self.path(""),
            doubts: std::sync::Arc::new(NoDoubts),
            expires_after: Duration::from_secs(60),
        })
    }

    fn plan(&self, line: &str) -> PlannedCommand {
        let path = format!("{}:/usr/bin:/bin", self.path("").display());
        let env = BTreeMap::from([("PATH".to_owned(), path)]);
        PlannedCommand::line(line, self.path(""), env).unwrap()
    }

    async fn ask(
        &self,
        line: &str,
        answer: Option<ApprovalScope>,
    ) -> Result<ClearedBy, CommandRefusal> {
        let person = Person::says(answer);
        let cleared = self
            .gate()
            .clear(self.plan(line), on_host(AskAlways::No), &person)
            .await;
        cleared.map(|cleared| cleared.by)
    }

    /// Whether it runs without anyone being asked.
    async fn runs(&self, line: &str) -> bool {
        self.ask(line, Some(ApprovalScope::Deny)).await.is_ok()
    }
}

#[tokio::test]
async fn each_mode_does_what_it_says() {
    let line = "ls -l";
    assert!(matches!(
        desk(ExecMode::Deny)
            .ask(line, Some(ApprovalScope::Once))
            .await,
        Err(CommandRefusal::Off)
    ));
    assert!(matches!(
        desk(ExecMode::Allowlist)
            .ask(line, Some(ApprovalScope::Once))
            .await,
        Err(CommandRefusal::NotListed(_))
    ));
    assert_eq!(
        desk(ExecMode::Ask)
            .ask(line, Some(ApprovalScope::Once))
            .await
            .unwrap(),
        ClearedBy::Person
    );
    assert!(matches!(
        desk(ExecMode::Ask)
            .ask(line, Some(ApprovalScope::Deny))
            .await,
        Err(CommandRefusal::Denied)
    ));
    assert!(matches!(
        desk(ExecMode::Ask).ask(line, None).await,
        Err(CommandRefusal::Unanswered(_))
    ));
    assert_eq!(
        desk(ExecMode::Full)
            .ask(line, Some(ApprovalScope::Deny))
            .await
            .unwrap(),
        ClearedBy::Policy
    );
}

#[tokio::test]
async fn the_stricter_of_config_and_document_counts() {
    let desk = desk(ExecMode::Full);
    ApprovalsDocument::change(&desk.document(), |document| {
        document.defaults.security = Some(ExecSecurity::Allowlist);
        document.defaults.ask = Some(ExecAsk::Off);
    })
    .unwrap();
    assert!(matches!(
        desk.ask("ls", Some(ApprovalScope::Once)).await,
        Err(CommandRefusal::NotListed(_))
    ));
    desk.allow("ls", None);
    assert!(desk.runs("ls -la /").await);
    ApprovalsDocument::change(&desk.document(), |document| {
        document.defaults.ask = Some(ExecAsk::Always)
    })
    .unwrap();
    assert!(matches!(
        desk.ask("ls", Some(ApprovalScope::Deny)).await,
        Err(CommandRefusal::Denied)
    ));
}

#[tokio::test]
async fn a_broken_document_denies_everything_and_says_so() {
    let desk = desk(ExecMode::Full);
    for text in [
        "{",
        "{\"version\": 2}",
        "[]",
        "{\"version\":1,\"defaults\":{\"security\":\"all\"}}",
    ] {
        std::fs::write(desk.document(), text).unwrap();
        let refused = desk.ask("ls", Some(ApprovalScope::Once)).await.unwrap_err();
        assert!(matches!(refused, CommandRefusal::Document(_)), "{text}");
        assert!(
            refused.to_string().contains("exec-approvals.json"),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn every_part_of_a_chain_must_be_listed() {
    let desk = desk(ExecMode::Allowlist);
    desk.allow("ls", None);
    desk.allow("cat", None);
    desk.allow("git", Some("(status|log)( .*)?"));
    for line in [
        "ls | cat",
        "ls; cat x 2>&1 >/dev/null",
        "echo $HOME && ls *.rs",
        "cd /tmp && ls",
        "git status",
        "git log -n 3",
    ] {
        assert!(desk.runs(line).await, "{line}");
    }
    for line in [
        "ls | node",
        "echo x | node",
        "ls; rm -rf /",
        "ls $(id)",
        "ls `id`",
        "$X -l",
        "l\\s; *",
        "PATH=/tmp ls",
        "X=1; ls",
        "ls > /etc/x",
        "git push",
        "git log $X",
        "git status; git push",
        "eval ls",
        "command ls; cd /tmp && ./ls",
        "if true; then ls; fi",
        "ls() { id; }; ls",
        "ls &> x",
        "nosuchprogram | ls",
    ] {
        assert!(!desk.runs(line).await, "{line}");
    }
}

#[tokio::test]
async fn a_name_is_what_path_finds_and_a_path_is_that_file() {
    let desk = desk(ExecMode::Allowlist);
    let tool = desk.program("tool", "#!/bin/sh\n");
    desk.allow("tool", None);
    assert!(desk.runs("tool").await);
    assert!(!desk.runs("./tool").await);
    assert!(!desk.runs(tool.to_str().unwrap()).await);
    desk.allow(desk.path("to*").to_str().unwrap(), None);
    assert!(desk.runs("./tool a b").await);
}

#[tokio::test]
async fn what_runs_other_programs_is_never_listed_by_name() {
    let desk = desk(ExecMode::Allowlist);
    for name in ["env", "sh", "xargs", "find", "nice"] {
        desk.allow(name, None);
    }
    for line in [
        "env ls",
        "sh -c ls",
        "find . -delete",
        "ls | xargs rm",
        "nice ls",
    ] {
        assert!(!desk.runs(line).await, "{line}");
    }
    desk.allow("nice", Some(&exact(&["ls".to_owned()])));
    assert!(desk.runs("nice ls").await);
    assert!(!desk.runs("nice rm").await);
}

#[tokio::test]
async fn inline_scripts_are_allowed_one_by_one_or_not_at_all() {
    let mut desk = desk(ExecMode::Allowlist);
    desk.program("python3", "#!/bin/sh\n");
    desk.allow("python3", None);
    // A script in the arguments is another program each time.
    assert!(!desk.runs("python3 -c 'print(1)'").await);
    desk.allow(
        "python3",
        Some(&exact(&["-c".to_owned(), "print(1)".to_owned()])),
    );
    assert!(desk.runs("python3 -c 'print(1)'").await);
    desk.config.strict_inline_eval = true;
    assert!(!desk.runs("python3 -c 'print(1)'").await);
    assert!(!desk.runs("python3 -cprint").await);
    assert!(desk.runs("python3 x.py").await);
}

#[tokio::test]
async fn safe_programs_read_only_their_input() {
    let mut desk = desk(ExecMode::Allowlist);
    desk.config.safe_bins = vec!["sort".to_owned(), "head".to_owned()];
    assert!(desk.runs("echo x | sort -rn").await);
    for line in [
        "sort /etc/passwd",
        "sort --compress-prog=sh",
        "sort --comp=sh",
        "sort -o x",
        "sort < /etc/passwd",
        "sort -T/tmp",
        "/usr/bin/sort",
        "sort $X",
    ] {
        assert!(!desk.runs(line).await, "{line}");
    }
    desk.program("sort", "#!/bin/sh\n");
    assert!(
        !desk.runs("sort").await,
        "found first in a folder that is not trusted"
    );
}

#[tokio::test]
async fn always_means_exactly_this_and_only_while_it_is_the_same() {
    let desk = desk(ExecMode::Ask);
    desk.program("build", "#!/bin/sh\necho 1\n");
    desk.ask("./build --fast", Some(ApprovalScope::Always))
        .await
        .unwrap();
    assert!(desk.runs("./build --fast").await);
    assert!(!desk.runs("./build").await);
    desk.program("build", "#!/bin/sh\nrm -rf ~\n");
    assert!(!desk.runs("./build --fast").await);
    desk.ask("ls $HOME | wc -l", Some(ApprovalScope::Always))
        .await
        .unwrap();
    assert!(desk.runs("ls $HOME | wc -l").await);
    assert!(!desk.runs("ls $HOME | wc -c").await);
    let mode = std::fs::metadata(desk.document())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_session_remembers_until_it_ends() {
    let desk = desk(ExecMode::Ask);
    let gate = desk.gate();
    let person = Person::says(Some(ApprovalScope::Session));
    for _ in 0..2 {
        gate.clear(desk.plan("ls"), on_host(AskAlways::No), &person)
            .await
            .unwrap();
    }
    assert_eq!(person.asked(), 1);
    gate.clear(desk.plan("ls"), on_host(AskAlways::Always), &person)
        .await
        .unwrap();
    assert_eq!(person.asked(), 2);
    assert!(!desk.runs("ls").await);
}

#[tokio::test]
async fn a_program_swapped_after_the_yes_does_not_run() {
    let desk = desk(ExecMode::Ask);
    let tool = desk.program("tool", "#!/bin/sh\necho good\n");
    let mut person = Person::says(Some(ApprovalScope::Once));
    let swapped = tool.clone();
    person.meanwhile =
        Box::new(move || std::fs::write(&swapped, "#!/bin/sh\necho evil\n").unwrap());
    let refused = desk
        .gate()
        .clear(desk.plan("./tool"), on_host(AskAlways::No), &person)
        .await;
    assert!(matches!(refused, Err(CommandRefusal::Changed(_))));

    // After it was cleared, before it is started.
    let person = Person::says(Some(ApprovalScope::Once));
    let cleared = desk
        .gate()
        .clear(desk.plan("./tool"), on_host(AskAlways::No), &person)
        .await
        .unwrap();
    std::fs::write(&tool, "#!/bin/sh\necho other\n").unwrap();
    assert!(matches!(cleared.check(), Err(CommandRefusal::Changed(_))));
}

#[tokio::test]
async fn a_link_turned_to_another_program_does_not_run() {
    let desk = desk(ExecMode::Ask);
    let one = desk.program("one", "#!/bin/sh\n");
    let two = desk.program("two", "#!/bin/sh\n# same length\n");
    let link = desk.path("link");
    std::os::unix::fs::symlink(&one, &link).unwrap();
    let mut person = Person::says(Some(ApprovalScope::Once));
    person.meanwhile = Box::new(move || {
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&two, &link).unwrap();
    });
    let refused = desk
        .gate()
        .clear(desk.plan("./link"), on_host(AskAlways::No), &person)
        .await;
    assert!(matches!(refused, Err(CommandRefusal::Changed(_))));
}

#[tokio::test]
async fn a_script_changed_after_the_yes_does_not_run() {
    let desk = desk(ExecMode::Ask);
    std::fs::write(desk.path("job.sh"), "echo good").unwrap();
    let script = desk.path("job.sh");
    let mut person = Person::says(Some(ApprovalScope::Once));
    person.meanwhile = Box::new(move || std::fs::write(&script, "echo evil").unwrap());
    let refused = desk
        .gate()
        .clear(desk.plan("sh job.sh"), on_host(AskAlways::No), &person)
        .await;
    assert!(matches!(refused, Err(CommandRefusal::Changed(_))));
}

#[tokio::test]
async fn arguments_folder_and_variables_are_bound() {
    let desk = desk(ExecMode::Ask);
    let bound = |planned: PlannedCommand| planned.binds();
    let one = bound(desk.plan("ls a"));
    assert_eq!(one, bound(desk.plan("ls a")));
    assert_ne!(one, bound(desk.plan("ls b")));
    let set = BTreeMap::from([("X".to_owned(), "1".to_owned())]);
    assert_ne!(one, bound(desk.plan("ls a").with_variables(set)));
    let elsewhere =
        PlannedCommand::line("ls a", Path::new("/").to_owned(), BTreeMap::new()).unwrap();
    assert_ne!(one, bound(elsewhere));
}

#[tokio::test]
async fn what_a_person_is_shown_cannot_fool_them() {
    let desk = desk(ExecMode::Ask);
    let person = Person::says(Some(ApprovalScope::Deny));
    let line = "rm -rf /important \u{1b}[2K\r'\u{202e}ls'";
    let _ = desk
        .gate()
        .clear(desk.plan(line), on_host(AskAlways::No), &person)
        .await;
    let question = person.asked.lock().unwrap()[0].clone();
    assert!(
        question.calls[0].exact[0].1.contains("\\u{1b}[2K\\r")
            && question.calls[0].exact[0].1.contains("\\u{202e}"),
        "{}",
        question.calls[0].exact[0].1
    );
    assert!(
        !question.calls[0].exact[0]
            .1
            .contains(['\u{1b}', '\r', '\u{202e}'])
    );
    let long = format!("echo {}", "x".repeat(9_000));
    let refused = desk
        .gate()
        .clear(desk.plan(&long), on_host(AskAlways::No), &person)
        .await;
    assert!(matches!(refused, Err(CommandRefusal::TooLong)));
}

#[test]
fn unknown_keys_of_the_document_stay() {
    let text = r#"{"version":1,"socket":{"path":"/x"},"defaults":{"security":"full","autoAllowSkills":true},"agents":{"main":{"allowlist":[{"pattern":"ls","mine":1}]}}}"#;
    let document = ApprovalsDocument::read(text, Path::new("x")).unwrap();
    assert_eq!(
        serde_json::to_value(&document).unwrap(),
        serde_json::from_str::<serde_json::Value>(text).unwrap()
    );
}
