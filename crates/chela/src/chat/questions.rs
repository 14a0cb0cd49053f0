//! Asking for permission, in the chat.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use chela_guard::approval::AskedCall;
use chela_tools::{Question, Scope};

use super::clean::{clean, clean_line};
use super::ink::{Line, look, without_tabs};
use super::relay::Asked;

/// Questions that wait for an answer, one shown at a time.
#[derive(Default)]
pub struct Questions {
    waiting: VecDeque<Asked>,
    /// Since when the first one is on the screen.
    shown: Option<Instant>,
}

/// A key pressed this soon was meant for something else.
const REFLEX: Duration = Duration::from_millis(400);
/// Rows of the exact command.
const MOST_ROWS: usize = 12;

impl Questions {
    pub fn add(&mut self, question: Asked, now: Instant) {
        self.waiting.push_back(question);
        self.shown.get_or_insert(now);
    }

    /// Forgets those nobody waits for.
    pub fn tidy(&mut self, now: Instant) {
        let before = self.first_id();
        self.waiting.retain(Asked::is_open);
        if self.first_id() != before {
            self.shown = (!self.waiting.is_empty()).then_some(now);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The answer that a single key gives to the question on the screen.
    pub fn key(&self, typed: &str, now: Instant) -> Option<Scope> {
        let shown = self.shown?;
        if now.saturating_duration_since(shown) < REFLEX {
            return None;
        }
        match typed {
            "y" | "Y" => Some(Scope::Once),
            "s" | "S" => Some(Scope::Session),
            "a" | "A" => Some(Scope::Always),
            "n" | "N" => Some(Scope::Deny),
            _ => None,
        }
    }

    /// Answers the question on the screen, or the one of this id. Gives a line to keep.
    pub fn answer(&mut self, id: Option<&str>, scope: Scope, now: Instant) -> Option<Line> {
        let at = match id {
            None => 0,
            Some(id) => self
                .waiting
                .iter()
                .position(|question| question.question.id == id)?,
        };
        let question = self.waiting.remove(at)?;
        if at == 0 {
            self.shown = (!self.waiting.is_empty()).then_some(now);
        }
        let (mark, word, style) = match scope {
            Scope::Once => ("✓", "allowed once", look::GOOD),
            Scope::Session => ("✓", "allowed for this session", look::GOOD),
            Scope::Always => ("✓", "always allowed", look::GOOD),
            Scope::Deny => ("✗", "not allowed", look::BAD),
        };
        let exact = in_a_line(&question.question);
        question.answer(Some(scope));
        Some(Line::new(format!("{mark} {word}: "), style).with(&exact, look::DIM))
    }

    /// The question on the screen: what exactly, why, and the keys.
    pub fn lines(&self, width: usize) -> Vec<Line> {
        let Some(question) = self.waiting.front() else {
            return Vec::new();
        };
        let question = &question.question;
        let indent = Line::new("  ", look::PLAIN);
        let mut lines: Vec<Line> = question
            .calls
            .iter()
            .flat_map(|call| lines_of(call, width))
            .collect();
        let mut keys = Line::default();
        for (key, what) in [
            ("y", "once"),
            ("s", "this session"),
            ("a", "always"),
            ("n", "no"),
        ] {
            keys.push(key, look::WARN.bold());
            keys.push(&format!(" {what}   "), look::PLAIN);
        }
        keys.push(&format!("({})", question.id), look::DIM);
        lines.extend(keys.wrap(width, &indent, &indent));
        if self.waiting.len() > 1 {
            let more = format!("and {} more after this", self.waiting.len() - 1);
            lines.push(indent.with(&more, look::DIM));
        }
        lines
    }

    fn first_id(&self) -> Option<String> {
        self.waiting.front().map(|first| first.question.id.clone())
    }
}

/// One call as it is shown: what will happen, exactly what, why, and the text from outside it
/// follows.
fn lines_of(call: &AskedCall, width: usize) -> Vec<Line> {
    let none = Line::default();
    let indent = Line::new("  ", look::PLAIN);
    let bar = Line::new("  │ ", look::WARN);
    let mut lines = Line::new("? ", look::WARN)
        .with(&clean_line(&call.summary), look::BOLD)
        .wrap(width, &none, &indent);
    let rows: Vec<Line> = call
        .exact
        .iter()
        .flat_map(|(name, value)| {
            let name = clean_line(name);
            clean(value)
                .lines()
                .enumerate()
                .flat_map(|(at, line)| {
                    let line = without_tabs(line);
                    let line = match at {
                        0 => Line::new(format!("{name}: "), look::DIM).with(&line, look::PLAIN),
                        _ => Line::new(line, look::PLAIN),
                    };
                    line.wrap(width, &bar, &bar)
                })
                .collect::<Vec<_>>()
        })
        .collect();
    let hidden = rows.len().saturating_sub(MOST_ROWS);
    // The end of a long command matters as much as its beginning: neither is hidden.
    if hidden > 0 {
        let half = MOST_ROWS / 2;
        lines.extend(rows[..half].iter().cloned());
        lines.push(bar.with(&format!("… {hidden} more rows"), look::WARN));
        lines.extend(rows[rows.len() - half..].iter().cloned());
    } else {
        lines.extend(rows);
    }
    if !call.why.trim().is_empty() {
        let why = Line::new(clean_line(&call.why), look::DIM);
        lines.extend(why.wrap(width, &indent, &indent));
    }
    if let Some(passage) = &call.passage {
        let told = Line::new("from outside: ", look::WARN)
            .with(&clean_line(&passage.before), look::DIM)
            .with(&clean_line(&passage.marked), look::WARN.bold())
            .with(&clean_line(&passage.after), look::DIM);
        lines.extend(told.wrap(width, &indent, &indent));
    }
    lines
}

/// What was asked about, to be kept in the conversation.
fn in_a_line(question: &Question) -> String {
    let calls = question.calls.iter().map(|call| {
        let exact: Vec<&str> = call.exact.iter().map(|(_, value)| value.as_str()).collect();
        format!("{} {}", call.tool, clean_line(&exact.join(" ")))
    });
    calls.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant, SystemTime};

    use chela_core::ContentHash;
    use chela_guard::approval::{Asking, Hand};
    use chela_tools::{Answer, Approver};

    use super::{AskedCall, Question, Questions, Scope};
    use crate::chat::ink::Line;
    use crate::chat::relay::{News, Relay};

    fn question(id: &str) -> Question {
        question_about(id, "rm -rf build\u{1b}[8m; curl evil")
    }

    fn question_about(id: &str, command: &str) -> Question {
        let call = AskedCall {
            tool: "exec".to_owned(),
            summary: "Run a command".to_owned(),
            exact: vec![("command".to_owned(), command.to_owned())],
            why: "`rm` is not on the list".to_owned(),
            passage: None,
            shape: ContentHash::of("x"),
        };
        let asking = Asking {
            id,
            now: SystemTime::UNIX_EPOCH,
            lasts: Duration::from_secs(60),
        };
        Question::new(vec![call], asking)
    }

    /// Asks `question` and answers with `with`.
    fn asked(question: &Question, with: impl FnOnce(&mut Questions, Instant)) -> Answer {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (relay, mut news) = Relay::new();
            let answer = relay.ask(question);
            let Some(News::Question(asked)) = news.recv().await else {
                panic!("no question came");
            };
            let mut questions = Questions::default();
            let now = Instant::now();
            questions.add(asked, now);
            with(&mut questions, now);
            drop(questions);
            answer.await
        })
    }

    #[test]
    fn what_is_shown_is_exact_and_harmless() {
        asked(&question("a1"), |questions, _| {
            let lines: Vec<String> = questions.lines(60).iter().map(Line::text).collect();
            assert_eq!(
                lines,
                [
                    "? Run a command",
                    "  │ command: rm -rf build; curl evil",
                    "  `rm` is not on the list",
                    "  y once   s this session   a always   n no   (a1)",
                ]
            );
        });
    }

    #[test]
    fn a_reflex_is_no_answer_and_a_key_is() {
        let answer = asked(&question("a1"), |questions, now| {
            assert_eq!(questions.key("y", now), None);
            let later = now + Duration::from_secs(1);
            let approval = questions.key("y", later).unwrap();
            assert_eq!(questions.key("x", later), None);
            questions.answer(None, approval, later).unwrap();
        });
        assert_eq!((answer.scope, answer.by), (Scope::Once, Hand::Owner));
    }

    #[test]
    fn an_id_must_fit_and_silence_is_no_yes() {
        let answer = asked(&question("a1"), |questions, now| {
            assert!(questions.answer(Some("b2"), Scope::Once, now).is_none());
        });
        assert_eq!(answer.by, Hand::Nobody);
        let answer = asked(&question("a1"), |questions, now| {
            questions.answer(Some("a1"), Scope::Deny, now).unwrap();
        });
        assert_eq!((answer.scope, answer.by), (Scope::Deny, Hand::Owner));
    }

    #[test]
    fn the_ends_of_a_long_command_are_never_hidden() {
        let steps: String = (1..=40).map(|n| format!("step {n}\n")).collect();
        let long = question_about("a1", &steps);
        asked(&long, |questions, _| {
            let text: Vec<String> = questions.lines(60).iter().map(Line::text).collect();
            let text = text.join("\n");
            assert!(
                text.contains("step 1\n") && text.contains("step 40"),
                "{text}"
            );
            assert!(
                text.contains("28 more rows") && text.lines().count() < 20,
                "{text}"
            );
        });
    }
}
