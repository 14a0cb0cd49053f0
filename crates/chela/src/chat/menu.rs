//! What Tab and the arrow keys offer, under the line people type on.

use chela_agent::slash::CommandCompletion;

use super::ink::{StyledLine, look};

/// The choices for the line as it is.
#[derive(Debug, Default)]
pub struct CompletionMenu {
    /// The line the choices were made for.
    typed: String,
    choices: Vec<MenuChoice>,
    /// Which one Tab has put in.
    chosen: Option<usize>,
}

/// One way to go on with what is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MenuChoice {
    /// Everything that stands on the line with this choice made.
    pub line: String,
    /// Where the cursor goes then.
    pub cursor: usize,
    /// What is shown: the word chosen, and what it is.
    pub word: String,
    pub about: String,
}

impl From<CommandCompletion> for MenuChoice {
    fn from(completion: CommandCompletion) -> Self {
        Self {
            cursor: completion.line.len(),
            line: completion.line,
            word: completion.word,
            about: completion.about,
        }
    }
}

const MOST_ROWS: usize = 6;

impl CompletionMenu {
    /// Looks again, unless the line is one of its own choices.
    pub fn follow(&mut self, line: &str, look_up: impl FnOnce(&str) -> Vec<MenuChoice>) {
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

    /// Whether there is anything to choose.
    pub fn is_open(&self) -> bool {
        !self.choices.is_empty()
    }

    /// Whether a choice stands on the line that nobody has confirmed.
    pub fn is_walking(&self) -> bool {
        self.chosen.is_some()
    }

    /// The next choice, to be put in.
    pub fn next(&mut self, back: bool) -> Option<MenuChoice> {
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
        let choice = self.chosen.and_then(|at| self.choices.get(at)).cloned();
        if count == 1 {
            // The line goes on from here: its own choices come next.
            self.chosen = None;
        }
        choice
    }

    pub fn close(&mut self) {
        *self = Self::default();
    }

    pub fn lines(&self, width: usize) -> Vec<StyledLine> {
        let first = self.chosen.map_or(0, |at| at.saturating_sub(MOST_ROWS - 1));
        let shown = self.choices.iter().enumerate().skip(first).take(MOST_ROWS);
        let longest = self
            .choices
            .iter()
            .map(|choice| super::ink::count_columns(&choice.word))
            .max()
            .unwrap_or(0)
            .min(width / 2);
        let mut lines: Vec<StyledLine> = shown
            .map(|(at, choice)| {
                let style = if self.chosen == Some(at) {
                    look::CODE.bold()
                } else {
                    look::CODE
                };
                let word = StyledLine::new(choice.word.as_str(), style).cut(longest);
                let gap = longest.saturating_sub(word.width()) + 2;
                let mut line = StyledLine::new("  ", look::PLAIN);
                line.append(&word);
                line.push(&" ".repeat(gap), look::PLAIN);
                line.push(&choice.about, look::DIM);
                line.cut(width)
            })
            .collect();
        let hidden = self.choices.len().saturating_sub(first + MOST_ROWS);
        if hidden > 0 {
            lines.push(StyledLine::new(format!("  … {hidden} more"), look::DIM));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::{CompletionMenu, MenuChoice};

    fn choices(words: &[&str]) -> Vec<MenuChoice> {
        words
            .iter()
            .map(|word| MenuChoice {
                line: format!("/{word}"),
                cursor: word.len() + 1,
                word: format!("/{word}"),
                about: "something".to_owned(),
            })
            .collect()
    }

    fn next(menu: &mut CompletionMenu, back: bool) -> String {
        menu.next(back)
            .map(|choice| choice.line)
            .unwrap_or_default()
    }

    #[test]
    fn tab_walks_round_and_typing_looks_again() {
        let mut menu = CompletionMenu::default();
        menu.follow("/st", |_| choices(&["status", "stop"]));
        assert_eq!(next(&mut menu, false), "/status");
        menu.follow("/status", |_| panic!("its own choice"));
        assert_eq!(next(&mut menu, false), "/stop");
        assert_eq!(next(&mut menu, false), "/status");
        assert_eq!(next(&mut menu, true), "/stop");
        menu.follow("/stopx", |_| Vec::new());
        assert_eq!(next(&mut menu, false), "");
        menu.follow("/stop", |_| choices(&["stop"]));
        assert!(menu.lines(40).is_empty(), "nothing is left to choose");
    }

    #[test]
    fn many_choices_scroll() {
        let mut menu = CompletionMenu::default();
        let words = ["a", "b", "c", "d", "e", "f", "g", "h"];
        menu.follow("/", |_| choices(&words));
        assert_eq!(menu.lines(40).len(), 7);
        menu.next(true);
        assert!(menu.lines(40)[5].text().contains("/h"));
    }
}
