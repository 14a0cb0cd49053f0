//! A home folder of its own for each test, and the real binary to run in it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use chela_core::Host;
use chela_ledger::{AuditFilter, AuditKind, Ledger, RecordFilter};
use chela_store::WaitHere as _;
use chela_testkit::bait::{self, BaitSweep};
use chela_testkit::tally::{TALLY, TallyRow};
use chela_testkit::{RequestLog, ScriptedEndpoint};

use tempfile::TempDir;

/// A home with bait in it: values nobody may see again. When it goes, everything it left behind
/// is looked through for them.
pub struct TestHome {
    dir: TempDir,
    env: Vec<(String, String)>,
    /// A program and its arguments, to start the binary through.
    through: Vec<String>,
    sweep: BaitSweep,
    /// Where its models are asked.
    asked: Vec<RequestLog>,
    /// A test that carries bait about on purpose looks for itself.
    swept: bool,
}

/// Where the values stand that the operator wrote.
const OPERATORS: [&str; 8] = [
    "/chela.json",
    "/chela.json.bak",
    "/chela.json.bak.1",
    "/last-good.json",
    "/.chela/.env",
    "/canary.json",
    "/keys-backup.env",
    "/recovery-codes.md",
];
/// The one place of a request where a key belongs.
const KEY_HEADERS: [&str; 3] = ["authorization", "x-api-key", "x-goog-api-key"];

/// What a command printed, with the paths of the test taken out.
#[derive(Debug)]
pub struct CommandRun {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl TestHome {
    /// Nothing in it: the machine of a newcomer.
    pub fn empty() -> Self {
        Self {
            dir: TempDir::new().unwrap(),
            env: Vec::new(),
            through: Vec::new(),
            sweep: OPERATORS
                .iter()
                .fold(BaitSweep::default(), |mut sweep, end| {
                    sweep.allow(end);
                    sweep
                }),
            asked: Vec::new(),
            swept: true,
        }
    }

    /// The requests this endpoint gets are looked through, too.
    pub fn asks(&mut self, endpoint: &ScriptedEndpoint) {
        self.asked.push(endpoint.log());
    }

    /// One more value that must not be seen again.
    pub fn watches(&mut self, value: &str) {
        self.sweep.watch(value);
    }

    /// Bait may lie in this file, too: the test put it there.
    pub fn baited(mut self, file: &str) -> Self {
        self.sweep.allow(file);
        self
    }

    /// This test lets bait out on purpose, and looks for itself.
    pub fn lets_bait_out(mut self) -> Self {
        self.swept = false;
        self
    }

    /// Where bait turned up that should not have.
    pub fn leaks(&self) -> Vec<String> {
        let mut leaks = self.sweep.below(&self.path(".chela"));
        let mut look = |place: String, text: &str| {
            leaks.extend(
                self.sweep
                    .in_text(text)
                    .map(|how| format!("{place} ({how})")),
            );
        };
        for request in self.asked.iter().flat_map(RequestLog::requests) {
            look(format!("request {}", request.path), &request.body);
            look("the address of a request".to_owned(), &request.path);
            for (name, value) in &request.headers {
                if !KEY_HEADERS.contains(&name.as_str()) {
                    look(format!("header {name}"), value);
                }
            }
        }
        // What is packed in the ledger is read as its reader reads it.
        let host = Host::fixed(self.dir.path());
        if let Ok(Some(ledger)) = Ledger::open_existing(&host) {
            for record in ledger
                .list(&RecordFilter::default())
                .wait()
                .unwrap_or_default()
            {
                let raw = ledger.raw(record.id).wait().unwrap_or_default();
                look(
                    "a request in the ledger".to_owned(),
                    &String::from_utf8_lossy(&raw),
                );
                let shown = ledger
                    .show(record.id)
                    .wait()
                    .map(|record| format!("{record:?}"));
                look(
                    "a record of the ledger".to_owned(),
                    &shown.unwrap_or_default(),
                );
            }
            for entry in ledger
                .audit(&AuditFilter::default())
                .wait()
                .unwrap_or_default()
            {
                look("the audit chain".to_owned(), &entry.json().to_string());
            }
        }
        leaks
    }

    /// After the first run.
    pub fn ready() -> Self {
        let home = Self::empty();
        home.run(&["init"]).ok();
        home
    }

