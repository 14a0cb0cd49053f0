//! `chela approvals …`, as typed.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub enum ApprovalsCommand {
    /// Calls waiting for approval, and what runs without asking
    List {
        /// Only this agent's, and those for all agents
        #[arg(long, short = 'a', value_name = "ID")]
        agent: Option<String>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Show one in full
    Show {
        /// Its id, from `list`
        id: String,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Revoke one: the command asks again
    Revoke {
        /// Its id, from `list`, or the program it is for
        #[arg(required = true, value_name = "ID")]
        id: Vec<String>,
    },
    /// Pre-approve a program, or approve a waiting call
    #[command(after_help = "\
Examples:
  chela approvals allow git --args 'status|log( .*)?'
                                      git from PATH, with these arguments only
  chela approvals allow git commit    git, when its arguments start with this
  chela approvals allow '~/bin/*'     every program in a folder
  chela approvals allow rg --every-agent

--args is a regular expression for all arguments joined by spaces. Programs that run other
programs (sh, env, xargs, find …), and options that make one run or write something else
(git -c, curl -o, tar --to-command …), are allowed only by approving an exact command when asked.")]
    Allow {
        /// The id of a waiting call, a program on PATH and the words its arguments start with, or a
        /// path; `*` matches anything but `/`
        #[arg(required = true, value_name = "PATTERN")]
        pattern: Vec<String>,
        /// Only with arguments like these
        #[arg(long, value_name = "REGEX")]
        args: Option<String>,
        /// For a waiting call: always, not just once
        #[arg(long)]
        always: bool,
        #[command(flatten)]
        whose: ApprovalsAgentArg,
    },
    /// How commands are handled: config, approvals file, and the result
    Get {
        /// Which agent (default: the default agent)
        #[arg(long, short = 'a', value_name = "ID")]
        agent: Option<String>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Change how commands are handled on this machine
    #[command(after_help = "\
Examples:
  chela approvals set cautious            pre-approved commands run, the rest asks
  chela approvals set deny-all            no command runs
  chela approvals set yolo                the config alone decides
  chela approvals set --security allowlist --ask off --agent research

The approvals file and tools.exec in the config both apply; the stricter one wins.")]
    Set(SetArgs),
}

#[derive(Debug, Args)]
pub struct ApprovalsAgentArg {
    /// Which agent (default: the default agent)
    #[arg(long, short = 'a', value_name = "ID", conflicts_with = "every_agent")]
    pub agent: Option<String>,
    /// For all agents
    #[arg(long)]
    pub every_agent: bool,
}

#[derive(Debug, Args)]
pub struct SetArgs {
    /// A preset
    #[arg(
        value_enum,
        required_unless_present_any = ["security", "ask", "ask_fallback"],
        conflicts_with_all = ["security", "ask", "ask_fallback"]
    )]
    pub preset: Option<ApprovalPreset>,
    /// What may run at all
    #[arg(long, value_enum, value_name = "SECURITY")]
    pub security: Option<SecurityName>,
    /// When to ask you
    #[arg(long, value_enum, value_name = "WHEN")]
    pub ask: Option<AskName>,
    /// What may run when nobody answers
    #[arg(long, value_enum, value_name = "SECURITY")]
    pub ask_fallback: Option<SecurityName>,
    /// Only for this agent (default: for all)
    #[arg(long, short = 'a', value_name = "ID")]
    pub agent: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApprovalPreset {
    /// Everything runs without asking
    Yolo,
    /// Pre-approved commands run, the rest asks; no answer means no
    Cautious,
    /// Nothing runs
    DenyAll,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SecurityName {
    Deny,
    Allowlist,
    Full,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AskName {
    Off,
    OnMiss,
    Always,
}
