//! What a decision costs when a session has read a megabyte: `cargo bench -p chela-guard --bench decision`.

use chela_config::model::GuardPolicy;
use chela_core::{ContentHash, Origin, Trust};
use chela_guard::flow::{CallJudge, HostStanding, ProposedCall, Provenance, TextSpan, decide};
use chela_guard::{CallSink, CallTarget, Effect, SecretLook, SinkKind, WebAddress};
use chela_testkit::bench::measure;
use serde_json::json;

fn main() {
    let mut seen = Provenance::default();
    let hash = ContentHash::of("");
    let channel = Origin::Channel {
        channel: "terminal".into(),
        message: String::new(),
        hash,
    };
    let mut at = 0;
    while seen.size() < 1 << 20 {
        seen.add(TextSpan {
            text: format!("Please look at https://docs.example/page/{at} and write to Ann Smith. ")
                .repeat(20),
            trust: Trust::Owner,
            origin: channel.clone(),
        });
        seen.add(TextSpan {
            text: format!("Page {at} links to https://docs.example/next/{at}, bob@home.example, 4237 4252 7456 {at}. ").repeat(100),
            trust: Trust::External,
            origin: Origin::Runtime,
        });
        at += 1;
    }
    seen.note_private();
    let sinks = [
        CallSink::new("to", SinkKind::Recipient),
        CallSink::new("url", SinkKind::Url),
        CallSink::new("text", SinkKind::Text),
    ];
    let arguments = json!({
        "to": "Ann Smith please",
        "url": "https://docs.example/next/7",
        "text": "See https://docs.example/next/3 and call 4237 4252 7456 3.",
    });
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let targets: Vec<CallTarget> = WebAddress::parse("https://docs.example/next/7")
        .ok()
        .map(CallTarget::Url)
        .into_iter()
        .collect();
    let judge = CallJudge {
        policy: GuardPolicy::Standard,
        egress: &[],
        confirm: &[],
    };
    let deed = ProposedCall {
        tool: "post",
        effect: Effect::WriteOutward,
        sinks: &sinks,
        arguments: &arguments,
        chosen_names: &[],
        targets: &targets,
        led_from: None,
        look: SecretLook::Plain,
        standing: HostStanding::Unlisted,
        orders: &[],
        words: None,
        binds: None,
    };
    let size = seen.size();
    measure("decision at 1 MiB of session text", size, || {
        decide(judge, &seen, &deed)
    })
    .print(None);
}
