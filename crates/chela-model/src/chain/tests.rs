use std::sync::Arc;
use std::time::Duration;

use chela_config::load_text;
use chela_core::{AgentId, Host};
use serde_json::json;

use super::{FallbackChain, TurnStage};
use crate::testing::{NoTimer, ServerPlay, TestServer, request, serve};
use crate::{
    CallFailure, ModelError, ModelHttp, ModelRequest, ModelResponse, ModelSelection, Models,
    ResponseEvent, ToolMode, ToolSchema,
};

const HELLO: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const HALF: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n";

fn busy() -> ServerPlay {
    ServerPlay::status(529, "", "{\"error\":{\"type\":\"overloaded_error\"}}")
}

fn hello() -> ServerPlay {
    ServerPlay::stream(HELLO)
}

/// Two endpoints, the second the fallback of the first.
struct Pair {
    first: TestServer,
    second: TestServer,
    models: Models,
    timer: Arc<NoTimer>,
    view: chela_config::AgentView,
}

impl Pair {
    async fn of(first: Vec<ServerPlay>, second: Vec<ServerPlay>) -> Self {
        let (first, second) = (serve(first).await, serve(second).await);
        let config = json!({
            "models": {"providers": {
                "a": {"baseUrl": format!("{}/v1", first.url), "apiKey": "k"},
                "b": {
                    "baseUrl": format!("{}/v1", second.url),
                    "apiKey": "k",
                    "models": [{"id": "m", "compat": {"toolMode": "constrained"}}],
                },
            }},
            "agents": {"defaults": {"model": {"primary": "a/m", "fallbacks": ["b/m"]}}},
        });
        let host = Host::fixed("/home/me");
        let loaded = load_text(&host, &config.to_string());
        let timer = Arc::new(NoTimer::default());
        Self {
            first,
            second,
            models: Models::of(&host, &loaded).with_timer(timer.clone()),
            timer,
            view: loaded.agent(&AgentId::main()).unwrap(),
        }
    }

    fn chain(&self, selection: ModelSelection<'_>) -> FallbackChain {
        self.models.chain(&self.view, selection).unwrap()
    }

    /// How often each was asked.
    fn asked(&self) -> (usize, usize) {
        let count = |server: &TestServer| server.asked.lock().unwrap().len();
        (count(&self.first), count(&self.second))
    }

    fn waited(&self) -> Vec<f64> {
        let waits = self.timer.0.lock().unwrap();
        waits.iter().map(Duration::as_secs_f64).collect()
    }
}

async fn answer(
    chain: &FallbackChain,
    stage: TurnStage,
) -> (Vec<ResponseEvent>, Result<ModelResponse, ModelError>) {
    let mut events = Vec::new();
    let request = request("hi");
    let encoded = chain.encode(&request);
    let mut listen = |event| events.push(event);
    let result = chain
        .answer(&ModelHttp::direct(), &request, &encoded, stage, &mut listen)
        .await;
    (events, result)
}

#[tokio::test]
async fn an_overloaded_model_is_asked_once_more_then_the_next() {
    let pair = Pair::of(vec![busy()], vec![hello()]).await;
    let chain = pair.chain(ModelSelection::Configured);
    let (events, result) = answer(&chain, TurnStage::Fresh).await;
    assert_eq!(result.unwrap().model, "b/m");
    assert_eq!(
        events,
        [ResponseEvent::Text("Hello".into())],
        "nothing was said that must be taken back"
    );
    assert_eq!((pair.asked(), pair.waited()), ((2, 1), vec![1.0]));
    // Within the turn it stays there; the next turn would begin at the first, were it not pausing.
    assert_eq!(chain.current().reference(), "b/m");
    answer(&chain, TurnStage::Underway).await.1.unwrap();
    assert_eq!(pair.asked(), (2, 2));
    let next = pair.chain(ModelSelection::Configured);
    assert_eq!(next.current().reference(), "a/m");
    answer(&next, TurnStage::Fresh).await.1.unwrap();
    assert_eq!(pair.asked(), (2, 3), "the first one pauses for 30 s");
}

#[tokio::test]
async fn a_long_wait_is_not_waited_for_when_there_is_another_model() {
    let limited = ServerPlay::status(429, "retry-after: 20\r\n", "{}");
    let pair = Pair::of(vec![limited], vec![hello()]).await;
    let chain = pair.chain(ModelSelection::Configured);
    assert_eq!(
        answer(&chain, TurnStage::Fresh).await.1.unwrap().model,
        "b/m"
    );
    assert_eq!((pair.asked(), pair.waited()), ((1, 1), vec![]));
}

