//! The example that embeds the engine does what it says.

#[path = "../../examples/embed.rs"]
#[expect(dead_code, reason = "its main is for the program")]
mod embed;

use chela_agent::machine::this_machine;
use chela_core::vars;
use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint};

use super::turning::runtime;

#[test]
fn the_example_answers() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut host = this_machine(None);
    let home = dir.path().display().to_string();
    host.env.insert(vars::HOME.to_owned(), home);
    let model = ScriptedEndpoint::start(EndpointScript::always(ScriptStep::reply("Hello there.")))
        .expect("an endpoint");
    let answer = runtime().block_on(embed::answer(&host, &model));
    assert_eq!(answer.expect("an answer"), "Hello there.");
}

#[test]
fn the_example_is_short() {
    let text = include_str!("../../examples/embed.rs");
    assert!(text.lines().count() < 30, "{}", text.lines().count());
}
