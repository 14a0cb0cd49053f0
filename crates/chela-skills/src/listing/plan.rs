//! Deciding who is described, how long, and who is only named.

use std::collections::HashSet;

use chela_core::tokens;

use super::groups::{self, CLOSE, OPEN};
use super::{ListingReport, ListingRequest};
use crate::settings::SkillRanking;
use crate::skill::{MAX_DESCRIPTION_CHARS, Skill};

/// What is said of skills that are not in the list.
const MORE: &str = include_str!("more.md");
/// Shorter than this a description does not say when to use a skill: better by relevance.
const LEAST_CAP: usize = 160;
/// Shorter than this it says nothing at all.
const SHORTEST_CAP: usize = 40;
/// The tokens of a list that does not describe everything.
const PARTIAL_TOKENS: usize = 2_800;
/// The longest description in such a list.
const PARTIAL_CAP: usize = 300;
/// The share of it that goes to descriptions where not even all names fit, in percent.
const DESCRIBED_SHARE: usize = 40;

/// What becomes of each skill.
#[derive(Clone)]
pub(super) struct ListingPlan<'a> {
    skills: &'a [&'a Skill],
    fates: Vec<SkillFate>,
    cap: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SkillFate {
    Described,
    Named,
    LeftOut,
}

/// How much the list may hold.
#[derive(Clone, Copy)]
enum ListingBudget {
    Chars(usize),
    Tokens(usize),
}

impl<'a> ListingPlan<'a> {
    pub(super) fn make(request: &ListingRequest<'a>) -> Self {
        let limits = request.limits;
        let budget = match limits.max_skills_prompt_tokens {
            Some(limit) => ListingBudget::Tokens(limit),
            None => ListingBudget::Chars(limits.max_skills_prompt_chars),
        };
        let order = by_importance(request);
        let mut plan = Self {
            fates: vec![SkillFate::Named; request.skills.len()],
            cap: usize::MAX,
            skills: request.skills,
        };
        for at in plan.describable(&order, request) {
            plan.set_fate(at, SkillFate::Described);
        }
        let all = !plan.fates.contains(&SkillFate::Named);
        match request.ranking {
            SkillRanking::Stable => plan.fit(&order, budget),
            SkillRanking::Auto if all && plan.shorten(LEAST_CAP, budget) => {}
            SkillRanking::Auto => plan.become_partial(&order, budget),
            SkillRanking::Relevance => {
                plan.fates.fill(SkillFate::Named);
                plan.become_partial(&order, budget);
            }
        }
        plan
    }

    /// The skills that may be described, by their importance.
    fn describable(&self, order: &[usize], request: &ListingRequest<'_>) -> Vec<usize> {
        let limits = request.limits;
        let of_source = limits.max_skills_loaded_per_source.unwrap_or(usize::MAX);
        let mut per_source = std::collections::HashMap::new();
        let mut found = Vec::new();
        for at in order.iter().take(limits.max_skills_in_prompt) {
            let Some(skill) = self.skills.get(*at) else {
                continue;
            };
            let count = per_source.entry(&skill.source).or_insert(0usize);
            if *count < of_source {
                *count += 1;
                found.push(*at);
            }
        }
        found
    }

    /// Cuts all descriptions to one length, no shorter than `least`; false when that is not enough.
    fn shorten(&mut self, least: usize, budget: ListingBudget) -> bool {
        if self.fits(budget) {
            return true;
        }
        let with_cap = |cap| Self {
            cap,
            ..self.clone()
        };
        let cap = largest(least, MAX_DESCRIPTION_CHARS * 2, |cap| {
            with_cap(cap).fits(budget)
        });
        self.cap = cap.unwrap_or(least);
        cap.is_some()
    }

    /// Everything in the list as long as anything fits: first shorter descriptions, then fewer, then
    /// fewer names.
    fn fit(&mut self, order: &[usize], budget: ListingBudget) {
        if self.shorten(SHORTEST_CAP, budget) {
            return;
        }
        let is_described = |at: &usize| self.fates.get(*at) == Some(&SkillFate::Described);
        let described: Vec<usize> = order.iter().copied().filter(is_described).collect();
        let kept = largest(0, described.len(), |kept| {
            self.beyond(&described, kept, SkillFate::Named).fits(budget)
        });
        *self = self.beyond(&described, kept.unwrap_or(0), SkillFate::Named);
        if kept.is_some() {
            return;
        }
        let listed = largest(0, order.len(), |listed| {
            self.beyond(order, listed, SkillFate::LeftOut).fits(budget)
        });
        *self = self.beyond(order, listed.unwrap_or(0), SkillFate::LeftOut);
    }

    /// All but the first `kept` of these have another fate.
    fn beyond(&self, order: &[usize], kept: usize, fate: SkillFate) -> Self {
        let mut plan = self.clone();
        for at in order.iter().skip(kept) {
            plan.set_fate(*at, fate);
        }
        plan
    }

