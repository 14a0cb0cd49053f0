//! What tokens cost that an endpoint wrote to its cache.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use chela_testkit::{EndpointScript, ScriptStep, TokenCounts};
use serde_json::{Value, json};

use crate::scene::{APIS, ScriptedHome};

/// The formats in which an endpoint says what it wrote to its cache.
const TELLING: [&str; 3] = [APIS[0], APIS[1], APIS[2]];

const CALL: TokenCounts = TokenCounts {
    input: 10_000,
    output: 100,
    cached: 6_000,
    cache_write: 3_000,
    reasoning: 0,
};

/// What a call with these prices comes to.
fn sums(api: &str, cost: Value) -> Value {
    let answer = ScriptStep {
        usage: Some(CALL),
        ..ScriptStep::reply("There.")
    };
    let scene = ScriptedHome::with(
        api,
        EndpointScript::always(answer),
        json!({ "models": { "providers": { "kit": { "models": [
            { "id": "scripted", "contextWindow": 64_000, "cost": cost },
        ] } } } }),
    );
    scene.chat("hi").ok();
    let sums = scene.home.run(&["usage", "--json"]).json();
    sums.as_array().unwrap().first().unwrap().clone()
}

#[test]
fn what_is_written_to_a_cache_has_its_price() {
    for api in TELLING {
        let sum = sums(
            api,
            json!({ "input": 2, "output": 8, "cacheRead": 0.2, "cacheWrite": 2.5 }),
        );
        assert_eq!(sum["cacheWrite"], 3_000, "{api}: {sum}");
        assert_eq!(sum["input"], 10_000, "{api}: {sum}");
        // Fresh, said, read and written.
        assert_eq!(sum["cost"], 2_000 + 800 + 1_200 + 7_500, "{api}: {sum}");
    }
}

/// A limit on spending would be passed otherwise.
#[test]
fn what_has_no_price_of_its_own_costs_what_input_costs() {
    for api in TELLING {
        let sum = sums(api, json!({ "input": 2, "output": 8 }));
        assert_eq!(sum["cost"], 20_000 + 800, "{api}: {sum}");
    }
}
