//! How long a decision takes when a session is long.

use std::time::{Duration, Instant};

use chela_config::model::GuardPolicy;
use chela_core::{ContentHash, Origin, Trust};
use chela_guard::flow::{CallJudge, HostStanding, ProposedCall, Provenance, TextSpan, decide};
use chela_guard::{CallTarget, SecretLook, WebAddress};

use crate::traces::Traces;

/// The time to index a mebibyte of what the tasks read, and that of the slowest decision then.
pub fn at_a_mebibyte(traces: &Traces) -> (Duration, Duration) {
    let hash = ContentHash::of("");
    let tool = Origin::Tool {
        call: "x".into(),
        hash,
    };
    let channel = Origin::Channel {
        channel: "terminal".into(),
        message: String::new(),
        hash,
    };
    let mut seen = Provenance::default();
    let started = Instant::now();
    let mut round = 0;
    while seen.size() < 1 << 20 {
        for task in &traces.users {
            seen.add(TextSpan {
                text: task.prompt.clone(),
                trust: Trust::Owner,
                origin: channel.clone(),
            });
            for (at, call) in task.calls.iter().enumerate() {
                let output = call.output.as_deref().unwrap_or_default();
                seen.add(TextSpan {
                    text: format!("{output} {round}.{at}"),
                    trust: Trust::External,
                    origin: tool.clone(),
                });
            }
        }
        round += 1;
    }
    let index = started.elapsed();
    let judge = CallJudge {
        policy: GuardPolicy::Standard,
        egress: &[],
        confirm: &[],
    };
    let mut slowest = Duration::ZERO;
    for call in traces.injections.iter().flat_map(|attack| &attack.calls) {
        let Some(declared) = traces.declared(&call.tool) else {
            continue;
        };
        let addresses = call.args.values().filter_map(serde_json::Value::as_str);
        let addresses = addresses.filter_map(|text| WebAddress::parse(text).ok());
        let targets: Vec<CallTarget> = addresses.map(CallTarget::Url).collect();
        let deed = ProposedCall {
            tool: &call.tool,
            effect: declared.effect,
            sinks: &declared.sinks,
            arguments: &call.args,
            chosen_names: &[],
            targets: &targets,
            led_from: None,
            look: SecretLook::Plain,
            standing: HostStanding::Unlisted,
            orders: &[],
            words: None,
            binds: None,
        };
        let time = |_| {
            let started = Instant::now();
            std::hint::black_box(decide(judge, &seen, &deed));
            started.elapsed()
        };
        // The machine may be busy: the best of several tries is what a decision costs.
        let best = (0..20).map(time).min();
        slowest = slowest.max(best.unwrap_or_default());
    }
    (index, slowest)
}