    /// A small list: as many names as fit, and the descriptions there is room for beside them.
    fn become_partial(&mut self, order: &[usize], budget: ListingBudget) {
        let may_describe: Vec<bool> = self
            .fates
            .iter()
            .map(|fate| *fate == SkillFate::Described)
            .collect();
        self.cap = PARTIAL_CAP;
        // Characters are planned with, tokens are held to.
        let mut room = PARTIAL_TOKENS * 4;
        loop {
            self.divide(order, &may_describe, room);
            if room == 0 || (self.fits(budget) && self.fits(ListingBudget::Tokens(PARTIAL_TOKENS)))
            {
                return;
            }
            room = room * 9 / 10;
        }
    }

    /// Gives out `room` characters.
    fn divide(&mut self, order: &[usize], may_describe: &[bool], room: usize) {
        self.fates.fill(SkillFate::LeftOut);
        let all_names = self.names_chars(order);
        let mut left = room.saturating_sub(OPEN.len() + CLOSE.len());
        let mut frames: HashSet<&str> = HashSet::new();
        let for_descriptions = match left.checked_sub(all_names) {
            Some(beside) => beside,
            None => {
                left = left.saturating_sub(MORE.len() + 32);
                left * DESCRIBED_SHARE / 100
            }
        };
        let all_fit = left >= all_names;
        let mut described = 0;
        for at in order {
            let Some(skill) = self.skills.get(*at) else {
                continue;
            };
            let shown = &skill.shown;
            let frame = match frames.contains(shown.group.as_str()) {
                true => 0,
                false => groups::frame_chars(&shown.group),
            };
            let (name, line) = (shown.name_chars() + 1, shown.line_chars(self.cap));
            // Where all names fit they are paid for already.
            let more = if all_fit { line - name } else { frame + line };
            let describes = may_describe.get(*at) == Some(&true);
            let fate = if describes && described + more <= for_descriptions {
                described += more;
                SkillFate::Described
            } else {
                SkillFate::Named
            };
            let cost = match fate {
                SkillFate::Described => frame + line,
                _ => frame + name,
            };
            let Some(rest) = left.checked_sub(cost) else {
                if all_fit {
                    self.set_fate(*at, SkillFate::Named);
                }
                continue;
            };
            left = rest;
            frames.insert(shown.group.as_str());
            self.set_fate(*at, fate);
        }
    }

    /// What all skills cost by name alone.
    fn names_chars(&self, order: &[usize]) -> usize {
        let mut frames: HashSet<&str> = HashSet::new();
        let skills = order.iter().filter_map(|at| self.skills.get(*at));
        skills
            .map(|skill| {
                let group = skill.shown.group.as_str();
                let frame = match frames.insert(group) {
                    true => groups::frame_chars(group),
                    false => 0,
                };
                frame + skill.shown.name_chars() + 1
            })
            .sum()
    }

    fn set_fate(&mut self, at: usize, fate: SkillFate) {
        if let Some(of_skill) = self.fates.get_mut(at) {
            *of_skill = fate;
        }
    }

    fn fits(&self, budget: ListingBudget) -> bool {
        match budget {
            ListingBudget::Chars(limit) => self.chars() <= limit,
            ListingBudget::Tokens(limit) => tokens::count_at_most(&self.render(), limit).is_some(),
        }
    }

    /// The length of the list, at most. Counting without writing keeps the search cheap.
    fn chars(&self) -> usize {
        let mut sum = OPEN.len() + CLOSE.len();
        let mut frames: HashSet<&str> = HashSet::new();
        for (skill, fate) in self.skills.iter().zip(&self.fates) {
            let shown = &skill.shown;
            sum += match fate {
                SkillFate::Described => shown.line_chars(self.cap),
                SkillFate::Named => shown.name_chars() + 1,
                SkillFate::LeftOut => continue,
            };
            if frames.insert(shown.group.as_str()) {
                sum += groups::frame_chars(&shown.group);
            }
        }
        sum + self.more().len()
    }

    /// The line about what is not in the list; empty when nothing is left out.
    fn more(&self) -> String {
        let left_out = self.fates.iter();
        match left_out.filter(|fate| **fate == SkillFate::LeftOut).count() {
            0 => String::new(),
            count => {
                let said = MORE.trim().replace("{{count}}", &count.to_string());
                format!("<more>{said}</more>\n")
            }
        }
    }

    pub(super) fn render(&self) -> String {
        let mut text = String::with_capacity(self.chars() + 64);
        text.push_str(OPEN);
        let fates = self.skills.iter().zip(&self.fates);
        let shown = fates.filter_map(|(skill, fate)| match fate {
            SkillFate::Described => Some((*skill, Some(self.cap))),
            SkillFate::Named => Some((*skill, None)),
            SkillFate::LeftOut => None,
        });
        groups::write(&mut text, shown);
        text.push_str(&self.more());
        text.push_str(CLOSE);
        text
    }

    pub(super) fn report(&self) -> ListingReport {
        let mut report = ListingReport::default();
        let mut longest = 0;
        for (skill, fate) in self.skills.iter().zip(&self.fates) {
            let names = match fate {
                SkillFate::Described => {
                    longest = longest.max(skill.shown.description_chars);
                    &mut report.described
                }
                SkillFate::Named => &mut report.names_only,
                SkillFate::LeftOut => &mut report.left_out,
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
