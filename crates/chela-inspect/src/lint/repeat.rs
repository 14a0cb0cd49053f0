//! Rules that are said more than once: each costs tokens every turn, and one day they differ.

use std::collections::{BTreeSet, HashMap};

use super::{FileStatement, LintFinding, Severity};

/// Shorter statements repeat by chance.
const MIN_WORDS: usize = 5;
/// How alike two statements must be, as the share of words they have in common.
const ALIKE: f64 = 0.8;

pub fn repeats(all: &[FileStatement<'_>]) -> Vec<LintFinding> {
    let mut seen: Vec<(&FileStatement<'_>, BTreeSet<String>)> = Vec::new();
    // Which earlier statements use a word: only those can be alike.
    let mut users: HashMap<String, Vec<usize>> = HashMap::new();
    let mut findings = Vec::new();
    for statement in all {
        let words: BTreeSet<String> = statement.words().into_iter().collect();
        if words.len() < MIN_WORDS {
            continue;
        }
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for word in &words {
            for earlier in users.get(word).into_iter().flatten() {
                *shared.entry(*earlier).or_default() += 1;
            }
        }
        let likeness = |(earlier, common): (&usize, &usize)| {
            let theirs = seen.get(*earlier).map_or(0, |(_, words)| words.len());
            let union = words.len() + theirs - common;
            *common as f64 / union as f64
        };
        let nearest = shared
            .iter()
            .max_by(|a, b| {
                likeness(*a)
                    .total_cmp(&likeness(*b))
                    .then_with(|| b.0.cmp(a.0))
            })
            .filter(|entry| likeness(*entry) >= ALIKE);
        let nearest = nearest.and_then(|(earlier, _)| seen.get(*earlier));
        match nearest {
            Some((earlier, theirs)) if !opposed(&words, theirs) => {
                findings.push(finding(statement, earlier));
            }
            _ => {
                for word in &words {
                    users.entry(word.clone()).or_default().push(seen.len());
                }
                seen.push((statement, words));
            }
        }
    }
    findings
}

/// Two statements that differ in a "not" are no repetition.
fn opposed(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    const NEGATIONS: [&str; 6] = ["not", "never", "don't", "no", "avoid", "without"];
    NEGATIONS
        .iter()
        .any(|word| a.contains(*word) != b.contains(*word))
}

fn finding(statement: &FileStatement<'_>, earlier: &FileStatement<'_>) -> LintFinding {
    LintFinding {
        severity: Severity::Warning,
        code: "repeated",
        file: statement.file.to_owned(),
        line: statement.line,
        message: format!(
            "repeats {}:{}: “{}”",
            earlier.file,
            earlier.line,
            shown(&earlier.text)
        ),
        suggestion: "keep it in one place; each copy costs tokens on every turn".to_owned(),
    }
}

pub fn shown(text: &str) -> String {
    const MOST: usize = 60;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    let short: String = text.chars().take(MOST - 1).collect();
    format!("{}…", short.trim_end())
}
