//! What a note says about itself: the lines between `---` at its top.

use chela_core::Audience;

use crate::day::CalendarDay;
use crate::importance::NoteImportance;

/// The facts at the top of a note; each may be missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FrontMatter {
    /// Lines it takes, with both marks; 0 when there is none.
    pub lines: usize,
    pub date: Option<CalendarDay>,
    pub importance: Option<NoteImportance>,
    pub audience: Option<Audience>,
}

/// Reads the top of a note. Lines it does not know mean nothing to it.
pub fn read(text: &str) -> FrontMatter {
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some("---") {
        return FrontMatter::default();
    }
    let mut front = FrontMatter::default();
    for (at, line) in lines.enumerate() {
        if line.trim_end() == "---" {
            front.lines = at + 2;
            return front;
        }
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim().trim_matches(['"', '\'']);
        match key.trim() {
            key if key.starts_with("date") => front.date = front.date.or(CalendarDay::find(value)),
            "importance" => front.importance = NoteImportance::read(value),
            "audience" => {
                front.audience = match value {
                    "shared" => Some(Audience::Shared),
                    "private" => Some(Audience::Private),
                    _ => None,
                }
            }
            _ => {}
        }
    }
    FrontMatter::default()
}

#[cfg(test)]
mod tests {
    use super::{FrontMatter, read};
    use chela_core::Audience;

    #[test]
    fn facts_are_read_and_the_rest_is_left_alone() {
        let front =
            read("---\ntitle: x\ndate: 2026-03-04\nimportance: high\naudience: shared\n---\ntext");
        assert_eq!(front.lines, 6);
        assert_eq!(
            front.date.map(|day| day.to_string()).as_deref(),
            Some("2026-03-04")
        );
        assert_eq!(front.importance.map(|i| i.percent()), Some(80));
        assert_eq!(front.audience, Some(Audience::Shared));
    }

    #[test]
    fn what_is_no_front_matter_says_nothing() {
        for text in [
            "",
            "text\n---\naudience: shared\n---\n",
            "---\naudience: shared\n",
        ] {
            assert_eq!(read(text), FrontMatter::default(), "{text}");
        }
        assert_eq!(read("---\naudience: everyone\n---\n").audience, None);
    }
}
