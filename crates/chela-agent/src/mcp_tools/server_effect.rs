//! What a call of a server's tool does to the world.
//!
//! The owner says what a tool does; what its server can reach says what that means here. Nothing the
//! server says of itself counts.

use chela_mcp::{McpEffect, McpServerSpec};
use chela_tools::{CallSink, CallTarget, Effect, SinkKind};
use serde_json::Value;

/// The effect of a tool. One its owner said nothing of has the worst.
pub fn effect_of_tool(spec: &McpServerSpec, tool: &str) -> Effect {
    match (spec.grants.effects.of_tool(tool), spec.is_networked()) {
        (None | Some(McpEffect::Irreversible), _) => Effect::Irreversible,
        (Some(McpEffect::WriteOutward), _) => Effect::WriteOutward,
        // Whatever is changed over there, others can see what the call says.
        (Some(McpEffect::WriteReversible), true) => Effect::WriteOutward,
        (Some(McpEffect::WriteReversible), false) => Effect::WriteReversible,
        // A server that reaches others is told what is asked, even where it only reads.
        (Some(McpEffect::Read | McpEffect::Egress), true) => Effect::Egress,
        (Some(McpEffect::Read | McpEffect::Egress), false) => Effect::ReadUntrusted,
    }
}

/// The arguments that leave this machine: all of them, where the server reaches others.
pub(super) fn sinks_of(spec: &McpServerSpec, effect: Effect, schema: &Value) -> Vec<CallSink> {
    if !spec.is_networked() {
        return Vec::new();
    }
    let kind = match effect {
        Effect::Egress => SinkKind::Text,
        _ => SinkKind::Name,
    };
    let properties = schema["properties"].as_object().into_iter().flatten();
    let sinks = properties.map(|(name, _)| CallSink {
        argument: name.clone().into(),
        kind,
    });
    sinks.collect()
}

/// The services a call is about.
pub(super) fn targets_of(spec: &McpServerSpec) -> Vec<CallTarget> {
    let mut targets: Vec<CallTarget> = spec.hosts().into_iter().map(CallTarget::Host).collect();
    // Without walls it reaches whatever it likes.
    if targets.is_empty() && spec.is_networked() {
        targets.push(CallTarget::Host(format!("mcp:{}", spec.prefix)));
    }
    targets
}

#[cfg(test)]
mod tests {
    use chela_core::Host;
    use chela_mcp::specs_of;
    use chela_tools::{Effect, SinkKind};
    use serde_json::json;

    use super::{effect_of_tool, sinks_of, targets_of};

    #[test]
    fn the_owners_word_counts_and_what_the_server_reaches_narrows_it() {
        let host = Host::fixed("/home/me");
        let loaded = chela_config::load_text(
            &host,
            r#"{ mcp: { servers: {
                near: { command: "x", effects: { get: "read", put: "write_reversible", say: "egress" } },
                far: { url: "https://far.example/mcp", effects: { get: "read", put: "write_reversible", post: "write_outward" } },
                out: { command: "x", sandbox: "off", effects: { get: "read" } },
            } } }"#,
        );
        let (specs, faults) = specs_of(&host, &loaded);
        assert_eq!(faults, []);
        let spec = |name: &str| specs.iter().find(|spec| spec.name == name).unwrap();
        let effect = |server: &str, tool: &str| effect_of_tool(spec(server), tool);
        assert_eq!(effect("near", "get"), Effect::ReadUntrusted);
        assert_eq!(effect("near", "say"), Effect::ReadUntrusted);
        assert_eq!(effect("near", "put"), Effect::WriteReversible);
        assert_eq!(effect("near", "anything"), Effect::Irreversible);
        assert_eq!(effect("far", "get"), Effect::Egress);
        assert_eq!(effect("far", "put"), Effect::WriteOutward);
        assert_eq!(effect("far", "post"), Effect::WriteOutward);
        assert_eq!(effect("far", "anything"), Effect::Irreversible);
        assert_eq!(effect("out", "get"), Effect::Egress);
        let schema = json!({ "properties": { "query": {}, "limit": {} } });
        assert!(sinks_of(spec("near"), Effect::ReadUntrusted, &schema).is_empty());
        let far = sinks_of(spec("far"), Effect::Egress, &schema);
        assert!(far.len() == 2 && far.iter().all(|sink| sink.kind == SinkKind::Text));
        let outward = sinks_of(spec("far"), Effect::WriteOutward, &schema);
        assert!(outward.iter().all(|sink| sink.kind == SinkKind::Name));
        assert_eq!(targets_of(spec("far")).len(), 1);
        assert_eq!(targets_of(spec("out")).len(), 1);
        assert!(targets_of(spec("near")).is_empty());
    }
}
