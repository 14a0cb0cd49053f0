//! `gateway`: where it listens and who may speak to it.

use super::*;

section! {
    /// The gateway.
    struct Gateway {
        /// Port.
        [min 1]
        port: u16 = 18_790,
        /// Run here, or connect to one elsewhere.
        [later]
        mode: Option<GatewayMode>,
        /// Which addresses it listens on.
        bind: GatewayBind,
        /// The address for `custom`.
        custom_bind_host: Option<String>,
        /// Who may connect.
        auth: GatewayAuth,
        /// How much may be used up in a window of time; more is refused.
        quotas: GatewayQuotas,
        /// Proxies whose headers are trusted.
        [later]
        trusted_proxies: Vec<String>,
        /// Also trust `X-Real-IP`.
        [later]
        allow_real_ip_fallback: Option<bool>,
        /// The web page.
        control_ui: ControlUi,
        /// Chat on the web page.
        [later]
        webchat: ForeignSettings,
        /// Tools callers may run.
        [later]
        tools: NameFilter,
        /// A gateway elsewhere.
        [later]
        remote: GatewayRemote,
        /// A conversation leaves memory when nothing was said in it for so many minutes; what it knows
        /// is on disk.
        conversation_idle_minutes: u64 = 10,
        /// What happens when this file changes.
        reload: GatewayReload,
        /// Encryption.
        tls: GatewayTls,
        /// HTTP endpoints.
        [later]
        http: GatewayHttp,
        /// How answers reach where they are to go.
        delivery: GatewayDelivery,
        /// Through Tailscale.
        [later]
        tailscale: ForeignSettings,
        /// Paired devices.
        [later]
        nodes: ForeignSettings,
        /// Push messages to phones.
        [later]
        push: ForeignSettings,
        /// Check channels every N minutes; 0: never.
        [later]
        channel_health_check_minutes: Option<u64>,
        /// A channel that was silent for this many minutes is checked.
        [min 1, later]
        channel_stale_event_threshold_minutes: Option<u64>,
        /// Restarts of a channel per hour.
        [min 1, later]
        channel_max_restarts_per_hour: Option<u64>,
        /// Longest handshake, in milliseconds.
        [later]
        handshake_timeout_ms: Option<u64>,
    }

    /// How much may be used up in a window of time.
    struct GatewayQuotas {
        /// By each agent, whoever it works for.
        agent: QuotaRule,
        /// By each sender: whoever a program names with `user`, or a channel.
        sender: QuotaRule,
    }

    /// In turns, tokens or money; the first one reached counts.
    struct QuotaRule {
        /// Turns.
        [min 1]
        turns: Option<u64>,
        /// Tokens in and out.
        [min 1]
        tokens: Option<u64>,
        /// US dollars.
        [min 0.0]
        usd: Option<f64>,
        /// The window: a bare number is minutes, a week at most.
        window: DurationText = "1h".into(),
    }

    /// Who may speak to the gateway.
    struct GatewayAuth {
        /// What callers must show.
        mode: Option<GatewayAuthMode>,
        /// Token.
        token: Option<SecretSetting>,
        /// Password.
        password: Option<SecretSetting>,
        /// People signed in to Tailscale may.
        [later]
        allow_tailscale: Option<bool>,
        /// Slow down guessing.
        [later]
        rate_limit: ForeignSettings,
        /// A proxy that has checked the caller.
        [later]
        trusted_proxy: ForeignSettings,
    }

    /// The web page.
    struct ControlUi {
        /// Serve it.
        [later]
        enabled: Option<bool>,
        /// Path it is served at.
        [later]
        base_path: Option<String>,
        /// Folder it is served from.
        [later]
        root: Option<String>,
        /// Addresses it may be opened from.
        allowed_origins: Vec<String>,
        /// What embedded pages may do.
        [later]
        embed_sandbox: Option<String>,
        /// Embed pages from elsewhere.
        [later]
        allow_external_embed_urls: Option<bool>,
        /// Allow signing in without encryption.
        [later]
        allow_insecure_auth: Option<bool>,
        /// Trust the Host header. Dangerous.
        [later]
        dangerously_allow_host_header_origin_fallback: Option<bool>,
        /// Do not ask for a paired device. Dangerous.
        [later]
        dangerously_disable_device_auth: Option<bool>,
        /// Widest message, as CSS.
        [later]
        chat_message_max_width: Option<serde_json::Value>,
    }

    /// How answers of jobs, heartbeats and webhooks reach where they are to go.
    struct GatewayDelivery {
        /// URLs that answers may be posted to: each with everything below its path.
        webhooks: Vec<String>,
        /// Secret the requests to them are signed with.
        secret: Option<SecretSetting>,
        /// Pauses before each further try, in milliseconds; the last counts for all after it.
        backoff_ms: Vec<u64>,
        /// How long one is tried; a bare number is hours.
        expire: DurationText = "24h".into(),
    }

    /// A gateway elsewhere.
    struct GatewayRemote {
        /// Use it.
        enabled: Option<bool>,
        /// URL.
        url: Option<String>,
        /// `ssh` or `direct`.
        transport: Option<String>,
        /// Token.
        token: Option<SecretSetting>,
        /// Password.
        password: Option<SecretSetting>,
        /// Fingerprint of its certificate.
        [later]
        tls_fingerprint: Option<String>,
        /// Machine for `ssh`.
        [later]
        ssh_target: Option<String>,
        /// Key file for `ssh`.
        [later]
        ssh_identity: Option<String>,
        /// Port there.
        [later]
        remote_port: Option<u16>,
    }

    /// What happens when this file changes.
    struct GatewayReload {
        /// `off`: nothing; `hot`: apply what can be; `hybrid`: and restart for the rest once no turn
        /// runs; `restart`: restart for every change.
        mode: ReloadMode,
        /// Wait this many milliseconds for more changes.
        [later]
        debounce_ms: Option<u64>,
        /// Longest wait for running work, in milliseconds.
        [later]
        deferral_timeout_ms: Option<u64>,
    }

    /// Encryption.
    struct GatewayTls {
        /// Encrypt; on where `certPath` is set.
        enabled: Option<bool>,
        /// Create a certificate.
        [later]
        auto_generate: Option<bool>,
        /// Certificate, with those between it and its authority, in PEM form.
        cert_path: Option<String>,
        /// Its private key, in PEM form.
        key_path: Option<String>,
        /// Authority that signed it.
        [later]
        ca_path: Option<String>,
        /// Listen beyond this machine without encrypting: a proxy or a tunnel in front of it does.
        behind_proxy: bool,
    }

    /// HTTP endpoints.
    struct GatewayHttp {
        /// Which are served.
        endpoints: HttpEndpoints,
        /// Headers for security.
        [later]
        security_headers: ForeignSettings,
    }

    /// Which HTTP endpoints are served.
    struct HttpEndpoints {
        /// `/v1/chat/completions`.
        [later]
        chat_completions: HttpEndpoint,
        /// `/v1/responses`.
        responses: HttpEndpoint,
    }
}

section! {
    /// One HTTP endpoint.
    struct HttpEndpoint {
        /// Serve it.
        enabled: bool,
        /// Largest request, in bytes.
        [min 1, later]
        max_body_bytes: u64 = 20_971_520,
        ..other: OpenMap,
    }
}

words! {
    /// Where the gateway runs.
    enum GatewayMode { Local = "local", Remote = "remote" }
    /// Which addresses the gateway listens on.
    enum GatewayBind {
        Loopback = "loopback", Lan = "lan", Tailnet = "tailnet", Auto = "auto", Custom = "custom",
    }
    /// What callers must show.
    enum GatewayAuthMode {
        Token = "token", Password = "password", TrustedProxy = "trusted-proxy", None = "none",
    }
    /// What happens when the config file changes.
    enum ReloadMode { Hybrid = "hybrid", Hot = "hot", Restart = "restart", Off = "off" }
}
