//! `gateway.quotas`: how much each agent and each sender may use up in a window of time. What was
//! used is counted from the inbox, so it outlives the process; while it runs, it is known in memory.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use chela_config::model::{BareUnit, GatewayQuotas, QuotaRule};
use chela_core::{AgentId, grouped, lock};
use chela_store::{SqliteRuntimeStore, StoreError};

use crate::work_item::{WorkItem, WorkOutcome, WorkSource, WorkStatus};

/// As far back as the inbox remembers.
const LONGEST_WINDOW: u64 = 7 * 24 * 3_600 * 1_000;

/// Whose use is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum QuotaHolder {
    Agent(AgentId),
    Sender { channel: String, id: String },
}

/// A quota that leaves no room.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{holder} has used {used} of {most} in the last {window} (gateway.quotas); there is room again in {retry_after} s"
)]
pub struct QuotaReached {
    pub holder: String,
    pub used: String,
    pub most: String,
    pub window: String,
    /// Seconds.
    pub retry_after: u64,
}

/// How much somebody used, and may use.
#[derive(Debug, Clone, PartialEq)]
pub struct QuotaStanding {
    pub holder: QuotaHolder,
    pub rule: QuotaRule,
    pub used: QuotaSum,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QuotaSum {
    pub turns: u64,
    pub tokens: u64,
    pub micro_dollars: u64,
}

#[derive(Debug, Clone)]
struct QuotaUse {
    at: u64,
    work: String,
    tokens: u64,
    micro_dollars: u64,
}

/// What was used lately.
#[derive(Debug, Default)]
pub struct QuotaTally(Mutex<HashMap<QuotaHolder, VecDeque<QuotaUse>>>);

impl QuotaTally {
    /// What the inbox remembers, where there are quotas at all.
    pub async fn load(
        quotas: &GatewayQuotas,
        store: &SqliteRuntimeStore,
        now: u64,
    ) -> Result<Self, StoreError> {
        let tally = Self::default();
        if !is_set(&quotas.agent) && !is_set(&quotas.sender) {
            return Ok(tally);
        }
        let since = now.saturating_sub(LONGEST_WINDOW);
        for message in store.accepted_since(since).await? {
            let Ok(item) = serde_json::from_str::<WorkItem>(&message.body) else {
                continue;
            };
            tally.add(&item, message.accepted);
            if let Some(outcome) = message.outcome {
                tally.settle(&item, &WorkOutcome::read(&outcome.text));
            }
        }
        Ok(tally)
    }

    /// Takes room for a piece of work, or says whose quota leaves none.
    pub fn reserve(
        &self,
        quotas: &GatewayQuotas,
        item: &WorkItem,
        now: u64,
    ) -> Result<(), QuotaReached> {
        for holder in holders(item) {
            if let Some(rule) = rule_of(quotas, &holder) {
                self.check(&holder, rule, now)?;
            }
        }
        self.add(item, now);
        Ok(())
    }

    /// The work was not taken after all.
    pub fn take_back(&self, item: &WorkItem) {
        let mut used = lock(&self.0);
        for holder in holders(item) {
            if let Some(uses) = used.get_mut(&holder) {
                uses.retain(|one| one.work != item.id);
            }
        }
    }

    /// What a piece of work came to. One that was dropped counts for nothing.
    pub fn settle(&self, item: &WorkItem, outcome: &WorkOutcome) {
        if outcome.status == WorkStatus::Dropped {
            return self.take_back(item);
        }
        let mut used = lock(&self.0);
        for holder in holders(item) {
            let uses = used.get_mut(&holder).into_iter().flatten();
            for one in uses.filter(|one| one.work == item.id) {
                one.tokens = outcome.input_tokens + outcome.output_tokens;
                one.micro_dollars = outcome.micro_dollars.unwrap_or(0);
            }
        }
    }

    /// Everybody a quota is for who used something in its window.
    pub fn standings(&self, quotas: &GatewayQuotas, now: u64) -> Vec<QuotaStanding> {
        let used = lock(&self.0);
        let mut standings: Vec<QuotaStanding> = used
            .iter()
            .filter_map(|(holder, uses)| {
                let rule = rule_of(quotas, holder)?;
                let used = sum(uses, now.saturating_sub(window_of(rule)));
                (used.turns > 0).then(|| QuotaStanding {
                    holder: holder.clone(),
                    rule: rule.clone(),
                    used,
                })
            })
            .collect();
        standings.sort_by(|one, other| one.holder.cmp(&other.holder));
        standings
    }

    fn add(&self, item: &WorkItem, at: u64) {
        let mut used = lock(&self.0);
        for holder in holders(item) {
            let uses = used.entry(holder).or_default();
            uses.push_back(QuotaUse {
                at,
                work: item.id.clone(),
                tokens: 0,
                micro_dollars: 0,
            });
            while uses
                .front()
                .is_some_and(|first| at.saturating_sub(first.at) > LONGEST_WINDOW)
            {
                uses.pop_front();
            }
        }
    }

