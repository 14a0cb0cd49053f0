//! `limits`: what may be spent.

section! {
    /// Spending limits. Each is reserved before a call and settled after it.
    struct Limits {
        /// One turn.
        turn: SpendLimit,
        /// One session.
        session: SpendLimit,
        /// One day.
        day: SpendLimit,
        /// One month.
        month: SpendLimit,
        /// Timed jobs.
        job: LimitSet,
        /// Heartbeats.
        heartbeat: LimitSet,
        /// What happens at a limit.
        at_limit: AtLimit,
        /// The cheaper model for `atLimit: cheaper`.
        cheaper_model: Option<String>,
    }

    /// Spending limits of one agent or kind of work.
    struct LimitSet {
        /// One turn.
        turn: SpendLimit,
        /// One session.
        session: SpendLimit,
        /// One day.
        day: SpendLimit,
        /// One month.
        month: SpendLimit,
    }

    /// In tokens, in money, or both; the first one reached counts.
    struct SpendLimit {
        /// Tokens in and out.
        [min 1]
        tokens: Option<u64>,
        /// US dollars.
        [min 0.0]
        usd: Option<f64>,
    }
}

words! {
    /// What happens at a limit.
    enum AtLimit { Stop = "stop", Cheaper = "cheaper" }
}
