//! What Tab offers, under the line people type on.

use chela_agent::slash::Candidate;

use super::ink::{Line, look};

/// The choices for the line as it is.
#[derive(Debug, Default)]
pub struct Menu {
    /// The line the choices were made for.
    typed: String,
    choices: Vec<Candidate>,
    /// Which one Tab has put in.
    chosen: Option<usize>,
}

const MOST_ROWS: usize = 6;

impl Menu {
    /// Looks again, unless the line is one of its own choices.
    pub fn follow(&mut self, line: &str, look_up: impl FnOnce(&str) -> Vec<Candidate>) {
        let own = self
            .chosen
            .and_then(|at| self.choices.get(at))
            .is_some_and(|choice| choice.line == line);
        if own || (self.typed == line && self.chosen.is_none()) {
            return;
        }
        self.typed = line.to_owned();
        self.choices = look_up(line);
        self.chosen = None;
        // Nothing to choose where the only choice is what stands there.
        if let [only] = self.choices.as_slice()
            && only.line.trim_end() == line.trim_end()
        {
            self.choices.clear();
        }
    }

    /// The line with the next choice put in.
    pub fn next(&mut self, back: bool) -> Option<&str> {
        let count = self.choices.len();
        if count == 0 {
            return None;
        }
        self.chosen = Some(match (self.chosen, back) {
            (None, false) => 0,
            (None, true) => count - 1,
            (Some(at), false) => (at + 1) % count,
            (Some(at), true) => (at + count - 1) % count,
        });
        let only = count == 1;
        let line = self
            .chosen
            .and_then(|at| self.choices.get(at))?
            .line
            .as_str();
        if only {
            // The line goes on from here: its own choices come next.
            self.chosen = None;
        }
        Some(line)
    }

    pub fn close(&mut self) {
        *self = Self::default();
    }

    pub fn lines(&self, width: usize) -> Vec<Line> {
        let first = self.chosen.map_or(0, |at| at.saturating_sub(MOST_ROWS - 1));
        let shown = self.choices.iter().enumerate().skip(first).take(MOST_ROWS);
        let longest = self
            .choices
            .iter()
            .map(|choice| super::ink::columns(&choice.word))
            .max()
            .unwrap_or(0)
            .min(width / 2);
        let mut lines: Vec<Line> = shown
            .map(|(at, choice)| {
                let style = if self.chosen == Some(at) {
                    look::CODE.bold()
                } else {
                    look::CODE
                };
                let word = Line::new(choice.word.as_str(), style).cut(longest);
                let gap = longest.saturating_sub(word.width()) + 2;
                let mut line = Line::new("  ", look::PLAIN);
                line.append(&word);
                line.push(&" ".repeat(gap), look::PLAIN);
                line.push(&choice.about, look::DIM);
                line.cut(width)
            })
            .collect();
        let hidden = self.choices.len().saturating_sub(first + MOST_ROWS);
        if hidden > 0 {
            lines.push(Line::new(format!("  … {hidden} more"), look::DIM));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use chela_agent::slash::Candidate;

    use super::Menu;

    fn choices(words: &[&str]) -> Vec<Candidate> {
        words
            .iter()
            .map(|word| Candidate {
                line: format!("/{word}"),
                word: format!("/{word}"),
                about: "something".to_owned(),
            })
            .collect()
    }

    #[test]
    fn tab_walks_round_and_typing_looks_again() {
        let mut menu = Menu::default();
        menu.follow("/st", |_| choices(&["status", "stop"]));
        assert_eq!(menu.next(false), Some("/status"));
        menu.follow("/status", |_| panic!("its own choice"));
        assert_eq!(menu.next(false), Some("/stop"));
        assert_eq!(menu.next(false), Some("/status"));
        assert_eq!(menu.next(true), Some("/stop"));
        menu.follow("/stopx", |_| Vec::new());
        assert_eq!(menu.next(false), None);
        menu.follow("/stop", |_| choices(&["stop"]));
        assert!(menu.lines(40).is_empty(), "nothing is left to choose");
    }

    #[test]
    fn many_choices_scroll() {
        let mut menu = Menu::default();
        let words = ["a", "b", "c", "d", "e", "f", "g", "h"];
        menu.follow("/", |_| choices(&words));
        assert_eq!(menu.lines(40).len(), 7);
        menu.next(true);
        assert!(menu.lines(40)[5].text().contains("/h"));
    }
}
