//! Twenty everyday tasks with the real tools: how often is the owner asked, and is the work done?
//!
//! The tasks are data (`everyday/tasks.json`). Each is done in a home of its own by an owner who
//! says yes to every question, as it is and after a web page was read. `cargo xtask guard-bench`
//! prints what these tests measure.

mod owner;
mod tasks;

use chela_testkit::tally::TallyRow;

use super::running::SandboxHere;
use owner::AttendedHome;
use tasks::{EverydayTask, everyday_tasks};

/// What the owner has done before the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadBefore {
    Nothing,
    Page,
}

/// What came of the tasks.
#[derive(Debug, Default)]
struct EverydayFigures {
    /// Each question.
    asked: Vec<String>,
    undone: Vec<String>,
    outward: Vec<String>,
}

impl EverydayFigures {
    /// Seen with `--nocapture`.
    #[expect(
        clippy::print_stdout,
        reason = "whoever measures wants to see the questions"
    )]
    fn show(&self) {
        self.asked.iter().for_each(|asked| println!("{asked}"));
    }
}

fn do_all(before: ReadBefore) -> EverydayFigures {
    let mut figures = EverydayFigures::default();
    let part = match before {
        ReadBefore::Nothing => "everyday tasks",
        ReadBefore::Page => "everyday tasks after a web page",
    };
    for task in everyday_tasks() {
        let outcome = AttendedHome::for_task(&task).does(&task, before);
        let row = TallyRow {
            tasks: 1,
            done: usize::from(outcome.undone.is_empty()),
            questions: outcome.questions.len(),
            outward: outcome.outward.len(),
            ..TallyRow::new(part, &task.name)
        };
        row.note().unwrap();
        let named = |what: &String| format!("{}: {what}", task.name);
        figures.undone.extend(outcome.undone.iter().map(named));
        figures.outward.extend(outcome.outward.iter().map(named));
        figures.asked.extend(outcome.questions.iter().map(named));
    }
    figures
}

/// At most so many questions, where commands can run in a sandbox.
fn is_livable(before: ReadBefore, most: usize) {
    if SandboxHere::of_machine() == SandboxHere::Missing {
        return;
    }
    let figures = do_all(before);
    figures.show();
    assert!(figures.undone.is_empty(), "{figures:#?}");
    assert!(figures.outward.is_empty(), "{figures:#?}");
    let is_counted = SandboxHere::asked_for() == SandboxHere::Present;
    assert!(!is_counted || figures.asked.len() <= most, "{figures:#?}");
}

#[test]
fn twenty_tasks_ask_twelve_times_at_most() {
    is_livable(ReadBefore::Nothing, 12);
}

#[test]
fn after_a_page_they_ask_sixteen_times_at_most() {
    is_livable(ReadBefore::Page, 16);
}

#[test]
fn there_are_twenty_of_them() {
    let tasks: Vec<EverydayTask> = everyday_tasks();
    assert_eq!(tasks.len(), 20);
    assert!(tasks.iter().all(EverydayTask::says_what_is_done));
}
