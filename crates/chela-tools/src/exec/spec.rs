//! What the model is told of `exec`.

use chela_sandbox::SandboxStanding;

use super::setup::{CommandsSetup, SandboxLeaving};
use crate::handles;
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::{CallSink, Effect, SinkKind, ToolSpec};

/// Which secrets may be named, if any.
fn about_secrets(setup: &CommandsSetup) -> String {
    let names = setup.handles.names(handles::SecretUse::Commands);
    match names.is_empty() {
        true => String::new(),
        false => format!(
            " A value of env may be ${{secret:NAME}}: {}.",
            handles::in_words(&names)
        ),
    }
}

pub(super) fn spec(setup: &CommandsSetup) -> ToolSpec {
    let mut parameters = ArgumentSchema::object()
        .optional(
            "command",
            ArgumentKind::text().chief().such_as("ls -la"),
            "The command line; pipes and variables run in sh",
        )
        .optional(
            "argv",
            ArgumentKind::list(ArgumentKind::text()),
            "Instead: program and arguments, no shell",
        )
        .optional("workdir", ArgumentKind::text(), "Start there")
        .optional("env", ArgumentKind::text_map(), "")
        .optional(
            "yieldMs",
            ArgumentKind::integer().min(10).max(600_000),
            "Wait so long, then leave it in the background (10000)",
        )
        .optional("background", ArgumentKind::flag(), "")
        .optional(
            "timeoutSeconds",
            ArgumentKind::integer().min(1).also_named("timeout"),
            "",
        )
        .optional("pty", ArgumentKind::flag(), "")
        .optional("ask", ArgumentKind::one_of(&["always"]), "");
    if setup.leaving == SandboxLeaving::Possible {
        parameters = parameters.optional(
            "elevated",
            ArgumentKind::flag(),
            "Run it on the host instead of in the sandbox, where the user allows that.",
        );
    }
    if let SandboxStanding::CommandsInside(_) = *setup.sandbox {
        parameters = parameters
            .optional("hosts", ArgumentKind::list(ArgumentKind::text()), "Hosts it must reach; the owner is asked once each")
            .optional("outside", ArgumentKind::flag(), "Outside the sandbox, for git add, commit, push, the owner's files and programs; the owner is asked");
    }
    let place = match &*setup.sandbox {
        SandboxStanding::Outside { .. } => "on this machine",
        SandboxStanding::CommandsInside(_) => "in the sandbox",
        SandboxStanding::Inside(_) | SandboxStanding::Refused { .. } => "in the sandbox",
    };
    ToolSpec {
        name: "exec".into(),
        description: format!(
            "Run a command {place}. What takes longer goes on in the background, \
             where process follows it; what a command leaves running ends with it: \
             start servers with background: true.{}",
            about_secrets(setup)
        )
        .into(),
        parameters: parameters.build().into(),
        effect: Effect::Irreversible,
        sinks: [
            CallSink::new("command", SinkKind::Command),
            CallSink::new("argv", SinkKind::Command),
            CallSink::new("workdir", SinkKind::Path),
            CallSink::new("env", SinkKind::Command),
        ]
        .into(),
    }
}
