//! Deciding who is described, how long, and who is only named.

use chela_core::tokens;

use super::{CLOSE, ListingReport, ListingRequest, OPEN, names};
use crate::skill::{MAX_DESCRIPTION_CHARS, Skill};

/// Shorter than this a description says nothing; better none.
const SHORTEST_CAP: usize = 40;

/// What becomes of each skill.
pub(super) struct ListingPlan<'a> {
    skills: &'a [&'a Skill],
    fates: Vec<Fate>,
    cap: usize,
    /// What the frames around groups of names cost, should there be any.
    frames: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Described,
    Named,
    LeftOut,
}

/// How much the list may hold.
#[derive(Clone, Copy)]
enum Budget {
    Chars(usize),
    Tokens(usize),
}

impl<'a> ListingPlan<'a> {
    pub(super) fn make(request: &ListingRequest<'a>) -> Self {
        let limits = request.limits;
        let budget = match limits.max_skills_prompt_tokens {
            Some(limit) => Budget::Tokens(limit),
            None => Budget::Chars(limits.max_skills_prompt_chars),
        };
        let order = by_importance(request);
        let mut plan = Self {
            fates: vec![Fate::Named; request.skills.len()],
            cap: usize::MAX,
            frames: names::frame_chars(request.skills),
            skills: request.skills,
        };
        let mut per_source = std::collections::HashMap::new();
        for at in order.iter().take(limits.max_skills_in_prompt) {
            let Some(skill) = request.skills.get(*at) else {
                continue;
            };
            let of_source = per_source.entry(&skill.source).or_insert(0usize);
            if *of_source < limits.max_skills_loaded_per_source {
                *of_source += 1;
                plan.set_fate(*at, Fate::Described);
            }
        }
        plan.fit(&order, budget);
        plan
    }

    fn fit(&mut self, order: &[usize], budget: Budget) {
        if self.fits(budget) {
            return;
        }
        self.cap = largest(SHORTEST_CAP, MAX_DESCRIPTION_CHARS * 2, |cap| {
            self.with_cap(cap).fits(budget)
        })
        .unwrap_or(SHORTEST_CAP);
        if self.fits(budget) {
            return;
        }
        // Names first, then as many short descriptions as there is room for.
        let described: Vec<usize> = order
            .iter()
            .copied()
            .filter(|at| self.fates.get(*at) == Some(&Fate::Described))
            .collect();
        let kept = largest(0, described.len(), |kept| {
            self.with_described(&described, kept).fits(budget)
        });
        *self = self.with_described(&described, kept.unwrap_or(0));
        if kept.is_some() {
            return;
        }
        let listed = largest(0, order.len(), |listed| {
            self.with_listed(order, listed).fits(budget)
        });
        *self = self.with_listed(order, listed.unwrap_or(0));
    }

    fn with_cap(&self, cap: usize) -> Self {
        Self {
            fates: self.fates.clone(),
            cap,
            frames: self.frames,
            skills: self.skills,
        }
    }

    /// Only the first `kept` of these stay described.
    fn with_described(&self, described: &[usize], kept: usize) -> Self {
        let mut plan = self.with_cap(self.cap);
        for at in described.iter().skip(kept) {
            plan.set_fate(*at, Fate::Named);
        }
        plan
    }

    fn set_fate(&mut self, at: usize, fate: Fate) {
        if let Some(of_skill) = self.fates.get_mut(at) {
            *of_skill = fate;
        }
    }

    /// Only the first `listed` of all stay in the list.
    fn with_listed(&self, order: &[usize], listed: usize) -> Self {
        let mut plan = self.with_cap(self.cap);
        for at in order.iter().skip(listed) {
            plan.set_fate(*at, Fate::LeftOut);
        }
        plan
    }

    fn fits(&self, budget: Budget) -> bool {
        match budget {
            Budget::Chars(limit) => self.chars() <= limit,
            Budget::Tokens(limit) => tokens::count_at_most(&self.render(), limit).is_some(),
        }
    }

    /// The length of the list, at most. Counting without writing keeps the search cheap.
    fn chars(&self) -> usize {
        let mut sum = OPEN.len() + CLOSE.len();
        let mut any_named = false;
        for (skill, fate) in self.skills.iter().zip(&self.fates) {
            match fate {
                Fate::Described => sum += skill.shown.chars_at(self.cap),
                Fate::Named => {
                    any_named = true;
                    sum += names::name_chars(&skill.shown);
                }
                Fate::LeftOut => {}
            }
        }
        if any_named { sum + self.frames } else { sum }
    }

    pub(super) fn render(&self) -> String {
        let mut text = String::with_capacity(self.chars() + 64);
        text.push_str(OPEN);
        for (skill, fate) in self.skills.iter().zip(&self.fates) {
            if *fate == Fate::Described {
                skill.shown.write(&mut text, self.cap);
            }
        }
        let fates = self.skills.iter().zip(&self.fates);
        let named = fates.filter(|(_, fate)| **fate == Fate::Named);
        names::write_groups(&mut text, named.map(|(skill, _)| *skill));
        text.push_str(CLOSE);
        text
    }

    pub(super) fn report(&self) -> ListingReport {
        let mut report = ListingReport::default();
        let mut longest = 0;
        for (skill, fate) in self.skills.iter().zip(&self.fates) {
            let names = match fate {
                Fate::Described => {
                    longest = longest.max(skill.shown.description_chars);
                    &mut report.described
                }
                Fate::Named => &mut report.names_only,
                Fate::LeftOut => &mut report.left_out,
            };
            names.push(skill.name.clone());
        }
        report.description_cap = (longest > self.cap).then_some(self.cap);
        report
    }
}

/// Workspace skills first, then the most used, then the most recently written; names decide only
/// what nothing else does.
fn by_importance(request: &ListingRequest<'_>) -> Vec<usize> {
    let weight = |skill: &&Skill| request.uses.weight(&skill.name, request.now);
    let weighed = request.skills.iter().map(|skill| (skill, weight(skill)));
    let mut order: Vec<(usize, (&&Skill, f64))> = weighed.enumerate().collect();
    order.sort_by(|(_, (x, x_weight)), (_, (y, y_weight))| {
        let workspace = y.source.is_workspace().cmp(&x.source.is_workspace());
        workspace
            .then_with(|| y_weight.total_cmp(x_weight))
            .then_with(|| y.level.cmp(&x.level))
            .then_with(|| y.modified.cmp(&x.modified))
            .then_with(|| x.name.cmp(&y.name))
    });
    order.into_iter().map(|(at, _)| at).collect()
}

/// The largest number from `low` to `high` for which something holds, when it holds for all
/// smaller ones too.
fn largest(low: usize, high: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    if !holds(low) {
        return None;
    }
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if holds(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Some(low)
}
