//! What is understood of an answer, however its bytes are cut.

use proptest::prelude::*;
use serde_json::json;

use crate::wire::{AnswerDecoder, DecodedAnswer, StreamFault, StreamFraming};
use crate::{MessagePart, ModelApi, ResponseEvent, StopReason, ToolMode, Usage};

const COMPLETIONS: &str = concat!(
    ": ping\n\n",
    "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"Hm 🦀.\"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hé\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"llo\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_a\",\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"call_b\",\"function\":{\"name\":\"ls\",\"arguments\":\"{\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"path\\\":\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"ü.txt\\\"}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":20,\"prompt_tokens_details\":{\"cached_tokens\":64},\"completion_tokens_details\":{\"reasoning_tokens\":5}}}\n\n",
    "data: [DONE]\n\n",
);

const LLAMA_CPP: &str = concat!(
    "data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n",
    "data: {\"choices\":[{\"finish_reason\":\"stop\",\"index\":0,\"delta\":{}}],\"timings\":{\"cache_n\":200,\"prompt_n\":12,\"predicted_n\":3}}\n\n",
    "data: [DONE]\n\n",
);

const RESPONSES: &str = concat!(
    "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n",
    "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"id\":\"rs_1\"}}\n\n",
    "data: {\"type\":\"response.reasoning_summary_part.added\",\"summary_index\":0}\n\n",
    "data: {\"type\":\"response.reasoning_summary_text.delta\",\"delta\":\"I think.\"}\n\n",
    "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"id\":\"rs_1\",\"encrypted_content\":\"gAAA\"}}\n\n",
    "data: {\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":{\"type\":\"message\"}}\n\n",
    "data: {\"type\":\"response.output_text.delta\",\"output_index\":1,\"delta\":\"Sure.\"}\n\n",
    "data: {\"type\":\"response.output_item.added\",\"output_index\":2,\"item\":{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"call_a\",\"name\":\"read\",\"arguments\":\"\"}}\n\n",
    "data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":2,\"delta\":\"{\\\"path\\\":\\\"a\\\"}\"}\n\n",
    "data: {\"type\":\"response.output_item.done\",\"output_index\":2,\"item\":{\"type\":\"function_call\",\"call_id\":\"call_a\",\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"a\\\"}\"}}\n\n",
    "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"usage\":{\"input_tokens\":50,\"output_tokens\":9,\"input_tokens_details\":{\"cached_tokens\":32},\"output_tokens_details\":{\"reasoning_tokens\":4}}}}\n\n",
);

const ANTHROPIC: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":90,\"cache_creation_input_tokens\":20,\"output_tokens\":1}}}\n\n",
    "event: ping\ndata: {\"type\":\"ping\"}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"Well, \"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hmm.\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"c2ln\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"c2VhbGVk\"}}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"text_delta\",\"text\":\"Grüße\"}}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"read\",\"input\":{}}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"path\\\"\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\": \\\"a\\\"}\"}}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":33}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

const GOOGLE: &str = concat!(
    "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Hm.\",\"thought\":true}]}}]}\r\n\r\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Olá \"},{\"text\":\"!\"}]}}]}\r\n\r\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"read\",\"args\":{\"path\":\"a\"}},\"thoughtSignature\":\"c2ln\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":40,\"candidatesTokenCount\":6,\"thoughtsTokenCount\":3,\"cachedContentTokenCount\":16}}\r\n\r\n",
);

const OLLAMA: &str = concat!(
    "{\"model\":\"q\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"Hm.\"},\"done\":false}\n",
    "{\"model\":\"q\",\"message\":{\"role\":\"assistant\",\"content\":\"Čau\"},\"done\":false}\n",
    "{\"model\":\"q\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}}]},\"done\":false}\n",
    "{\"model\":\"q\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":30,\"eval_count\":8}\n",
);

