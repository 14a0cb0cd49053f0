//! `diagnostics`, `logging`: traces, telemetry, logs.

use super::*;

section! {
    /// Traces and telemetry.
    struct Diagnostics {
        /// Gather them.
        enabled: Option<bool>,
        /// What to gather.
        [later]
        flags: Vec<String>,
        /// Warn about a session stuck for this many milliseconds.
        [min 1, later]
        stuck_session_warn_ms: Option<u64>,
        /// OpenTelemetry.
        otel: Otel,
        /// A log of what was cached.
        [later]
        cache_trace: CacheTrace,
        /// Memory use.
        [later]
        memory_pressure_snapshot: Option<serde_json::Value>,
    }

    /// OpenTelemetry.
    struct Otel {
        /// Send traces of turns and metrics from the gateway.
        enabled: bool,
        /// Address of a collector, such as `http://127.0.0.1:4318`.
        endpoint: Option<String>,
        /// Address for traces.
        traces_endpoint: Option<String>,
        /// Address for metrics.
        metrics_endpoint: Option<String>,
        /// Address for logs.
        [later]
        logs_endpoint: Option<String>,
        /// Protocol; `http/json` is what is offered.
        protocol: OtelProtocol,
        /// Extra headers.
        headers: std::collections::BTreeMap<String, SecretSetting>,
        /// Name of the service: `chela` unless set.
        service_name: Option<String>,
        /// Send traces.
        traces: Option<bool>,
        /// Send metrics.
        metrics: Option<bool>,
        /// Send logs.
        [later]
        logs: Option<bool>,
        /// Share of traces sent.
        [min 0.0, max 1.0]
        sample_rate: Option<f64>,
        /// Send every N milliseconds: 5000 unless set.
        flush_interval_ms: Option<u64>,
        /// Also send message content.
        [later]
        capture_content: Option<FlagOrDetail<OpenMap>>,
        /// Tool servers.
        [later]
        mcp: ForeignSettings,
    }

    /// A log of what was cached.
    struct CacheTrace {
        /// Write it.
        enabled: bool,
        /// Where.
        [later]
        file_path: Option<String>,
        /// With messages.
        [later]
        include_messages: Option<bool>,
        /// With prompts.
        [later]
        include_prompt: Option<bool>,
        /// With the system prompt.
        [later]
        include_system: Option<bool>,
    }

    /// Log output.
    struct Logging {
        /// What goes into the file.
        level: LogLevel,
        /// The file: `logs/chela.log` unless named. A relative path starts in the state folder.
        file: Option<String>,
        /// Largest file, in bytes: 5 MiB unless set. Three older ones are kept.
        [min 1]
        max_file_bytes: Option<u64>,
        /// What is shown on standard error without `--log`.
        console_level: Option<LogLevel>,
        /// How it looks there.
        console_style: Option<ConsoleStyle>,
        /// Whether the owner's own screen hides what looks like a secret. Values the config
        /// knows are hidden always, and nothing else ever goes to a model or a record.
        redact_sensitive: RedactMode,
        /// More regular expressions for text to hide everywhere. Capital letters do not
        /// matter unless written as `/expression/flags`; of groups the last is the secret.
        redact_patterns: Vec<String>,
    }
}

words! {
    /// Protocol of OpenTelemetry.
    enum OtelProtocol { HttpJson = "http/json", HttpProtobuf = "http/protobuf", Grpc = "grpc" }
    /// How much is logged.
    enum LogLevel {
        Info = "info", Silent = "silent", Fatal = "fatal", Error = "error", Warn = "warn",
        Debug = "debug", Trace = "trace",
    }
    /// How logs look on the terminal.
    enum ConsoleStyle { Pretty = "pretty", Compact = "compact", Json = "json" }
    /// Where secrets are hidden.
    enum RedactMode { Tools = "tools", Off = "off" }
}
