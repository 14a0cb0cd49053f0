//! Answers of model endpoints: whatever arrives, nothing panics, and the same bytes say the same
//! however they are cut.
#![no_main]

use chela_model::{DecodedAnswer, ModelApi, AnswerDecoder, ResponseEvent, StreamFraming, StreamFault, ToolMode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [how, step, bytes @ ..] = data else {
        return;
    };
    let api = ModelApi::ALL[usize::from(*how) % ModelApi::ALL.len()];
    let mode = if how & 64 == 0 {
        ToolMode::Native
    } else {
        ToolMode::Constrained
    };
    let framing = if how & 128 == 0 {
        AnswerDecoder::framing(api)
    } else {
        StreamFraming::Whole
    };
    let hear = |step: usize| -> (Vec<ResponseEvent>, Result<DecodedAnswer, StreamFault>) {
        let mut decoder = AnswerDecoder::new(api, framing, mode, b"");
        let mut events = Vec::new();
        for piece in bytes.chunks(step) {
            if let Err(fault) = decoder.feed(piece, &mut |event| events.push(event)) {
                return (events, Err(fault));
            }
        }
        let answer = decoder.finish(&mut |event| events.push(event));
        (events, answer)
    };
    assert_eq!(hear(usize::from(*step) + 1), hear(bytes.len().max(1)));
});