const HELD: &str = concat!(
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"{\\\"reply\\\"\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\": \\\"Gr\\\\u00fc\\\\u00dfe \"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"🦀\\\"}\"},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n",
);

const STREAMS: [(ModelApi, ToolMode, &str); 7] = [
    (ModelApi::OpenAiCompletions, ToolMode::Native, COMPLETIONS),
    (ModelApi::OpenAiCompletions, ToolMode::Native, LLAMA_CPP),
    (ModelApi::OpenAiCompletions, ToolMode::Constrained, HELD),
    (ModelApi::OpenAiResponses, ToolMode::Native, RESPONSES),
    (ModelApi::AnthropicMessages, ToolMode::Native, ANTHROPIC),
    (ModelApi::GoogleGenerativeAi, ToolMode::Native, GOOGLE),
    (ModelApi::Ollama, ToolMode::Native, OLLAMA),
];

type Heard = (Vec<ResponseEvent>, Result<DecodedAnswer, StreamFault>);

fn hear(api: ModelApi, mode: ToolMode, bytes: &[u8], cuts: &[usize]) -> Heard {
    let mut decoder = AnswerDecoder::new(api, AnswerDecoder::framing(api), mode, b"request");
    let mut events = Vec::new();
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    for pair in cuts.windows(2) {
        let fed = decoder.feed(&bytes[pair[0]..pair[1]], &mut |event| events.push(event));
        if let Err(fault) = fed {
            return (events, Err(fault));
        }
    }
    let answer = decoder.finish(&mut |event| events.push(event));
    (events, answer)
}

fn heard(api: ModelApi, mode: ToolMode, stream: &str) -> DecodedAnswer {
    hear(api, mode, stream.as_bytes(), &[]).1.unwrap()
}

