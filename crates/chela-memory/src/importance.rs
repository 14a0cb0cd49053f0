//! How much an entry matters, as its writer says.
//!
//! `<!-- importance: 0.8 -->` in an entry or on the line before it, `!important` in it, or
//! `importance` in the front matter for a whole note. It breaks ties, as recency does: what has
//! nothing to do with a question is not found because it matters.

/// From 0, which says nothing, to 100 percent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NoteImportance(u8);

const MARK: &str = "!important";

impl NoteImportance {
    pub const MOST: Self = Self(100);

    pub fn from_percent(percent: u8) -> Self {
        Self(percent.min(100))
    }

    pub fn percent(self) -> u8 {
        self.0
    }

    /// Between 0 and 1.
    pub fn share(self) -> f32 {
        f32::from(self.0) / 100.0
    }

    /// `0.8`, `80%` or a word.
    pub fn read(value: &str) -> Option<Self> {
        let value = value.trim().to_ascii_lowercase();
        let percent = match value.as_str() {
            "critical" => 100.0,
            "high" => 80.0,
            "medium" | "normal" => 50.0,
            "low" => 20.0,
            _ => match value.strip_suffix('%') {
                Some(number) => number.trim().parse::<f32>().ok()?,
                None => value.parse::<f32>().ok()? * 100.0,
            },
        };
        (0.0..=100.0)
            .contains(&percent)
            .then(|| Self(percent.round() as u8))
    }

    /// What an entry says about itself.
    pub fn in_entry(text: &str) -> Option<Self> {
        if let Some((_, value)) = comment(text) {
            return Self::read(value);
        }
        text.split_whitespace()
            .any(|word| word.trim_end_matches([':', ',', '.']) == MARK)
            .then_some(Self::MOST)
    }

    /// What a line that says nothing else says about the next entry.
    pub fn alone(text: &str) -> Option<Self> {
        let (whole, value) = comment(text)?;
        (text.trim() == whole).then(|| Self::read(value)).flatten()
    }
}

/// The first `<!-- importance: … -->`, whole and its value.
fn comment(text: &str) -> Option<(&str, &str)> {
    let mut rest = text;
    loop {
        let start = rest.find("<!--")?;
        let length = rest.get(start..).unwrap_or_default().find("-->")? + 3;
        let whole = rest.get(start..start + length).unwrap_or_default();
        let inside = whole.get(4..whole.len() - 3).unwrap_or_default().trim();
        if let Some(value) = inside.strip_prefix("importance:") {
            return Some((whole, value));
        }
        rest = rest.get(start + length..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::NoteImportance;

    #[test]
    fn entries_say_how_much_they_matter() {
        let said = |text: &str| NoteImportance::in_entry(text).map(NoteImportance::percent);
        assert_eq!(said("- code 1234 <!-- importance: 0.8 -->"), Some(80));
        assert_eq!(
            said("<!-- trigger: x --> <!-- importance: 35% -->"),
            Some(35)
        );
        assert_eq!(said("- !important: back up the keys"), Some(100));
        assert_eq!(said("- this is important"), None);
        assert_eq!(said("<!-- importance: 7 -->"), None);
        assert_eq!(said("<!-- importance: NaN -->"), None);
        assert_eq!(said("<!-- importance: 0.8"), None);
        // A remark that ends where it begins.
        assert_eq!(said("<!--> <!-- importance: 0.8 -->"), Some(80));
    }

    #[test]
    fn a_line_of_its_own_is_told_from_one_with_text() {
        assert!(NoteImportance::alone(" <!-- importance: high -->\n").is_some());
        assert!(NoteImportance::alone("- x <!-- importance: high -->").is_none());
    }
}
