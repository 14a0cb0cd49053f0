//! Two texts line by line, for people.

use chela_files::{LineChange, line_changes};

use crate::screen::ColourMode;

/// Nobody reads longer ones here.
const MOST_LINES: usize = 3_000;
/// Unchanged lines shown around a change.
const CONTEXT: usize = 2;

/// What changed and its neighbours, cleaned for a terminal.
pub fn render_diff(old: &str, new: &str, paint: ColourMode) -> String {
    let lines = (old.lines().count(), new.lines().count());
    if lines.0.max(lines.1) > MOST_LINES {
        return format!(
            "  {} lines before, {} now: too long to compare here\n",
            lines.0, lines.1
        );
    }
    let steps = line_changes(old, new);
    let near_change = |at: usize| {
        let around = at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(steps.len());
        steps[around].iter().any(|step| step.is_change())
    };
    let mut text = String::new();
    let mut skipping = false;
    for (at, step) in steps.iter().enumerate() {
        if !near_change(at) {
            skipping = true;
            continue;
        }
        if std::mem::take(&mut skipping) && !text.is_empty() {
            text.push_str(&format!("  {}\n", paint.dim("…")));
        }
        // What stands in a foreign file must not steer the terminal.
        let clean = |line: &str| chela_core::sanitize::literal(line).into_owned();
        text.push_str(&match step {
            LineChange::Same(line) => format!("    {}\n", paint.dim(clean(line))),
            LineChange::Removed(line) => format!("  {}\n", paint.bad(format!("- {}", clean(line)))),
            LineChange::Added(line) => format!("  {}\n", paint.good(format!("+ {}", clean(line)))),
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::render_diff;
    use crate::screen::ColourMode;

    #[test]
    fn only_what_changed_and_its_neighbours_are_shown() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let new = "a\nb\nc\nd\nE\nf\ng\nh\nnew\u{1b}[2J\n";
        assert_eq!(
            render_diff(old, new, ColourMode::Plain),
            "    c\n    d\n  - e\n  + E\n    f\n    g\n    h\n  + new[2J\n"
        );
        assert_eq!(render_diff("", "x\n", ColourMode::Plain), "  + x\n");
    }
}
