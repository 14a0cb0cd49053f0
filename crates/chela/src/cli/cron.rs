//! `chela cron …`, as typed.

use clap::{Args, Subcommand, ValueEnum};

use super::AgentArg;

#[derive(Debug, Subcommand)]
pub enum CronCommand {
    /// Make a job: a reminder, or something that recurs
    #[command(after_help = "\
Examples:
  chela cron add --at 20m \"The tea is ready\"
  chela cron add --at 2031-03-10T08:00 --session main \"Renew the passport\"
  chela cron add --cron \"0 8 * * MON\" --tz Europe/Berlin --name week \"Plan my week\"
  chela cron add --every 1d --session isolated --deliver owner --name news \"What is new in notes/?\"
  chela cron add --every 2h --missed skip \"Anything new in notes/inbox.md?\"")]
    Add {
        /// What the agent is told when it is due
        text: String,
        #[command(flatten)]
        job: Box<JobArgs>,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// List jobs and when each is due next
    #[command(after_help = "Examples:\n  chela cron list\n  chela cron list --json")]
    List {
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Show a job: what, when, who made it, what is next
    #[command(after_help = "Examples:\n  chela cron show week\n  chela cron show 3f2a")]
    Show {
        /// Its name, its id or the start of it
        job: String,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Change a job; what is not named stays as it is
    #[command(after_help = "\
Examples:
  chela cron edit week --cron \"0 9 * * MON\"
  chela cron edit week --text \"Plan my week, and my month\"")]
    Edit {
        /// Its name, its id or the start of it
        job: String,
        /// What the agent is told when it is due
        #[arg(long, value_name = "TEXT")]
        text: Option<String>,
        #[command(flatten)]
        change: Box<JobArgs>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Run a job once, now, and wait for the answer
    #[command(after_help = "Examples:\n  chela cron run week")]
    Run {
        /// Its name, its id or the start of it
        job: String,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Remove jobs; what ran stays on record
    #[command(after_help = "Examples:\n  chela cron rm week")]
    Rm {
        /// Their names or ids
        #[arg(required = true)]
        jobs: Vec<String>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// What ran, what came of it and what it cost
    #[command(after_help = "Examples:\n  chela cron runs\n  chela cron runs week -n 5 --json")]
    Runs {
        /// Only of this job
        job: Option<String>,
        /// Most runs
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
        limit: usize,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Switch a job off, or on again
    #[command(after_help = "Examples:\n  chela cron pause week\n  chela cron pause week --resume")]
    Pause {
        /// Its name, its id or the start of it
        job: String,
        /// Switch it on again
        #[arg(long)]
        resume: bool,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
}

/// When, where and how.
#[derive(Debug, Args)]
pub struct JobArgs {
    /// Once: 2026-03-09T08:00, 08:00, or 20m from now
    #[arg(long, alias = "in", value_name = "TIME")]
    pub at: Option<String>,
    /// Every so often: 30m, 2h, 1d
    #[arg(long, value_name = "TIME")]
    pub every: Option<String>,
    /// A cron expression of five or six fields
    #[arg(long, value_name = "EXPRESSION")]
    pub cron: Option<String>,
    /// Time zone of --cron and of --at without one; yours unless given
    #[arg(long, value_name = "ZONE")]
    pub tz: Option<String>,
    /// Short name for it
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Where it runs: main (unless given), isolated (a fresh conversation each time) or a session key
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Told as an event in the conversation, not as a message to answer
    #[arg(long)]
    pub event: bool,
    /// Model for its runs
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Longest run, in seconds
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    /// Runs that were missed while nothing ran
    #[arg(long, value_enum, value_name = "WHAT")]
    pub missed: Option<MissedName>,
    /// So late a missed run is still made up for; 2h unless given
    #[arg(long, value_name = "TIME")]
    pub grace: Option<String>,
    /// Where the answer goes besides: none, owner (your main conversation), last, a session key, or
    /// a URL of gateway.delivery.webhooks. Owner unless given where each run has a conversation of
    /// its own, none elsewhere
    #[arg(long, value_name = "WHERE")]
    pub deliver: Option<String>,
    /// Say nothing when it cannot be delivered
    #[arg(long, requires = "deliver")]
    pub best_effort: bool,
    /// Further tries after a failure
    #[arg(long, value_name = "N")]
    pub retries: Option<u32>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum MissedName {
    Skip,
    Once,
    All,
}
