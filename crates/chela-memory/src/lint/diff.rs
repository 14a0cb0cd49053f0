//! A difference of two texts, as `diff -u` writes it. Made for removals and additions of lines.

#![expect(
    clippy::indexing_slicing,
    reason = "places of changes are numbered by the steps they index"
)]

const CONTEXT: usize = 2;

pub fn unified(label: &str, before: &str, after: &str) -> String {
    let old: Vec<&str> = before.lines().collect();
    let new: Vec<&str> = after.lines().collect();
    let steps = steps(&old, &new);
    let changed: Vec<usize> = steps
        .iter()
        .enumerate()
        .filter(|(_, step)| step.0 != ' ')
        .map(|(at, _)| at)
        .collect();
    if changed.is_empty() {
        return String::new();
    }
    let mut out = format!("--- {label}\n+++ {label}\n");
    let mut at = 0;
    while at < changed.len() {
        let start = changed[at].saturating_sub(CONTEXT);
        let mut last = at;
        while last + 1 < changed.len() && changed[last + 1] - changed[last] <= 2 * CONTEXT {
            last += 1;
        }
        let end = (changed[last] + CONTEXT + 1).min(steps.len());
        let count = |kinds: &[char], range: &[(char, &str)]| {
            range.iter().filter(|step| kinds.contains(&step.0)).count()
        };
        let (before, here) = (
            steps.get(..start).unwrap_or_default(),
            steps.get(start..end).unwrap_or_default(),
        );
        out.push_str(&format!(
            "@@ -{},{} +{},{} @@\n",
            count(&[' ', '-'], before) + usize::from(!old.is_empty()),
            count(&[' ', '-'], here),
            count(&[' ', '+'], before) + 1,
            count(&[' ', '+'], here),
        ));
        for (mark, line) in here {
            out.push_str(&format!("{mark}{line}\n"));
        }
        at = last + 1;
    }
    out
}

/// Lines kept, removed and added. The new text is the old one without some lines, or with lines
/// behind it, so the first equal line is the right one.
fn steps<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    let mut steps = Vec::new();
    let mut next = 0;
    for (at, line) in old.iter().enumerate() {
        // Lines that follow decide whether an equal line is this one or a later one.
        let rest_fits = old.len() - at >= new.len() - next.min(new.len());
        if new.get(next) == Some(line) && rest_fits {
            steps.push((' ', *line));
            next += 1;
        } else {
            steps.push(('-', *line));
        }
    }
    steps.extend(new.iter().skip(next).map(|line| ('+', *line)));
    steps
}
