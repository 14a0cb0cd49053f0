//! Questions for the owner that are open in turns of this process: every surface may show them,
//! the first answer counts.

use std::collections::BTreeMap;
use std::sync::Mutex;

use chela_agent::prelude::{ApprovalQuestion, OwnerAnswer};
use chela_core::lock;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::json_member::put;

/// The questions that are open now.
#[derive(Default)]
pub struct QuestionBoard(Mutex<BTreeMap<String, PostedQuestion>>);

impl std::fmt::Debug for QuestionBoard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let open = lock(&self.0);
        f.debug_list().entries(open.keys()).finish()
    }
}

struct PostedQuestion {
    question: ApprovalQuestion,
    session: String,
    answer: oneshot::Sender<GivenAnswer>,
}

/// An answer, and the surface it was given on.
#[derive(Debug, Clone)]
pub(crate) struct GivenAnswer {
    pub answer: OwnerAnswer,
    pub by: String,
}

/// Why an answer was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerRefused {
    #[error("no question `{0}` is open here: it was answered, or it lapsed")]
    NotOpen(String),
    #[error("`{word}` is not offered; it can be {offered}")]
    NotOffered { word: String, offered: String },
}

/// Takes a question down when whoever asked does not wait any more.
pub(crate) struct QuestionPost<'a> {
    board: &'a QuestionBoard,
    id: String,
    pub answer: oneshot::Receiver<GivenAnswer>,
}

impl Drop for QuestionPost<'_> {
    fn drop(&mut self) {
        lock(&self.board.0).remove(&self.id);
    }
}

impl QuestionBoard {
    pub(crate) fn post(&self, question: &ApprovalQuestion, session: &str) -> QuestionPost<'_> {
        let (answer, heard) = oneshot::channel();
        let posted = PostedQuestion {
            question: question.clone(),
            session: session.to_owned(),
            answer,
        };
        lock(&self.0).insert(question.id.clone(), posted);
        QuestionPost {
            board: self,
            id: question.id.clone(),
            answer: heard,
        }
    }

    /// Answers a question with one of the words it offers, on a surface of this name. The first
    /// answer counts.
    pub fn answer(&self, id: &str, word: &str, by: &str) -> Result<(), AnswerRefused> {
        let mut open = lock(&self.0);
        let not_open = || AnswerRefused::NotOpen(id.to_owned());
        let posted = open.get(id).ok_or_else(not_open)?;
        let Some(answer) = OwnerAnswer::choosing(word, &posted.question) else {
            let offered = posted.question.choices.iter();
            let offered: Vec<&str> = offered.map(|choice| choice.word.as_str()).collect();
            return Err(AnswerRefused::NotOffered {
                word: word.to_owned(),
                offered: offered.join(", "),
            });
        };
        let posted = open.remove(id).ok_or_else(not_open)?;
        // Whoever asked may have given up this very moment.
        let given = GivenAnswer {
            answer,
            by: by.to_owned(),
        };
        posted.answer.send(given).map_err(|_| not_open())
    }

    /// What is open, as a client is shown it.
    pub fn list(&self) -> Vec<Value> {
        let open = lock(&self.0);
        open.values()
            .map(|posted| question_json(&posted.question, &posted.session))
            .collect()
    }
}

/// A question as a client is shown it: everything that is bound by an answer.
pub fn question_json(question: &ApprovalQuestion, session: &str) -> Value {
    let mut told = serde_json::to_value(question).unwrap_or_else(|error| {
        tracing::error!(%error, "a question cannot be shown whole");
        json!({ "id": question.id })
    });
    put(&mut told, "session", session);
    told
}
