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

/// What was used lately by whoever a quota is for; nobody else is counted.
#[derive(Debug, Default)]
pub struct QuotaTally(Mutex<QuotaUses>);

type QuotaUses = HashMap<QuotaHolder, VecDeque<QuotaUse>>;

impl QuotaTally {
    /// What the inbox remembers, where there are quotas at all.
    pub async fn load(
        quotas: &GatewayQuotas,
        store: &SqliteRuntimeStore,
        now: u64,
    ) -> Result<Self, StoreError> {
        let remembered = remembered_uses(quotas, store, now).await?;
        Ok(Self(Mutex::new(remembered)))
    }

    /// Counts by other quotas from now on: what was used before they were set counts, too.
    pub async fn follow(
        &self,
        quotas: &GatewayQuotas,
        store: &SqliteRuntimeStore,
        now: u64,
    ) -> Result<(), StoreError> {
        let mut uses = remembered_uses(quotas, store, now).await?;
        let mut held = lock(&self.0);
        // What came in while the inbox was read.
        for (holder, later) in held.drain() {
            let known = uses.entry(holder).or_default();
            let newest = known.back().map_or(0, |last| last.at);
            let is_new = |one: &QuotaUse| {
                one.at >= newest && !known.iter().rev().any(|seen| seen.work == one.work)
            };
            let missed: Vec<QuotaUse> = later.into_iter().filter(is_new).collect();
            known.extend(missed);
        }
        uses.retain(|holder, _| rule_of(quotas, holder).is_some());
        *held = uses;
        Ok(())
    }

    /// Takes room for a piece of work, or says whose quota leaves none.
    pub fn reserve(
        &self,
        quotas: &GatewayQuotas,
        item: &WorkItem,
        now: u64,
    ) -> Result<(), QuotaReached> {
        let mut uses = lock(&self.0);
        for holder in holders(item) {
            if let (Some(rule), Some(used)) = (rule_of(quotas, &holder), uses.get(&holder)) {
                check(&holder, used, rule, now)?;
            }
        }
        add_use(&mut uses, quotas, item, now);
        Ok(())
    }

    /// Whether what came before has left room for a piece of work that waited: its own place is
    /// taken, and what others came to is known by now.
    pub fn check_again(
        &self,
        quotas: &GatewayQuotas,
        item: &WorkItem,
        now: u64,
    ) -> Result<(), QuotaReached> {
        let uses = lock(&self.0);
        for holder in holders(item) {
            if let (Some(rule), Some(used)) = (rule_of(quotas, &holder), uses.get(&holder)) {
                let others = used.iter().filter(|one| one.work != item.id);
                let spending = QuotaRule {
                    turns: None,
                    ..rule.clone()
                };
                check(&holder, &others.cloned().collect(), &spending, now)?;
            }
        }
        Ok(())
    }

    /// The work was not taken after all.
    pub fn take_back(&self, item: &WorkItem) {
        let mut uses = lock(&self.0);
        for holder in holders(item) {
            if let Some(used) = uses.get_mut(&holder)
                && let Some(place) = used.iter().rposition(|one| one.work == item.id)
            {
                used.remove(place);
            }
        }
    }

    /// What a piece of work came to. One that was dropped counts for nothing.
    pub fn settle(&self, item: &WorkItem, outcome: &WorkOutcome) {
        if outcome.status == WorkStatus::Dropped {
            return self.take_back(item);
        }
        settle_use(&mut lock(&self.0), item, outcome);
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
}

/// What the inbox remembers of whoever a quota is for.
async fn remembered_uses(
    quotas: &GatewayQuotas,
    store: &SqliteRuntimeStore,
    now: u64,
) -> Result<QuotaUses, StoreError> {
    let mut uses = QuotaUses::default();
    let windows = [&quotas.agent, &quotas.sender].map(|rule| is_set(rule).then(|| window_of(rule)));
    let Some(longest) = windows.into_iter().flatten().max() else {
        return Ok(uses);
    };
    for message in store.accepted_since(now.saturating_sub(longest)).await? {
        let Ok(item) = serde_json::from_str::<WorkItem>(&message.body) else {
            tracing::debug!(work = message.id, "what it used is not counted");
            continue;
        };
        let outcome = message
            .outcome
            .map(|outcome| WorkOutcome::read(&outcome.text));
        if outcome
            .as_ref()
            .is_some_and(|outcome| outcome.status == WorkStatus::Dropped)
        {
            continue;
        }
        add_use(&mut uses, quotas, &item, message.accepted);
        if let Some(outcome) = outcome {
            settle_use(&mut uses, &item, &outcome);
        }
    }
    Ok(uses)
}

fn add_use(uses: &mut QuotaUses, quotas: &GatewayQuotas, item: &WorkItem, at: u64) {
    for holder in holders(item) {
        let Some(rule) = rule_of(quotas, &holder) else {
            continue;
        };
        let window = window_of(rule);
        let used = uses.entry(holder).or_default();
        used.push_back(QuotaUse {
            at,
            work: item.id.clone(),
            tokens: 0,
            micro_dollars: 0,
        });
        while used
            .front()
            .is_some_and(|first| at.saturating_sub(first.at) > window)
        {
            used.pop_front();
        }
    }
}

fn settle_use(uses: &mut QuotaUses, item: &WorkItem, outcome: &WorkOutcome) {
    for holder in holders(item) {
        // Work ends not long after it came: it is found near the end.
        let used = uses.get_mut(&holder).into_iter().flatten();
        if let Some(one) = used.rev().find(|one| one.work == item.id) {
            one.tokens = outcome.input_tokens + outcome.output_tokens;
            one.micro_dollars = outcome.micro_dollars.unwrap_or(0);
        }
    }
}

fn check(
    holder: &QuotaHolder,
    uses: &VecDeque<QuotaUse>,
    rule: &QuotaRule,
    now: u64,
) -> Result<(), QuotaReached> {
    let window = window_of(rule);
    let since = now.saturating_sub(window);
    let Some((used, most)) = rule.over(&sum(uses, since)) else {
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

/// Whether anybody's use is limited.
pub(crate) fn are_set(quotas: &GatewayQuotas) -> bool {
    is_set(&quotas.agent) || is_set(&quotas.sender)
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
