//! The measures.

use std::collections::HashSet;

use super::runner::{BUDGETS, Shown};
use super::sets::Question;

/// Means over questions.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct Figures {
    pub recall_at_5: f64,
    pub recall_at_6: f64,
    pub recall_at_10: f64,
    pub mrr: f64,
    pub ndcg_at_10: f64,
    pub recall_in_1500: f64,
    pub recall_in_4200: f64,
    pub recall_in_8400: f64,
}

#[derive(Debug, Default)]
pub struct Sums {
    questions: usize,
    sums: Figures,
}

impl Sums {
    /// Adds a question; returns how much of what it asks for is within the default budget.
    pub fn add(&mut self, shown: &Shown, question: &Question) -> f64 {
        self.questions += 1;
        let gold: HashSet<&str> = question.gold.iter().map(String::as_str).collect();
        if gold.is_empty() {
            return 0.0;
        }
        let share = |places: &mut dyn Iterator<Item = &String>| {
            let met: HashSet<&str> = places
                .map(String::as_str)
                .filter(|place| gold.contains(place))
                .collect();
            met.len() as f64 / gold.len() as f64
        };
        let recall = |k: usize| share(&mut shown.results.iter().take(k).flatten());
        self.sums.recall_at_5 += recall(5);
        self.sums.recall_at_6 += recall(6);
        self.sums.recall_at_10 += recall(10);
        let first = shown
            .results
            .iter()
            .position(|places| places.iter().any(|p| gold.contains(p.as_str())));
        self.sums.mrr += first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
        self.sums.ndcg_at_10 += ndcg(shown, question);
        let within = |at: usize| share(&mut shown.within[at].iter());
        self.sums.recall_in_1500 += within(0);
        self.sums.recall_in_4200 += within(1);
        self.sums.recall_in_8400 += within(2);
        const { assert!(BUDGETS.len() == 3) };
        within(1)
    }

    pub fn figures(&self) -> Figures {
        let of = |sum: f64| sum / self.questions.max(1) as f64;
        Figures {
            recall_at_5: of(self.sums.recall_at_5),
            recall_at_6: of(self.sums.recall_at_6),
            recall_at_10: of(self.sums.recall_at_10),
            mrr: of(self.sums.mrr),
            ndcg_at_10: of(self.sums.ndcg_at_10),
            recall_in_1500: of(self.sums.recall_in_1500),
            recall_in_4200: of(self.sums.recall_in_4200),
            recall_in_8400: of(self.sums.recall_in_8400),
        }
    }
}

/// Gain of a place is its grade, 1 without grades; a place counts where it is first shown.
fn ndcg(shown: &Shown, question: &Question) -> f64 {
    let grade = |place: &str| question.grades.get(place).copied().unwrap_or(1.0);
    let discount = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
    let gold: HashSet<&str> = question.gold.iter().map(String::as_str).collect();
    let mut met: HashSet<&str> = HashSet::new();
    let mut gained = 0.0;
    for (rank, places) in shown.results.iter().take(10).enumerate() {
        for place in places.iter().map(String::as_str) {
            if gold.contains(place) && met.insert(place) {
                gained += grade(place) * discount(rank);
            }
        }
    }
    let mut grades: Vec<f64> = gold.iter().map(|place| grade(place)).collect();
    grades.sort_by(|a, b| b.total_cmp(a));
    let ideal: f64 = grades
        .iter()
        .take(10)
        .enumerate()
        .map(|(rank, g)| g * discount(rank))
        .sum();
    if ideal > 0.0 {
        (gained / ideal).min(1.0)
    } else {
        0.0
    }
}
