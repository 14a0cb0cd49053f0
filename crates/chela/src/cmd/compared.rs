//! Two texts line by line, for people.

use crate::screen::Paint;

/// Longer texts are compared as wholes: the comparison grows with the square.
const MOST_LINES: usize = 3_000;
/// Unchanged lines shown around a change.
const CONTEXT: usize = 2;

/// What changed and its neighbours, cleaned for a terminal.
pub fn compared(old: &str, new: &str, paint: Paint) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    if old.len().max(new.len()) > MOST_LINES {
        return format!(
            "  {} lines before, {} now: too long to compare here\n",
            old.len(),
            new.len()
        );
    }
    let steps = steps(&old, &new);
    let near_change = |at: usize| {
        let around = at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(steps.len());
        steps[around]
            .iter()
            .any(|step| !matches!(step, Step::Same(_)))
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
            Step::Same(line) => format!("    {}\n", paint.dim(clean(line))),
            Step::Gone(line) => format!("  {}\n", paint.bad(format!("- {}", clean(line)))),
            Step::Come(line) => format!("  {}\n", paint.good(format!("+ {}", clean(line)))),
        });
    }
    text
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step<'a> {
    Same(&'a str),
    Gone(&'a str),
    Come(&'a str),
}

/// The shortest way from one text to the other, by the longest common run of lines.
fn steps<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Step<'a>> {
    let width = new.len() + 1;
    let mut common = vec![0u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut steps = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            steps.push(Step::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            steps.push(Step::Gone(old[i]));
            i += 1;
        } else {
            steps.push(Step::Come(new[j]));
            j += 1;
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::compared;
    use crate::screen::Paint;

    #[test]
    fn only_what_changed_and_its_neighbours_are_shown() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let new = "a\nb\nc\nd\nE\nf\ng\nh\nnew\u{1b}[2J\n";
        assert_eq!(
            compared(old, new, Paint::Plain),
            "    c\n    d\n  - e\n  + E\n    f\n    g\n    h\n  + new[2J\n"
        );
        assert_eq!(compared("", "x\n", Paint::Plain), "  + x\n");
    }
}
