//! The numbers ranking turns on. Found on half of the groups of the benchmark sets.

use crate::embed::VectorGrasp;

/// See each field; all are added to scores between 0 and 1.
#[derive(Debug, Clone, PartialEq)]
pub struct RankWeights {
    /// How fast saying a word again stops counting, for short units and for long ones.
    pub k1: f32,
    pub k1_long: f32,
    /// How much longer texts are held back, for short units and for long ones.
    pub b: f32,
    pub b_long: f32,
    /// The share of the vectors of a table, and of those of a network: the better they are, the
    /// more they may say.
    pub table: VectorShares,
    pub network: VectorShares,
    /// What the unit before and after say counts for the one between: answers follow questions.
    pub before: f32,
    /// Of a question before it.
    pub before_answer: f32,
    pub after: f32,
    /// The same for their meaning.
    pub meant_before: f32,
    pub meant_after: f32,
    /// A unit in a section about the subject is likelier to be meant.
    pub section: f32,
    /// In conversations with an assistant, what the user said, and what of it is a standing wish.
    pub said_by_user: f32,
    pub wish: f32,
    /// Said by someone the question names.
    pub named_speaker: f32,
    /// Of MEMORY.md or USER.md.
    pub core: f32,
    /// Tells a time, or a number, where the question asks for one.
    pub tells_time: f32,
    pub tells_number: f32,
    /// A question answers nothing.
    pub only_asks: f32,
    /// What its writer marked as important; like recency it breaks ties.
    pub importance: f32,
    /// A unit of the day that was asked for.
    pub asked_day: f32,
    /// Where nothing of the asked days has so much of the question, so many of others may be shown
    /// that have more.
    pub enough_coverage: f32,
    /// What tells of the asked days is shown when it has this share of the most that is of them.
    pub telling_coverage: f32,
    pub from_other_days: usize,
    pub forms: FormWeights,
    /// A name in more than this share of the chunks tells nothing apart.
    pub common_name: f32,
    /// How many are looked at more closely, and how many where a subject is asked for.
    pub closer: usize,
    pub closer_subject: usize,
    /// Terms of the question in the text; the second where a subject is asked for.
    pub coverage: f32,
    pub coverage_subject: f32,
    pub pairs: f32,
    /// Like words: in questions about code; in others, of entries and of pages; where a subject is
    /// asked for.
    pub soft: f32,
    pub soft_prose: f32,
    pub soft_pages: f32,
    pub soft_subject: f32,
    /// A question of more terms than this begins to describe a subject.
    pub subject_from: f32,
    pub phrase: f32,
    /// Words of the question near each other in the text.
    pub close: f32,
    /// Words of the question in the first line of a text of several lines: its title.
    pub title: f32,
    /// Agreement with the best candidates, in words and in meaning.
    pub agreed_words: f32,
    pub agreed_meaning: f32,
}

/// How surely another form is the word that was meant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FormWeights {
    /// It begins with it.
    pub begins: f32,
    pub one_slip: f32,
    pub two_slips: f32,
    /// Two words of the question in one.
    pub joined: f32,
    /// A word of another language for the same.
    pub meaning: f32,
    /// A part of it.
    pub part: f32,
}

/// The share of the vectors in a score, by kind of question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VectorShares {
    pub prose: f32,
    /// For prose asked of pages rather than entries.
    pub pages: f32,
    pub names: f32,
    pub code: f32,
    /// How much the closer look at the words adds for code. A network has read them already.
    pub look_at_code: f32,
}

impl RankWeights {
    /// The shares that suit a model.
    pub fn shares(&self, grasp: VectorGrasp) -> VectorShares {
        match grasp {
            VectorGrasp::Words => self.table,
            VectorGrasp::Sentences => self.network,
        }
    }

    /// How many candidates are looked at more closely.
    pub fn looked_at(&self, subject: f32) -> usize {
        match subject > 0.0 {
            true => self.closer_subject,
            false => self.closer,
        }
    }
}

impl Default for RankWeights {
    fn default() -> Self {
        Self {
            k1: 1.2,
            k1_long: 1.6,
            b: 0.4,
            b_long: 0.75,
            table: VectorShares {
                prose: 0.5,
                pages: 0.4,
                names: 0.3,
                code: 0.7,
                look_at_code: 1.0,
            },
            network: VectorShares {
                prose: 0.6,
                pages: 0.4,
                names: 0.3,
                code: 0.95,
                look_at_code: 0.3,
            },
            before: 0.25,
            before_answer: 0.5,
            meant_before: 0.0,
            meant_after: 0.1,
            after: 0.1,
            section: 0.5,
            said_by_user: 0.4,
            wish: 0.2,
            named_speaker: 0.4,
            core: 0.1,
            tells_time: 0.15,
            tells_number: 0.1,
            only_asks: -0.1,
            importance: 0.05,
            asked_day: 0.5,
            enough_coverage: 0.6,
            telling_coverage: 0.7,
            from_other_days: 4,
            forms: FormWeights {
                begins: 0.5,
                one_slip: 0.8,
                two_slips: 0.6,
                joined: 0.9,
                meaning: 0.7,
                part: 0.6,
            },
            common_name: 0.2,
            closer: 40,
            closer_subject: 100,
            coverage: 0.2,
            coverage_subject: 0.0,
            pairs: 0.3,
            soft: 0.4,
            soft_prose: 0.0,
            soft_pages: 0.4,
            soft_subject: 0.3,
            subject_from: 3.0,
            phrase: 1.0,
            close: 0.4,
            title: 0.4,
            agreed_words: 0.5,
            agreed_meaning: 0.0,
        }
    }
}
