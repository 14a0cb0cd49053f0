//! Short names of models.

/// The families that have a short name: the alias, how the id begins, and words that must and
/// must not be in it.
const FAMILIES: &[(&str, &str, &[&str], &[&str])] = &[
    ("opus", "claude-opus", &[], &[]),
    ("sonnet", "claude-sonnet", &[], &[]),
    ("gpt-mini", "gpt-", &["mini"], &["codex", "4o", "oss"]),
    ("gpt-nano", "gpt-", &["nano"], &["oss"]),
    (
        "gpt",
        "gpt-",
        &[],
        &["mini", "nano", "codex", "oss", "chat"],
    ),
    ("gemini-flash-lite", "gemini-", &["flash-lite"], &["image"]),
    ("gemini-flash", "gemini-", &["flash"], &["lite", "image"]),
    ("gemini", "gemini-", &["pro"], &["image"]),
];

/// Built-in aliases, only for models that are listed; the newest of a family has it.
pub fn built_in(listed: &[String]) -> Vec<(String, String)> {
    FAMILIES
        .iter()
        .filter_map(|(alias, prefix, with, without)| {
            let model = listed
                .iter()
                .filter(|reference| {
                    let id = reference.rsplit('/').next().unwrap_or(reference);
                    id.starts_with(prefix)
                        && with.iter().all(|word| id.contains(word))
                        && !without.iter().any(|word| id.contains(word))
                })
                .max_by_key(|reference| numbers(reference))?;
            Some(((*alias).to_owned(), model.clone()))
        })
        .collect()
}

/// What an alias stands for; the first one wins.
pub fn find<'a>(aliases: &'a [(String, String)], name: &str) -> Option<&'a str> {
    aliases
        .iter()
        .find(|(alias, _)| alias.eq_ignore_ascii_case(name))
        .map(|(_, reference)| reference.as_str())
}

/// The numbers in a name: `claude-opus-4-6` is newer than `claude-opus-4-5`.
fn numbers(name: &str) -> Vec<u64> {
    let id = name.rsplit('/').next().unwrap_or(name);
    id.split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        // Dates are not versions.
        .filter(|number| *number < 10_000)
        .collect()
}
