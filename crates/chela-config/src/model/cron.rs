//! `cron`: timed work.

use super::*;

section! {
    /// Timed work.
    struct Cron {
        /// Run jobs.
        enabled: bool = true,
        /// Where jobs are stored.
        [later]
        store: Option<String>,
        /// Jobs at the same time.
        [min 1, later]
        max_concurrent_runs: Option<u32>,
        /// Trying again.
        retry: CronRetry,
        /// URL notified about finished jobs.
        [later]
        webhook: Option<String>,
        /// Token sent to that URL.
        [later]
        webhook_token: Option<SecretSetting>,
        /// How long sessions of finished jobs are kept; a bare number is hours.
        [later]
        session_retention: OrOff<DurationText> = OrOff::On("24h".into()),
        /// How much of the run history is kept.
        [later]
        run_log: CronRunLog,
        /// Alert when a job keeps failing.
        [later]
        failure_alert: CronFailureAlert,
        /// Where the alert goes.
        [later]
        failure_destination: CronDestination,
        /// Small programs that start jobs.
        [later]
        triggers: ForeignSettings,
        /// Jobs written in this file.
        [later]
        jobs: Option<serde_json::Value>,
    }

    /// Trying again.
    struct CronRetry {
        /// How often.
        [max 10]
        max_attempts: Option<u32>,
        /// Pauses in milliseconds.
        backoff_ms: Vec<u64>,
        /// After which failures.
        [later]
        retry_on: Vec<String>,
    }

    /// How much of the run history is kept.
    struct CronRunLog {
        /// Maximum bytes.
        max_bytes: Option<ByteSize>,
        /// Maximum lines.
        [min 1, later]
        keep_lines: Option<u64>,
    }

    /// Alert when a job keeps failing.
    struct CronFailureAlert {
        /// Send it.
        enabled: Option<bool>,
        /// After this many failures in a row.
        [min 1]
        after: u32 = 2,
        /// At most once in this many milliseconds.
        [later]
        cooldown_ms: u64 = 3_600_000,
        /// Skipped runs count as well.
        [later]
        include_skipped: bool,
        /// To a chat or to the webhook.
        mode: Option<CronAlertMode>,
        /// Account.
        [later]
        account_id: Option<String>,
    }

    /// Where word of failures goes.
    struct CronDestination {
        /// Channel.
        channel: Option<String>,
        /// URL.
        to: Option<IdText>,
        /// Account.
        [later]
        account_id: Option<String>,
        /// To a chat or to the webhook.
        mode: Option<CronAlertMode>,
    }
}

words! {
    /// How word of failures is sent.
    enum CronAlertMode { Announce = "announce", Webhook = "webhook" }
}
