//! An agent inside a program of one's own: `cargo run -p chela-agent --example embed`.

use std::{error::Error, sync::Arc};

use chela_agent::prelude::*;
use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint};

const CONFIG: &str = "{agents: {defaults: {model: 'kit/m'}}, models: {providers: {kit: {
    baseUrl: 'URL/v1', api: 'openai-completions', models: [{id: 'm'}]}}}}";

/// What the agent of this machine says to a hello.
pub async fn answer(host: &Host, model: &ScriptedEndpoint) -> Result<String, Box<dyn Error>> {
    let config = CONFIG.replace("URL", &model.url());
    let agents = Agents::open(host, Arc::new(load_text(host, &config)));
    let speaker = Speaker::Owner(OwnerProof::terminal());
    let talk = agents.conversation(ConversationAsk::new(speaker)).await?;
    let outcome = talk.say("Hello?".into(), &HeadlessApprover).await?;
    Ok(outcome.reply.text().to_owned())
}

#[expect(clippy::print_stdout, reason = "a program talks to its user")]
fn main() -> Result<(), Box<dyn Error>> {
    let hello = ScriptStep::reply("Hello from inside.");
    let model = ScriptedEndpoint::start(EndpointScript::always(hello))?;
    let host = this_machine(Some("embedded"));
    let runtime = tokio::runtime::Runtime::new()?;
    println!("{}", runtime.block_on(answer(&host, &model))?);
    Ok(())
}
