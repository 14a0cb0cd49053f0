//! Names that pose as another skill's.

use crate::bundled::BUNDLED;
use crate::finding::SkillFinding;
use crate::inspect::plain::look_alike;
use crate::inspect::tables::rule_lists;

rule_lists! { "names.txt": WELL_KNOWN }

pub(in crate::inspect) fn look(name: &str) -> Option<SkillFinding> {
    let known = || {
        WELL_KNOWN
            .iter()
            .copied()
            .chain(BUNDLED.iter().map(|skill| skill.name))
    };
    if name.is_empty() || known().any(|known| known == name) {
        return None;
    }
    if !name.is_ascii() {
        let plain: String = name.chars().map(look_alike).collect();
        let posed = known().find(|known| *known == plain)?;
        return Some(SkillFinding::error(
            "look-alike-name",
            format!("is called `{name}`, in lookalike letters imitating `{posed}`"),
        ));
    }
    let lower = name.to_ascii_lowercase();
    if let Some((stem, tail)) = lower.rsplit_once('-')
        && known().any(|known| known == stem)
        && is_random(tail)
    {
        let message =
            format!("is called like `{stem}` with a meaningless ending, as mass uploads are");
        return Some(SkillFinding::warning("look-alike-name", message));
    }
    let near = known().find(|known| known.len() >= 6 && one_step(known, &lower))?;
    Some(SkillFinding::note(
        "look-alike-name",
        format!("is called almost like `{near}`"),
    ))
}

/// Letters and digits in no order a person would type.
fn is_random(tail: &str) -> bool {
    let digits = tail.chars().filter(char::is_ascii_digit).count();
    let letters = tail.chars().filter(char::is_ascii_alphabetic).count();
    let vowels = tail.chars().filter(|c| "aeiouy".contains(*c)).count();
    (4..=12).contains(&tail.len())
        && (digits > 0 && letters > 1 && !tail.starts_with('v')
            || letters == tail.len() && vowels * 5 < letters)
}

/// Whether one letter more, less or other leads from one name to the other.
fn one_step(one: &str, other: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if a.len().abs_diff(b.len()) > 1 || a == b {
        return false;
    }
    let head = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let rest = |name: &[char]| name.get(head..).unwrap_or_default().to_vec();
    let tail = rest(&a)
        .iter()
        .rev()
        .zip(rest(&b).iter().rev())
        .take_while(|(x, y)| x == y)
        .count();
    a.len().max(b.len()) - head - tail <= 1
}
