//! Org files, line for line as Markdown.

/// Headings get the signs of Markdown, code its fences; drawers and keywords become empty lines. Every line
/// stays where it is, so that citations are right.
pub fn as_markdown(text: &str) -> String {
    let mut in_drawer = false;
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let bare = line.trim();
        let lower = bare.to_ascii_lowercase();
        let stars = bare.bytes().take_while(|byte| *byte == b'*').count();
        let is_heading =
            line.starts_with('*') && bare.get(stars..).is_some_and(|rest| rest.starts_with(' '));
        lines.push(if is_heading {
            format!(
                "{}{}",
                "#".repeat(stars.min(6)),
                bare.get(stars..).unwrap_or_default()
            )
        } else if lower.starts_with("#+begin_src") || lower.starts_with("#+end_src") {
            "```".to_owned()
        } else if is_drawer(bare) || in_drawer {
            in_drawer = lower != ":end:";
            String::new()
        } else if let Some(title) = lower.strip_prefix("#+title:") {
            let from = bare.len() - title.len();
            format!("# {}", bare.get(from..).unwrap_or_default().trim())
        } else if bare.starts_with("#+") {
            String::new()
        } else {
            line.to_owned()
        });
    }
    lines.join("\n")
}

/// `:PROPERTIES:` and the like.
fn is_drawer(line: &str) -> bool {
    line.strip_prefix(':')
        .and_then(|rest| rest.strip_suffix(':'))
        .is_some_and(|name| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        })
}

#[cfg(test)]
mod tests {
    use super::as_markdown;

    #[test]
    fn every_line_stays_where_it_is() {
        let org = "#+TITLE: House\n* Heating\n:PROPERTIES:\n:ID: 1\n:END:\n- serviced in May\n#+begin_src sh\nls\n#+end_src\n** Boiler\nold";
        assert_eq!(
            as_markdown(org),
            "# House\n# Heating\n\n\n\n- serviced in May\n```\nls\n```\n## Boiler\nold"
        );
    }
}
