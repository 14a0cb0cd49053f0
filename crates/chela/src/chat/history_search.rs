//! Looking for something typed earlier, as in a shell: Ctrl-R, and a few letters of it.

use super::history::{InputHistory, TypedMessage};
use super::ink::{StyledLine, look};

/// A search under way.
#[derive(Debug, Default)]
pub struct HistorySearch {
    wanted: String,
    /// How many newer matches were passed over.
    skip: usize,
    /// What stood on the line before.
    before: String,
}

impl HistorySearch {
    pub fn begin(before: &str) -> Self {
        Self {
            before: before.to_owned(),
            ..Self::default()
        }
    }

    /// What stood on the line when the search began.
    pub fn before(&self) -> &str {
        &self.before
    }

    pub fn type_more(&mut self, text: &str) {
        self.wanted.extend(text.chars().filter(|c| !c.is_control()));
        self.skip = 0;
    }

    pub fn type_less(&mut self) {
        self.wanted.pop();
        self.skip = 0;
    }

    /// The next older one; stays where there is none.
    pub fn older(&mut self, history: &InputHistory) {
        if history.search(&self.wanted, self.skip + 1).is_some() {
            self.skip += 1;
        }
    }

    /// What is found, if anything is.
    pub fn found<'h>(&self, history: &'h InputHistory) -> Option<&'h TypedMessage> {
        match self.wanted.is_empty() {
            true => None,
            false => history.search(&self.wanted, self.skip),
        }
    }

    /// The line under what was found.
    pub fn line(&self, history: &InputHistory) -> StyledLine {
        let told = match (self.wanted.is_empty(), self.found(history)) {
            (true, _) => "type a few letters",
            (false, Some(_)) => "Enter to use it, Ctrl-R for older, Esc to cancel",
            (false, None) => "no earlier input matches",
        };
        StyledLine::new("  search: ", look::DIM)
            .with(&self.wanted, look::CODE)
            .with(&format!("  · {told}"), look::DIM)
    }
}

#[cfg(test)]
mod tests {
    use super::{HistorySearch, InputHistory, TypedMessage};

    #[test]
    fn letters_narrow_and_another_press_goes_back() {
        let mut history = InputHistory::default();
        for entry in ["one red", "two", "three red"] {
            history.add(TypedMessage {
                text: entry.to_owned(),
                pasted: Vec::new(),
            });
        }
        let found = |search: &HistorySearch| {
            let found = search.found(&history);
            found.map(|entry| entry.text.clone())
        };
        let mut search = HistorySearch::begin("draft");
        assert_eq!(found(&search), None);
        search.type_more("re");
        assert_eq!(found(&search).as_deref(), Some("three red"));
        search.older(&history);
        search.older(&history);
        assert_eq!(found(&search).as_deref(), Some("one red"));
        search.type_less();
        search.type_more("x");
        assert_eq!(found(&search), None);
        assert!(search.line(&history).text().contains("no earlier input"));
        assert_eq!(search.before(), "draft");
    }
}
