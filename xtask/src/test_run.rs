//! Every test of the workspace; the few that fail, once more and alone.
//!
//! Tests of terminals, kills and races meet a machine that does something else for a second. Where
//! `CHELA_TEST_AGAIN` is set, as in CI, a handful of failures is run again, one after the other:
//! what fails twice has failed, and what passes then is named, because it is still a fault of the
//! test or of the program.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;

use crate::{ChoreOutcome, cargo_bin, run, say};

/// More failures than this are no coincidence.
const MOST_AGAIN: usize = 5;

pub fn run_tests(rest: &[&str]) -> ChoreOutcome {
    let mut args = vec!["test", "--workspace"];
    args.extend(rest);
    if std::env::var_os("CHELA_TEST_AGAIN").is_none() || rest.contains(&"--no-run") {
        return run(&mut cargo_test(&args));
    }
    args.insert(2, "--no-fail-fast");
    let failures = match run_and_listen(&args)? {
        Ok(()) => return Ok(()),
        Err(failures) => failures,
    };
    failures.run_again()
}

/// Many tests wait for a process, a terminal or the disk: two to a core keep it busy.
fn cargo_test(args: &[&str]) -> Command {
    const THREADS: &str = "RUST_TEST_THREADS";
    let mut command = Command::new(cargo_bin());
    command.args(args);
    if std::env::var_os(THREADS).is_none() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        command.env(THREADS, (2 * cores).to_string());
    }
    command
}

/// What failed, as far as the output says so.
#[derive(Debug, Default, PartialEq, Eq)]
struct TestFailures {
    names: Vec<String>,
    /// The words by which cargo runs one program of tests.
    targets: Vec<String>,
}

impl TestFailures {
    fn hear(&mut self, line: &str) {
        let name = line.strip_prefix("test ").and_then(|line| {
            let (name, outcome) = line.rsplit_once(" ... ")?;
            (outcome.trim() == "FAILED").then_some(name)
        });
        if let Some(name) = name {
            // Doc tests and those that should panic say more than the name.
            let name = name.trim_end_matches(" - should panic");
            self.names.push(name.to_owned());
        }
        let target = line
            .trim()
            .strip_prefix('`')
            .and_then(|line| line.strip_suffix('`'));
        if let Some(target) = target.filter(|target| target.starts_with("-p ")) {
            self.targets.push(target.to_owned());
        }
    }

    fn run_again(self) -> ChoreOutcome {
        let listed = self.names.join("\n  ");
        if self.names.is_empty() || self.targets.is_empty() || self.names.len() > MOST_AGAIN {
            return Err(format!("tests failed:\n  {listed}"));
        }
        say(&format!("failed, and run once more, alone:\n  {listed}"));
        for target in &self.targets {
            let mut command = Command::new(cargo_bin());
            command.arg("test").args(target.split(' '));
            command.args(["--", "--exact", "--test-threads=1"]);
            run(command.args(&self.names))?;
        }
        say(&format!(
            "passed only the second time, which is a fault to be looked at:\n  {listed}"
        ));
        Ok(())
    }
}

/// Shows what cargo prints and remembers what failed.
fn run_and_listen(args: &[&str]) -> Result<Result<(), TestFailures>, String> {
    say(&format!("> cargo {}", args.join(" ")));
    let mut child = cargo_test(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("could not start cargo: {error}"))?;
    let (lines, heard) = channel();
    let both: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|pipe| Box::new(pipe) as _),
        child.stderr.take().map(|pipe| Box::new(pipe) as _),
    ];
    for pipe in both.into_iter().flatten() {
        let lines = lines.clone();
        std::thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while let Ok(1..) = pipe.read_until(b'\n', &mut line) {
                if lines.send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
    }
    drop(lines);
    let mut failures = TestFailures::default();
    let mut out = std::io::stdout();
    for line in heard {
        out.write_all(&line).map_err(|error| error.to_string())?;
        failures.hear(&String::from_utf8_lossy(&line));
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    Ok(match status.success() {
        true => Ok(()),
        false => Err(failures),
    })
}

#[cfg(test)]
mod tests {
    use super::TestFailures;

    #[test]
    fn what_failed_is_read_from_the_output() {
        let mut failures = TestFailures::default();
        for line in [
            "test chat::writing::one ... ok\n",
            "test chat::writing::two ... FAILED\n",
            "test guard::three - should panic ... FAILED\n",
            "error: 1 target failed:\n",
            "    `-p chela --test it`\n",
        ] {
            failures.hear(line);
        }
        let names = ["chat::writing::two", "guard::three"].map(str::to_owned);
        assert_eq!(failures.names, names);
        assert_eq!(failures.targets, ["-p chela --test it".to_owned()]);
    }

    #[test]
    fn many_failures_are_no_coincidence() {
        let failures = TestFailures {
            names: (0..9).map(|name| name.to_string()).collect(),
            targets: vec!["-p chela --test it".to_owned()],
        };
        assert!(failures.run_again().is_err());
        assert!(TestFailures::default().run_again().is_err());
    }
}
