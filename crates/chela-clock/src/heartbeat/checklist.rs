//! What HEARTBEAT.md asks for: tasks with an interval, and other text.

use chela_core::ContentHash;

use crate::parse_duration;

/// The file, as far as it asks for anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeartbeatChecklist {
    pub tasks: Vec<HeartbeatTask>,
    /// The hash of what else is to be looked at; `None`: nothing.
    pub text: Option<ContentHash>,
    /// There are items, and all of them are checked off.
    pub has_done: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatTask {
    pub name: String,
    /// Milliseconds from the end of one look to the next.
    pub interval: u64,
    /// A command that must succeed for the task to be due.
    pub condition: Option<String>,
}

/// How often a task is looked at that does not say.
const USUAL_INTERVAL: u64 = 3_600_000;

impl HeartbeatChecklist {
    /// Reads the body of the file: without front matter and comments.
    pub fn read(body: &str) -> Self {
        let mut list = Self::default();
        let mut rest = Vec::new();
        let mut in_tasks = false;
        let (mut open, mut done) = (0, 0);
        for line in body.lines() {
            if line.trim_end() == "tasks:" {
                in_tasks = true;
                continue;
            }
            if in_tasks && list.take_task_line(line) {
                continue;
            }
            in_tasks = in_tasks && line.trim().is_empty();
            match item_of(line) {
                LineKind::Nothing => {}
                LineKind::Done => done += 1,
                LineKind::Work => {
                    open += 1;
                    rest.push(line.trim_end());
                }
            }
        }
        list.tasks.retain(|task| !task.name.is_empty());
        list.has_done = done > 0 && open == 0;
        list.text = (open > 0).then(|| ContentHash::of(rest.join("\n")));
        list
    }

    /// A line of the block: the beginning of a task, or something about the last one. Says whether
    /// it was one.
    fn take_task_line(&mut self, line: &str) -> bool {
        let is_indented = line.starts_with([' ', '\t']);
        let trimmed = line.trim();
        let (begins, field) = match trimmed.strip_prefix("- ") {
            Some(field) => (true, field.trim()),
            None if is_indented => (false, trimmed),
            None => return false,
        };
        let Some((key, value)) = field.split_once(':') else {
            return false;
        };
        let value = unquoted(value);
        if begins {
            self.tasks.push(HeartbeatTask {
                name: String::new(),
                interval: USUAL_INTERVAL,
                condition: None,
            });
        }
        let Some(task) = self.tasks.last_mut() else {
            return false;
        };
        match key.trim() {
            "name" => task.name = plain_name(value),
            "interval" | "every" => {
                task.interval = parse_duration(value).unwrap_or(USUAL_INTERVAL);
            }
            "if" => task.condition = Some(value.to_owned()).filter(|value| !value.is_empty()),
            // Its text is read in the file itself.
            _ => {}
        }
        true
    }
}

enum LineKind {
    Nothing,
    Done,
    Work,
}

/// Blank lines, headings, fences and empty items ask for nothing; nor do items that are done.
fn item_of(line: &str) -> LineKind {
    let line = line.trim();
    let heading = line.trim_start_matches('#');
    let is_heading = heading.len() < line.len() && (heading.is_empty() || heading.starts_with(' '));
    if line.is_empty() || is_heading || line.starts_with("```") || line.starts_with("~~~") {
        return LineKind::Nothing;
    }
    let Some(item) = line.strip_prefix(['-', '*', '+']) else {
        return LineKind::Work;
    };
    let item = item.trim();
    match item {
        "" | "[]" | "[ ]" => LineKind::Nothing,
        item if item.starts_with("[x]") || item.starts_with("[X]") => LineKind::Done,
        _ => LineKind::Work,
    }
}

fn unquoted(value: &str) -> &str {
    let value = value.trim();
    let inner = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

/// Names stand in what the runtime says: letters, digits and dashes.
fn plain_name(text: &str) -> String {
    const MOST: usize = 40;
    let plain = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || letter == '_' => letter,
        _ => '-',
    };
    let name: String = text.trim().chars().map(plain).take(MOST).collect();
    name.trim_matches('-').to_owned()
}
