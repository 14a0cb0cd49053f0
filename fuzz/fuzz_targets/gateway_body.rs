//! What programs send to the model interfaces of the gateway: nothing panics, what is taken says
//! something, and nothing of it is said that was not there.
#![no_main]

use chela_gateway::read_turn_bodies;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &[u8])| {
    let (words, body) = input;
    for turn in read_turn_bodies(body).into_iter().flatten() {
        assert!(!turn.text.trim().is_empty() || turn.images > 0);
    }
    // Words come through as they are, and in their place, whatever they look like.
    let chat = serde_json::json!({ "messages": [
        { "role": "system", "content": "first" },
        { "role": "assistant", "content": "before" },
        { "role": "user", "content": [{ "type": "text", "text": words }] },
    ] });
    let rest = &chat["messages"].as_array().unwrap()[1..];
    let response = serde_json::json!({ "instructions": "first", "input": rest });
    let message = serde_json::json!({ "system": "first", "messages": rest });
    for (at, body) in [chat, response, message].iter().enumerate() {
        let turn = read_turn_bodies(body.to_string().as_bytes()).into_iter().nth(at).flatten();
        match turn {
            None => assert!(words.trim().is_empty()),
            Some(turn) => {
                assert_eq!(turn.text, words);
                assert_eq!((turn.images, turn.history, turn.instructions), (0, 1, 1));
            }
        }
    }
});
