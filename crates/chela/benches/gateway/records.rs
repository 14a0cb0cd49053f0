//! What the transcripts say: each message that was answered stands there once, is answered once,
//! and in its order.

use std::collections::BTreeMap;

use crate::goals::GoalTable;
use crate::load::AnsweredMessages;
use crate::model::MARK;
use crate::served::ServedHome;

#[derive(Debug, Default)]
pub struct RecordCheck {
    sessions: usize,
    messages: usize,
    lost: usize,
    said_twice: usize,
    answered_twice: usize,
    unanswered: usize,
    out_of_order: usize,
}

pub fn check(home: &ServedHome, expected: &AnsweredMessages) -> RecordCheck {
    let mut found = RecordCheck::default();
    for (session, names) in &expected.0 {
        found.sessions += 1;
        let text = home.export(*session);
        let said = names_behind(&text, &format!("Please note {MARK}"));
        let heard = names_behind(&text, &format!("heard {MARK}"));
        let (said_count, heard_count) = (count(&said), count(&heard));
        for name in names {
            found.messages += 1;
            match said_count.get(name) {
                None => found.lost += 1,
                Some(1) => {}
                Some(_) => found.said_twice += 1,
            }
            match heard_count.get(name) {
                None => found.unanswered += 1,
                Some(1) => {}
                Some(_) => found.answered_twice += 1,
            }
        }
        let kept: Vec<&String> = said.iter().filter(|name| names.contains(name)).collect();
        found.out_of_order += usize::from(!kept.into_iter().eq(names.iter()));
    }
    found
}

fn names_behind(text: &str, words: &str) -> Vec<String> {
    let ends = |rest: &str| rest.find(|c: char| !(c.is_ascii_digit() || c == '-'));
    text.split(words)
        .skip(1)
        .map(|rest| format!("{MARK}{}", &rest[..ends(rest).unwrap_or(rest.len())]))
        .collect()
}

fn count(names: &[String]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name.clone()).or_default() += 1;
    }
    counts
}

impl RecordCheck {
    pub fn note(&self, when: &str, goals: &mut GoalTable) {
        for (what, times) in [
            ("messages lost", self.lost),
            ("messages on record twice", self.said_twice),
            ("messages without an answer", self.unanswered),
            ("messages answered twice", self.answered_twice),
        ] {
            goals.never(&format!("{what}, {when}"), times, self.messages);
        }
        let name = format!("sessions out of order, {when}");
        goals.never(&name, self.out_of_order, self.sessions);
    }
}