#[tokio::test]
async fn a_wait_beyond_the_limit_is_given_up_at_once() {
    let limited = ServerPlay::status(429, "retry-after: 3600\r\n", "{}");
    let pair = Pair::of(vec![limited], vec![hello()]).await;
    let chosen = pair.chain(ModelSelection::Chosen("a/m"));
    let error = answer(&chosen, TurnStage::Fresh).await.1.unwrap_err();
    assert_eq!((pair.asked(), pair.waited()), ((1, 0), vec![]));
    assert_eq!(error.hint.as_deref(), Some("it asks you to wait 3600 s"));
}

#[tokio::test]
async fn a_model_a_person_chose_is_never_replaced() {
    let limited = ServerPlay::status(429, "retry-after: 60\r\n", "{}");
    let pair = Pair::of(vec![limited, hello()], vec![hello()]).await;
    let (events, result) =
        answer(&pair.chain(ModelSelection::Chosen("a/m")), TurnStage::Fresh).await;
    assert_eq!(result.unwrap().model, "a/m");
    assert_eq!((pair.asked(), pair.waited()), ((2, 0), vec![60.0]));
    assert!(
        matches!(events[0], ResponseEvent::Waiting { wait, .. } if wait == Duration::from_secs(60))
    );
}

#[tokio::test]
async fn when_all_are_overloaded_a_fresh_turn_waits_and_another_gives_up() {
    let pair = Pair::of(vec![busy()], vec![busy()]).await;
    let error = answer(&pair.chain(ModelSelection::Configured), TurnStage::Underway)
        .await
        .1
        .unwrap_err();
    assert_eq!(error.model, "a/m");
    assert!(
        error
            .message
            .ends_with("(and its fallback could not answer either)"),
        "{error}"
    );
    assert_eq!(pair.waited(), [1.0, 1.0]);

    let pair = Pair::of(vec![busy()], vec![busy()]).await;
    answer(&pair.chain(ModelSelection::Configured), TurnStage::Fresh)
        .await
        .1
        .unwrap_err();
    let rounds: Vec<f64> = pair
        .waited()
        .into_iter()
        .filter(|wait| *wait > 1.0)
        .collect();
    assert_eq!(
        rounds,
        [2.5, 5.0, 10.0, 20.0, 30.0, 30.0, 30.0, 30.0, 30.0, 30.0]
    );
}

#[tokio::test]
async fn a_cut_answer_is_taken_back_and_asked_for_again() {
    let pair = Pair::of(vec![ServerPlay::stream(HALF), hello()], vec![hello()]).await;
    let (events, result) = answer(&pair.chain(ModelSelection::Configured), TurnStage::Fresh).await;
    assert_eq!(result.unwrap().model, "a/m");
    assert_eq!(events[0], ResponseEvent::Text("Hel".into()));
    assert!(matches!(&events[1], ResponseEvent::Restarted { why } if why.contains("broke off")));
    assert_eq!(events[2], ResponseEvent::Text("Hello".into()));
    assert_eq!(pair.asked(), (2, 0));
}

#[tokio::test]
async fn a_request_that_is_too_long_is_not_taken_elsewhere() {
    let long = ServerPlay::status(
        400,
        "",
        "{\"error\":{\"type\":\"exceed_context_size_error\"}}",
    );
    let pair = Pair::of(vec![long], vec![hello()]).await;
    let error = answer(&pair.chain(ModelSelection::Configured), TurnStage::Fresh)
        .await
        .1
        .unwrap_err();
    assert_eq!(error.failure, CallFailure::ContextOverflow);
    assert_eq!(pair.asked(), (1, 0));
    // And it is no fault of the model: the next call asks it again.
    answer(&pair.chain(ModelSelection::Configured), TurnStage::Fresh)
        .await
        .1
        .unwrap_err();
    assert_eq!(pair.asked(), (2, 0));
}

#[tokio::test]
async fn a_bad_key_or_an_empty_account_moves_on_at_once() {
    for status in [401, 402, 404] {
        let pair = Pair::of(vec![ServerPlay::status(status, "", "{}")], vec![hello()]).await;
        let chain = pair.chain(ModelSelection::Configured);
        assert_eq!(
            answer(&chain, TurnStage::Underway).await.1.unwrap().model,
            "b/m",
            "{status}"
        );
        assert_eq!((pair.asked(), pair.waited()), ((1, 1), vec![]), "{status}");
    }
}

