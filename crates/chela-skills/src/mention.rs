//! Skills a person names in the middle of a message: `sort these with $tidy-desk`.

/// Most skills one message brings along.
const MOST_NAMED: usize = 8;

/// The names behind dollar signs, in order. `\$name` is only text, and so is what stands in code.
pub(crate) fn names(message: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    let mut before: Option<char> = None;
    let marks = message.char_indices().filter_map(move |(at, c)| {
        let starts = before.is_none_or(|c| c.is_whitespace() || "([{\"'“".contains(c));
        before = Some(c);
        match c {
            '`' => in_code = !in_code,
            '$' if !in_code && starts => return Some(at + 1),
            _ => {}
        }
        None
    });
    let name_at = |at: usize| {
        let rest = message.get(at..)?;
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
        let name = rest.get(..end.unwrap_or(rest.len()))?;
        let name = name.trim_end_matches(['-', '_']);
        // `$5` is money and `$HOME` a variable.
        let is_name = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.len() > 1;
        is_name.then_some(name)
    };
    marks.filter_map(name_at).take(MOST_NAMED)
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn names_are_found_where_a_person_means_them() {
        let found = |text| names(text).collect::<Vec<_>>();
        assert_eq!(
            found("$tidy-desk, then ($pdf-tools) and $notes."),
            ["tidy-desk", "pdf-tools", "notes"]
        );
        assert!(found("costs $5, \\$notes, `$notes`, a$notes, $HOME, $").is_empty());
        let many = "$aa $ab $ac $ad $ae $af $ag $ah $ai";
        assert_eq!(found(many).len(), 8);
    }
}