    fn check(&self, holder: &QuotaHolder, rule: &QuotaRule, now: u64) -> Result<(), QuotaReached> {
        let window = window_of(rule);
        let since = now.saturating_sub(window);
        let used = lock(&self.0);
        let Some(uses) = used.get(holder) else {
            return Ok(());
        };
        let used = sum(uses, since);
        let over = rule.over(&used);
        let Some((used, most)) = over else {
            return Ok(());
        };
        // Room comes back when the oldest use leaves the window.
        let oldest = uses.iter().find(|one| one.at > since);
        let free = oldest.map_or(now, |one| one.at.saturating_add(window));
        Err(QuotaReached {
            holder: holder.in_words(),
            used,
            most,
            window: chela_clock::duration_in_words(window),
            retry_after: free.saturating_sub(now).div_ceil(1_000).max(1),
        })
    }
}

fn sum(uses: &VecDeque<QuotaUse>, since: u64) -> QuotaSum {
    let mut sum = QuotaSum::default();
    for one in uses.iter().filter(|one| one.at > since) {
        sum.turns += 1;
        sum.tokens += one.tokens;
        sum.micro_dollars += one.micro_dollars;
    }
    sum
}

fn holders(item: &WorkItem) -> Vec<QuotaHolder> {
    let agent = QuotaHolder::Agent(item.agent.clone());
    match &item.source {
        WorkSource::Sender { channel, id } => vec![
            agent,
            QuotaHolder::Sender {
                channel: channel.clone(),
                id: id.clone(),
            },
        ],
        _ => vec![agent],
    }
}

fn rule_of<'a>(quotas: &'a GatewayQuotas, holder: &QuotaHolder) -> Option<&'a QuotaRule> {
    let rule = match holder {
        QuotaHolder::Agent(_) => &quotas.agent,
        QuotaHolder::Sender { .. } => &quotas.sender,
    };
    is_set(rule).then_some(rule)
}

fn is_set(rule: &QuotaRule) -> bool {
    rule.turns.is_some() || rule.tokens.is_some() || rule.usd.is_some()
}

fn window_of(rule: &QuotaRule) -> u64 {
    let window = rule.window.duration(BareUnit::Minutes);
    let millis = window.map_or(3_600_000, |window| window.as_millis());
    u64::try_from(millis)
        .unwrap_or(u64::MAX)
        .clamp(1_000, LONGEST_WINDOW)
}

impl QuotaHolder {
    pub fn in_words(&self) -> String {
        match self {
            Self::Agent(agent) => format!("agent `{agent}`"),
            Self::Sender { channel, id } => format!("sender `{channel}:{id}`"),
        }
    }
}

/// What of a rule there is no room under: used, and the most.
trait RuleOver {
    fn over(&self, used: &QuotaSum) -> Option<(String, String)>;
}

impl RuleOver for QuotaRule {
    fn over(&self, used: &QuotaSum) -> Option<(String, String)> {
        let shown = |number: u64| grouped(usize::try_from(number).unwrap_or(usize::MAX));
        if let Some(most) = self.turns.filter(|most| used.turns >= *most) {
            return Some((shown(used.turns), format!("{} turns", shown(most))));
        }
        if let Some(most) = self.tokens.filter(|most| used.tokens >= *most) {
            return Some((shown(used.tokens), format!("{} tokens", shown(most))));
        }
        let most = self.usd.map(chela_core::micro_dollars)?;
        (used.micro_dollars >= most).then(|| {
            let dollars = chela_ledger::dollars;
            (dollars(used.micro_dollars), dollars(most))
        })
    }
}

impl QuotaStanding {
    /// `agent `main`: 12 of 100 turns in the last hour`.
    pub fn in_words(&self) -> String {
        let shown = |number: u64| grouped(usize::try_from(number).unwrap_or(usize::MAX));
        let mut parts = Vec::new();
        if let Some(most) = self.rule.turns {
            parts.push(format!(
                "{} of {} turns",
                shown(self.used.turns),
                shown(most)
            ));
        }
        if let Some(most) = self.rule.tokens {
            parts.push(format!(
                "{} of {} tokens",
                shown(self.used.tokens),
                shown(most)
            ));
        }
        if let Some(most) = self.rule.usd {
            let most = chela_ledger::dollars(chela_core::micro_dollars(most));
            parts.push(format!(
                "{} of {most}",
                chela_ledger::dollars(self.used.micro_dollars)
            ));
        }
        let window = chela_clock::duration_in_words(window_of(&self.rule));
        format!(
            "{}: {} in the last {window}",
            self.holder.in_words(),
            parts.join(", ")
        )
    }
}
