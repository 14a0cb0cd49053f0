//! `chela approvals …`, as typed.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub enum ApprovalsCommand {
    /// What waits for your yes, and what may happen without asking
    List {
        /// Only this agent's, and everyone's
        #[arg(long, short = 'a', value_name = "ID")]
        agent: Option<String>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Everything about one of them
    Show {
        /// Its id, from `list`
        id: String,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Take one back: the command asks again
    Revoke {
        /// Its id, from `list`, or the program it is for
        id: String,
    },
    /// Let a program run without asking, or say yes to a call that waits
    #[command(after_help = "\
Examples:
  chela approvals allow git --args 'status|log( .*)?'
                                      git from PATH, with these arguments only
  chela approvals allow 'git commit'  git, where its arguments begin so
  chela approvals allow '~/bin/*'     every program of a folder
  chela approvals allow rg --every-agent

--args is a regular expression for all arguments joined by blanks. Programs that run other
programs (sh, env, xargs, find …), and options that make one run or write something else
(git -c, curl -o, tar --to-command …), are allowed only by approving an exact command when asked.")]
    Allow {
        /// The id of a call that waits, a name found on PATH, or a path; `*` stands for anything but `/`
        pattern: String,
        /// Only with arguments like these
        #[arg(long, value_name = "REGEX")]
        args: Option<String>,
        /// For a call that waits: from now on, not just once
        #[arg(long)]
        always: bool,
        #[command(flatten)]
        whose: ApprovalsAgentArg,
    },
    /// What happens with commands: config, document, and what counts
    Get {
        /// Which agent (default: the default agent)
        #[arg(long, short = 'a', value_name = "ID")]
        agent: Option<String>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Change what happens with commands on this machine
    #[command(after_help = "\
Examples:
  chela approvals set cautious            listed commands run, the rest asks
  chela approvals set deny-all            no command runs
  chela approvals set yolo                the config alone decides
  chela approvals set --security allowlist --ask off --agent research

The document and tools.exec of the config both count; the stricter wins.")]
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
    /// A set of values in one word
    #[arg(
        value_enum,
        required_unless_present_any = ["security", "ask", "ask_fallback"],
        conflicts_with_all = ["security", "ask", "ask_fallback"]
    )]
    pub preset: Option<ApprovalPreset>,
    /// What may run at all
    #[arg(long, value_enum, value_name = "SECURITY")]
    pub security: Option<SecurityName>,
    /// When a person is asked
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
    /// Everything may run, nobody is asked
    Yolo,
    /// Listed commands run, a person is asked about the rest, nobody there means no
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
