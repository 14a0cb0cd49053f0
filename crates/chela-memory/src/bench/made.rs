//! What is measured with questions made from those of a set: dates, slips of the finger, and
//! questions asked of the wrong notes.

use chela_core::ContentHash;

use super::dates::questions_about;
use super::figures::Sums;
use super::runner::{BenchError, BenchIndex, BenchRequest, is_held_out};
use super::sets::Question;
use crate::search::{AnswerEvidence, HitConfidence, IndexSearcher};

/// A group, its index and its questions.
pub type BuiltGroup<'s> = (&'s str, BenchIndex, Vec<&'s Question>);

/// Figures of questions that were made. `None` where a set has nothing to make them from.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct MadeFigures {
    /// Of what is shown for questions that name days, the share that is of those days.
    pub right_days: Option<f64>,
    pub date_questions: usize,
    /// Recall within the default budget with one slip in each question.
    pub recall_with_slip: Option<f64>,
    /// Of questions asked of the right and of the wrong notes, the share whose confidence says so;
    /// those of the wrong notes by themselves; and the same for what no weight was chosen by.
    pub confidence_right: Option<f64>,
    pub confidence_wrong_notes: Option<f64>,
    pub confidence_held_out: Option<f64>,
    #[serde(skip)]
    pub asked: Vec<AskedConfidence>,
}

/// At most so many days of a group are asked about, and every so many questions asked elsewhere.
const MOST_DAYS: usize = 6;
const EVERY: u8 = 2;

pub fn measure(
    groups: &[BuiltGroup<'_>],
    request: &BenchRequest<'_>,
) -> Result<MadeFigures, BenchError> {
    let (right_days, date_questions) = dates(groups, request)?;
    let confidence = wrong_notes(groups, request)?;
    Ok(MadeFigures {
        right_days,
        date_questions,
        recall_with_slip: slips(groups, request)?,
        confidence_right: confidence.share(|_| true),
        confidence_wrong_notes: confidence.share(|asked| !asked.fits),
        confidence_held_out: confidence.share(|asked| asked.held_out),
        asked: confidence.0,
    })
}

fn dates(
    groups: &[BuiltGroup<'_>],
    request: &BenchRequest<'_>,
) -> Result<(Option<f64>, usize), BenchError> {
    let (mut sum, mut asked) = (0.0, 0);
    for (name, index, _) in groups {
        let days = index.days()?;
        let mut searcher = IndexSearcher::default();
        let step = (days.len() / MOST_DAYS).max(1);
        for (number, day) in days.iter().step_by(step).take(MOST_DAYS).enumerate() {
            for question in questions_about(*day, "I", number + name.len()) {
                let (_, shown) =
                    index.ask(&mut searcher, (&question.text, question.today), request)?;
                let right = shown
                    .iter()
                    .filter(|excerpt| excerpt.date.is_some_and(|day| question.right.contains(day)))
                    .count();
                sum += right as f64 / shown.len().max(1) as f64;
                asked += 1;
            }
        }
    }
    Ok(((asked > 0).then(|| sum / asked as f64), asked))
}

fn slips(groups: &[BuiltGroup<'_>], request: &BenchRequest<'_>) -> Result<Option<f64>, BenchError> {
    let mut sums = Sums::default();
    let mut asked = 0;
    for (_, index, questions) in groups {
        let mut searcher = IndexSearcher::default();
        for question in questions {
            let Some(text) = with_slip(&question.text) else {
                continue;
            };
            let question = Question {
                text,
                group: question.group.clone(),
                gold: question.gold.clone(),
                grades: question.grades.clone(),
            };
            sums.add(&index.answer(&mut searcher, &question, request)?, &question);
            asked += 1;
        }
    }
    Ok((asked > 0).then(|| sums.figures().recall_in_4200))
}

/// A question with two letters of its longest word swapped, or one left out.
fn with_slip(question: &str) -> Option<String> {
    let word = question
        .split(|c: char| !c.is_ascii_alphabetic())
        .filter(|word| word.len() >= 5 && word.chars().all(|c| c.is_ascii_lowercase()))
        .max_by_key(|word| word.len())?;
    let seed = usize::from(*ContentHash::of(question).as_bytes().first()?);
    let at = 1 + seed % (word.len() - 2);
    let mut letters: Vec<char> = word.chars().collect();
    match seed % 2 {
        0 if letters[at] != letters[at + 1] => letters.swap(at, at + 1),
        _ => drop(letters.remove(at)),
    }
    Some(question.replacen(word, &letters.into_iter().collect::<String>(), 1))
}

/// A question asked of the right or of the wrong notes, and what was said of the answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AskedConfidence {
    pub fits: bool,
    pub said: bool,
    pub held_out: bool,
    pub evidence: AnswerEvidence,
}

#[derive(Default)]
struct ConfidenceFigures(Vec<AskedConfidence>);

impl ConfidenceFigures {
    /// The share that was right, over both kinds alike.
    fn share(&self, of: impl Fn(&AskedConfidence) -> bool) -> Option<f64> {
        let rate = |fits: bool| {
            let asked: Vec<&AskedConfidence> = self
                .0
                .iter()
                .filter(|asked| asked.fits == fits && of(asked))
                .collect();
            let right = asked
                .iter()
                .filter(|asked| asked.said == asked.fits)
                .count();
            (!asked.is_empty()).then(|| right as f64 / asked.len() as f64)
        };
        match (rate(true), rate(false)) {
            (Some(fitting), Some(wrong)) => Some((fitting + wrong) / 2.0),
            (one, other) => one.or(other),
        }
    }
}

fn wrong_notes(
    groups: &[BuiltGroup<'_>],
    request: &BenchRequest<'_>,
) -> Result<ConfidenceFigures, BenchError> {
    let mut figures = ConfidenceFigures::default();
    if groups.len() < 2 {
        return Ok(figures);
    }
    for (at, (name, index, questions)) in groups.iter().enumerate() {
        let (_, other, _) = &groups[(at + 1) % groups.len()];
        for (index, fits) in [(index, true), (other, false)] {
            let mut searcher = IndexSearcher::default();
            for question in questions
                .iter()
                .filter(|question| is_chosen(&question.text))
            {
                let (answer, _) =
                    index.ask(&mut searcher, (&question.text, index.today), request)?;
                figures.0.push(AskedConfidence {
                    fits,
                    said: answer.confidence == HitConfidence::High,
                    held_out: is_held_out(name),
                    evidence: answer.evidence,
                });
            }
        }
    }
    Ok(figures)
}

fn is_chosen(question: &str) -> bool {
    let hash = ContentHash::of(question);
    hash.as_bytes().get(1).is_some_and(|byte| byte % EVERY == 0)
}
