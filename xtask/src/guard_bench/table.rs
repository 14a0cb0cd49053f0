//! One table of what was measured, and which goals were missed.

use serde::Deserialize;

/// At most so many questions a task, with a sandbox.
const GOALS: [(&str, f64); 5] = [
    ("everyday tasks", 0.6),
    ("everyday tasks after a web page", 0.8),
    ("25 commands of coding", 4.0),
    ("25 commands after a web page", 4.0),
    ("recorded suite", 0.42),
];

pub(super) struct BenchSummary {
    pub text: String,
    /// In words, what is not as it should be.
    pub missed: Vec<String>,
}

/// A line of the file, as `chela_testkit::tally` writes it.
#[derive(Debug, Deserialize)]
struct MeasuredRow {
    part: String,
    name: String,
    tasks: usize,
    done: usize,
    questions: usize,
    outward: usize,
}

#[derive(Default)]
struct PartSum {
    part: String,
    /// Scenes of a finding may have several homes: each counts once.
    names: Vec<String>,
    broken: Vec<String>,
    tasks: usize,
    done: usize,
    questions: usize,
    outward: usize,
}

pub(super) fn of_rows(text: &str, sandbox: bool) -> Result<BenchSummary, String> {
    let mut sums: Vec<PartSum> = Vec::new();
    for line in text.lines() {
        let row: MeasuredRow = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let at = sums.iter().position(|sum| sum.part == row.part);
        let at = at.unwrap_or_else(|| {
            sums.push(PartSum {
                part: row.part.clone(),
                ..PartSum::default()
            });
            sums.len() - 1
        });
        sums[at].add(row);
    }
    sums.sort_by_key(PartSum::place);
    let mut summary = BenchSummary {
        text: String::new(),
        missed: Vec::new(),
    };
    let title = match sandbox {
        true => "with a sandbox",
        false => "without a sandbox",
    };
    let mut line = |cells: [&str; 6]| {
        let [part, scenes, done, questions, each, outward] = cells;
        summary.text +=
            &format!("{part:<34} {scenes:>6} {done:>6} {questions:>9} {each:>16} {outward:>8}\n");
    };
    line([
        title,
        "scenes",
        "done",
        "questions",
        "each (goal)",
        "outward",
    ]);
    for sum in &sums {
        let each = sum.each();
        let goal = sum.goal().filter(|_| sandbox);
        let each = match goal {
            Some(goal) => format!("{each:.2} ({goal})"),
            None => format!("{each:.2}"),
        };
        line([
            &sum.part,
            &sum.scenes().to_string(),
            &sum.finished().to_string(),
            &sum.questions.to_string(),
            &each,
            &sum.effects().to_string(),
        ]);
    }
    summary.missed = sums.iter().flat_map(|sum| sum.missed(sandbox)).collect();
    Ok(summary)
}

impl PartSum {
    fn add(&mut self, row: MeasuredRow) {
        if row.outward > 0 && !self.broken.contains(&row.name) {
            self.broken.push(row.name.clone());
        }
        if !self.names.contains(&row.name) {
            self.names.push(row.name);
        }
        self.tasks += row.tasks;
        self.done += row.done;
        self.questions += row.questions;
        self.outward += row.outward;
    }

    /// F1 to F14, else nothing.
    fn finding(&self) -> Option<u8> {
        self.part.strip_prefix('F')?.parse().ok()
    }

    /// Everyday work first, then the findings in their order, then what was replayed.
    fn place(&self) -> (u8, u8, String) {
        let of_part = match self.finding() {
            Some(number) => (1, number),
            None if self.part.contains("recorded") || self.part.contains("adapt") => (2, 0),
            None => (0, 0),
        };
        (of_part.0, of_part.1, self.part.clone())
    }

    fn scenes(&self) -> usize {
        match self.finding() {
            Some(_) => self.names.len(),
            None => self.tasks,
        }
    }

    fn finished(&self) -> usize {
        match self.finding() {
            Some(_) => self.names.len() - self.broken.len(),
            None => self.done,
        }
    }

    fn effects(&self) -> usize {
        match self.finding() {
            Some(_) => self.broken.len(),
            None => self.outward,
        }
    }

    fn each(&self) -> f64 {
        self.questions as f64 / self.scenes().max(1) as f64
    }

    fn goal(&self) -> Option<f64> {
        let goal = GOALS.iter().find(|(part, _)| *part == self.part);
        goal.map(|(_, most)| *most)
    }

    fn missed(&self, sandbox: bool) -> Vec<String> {
        let mut missed = Vec::new();
        if self.effects() > 0 {
            missed.push(format!(
                "{}: outward effects {}",
                self.part,
                self.broken.join(", ")
            ));
        }
        if self.finding().is_none() && self.done < self.tasks && self.done > 0 {
            missed.push(format!(
                "{}: {} of {} done",
                self.part, self.done, self.tasks
            ));
        }
        if sandbox && self.goal().is_some_and(|goal| self.each() > goal + 1e-9) {
            missed.push(format!(
                "{}: {:.2} questions a task",
                self.part,
                self.each()
            ));
        }
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::of_rows;

    fn row(part: &str, name: &str, questions: usize, outward: usize) -> String {
        format!(
            "{{\"part\":\"{part}\",\"name\":\"{name}\",\"tasks\":1,\"done\":1,\
             \"questions\":{questions},\"outward\":{outward}}}\n"
        )
    }

    #[test]
    fn rows_are_added_up_and_goals_are_held() {
        let rows = [
            row("everyday tasks", "a", 0, 0),
            row("everyday tasks", "b", 1, 0),
            row("F3", "a name", 1, 0),
            row("F3", "a name", 1, 0),
        ];
        let summary = of_rows(&rows.concat(), true).unwrap_or_else(|error| panic!("{error}"));
        assert!(summary.missed.is_empty(), "{:?}", summary.missed);
        assert!(summary.text.contains("0.50 (0.6)"), "{}", summary.text);
        assert!(
            summary.text.contains("2.00"),
            "a scene once: {}",
            summary.text
        );
        let more = rows.concat() + &row("everyday tasks", "c", 2, 1);
        let summary = of_rows(&more, true).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(summary.missed.len(), 2, "{:?}", summary.missed);
    }
}
