//! `chela testkit`: try agents offline, against a model that says what a script says.

use std::path::Path;
use std::sync::mpsc;

use chela_testkit::{
    EXAMPLE, EndpointOptions, EndpointScript, McpScript, ReceivedRequest, ScriptedEndpoint,
    serve_mcp,
};

use super::CommandOutcome;
use crate::cli::TestkitCommand;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn run(screen: &mut Screen, command: TestkitCommand) -> CommandOutcome {
    match command {
        TestkitCommand::Serve {
            script: Some(script),
            port,
            once,
            example: _,
        } => serve(screen, &script, port, once),
        TestkitCommand::Serve { script: None, .. } => {
            screen.raw(EXAMPLE)?;
            Ok(CommandExit::Fine)
        }
        TestkitCommand::Mcp { script } => {
            let script = McpScript::read(&script).map_err(|error| {
                CommandError::usage(error).hint("`chela testkit mcp --help` says what a script is")
            })?;
            serve_mcp(&script).map_err(CommandError::new)?;
            Ok(CommandExit::Fine)
        }
    }
}

fn serve(screen: &mut Screen, path: &Path, port: u16, once: bool) -> CommandOutcome {
    let script = EndpointScript::read(path).map_err(|error| {
        CommandError::usage(error).hint("`chela testkit serve --example` prints one")
    })?;
    let model = script
        .models
        .first()
        .map_or("scripted", String::as_str)
        .to_owned();
    let key = script.key.clone();
    let (seen, requests) = mpsc::channel();
    let endpoint = ScriptedEndpoint::start_with(EndpointOptions {
        script,
        port,
        watch: Some(Box::new(move |request: &ReceivedRequest| {
            // The command is ending when nobody takes it.
            let _ = seen.send(line(request));
        })),
    })
    .map_err(CommandError::new)?;
    introduce(screen, &endpoint.url(), &model, key.as_deref())?;
    let waiting = std::thread::spawn(move || {
        if once {
            endpoint.wait_until_played();
        } else {
            endpoint.wait();
        }
    });
    // Ends when the endpoint, and with it the sender, is gone.
    for request in requests {
        screen.line(request)?;
        screen.flush()?;
    }
    // A panic in it has been told.
    let _ = waiting.join();
    Ok(CommandExit::Fine)
}

/// The address, and what to put into the config.
fn introduce(
    screen: &mut Screen,
    url: &str,
    model: &str,
    key: Option<&str>,
) -> Result<(), CommandError> {
    let paint = screen.paint;
    let key = key.map_or(String::new(), |key| format!(", apiKey: \"{key}\""));
    screen.line(format!("Serving at {}", paint.accent(url)))?;
    screen.blank()?;
    screen.line("Point a provider at it:")?;
    screen.line(format!(
        "  chela config set models.providers.testkit \\\n    '{{ baseUrl: \"{url}\"{key}, \
         models: [{{ id: \"{model}\" }}] }}'"
    ))?;
    screen.line(format!(
        "  chela config set agents.defaults.model testkit/{model}"
    ))?;
    screen.paragraph(
        "  ",
        "It answers in the format of the request. For formats other than OpenAI's chat \
         completions, add api: \"openai-responses\", \"anthropic-messages\", \
         \"google-generative-ai\" or \"ollama\".",
    )?;
    screen.blank()?;
    screen.line("Ctrl-C to stop. Requests:")?;
    screen.flush()?;
    Ok(())
}

fn line(request: &ReceivedRequest) -> String {
    let call = request
        .call
        .map_or(String::new(), |call| format!("#{call}"));
    let tokens = match request.tokens.input {
        0 => String::new(),
        input => format!("  ({input} tokens, {} cached)", request.tokens.cached),
    };
    let route = request.path.split('?').next().unwrap_or_default();
    format!(
        "  {call:<4} {} {route} → {}{tokens}",
        request.method, request.answer
    )
}
