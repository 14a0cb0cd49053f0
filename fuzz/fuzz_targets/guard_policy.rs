//! Whatever is called with whatever was read: more taint and a stricter policy never allow more,
//! and in a tainted session nothing that only text from outside named passes unasked.
#![no_main]

use chela_config::model::GuardPolicy;
use chela_core::{ContentHash, Origin, Trust};
use chela_guard::flow::{ProposedCall, CallJudge, Provenance, TextSpan, HostStanding, SessionTaint, CallVerdict, decide, defang};
use chela_guard::{CallSink, CallTarget, Effect, SecretLook, SinkKind, WebAddress};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};

const SINKS: &[CallSink] = &[
    CallSink::new("to", SinkKind::Recipient),
    CallSink::new("url", SinkKind::Url),
    CallSink::new("text", SinkKind::Text),
];

fuzz_target!(|input: (&str, &str, &str, &str, &str)| {
    let (owner, foreign, to, url, text) = input;
    let mut clean = Provenance::default();
    let origin = Origin::Channel {
        channel: "c".into(),
        message: "m".into(),
        hash: ContentHash::of(""),
    };
    clean.add(TextSpan {
        text: owner.into(),
        trust: Trust::Owner,
        origin,
    });
    let mut tainted = clean.clone();
    tainted.taint_with(SessionTaint::Tainted);
    let arguments: Map<String, Value> = [("to", to), ("url", url), ("text", text)]
        .map(|(name, value)| (name.to_owned(), value.into()))
        .into_iter()
        .collect();
    let targets: Vec<CallTarget> = WebAddress::parse(url)
        .ok()
        .map(CallTarget::Url)
        .into_iter()
        .collect();
    // As where the schema declares nothing.
    let names: Vec<String> = arguments.keys().cloned().collect();
    let deed = ProposedCall {
        tool: "t",
        effect: Effect::WriteOutward,
        sinks: SINKS,
        arguments: &arguments,
        chosen_names: &names,
        targets: &targets,
        led_from: None,
        orders: &[],
        look: SecretLook::Plain,
        standing: HostStanding::Unlisted,
        words: None,
        binds: None,
    };
    let standard = CallJudge {
        policy: GuardPolicy::Standard,
        egress: &[], confirm: &[],
    };
    let strict = CallJudge {
        policy: GuardPolicy::Strict,
        egress: &[], confirm: &[],
    };
    let decided = decide(standard, &tainted, &deed);
    assert!(decide(standard, &clean, &deed).verdict <= decided.verdict);
    assert!(decided.verdict <= decide(strict, &tainted, &deed).verdict);
    tainted.add(TextSpan {
        text: foreign.into(),
        trust: Trust::External,
        origin: Origin::Runtime,
    });
    if owner.is_empty() && !to.trim().is_empty() {
        assert!(decide(standard, &tainted, &deed).verdict > CallVerdict::Allow);
    }
    if owner.is_empty() {
        assert!(
            !defang(
                standard,
                &tainted,
                &format!("https://{}.example/", to.len())
            )
            .text
            .contains("://")
        );
    }
    defang(standard, &tainted, text);
});
