//! The little of Markdown that matters to context files.

/// The text without a YAML front matter block at its start.
///
/// A document may also begin with a rule (`---`) that is just a rule, so the block counts as
/// front matter only when every line in it looks like YAML.
pub fn strip_front_matter(text: &str) -> &str {
    let Some(rest) = text
        .strip_prefix("---\n")
        .or_else(|| text.strip_prefix("---\r\n"))
    else {
        return text;
    };
    let mut left = rest;
    while !left.is_empty() {
        let (line, after) = left.split_once('\n').unwrap_or((left, ""));
        let line = line.trim_end();
        if line == "---" || line == "..." {
            return after.trim_start_matches(['\n', '\r']);
        }
        if !looks_like_yaml(line) {
            break;
        }
        left = after;
    }
    text
}

fn looks_like_yaml(line: &str) -> bool {
    let key = || {
        line.split_once(':')
            .is_some_and(|(key, _)| !key.trim().contains(". "))
    };
    line.is_empty() || line.starts_with([' ', '\t', '#', '-', '}', ']']) || key()
}

/// Whether HEARTBEAT.md asks for anything. Blank lines, headings, comments, fences and empty
/// list items or checkboxes are no work.
pub fn heartbeat_has_work(text: &str) -> bool {
    heartbeat_body(text).lines().any(is_work)
}

/// What HEARTBEAT.md says: without front matter and comments.
pub fn heartbeat_body(text: &str) -> String {
    without_comments(strip_front_matter(text))
}

fn is_work(line: &str) -> bool {
    let line = line.trim();
    let heading = line.trim_start_matches('#');
    let is_heading = heading.len() < line.len() && (heading.is_empty() || heading.starts_with(' '));
    let is_fence = line.starts_with("```") || line.starts_with("~~~");
    let item = line.strip_prefix(['-', '*', '+']).unwrap_or(line).trim();
    let is_empty_item = matches!(item, "" | "[]" | "[ ]" | "[x]" | "[X]");
    !(is_heading || is_fence || is_empty_item)
}

/// Comments are taken out whole; one that is never closed reaches to the end, as in Markdown.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!--") {
        kept.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::{heartbeat_has_work, strip_front_matter};

    #[test]
    fn front_matter_goes_and_rules_stay() {
        assert_eq!(
            strip_front_matter("---\na: b\nlist:\n  - c\n---\n\n# T\n"),
            "# T\n"
        );
        assert_eq!(
            strip_front_matter("---\r\na: b\r\n---\r\n# T\r\n"),
            "# T\r\n"
        );
        for whole in [
            "---\nSome prose\n---\nmore",
            "# T\n---\na: b\n---\n",
            "---\na: b\nnever closed",
        ] {
            assert_eq!(strip_front_matter(whole), whole);
        }
        assert_eq!(strip_front_matter("---\n---\nrest"), "rest");
    }

    #[test]
    fn an_idle_heartbeat_has_no_work() {
        for idle in [
            "",
            "# Heartbeat\n\n##\n",
            "<!-- one\ntwo -->\n- [ ]\n-\n* \n+ [x]\n",
            "```\n```\n~~~",
            "---\ntitle: x\n---\n# H\n",
            "# H\n<!-- never closed\n- task",
        ] {
            assert!(!heartbeat_has_work(idle), "{idle:?}");
        }
        for busy in [
            "check mail",
            "- [ ] check mail",
            "#hashtag",
            "<!-- a -->b<!-- c -->",
            "- [x] y",
        ] {
            assert!(heartbeat_has_work(busy), "{busy:?}");
        }
    }
}