    pub fn with_config(config: &str) -> Self {
        let home = Self::empty();
        home.write(".chela/chela.json", config);
        home
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts the binary through another program, which gets it as its last arguments.
    pub fn through(mut self, words: &[&str]) -> Self {
        self.through = words.iter().map(ToString::to_string).collect();
        self
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    pub fn write(&self, relative: &str, text: &str) -> PathBuf {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A file that somebody else brought: it was unpacked, and keeps the time it had there.
    pub fn brings(&self, relative: &str, text: &str) -> PathBuf {
        let path = self.write(relative, text);
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let yesterday = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
        file.set_modified(yesterday).unwrap();
        path
    }

    pub fn read(&self, relative: &str) -> String {
        std::fs::read_to_string(self.path(relative)).unwrap()
    }

    pub fn exists(&self, relative: &str) -> bool {
        self.path(relative).exists()
    }

    pub fn run(&self, args: &[&str]) -> CommandRun {
        self.run_with_input(args, "")
    }

    /// Runs it while standing in another folder.
    pub fn run_in(&self, folder: &str, args: &[&str]) -> CommandRun {
        let mut command = self.command();
        command.current_dir(folder).args(args);
        self.finished(command, args, "")
    }

    pub fn run_with_input(&self, args: &[&str], input: &str) -> CommandRun {
        let mut command = self.command();
        command.args(args);
        self.finished(command, args, input)
    }

    fn finished(&self, mut command: Command, args: &[&str], input: &str) -> CommandRun {
        use std::io::Write;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let run = CommandRun {
            code: output.status.code().unwrap_or(-1),
            out: self.neutral(&String::from_utf8_lossy(&output.stdout)),
            err: self.neutral(&String::from_utf8_lossy(&output.stderr)),
        };
        if self.swept {
            let said = self
                .sweep
                .in_text(&run.out)
                .or(self.sweep.in_text(&run.err));
            assert!(
                said.is_none(),
                "chela {args:?} printed bait {said:?}: {run:?}"
            );
        }
        run
    }

    /// Output byte for byte, with the paths of the test in it.
    pub fn exact(&self, args: &[&str]) -> String {
        String::from_utf8(self.command().args(args).output().unwrap().stdout).unwrap()
    }

    /// The binary in this home, with nothing of the machine's own settings.
    pub fn command(&self) -> Command {
        let chela = env!("CARGO_BIN_EXE_chela");
        let Some((first, words)) = self.through.split_first() else {
            return self.command_of(chela);
        };
        let mut command = self.command_of(first);
        command.args(words).arg(chela);
        command
    }

    /// Any program, as if it was started in this home.
    pub fn command_of(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.dir.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("SHELL", "/bin/bash")
            .env("TZ", "Europe/Berlin")
            .env("COLUMNS", "80")
            .envs(bait::environment())
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(self.dir.path());
        command
    }

    /// Output without what differs from run to run.
    fn neutral(&self, text: &str) -> String {
        let real = std::fs::canonicalize(self.dir.path()).unwrap();
        text.replace(&*real.to_string_lossy(), "~")
            .replace(&*self.dir.path().to_string_lossy(), "~")
    }
}

impl TestHome {
    /// Says how often the owner of this home was asked, where the test is an attack on the guard.
    /// A test that fails has let something happen.
    fn note_attack(&self) {
        let thread = std::thread::current();
        let Some((finding, name)) = thread.name().and_then(finding_of) else {
            return;
        };
        let held = !std::thread::panicking();
        let row = TallyRow {
            tasks: 1,
            done: usize::from(held),
            questions: self.questions(),
            outward: usize::from(!held),
            ..TallyRow::new(finding, name)
        };
        let noted = row.note();
        assert!(noted.is_ok() || !held, "no row for {name}: {noted:?}");
    }

    /// Questions on record.
    fn questions(&self) -> usize {
        let host = Host::fixed(self.dir.path());
        let Ok(Some(ledger)) = Ledger::open_existing(&host) else {
            return 0;
        };
        let approvals = AuditFilter {
            kind: Some(AuditKind::Approval),
            ..AuditFilter::default()
        };
        ledger.audit(&approvals).wait().unwrap_or_default().len()
    }
}

/// `guard::f3_unlabelled::a_file_name` is about F3.
fn finding_of(test: &str) -> Option<(String, &str)> {
    let (file, name) = test.strip_prefix("guard::f")?.split_once("::")?;
    let (number, _) = file.split_once('_')?;
    let number: u8 = number.parse().ok()?;
    Some((format!("F{number}"), name))
}

impl Drop for TestHome {
    fn drop(&mut self) {
        if std::env::var_os(TALLY).is_some() {
            self.note_attack();
        }
        if self.swept && !std::thread::panicking() {
            let leaks = self.leaks();
            assert!(leaks.is_empty(), "bait got out: {leaks:#?}");
        }
    }
}

impl CommandRun {
    /// Must have worked; gives the output.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "stdout: {}\nstderr: {}", self.out, self.err);
        self.out
    }

    /// Must have answered, whatever was refused on the way; gives the output.
    #[track_caller]
    pub fn answered(self) -> String {
        let answered = matches!(self.code, 0 | 5);
        assert!(answered, "stdout: {}\nstderr: {}", self.out, self.err);
        self.out
    }

    /// Must have ended with this code; gives what was said on standard error.
    #[track_caller]
    pub fn fails(self, code: i32) -> String {
        assert_eq!(
            self.code, code,
            "stdout: {}\nstderr: {}",
            self.out, self.err
        );
        self.err
    }

    /// Output with every run of blanks as one: wrapped lines read as sentences.
    pub fn flat(&self) -> String {
        self.out.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    pub fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.ok()).unwrap()
    }
}

/// A path as text, for arguments.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
