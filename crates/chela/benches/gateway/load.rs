//! The stream of messages: every session says its next one when it is due, or when the one before
//! is answered, whichever is later.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::client::{GatewayPlace, MessageAsk, PatientClient};
use crate::model::MARK;

#[derive(Debug, Clone, Copy)]
pub struct LoadPlan {
    pub sessions: usize,
    /// Messages a second over all sessions; 0: as many as are answered.
    pub rate: usize,
    pub time: Duration,
    /// Where the numbers of messages start.
    pub first: usize,
}

/// The names of messages that were answered, in their order, by session.
#[derive(Debug, Default)]
pub struct AnsweredMessages(pub BTreeMap<usize, Vec<String>>);

impl AnsweredMessages {
    pub fn merge(&mut self, later: Self) {
        for (session, names) in later.0 {
            self.0.entry(session).or_default().extend(names);
        }
    }
}

pub struct LoadReport {
    pub answered: AnsweredMessages,
    /// In order, from the moment a message was due to its answer.
    late: Vec<Duration>,
    /// The same without the first message of each session, with which it begins.
    later: Vec<Duration>,
    took: Duration,
}

type RequestForm = fn(&MessageAsk<'_>) -> String;

pub async fn run(plan: &LoadPlan, place: GatewayPlace, form: RequestForm) -> LoadReport {
    let start = Instant::now();
    let tasks: Vec<_> = (0..plan.sessions)
        .map(|session| tokio::spawn(one_session(*plan, session, start, place.clone(), form)))
        .collect();
    let mut answered = AnsweredMessages::default();
    let (mut late, mut later) = (Vec::new(), Vec::new());
    for (session, task) in tasks.into_iter().enumerate() {
        let (names, times) = task.await.expect("a session that was served");
        answered.0.insert(session, names);
        later.extend(times.iter().skip(1));
        late.extend(times);
    }
    late.sort();
    later.sort();
    LoadReport {
        answered,
        late,
        later,
        took: start.elapsed(),
    }
}

async fn one_session(
    plan: LoadPlan,
    session: usize,
    start: Instant,
    place: GatewayPlace,
    form: RequestForm,
) -> (Vec<String>, Vec<Duration>) {
    let mut client = PatientClient::new();
    let (mut names, mut late) = (Vec::new(), Vec::new());
    let pause = match plan.rate {
        0 => Duration::ZERO,
        rate => Duration::from_secs_f64(plan.sessions as f64 / rate as f64),
    };
    // Spread over the first pause, so that not all of them speak at once.
    let offset = pause.mul_f64(session as f64 / plan.sessions as f64);
    for number in 0.. {
        let due = match plan.rate {
            0 => start.elapsed(),
            _ => offset + pause * number,
        };
        if due >= plan.time {
            break;
        }
        tokio::time::sleep_until((start + due).into()).await;
        let number = plan.first + usize::try_from(number).unwrap_or_default();
        let name = format!("{MARK}{session}-{number}");
        let request = form(&MessageAsk {
            place: &place,
            session,
            name: &name,
        });
        let answer = client.ask(&place, &request).await;
        assert!(
            answer.contains(&format!("heard {name}\"")),
            "{name} was answered with something else: {answer}"
        );
        late.push(start.elapsed().saturating_sub(due));
        names.push(name);
    }
    (names, late)
}

impl LoadReport {
    pub fn count(&self) -> usize {
        self.late.len()
    }

    /// Milliseconds that `percent` of the messages stay within.
    pub fn at(&self, percent: usize) -> f64 {
        milliseconds_at(&self.late, percent)
    }

    /// The same from the second message of each session on.
    pub fn at_later(&self, percent: usize) -> f64 {
        milliseconds_at(&self.later, percent)
    }

    /// Answered a second.
    pub fn rate(&self) -> f64 {
        self.count() as f64 / self.took.as_secs_f64()
    }

    pub fn print(&self, name: &str) {
        println!(
            "{name:<30} {:>9} {:>9.1} {:>9.2} {:>9.2} {:>9.2}",
            self.count(),
            self.rate(),
            self.at(50),
            self.at(99),
            self.at(100),
        );
    }
}

fn milliseconds_at(sorted: &[Duration], percent: usize) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let time = sorted.get(last * percent / 100);
    time.map_or(f64::NAN, Duration::as_secs_f64) * 1e3
}