#[test]
fn every_protocol_is_understood() {
    let told: Vec<String> = STREAMS
        .iter()
        .map(|(api, mode, stream)| {
            let (events, answer) = hear(*api, *mode, stream.as_bytes(), &[]);
            format!(
                "{} {mode:?}\n{events:#?}\n{:#?}\n",
                api.name(),
                answer.unwrap()
            )
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn llama_cpp_tells_what_it_evaluated() {
    let usage = heard(ModelApi::OpenAiCompletions, ToolMode::Native, LLAMA_CPP).usage;
    assert_eq!(
        usage,
        Some(Usage {
            input: 212,
            output: 3,
            cache_read: 200,
            ..Usage::default()
        })
    );
}

#[test]
fn arguments_that_are_no_json_are_kept_as_they_came() {
    let answer = heard(ModelApi::OpenAiCompletions, ToolMode::Native, COMPLETIONS);
    let Some(MessagePart::ToolCall(call)) = answer.content.last() else {
        panic!("{answer:?}");
    };
    assert_eq!(
        (call.name.as_str(), call.malformed.as_deref()),
        ("ls", Some("{"))
    );
    assert!(call.arguments.is_empty());
}

#[test]
fn one_index_for_many_calls_is_told_apart_by_id() {
    let chunk = |id: &str, name: &str| {
        let delta = json!({"tool_calls": [
            {"index": 0, "id": id, "function": {"name": name, "arguments": "{}"}},
        ]});
        format!("data: {}\n\n", json!({"choices": [{"delta": delta}]}))
    };
    let stream = format!("{}{}data: [DONE]\n\n", chunk("a", "read"), chunk("b", "ls"));
    let answer = heard(ModelApi::OpenAiCompletions, ToolMode::Native, &stream);
    assert_eq!(answer.content.len(), 2);
    assert_eq!(answer.stop, StopReason::Tools);
}

#[test]
fn a_whole_answer_is_understood_like_a_stream() {
    let completions = json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 1}});
    let anthropic = json!({"type": "message", "content": [{"type": "text", "text": "Hi"}],
        "stop_reason": "end_turn", "usage": {"input_tokens": 5, "output_tokens": 1}});
    let responses = json!({"object": "response", "output": [
        {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]},
    ], "usage": {"input_tokens": 5, "output_tokens": 1}});
    let google = json!([{"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 1}}]);
    for (api, body) in [
        (ModelApi::OpenAiCompletions, completions),
        (ModelApi::AnthropicMessages, anthropic),
        (ModelApi::OpenAiResponses, responses),
        (ModelApi::GoogleGenerativeAi, google),
    ] {
        let body = serde_json::to_vec_pretty(&body).unwrap();
        let mut decoder = AnswerDecoder::new(api, StreamFraming::Whole, ToolMode::Native, b"");
        decoder.feed(&body, &mut |_| {}).unwrap();
        let answer = decoder.finish(&mut |_| {}).unwrap();
        assert_eq!(answer.content, [MessagePart::text("Hi")], "{api:?}");
        let usage = answer.usage.unwrap();
        assert_eq!((usage.input, usage.output), (5, 1), "{api:?}");
    }
}

/// Cut anywhere, a stream is a whole answer, a cut, or - where the end only tells the cost - the
/// answer without it. Never anything else.
#[test]
fn a_stream_that_ends_early_is_cut() {
    for (api, mode, stream) in STREAMS {
        let whole = heard(api, mode, stream);
        for end in 0..stream.len() {
            match hear(api, mode, &stream.as_bytes()[..end], &[]).1 {
                Err(StreamFault::Cut) => {}
                Ok(answer) => assert_eq!(answer.content, whole.content, "{api:?} at {end}"),
                Err(other) => panic!("{api:?} at {end}: {other:?}"),
            }
        }
    }
}

#[test]
fn what_is_wrong_in_a_stream_is_named() {
    let fault = |api: ModelApi, stream: &str| {
        hear(api, ToolMode::Native, stream.as_bytes(), &[])
            .1
            .unwrap_err()
    };
    let StreamFault::Malformed(why) = fault(
        ModelApi::OpenAiCompletions,
        "data: {\"choices\": oops}\n\ndata: [DONE]\n\n",
    ) else {
        panic!();
    };
    assert!(why.contains("oops"), "{why}");
    assert!(matches!(
        fault(ModelApi::OpenAiCompletions, "data: {\"hello\": 1}\n\n"),
        StreamFault::Malformed(_)
    ));
    let StreamFault::Said(complaint) = fault(
        ModelApi::AnthropicMessages,
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
    ) else {
        panic!();
    };
    assert_eq!(complaint.kind, "overloaded_error");
    let StreamFault::Said(complaint) = fault(ModelApi::Ollama, "{\"error\":\"out of memory\"}\n")
    else {
        panic!();
    };
    assert_eq!(complaint.message, "out of memory");
    assert_eq!(fault(ModelApi::OpenAiCompletions, ""), StreamFault::Cut);
}

proptest! {
    #[test]
    fn cuts_change_nothing(
        which in 0..STREAMS.len(),
        cuts in prop::collection::vec(0usize..8192, 0..40),
    ) {
        let (api, mode, stream) = STREAMS[which];
        let whole = hear(api, mode, stream.as_bytes(), &[]);
        prop_assert_eq!(hear(api, mode, stream.as_bytes(), &cuts), whole);
    }

    #[test]
    fn broken_bytes_never_panic_and_cuts_change_nothing_there_either(
        which in 0..STREAMS.len(),
        at in 0usize..8192,
        bytes in prop::collection::vec(any::<u8>(), 0..6),
        cuts in prop::collection::vec(0usize..8192, 0..10),
    ) {
        let (api, mode, stream) = STREAMS[which];
        let mut broken = stream.as_bytes().to_vec();
        let at = at % broken.len();
        let end = (at + bytes.len()).min(broken.len());
        broken.splice(at..end, bytes);
        prop_assert_eq!(hear(api, mode, &broken, &cuts), hear(api, mode, &broken, &[]));
    }
}
