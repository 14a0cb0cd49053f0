//! Whatever a model says, in whatever chunks: the words for silence never come through, what was
//! streamed is what is delivered, and chunks make no difference.
#![no_main]

use chela_reply::{ReplyGate, GateSettings, ShownPiece, WithWord};
use chela_reply::Reply;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, Vec<u8>, u8)| {
    let (said, lengths, kind) = input;
    let settings = GateSettings {
        heartbeat: (kind & 1 != 0).then_some(300),
        tag_reasoning: kind & 2 != 0,
        with_word: if kind & 4 != 0 {
            WithWord::Silence
        } else {
            WithWord::Deliver
        },
    };
    let mut gate = ReplyGate::new(settings);
    let mut screen = String::new();
    let mut show = |shown: Vec<ShownPiece>| {
        for piece in shown {
            match piece {
                ShownPiece::Text(text) => screen.push_str(&text),
                ShownPiece::Retracted => screen.clear(),
                ShownPiece::Reasoning(text) => assert!(!holds_word(&text), "{text:?}"),
            }
        }
    };
    let mut rest = said;
    for length in lengths {
        let end = rest.floor_char_boundary(usize::from(length));
        show(gate.push(&rest[..end]));
        rest = &rest[end..];
    }
    show(gate.push(rest));
    let finished = gate.finish();
    show(finished.shown);
    // Said to somebody who asked, the word of heartbeats is an answer.
    let is_answer = screen.trim() == "HEARTBEAT_OK" && kind & 5 == 0;
    assert!(is_answer || !holds_word(&screen), "{screen:?}");
    let mut whole = ReplyGate::new(settings);
    whole.push(said);
    assert_eq!(finished.reply, whole.finish().reply);
    if let Reply::Deliver(delivery) = finished.reply {
        assert_eq!(screen.trim(), delivery.text);
        assert!(is_answer || !holds_word(&delivery.text));
    }
});

/// The plainest form; names inside of code excepted.
fn holds_word(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    !lower.contains(['`', '~', '@']) && (lower.contains("no_reply") || lower.contains("heartbeat_ok"))
}
