//! Where a score comes from.

/// What each reason added to a score, in points. Their sum is the score before it is compared with
/// the best one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ScorePoints {
    pub words: f32,
    pub meaning: f32,
    pub section: f32,
    pub recency: f32,
    /// Said by the user of an assistant.
    pub role: f32,
    /// Said by whom the question names.
    pub speaker: f32,
    /// A standing wish.
    pub wish: f32,
    /// Of a file the owner curates.
    pub core: f32,
    /// Tells a time or a number where one is asked for; asks itself.
    pub answers: f32,
    pub importance: f32,
    /// Of the days that were asked for.
    pub date: f32,
    /// From the closer look: terms of the question, terms in a row, like words, quoted words, words
    /// near each other, words of the title, agreement with other good ones.
    pub coverage: f32,
    pub pairs: f32,
    pub soft: f32,
    pub phrase: f32,
    pub close: f32,
    pub title: f32,
    pub agreed: f32,
    /// It says something newer of what a better one says.
    pub newer: f32,
    /// Taken away from what was not looked at more closely, or is older than what replaces it.
    pub behind: f32,
}

impl ScorePoints {
    /// Each reason and its points.
    pub fn all(&self) -> [(&'static str, f32); 20] {
        [
            ("words", self.words),
            ("meaning", self.meaning),
            ("section", self.section),
            ("recency", self.recency),
            ("role", self.role),
            ("speaker", self.speaker),
            ("wish", self.wish),
            ("core", self.core),
            ("answers", self.answers),
            ("importance", self.importance),
            ("date", self.date),
            ("coverage", self.coverage),
            ("pairs", self.pairs),
            ("soft", self.soft),
            ("phrase", self.phrase),
            ("close", self.close),
            ("title", self.title),
            ("agreed", self.agreed),
            ("newer", self.newer),
            ("behind", self.behind),
        ]
    }

    pub fn total(&self) -> f32 {
        self.all().iter().map(|(_, points)| points).sum()
    }
}

/// A score, its points and what they were made of.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ScoreParts {
    pub points: ScorePoints,
    /// BM25, as computed and relative to the best.
    pub bm25: f32,
    pub keyword: f32,
    /// Cosine, as computed and relative to the best and the hundredth.
    pub cosine: f32,
    pub vector: f32,
    /// The share of the question's words that stand there, by their weight.
    pub coverage: f32,
    /// Rank before the closer look, from 1.
    pub first_rank: usize,
}
