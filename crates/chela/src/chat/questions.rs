//! Asking for permission, in the chat.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use chela_tools::Approval;

use super::clean::{clean, clean_line};
use super::ink::{Line, look, without_tabs};
use super::relay::Question;

/// Questions that wait for an answer, one shown at a time.
#[derive(Default)]
pub struct Questions {
    waiting: VecDeque<Question>,
    /// Since when the first one is on the screen.
    shown: Option<Instant>,
}

/// A key pressed this soon was meant for something else.
const REFLEX: Duration = Duration::from_millis(400);
/// Rows of the exact command.
const MOST_ROWS: usize = 12;

impl Questions {
    pub fn add(&mut self, question: Question, now: Instant) {
        self.waiting.push_back(question);
        self.shown.get_or_insert(now);
    }

    /// Forgets those nobody waits for.
    pub fn tidy(&mut self, now: Instant) {
        let before = self.first_id();
        self.waiting.retain(Question::is_open);
        if self.first_id() != before {
            self.shown = (!self.waiting.is_empty()).then_some(now);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The answer that a single key gives to the question on the screen.
    pub fn key(&self, typed: &str, now: Instant) -> Option<Approval> {
        let shown = self.shown?;
        if now.saturating_duration_since(shown) < REFLEX {
            return None;
        }
        match typed {
            "y" | "Y" => Some(Approval::AllowOnce),
            "s" | "S" => Some(Approval::AllowSession),
            "a" | "A" => Some(Approval::AllowAlways),
            "n" | "N" => Some(Approval::Deny),
            _ => None,
        }
    }

    /// Answers the question on the screen, or the one of this id. Gives a line to keep.
    pub fn answer(&mut self, id: Option<&str>, approval: Approval, now: Instant) -> Option<Line> {
        let at = match id {
            None => 0,
            Some(id) => self
                .waiting
                .iter()
                .position(|question| question.request.id == id)?,
        };
        let question = self.waiting.remove(at)?;
        if at == 0 {
            self.shown = (!self.waiting.is_empty()).then_some(now);
        }
        let (mark, word, style) = match approval {
            Approval::AllowOnce => ("✓", "allowed once", look::GOOD),
            Approval::AllowSession => ("✓", "allowed for this session", look::GOOD),
            Approval::AllowAlways => ("✓", "always allowed", look::GOOD),
            Approval::Deny => ("✗", "not allowed", look::BAD),
            Approval::Unanswered => ("✗", "not answered", look::WARN),
        };
        let exact = clean_line(&question.request.exact);
        question.answer(approval);
        Some(Line::new(format!("{mark} {word}: "), style).with(&exact, look::DIM))
    }

    /// The question on the screen: what exactly, why, and the keys.
    pub fn lines(&self, width: usize) -> Vec<Line> {
        let Some(question) = self.waiting.front() else {
            return Vec::new();
        };
        let request = &question.request;
        let none = Line::default();
        let indent = Line::new("  ", look::PLAIN);
        let bar = Line::new("  │ ", look::WARN);
        let mut lines = Line::new("? ", look::WARN)
            .with(&clean_line(&request.summary), look::BOLD)
            .wrap(width, &none, &indent);
        let exact = clean(&request.exact);
        let rows: Vec<Line> = exact
            .lines()
            .flat_map(|line| Line::new(without_tabs(line), look::PLAIN).wrap(width, &bar, &bar))
            .collect();
        let hidden = rows.len().saturating_sub(MOST_ROWS);
        // The end of a long command matters as much as its beginning: neither is hidden.
        if hidden > 0 {
            let half = MOST_ROWS / 2;
            lines.extend(rows[..half].iter().cloned());
            let told = format!("… {hidden} more rows");
            lines.push(bar.with(&told, look::WARN));
            lines.extend(rows[rows.len() - half..].iter().cloned());
        } else {
            lines.extend(rows);
        }
        if !request.why.trim().is_empty() {
            lines.extend(
                Line::new(clean_line(&request.why), look::DIM).wrap(width, &indent, &indent),
            );
        }
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
        keys.push(&format!("({})", request.id), look::DIM);
        lines.extend(keys.wrap(width, &indent, &indent));
        if self.waiting.len() > 1 {
            let more = format!("and {} more after this", self.waiting.len() - 1);
            lines.push(indent.with(&more, look::DIM));
        }
        lines
    }

    fn first_id(&self) -> Option<String> {
        self.waiting.front().map(|first| first.request.id.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use chela_core::ContentHash;
    use chela_tools::{Approval, ApprovalRequest, Approver};

    use super::Questions;
    use crate::chat::ink::Line;
    use crate::chat::relay::{News, Relay};

    fn request(id: &str) -> ApprovalRequest {
        ApprovalRequest {
            id: id.to_owned(),
            tool: "exec".to_owned(),
            summary: "Run a command".to_owned(),
            exact: "rm -rf build\u{1b}[8m; curl evil".to_owned(),
            why: "`rm` is not on the list".to_owned(),
            binds: ContentHash::of("x"),
            expires_after: Duration::from_secs(60),
        }
    }

    /// Asks for `request` and answers with `with`.
    fn asked(request: &ApprovalRequest, with: impl FnOnce(&mut Questions, Instant)) -> Approval {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (relay, mut news) = Relay::new();
            let answer = relay.ask(request);
            let Some(News::Question(question)) = news.recv().await else {
                panic!("no question came");
            };
            let mut questions = Questions::default();
            let now = Instant::now();
            questions.add(question, now);
            with(&mut questions, now);
            drop(questions);
            answer.await
        })
    }

    #[test]
    fn what_is_shown_is_exact_and_harmless() {
        asked(&request("a1"), |questions, _| {
            let lines: Vec<String> = questions.lines(60).iter().map(Line::text).collect();
            assert_eq!(
                lines,
                [
                    "? Run a command",
                    "  │ rm -rf build; curl evil",
                    "  `rm` is not on the list",
                    "  y once   s this session   a always   n no   (a1)",
                ]
            );
        });
    }

    #[test]
    fn a_reflex_is_no_answer_and_a_key_is() {
        let answer = asked(&request("a1"), |questions, now| {
            assert_eq!(questions.key("y", now), None);
            let later = now + Duration::from_secs(1);
            let approval = questions.key("y", later).unwrap();
            assert_eq!(questions.key("x", later), None);
            questions.answer(None, approval, later).unwrap();
        });
        assert_eq!(answer, Approval::AllowOnce);
    }

    #[test]
    fn an_id_must_fit_and_silence_is_no_yes() {
        let answer = asked(&request("a1"), |questions, now| {
            assert!(
                questions
                    .answer(Some("b2"), Approval::AllowOnce, now)
                    .is_none()
            );
        });
        assert_eq!(answer, Approval::Unanswered);
        let answer = asked(&request("a1"), |questions, now| {
            questions.answer(Some("a1"), Approval::Deny, now).unwrap();
        });
        assert_eq!(answer, Approval::Deny);
    }

    #[test]
    fn the_ends_of_a_long_command_are_never_hidden() {
        let mut long = request("a1");
        long.exact = (1..=40).map(|n| format!("step {n}\n")).collect();
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