#[tokio::test]
async fn with_everything_pausing_the_first_is_asked_all_the_same() {
    let pair = Pair::of(
        vec![ServerPlay::status(401, "", "{}")],
        vec![ServerPlay::status(401, "", "{}")],
    )
    .await;
    for _ in 0..2 {
        answer(&pair.chain(ModelSelection::Configured), TurnStage::Fresh)
            .await
            .1
            .unwrap_err();
    }
    assert_eq!(pair.asked(), (2, 1));
}

/// The bodies an endpoint got.
fn bodies(server: &TestServer) -> Vec<String> {
    let asked = server.asked.lock().unwrap();
    asked.iter().map(|(_, body)| body.clone()).collect()
}

/// A request with a tool, made for the model that is asked first.
async fn ask_with_tool(chain: &FallbackChain) -> ModelResponse {
    let request = ModelRequest {
        tools: vec![ToolSchema {
            name: "look".to_owned(),
            description: "Looks.".to_owned(),
            parameters: json!({"type": "object"}).into(),
        }],
        tool_mode: chain.current().tool_mode(),
        ..request("hi")
    };
    let encoded = chain.encode(&request);
    let http = ModelHttp::direct();
    let mut listen = |_| ();
    let answer = chain.answer(&http, &request, &encoded, TurnStage::Fresh, &mut listen);
    let response = answer.await.unwrap();
    if response.model == encoded.model() {
        assert_eq!(response.sent, encoded);
    }
    response
}

#[tokio::test]
async fn a_model_that_is_asked_again_gets_the_bytes_that_were_handed_in() {
    let pair = Pair::of(vec![busy(), hello()], vec![hello()]).await;
    let response = ask_with_tool(&pair.chain(ModelSelection::Configured)).await;
    let sent = String::from_utf8(response.sent.bytes().to_vec()).unwrap();
    assert_eq!(bodies(&pair.first), [sent.clone(), sent]);
}

#[tokio::test]
async fn each_model_is_told_of_tools_in_its_own_way_whichever_was_asked_before() {
    let refused = || ServerPlay::status(400, "", "{}");
    let held = HELLO.replace("Hello", "{\\\"reply\\\":\\\"Hello\\\"}");
    let pair = Pair::of(
        vec![refused(), hello()],
        vec![ServerPlay::stream(&held), refused()],
    )
    .await;
    let chain = pair.chain(ModelSelection::Configured);
    assert_eq!(chain.primary().tool_mode(), ToolMode::Native);
    let by_second = ask_with_tool(&chain).await;
    assert_eq!(
        (by_second.model.as_str(), by_second.sent.model()),
        ("b/m", "b/m")
    );
    assert_eq!(chain.current().tool_mode(), ToolMode::Constrained);
    // The second one fails in its turn, and the first is asked again.
    let by_first = ask_with_tool(&chain).await;
    assert_eq!(by_first.model, "a/m");
    let sent =
        |response: &ModelResponse| String::from_utf8(response.sent.bytes().to_vec()).unwrap();
    let (to_first, to_second) = (bodies(&pair.first), bodies(&pair.second));
    assert_eq!(to_first[1], sent(&by_first));
    assert_eq!(to_second[0], sent(&by_second));
    for body in &to_first {
        assert!(
            body.contains("\"tools\":") && !body.contains("anyOf"),
            "{body}"
        );
    }
    for body in &to_second {
        assert!(
            body.contains("anyOf") && !body.contains("\"tools\":"),
            "{body}"
        );
    }
}

#[tokio::test]
async fn pauses_grow_and_end() {
    use super::ChainPace;
    use chela_core::FixedClock;
    use std::time::UNIX_EPOCH;

    let pair = Pair::of(vec![busy()], vec![busy()]).await;
    let target = pair.chain(ModelSelection::Configured).primary().clone();
    let at = |seconds: u64| Host {
        clock: Arc::new(FixedClock(UNIX_EPOCH + Duration::from_secs(seconds))),
        ..Host::fixed("/home/me")
    };
    let mut pace = ChainPace::of(&at(0));
    let failure = CallFailure::Overloaded { retry_after: None };
    for pause in [30, 60, 300, 300] {
        pace = pace.at(&at(0));
        pace.failed(&target, &failure);
        assert!(pace.at(&at(pause - 1)).pauses(&target), "{pause}");
        assert!(!pace.at(&at(pause)).pauses(&target), "{pause}");
    }
    pace.answered(&target);
    assert!(!pace.pauses(&target));
    pace.failed(&target, &CallFailure::Billing);
    assert!(
        pace.at(&at(4 * 3600)).pauses(&target),
        "money does not come in minutes"
    );
}
