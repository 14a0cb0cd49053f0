//! `chela mcp …` as it is typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::JsonArgs;

#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// List the MCP servers: how they are reached, what they may do, what waits for you
    #[command(visible_alias = "ls")]
    List(JsonArgs),

    /// Set up an MCP server: a program, or a URL
    #[command(after_help = "\
Examples:
  chela mcp add git --read ~/src -- uvx mcp-server-git
  chela mcp add files --write ~/notes --effect 'read_*=read' -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  chela mcp add docs https://docs.example.org/mcp
  chela mcp add --from .mcp.json       the servers a project names, each with a question

A program runs in the sandbox and gets nothing but what you list: no folder, no host, none of your
variables. Programs that are downloaded when they start (npx, uvx) need the hosts they come from:
--host registry.npmjs.org, or --host pypi.org --host files.pythonhosted.org.

A tool you say nothing of counts as one that cannot be undone (--effect): after untrusted content
you are asked before each call of it.")]
    Add(Box<AddArgs>),

    /// Remove an MCP server, its login and what is on record of it
    #[command(visible_alias = "rm")]
    Remove {
        /// Its name
        name: String,
    },

    /// Use an MCP server again
    Enable {
        /// Its name
        name: String,
    },

    /// Keep an MCP server set up, and do not use it
    Disable {
        /// Its name
        name: String,
    },

    /// Start an MCP server, and show what it says; call a tool of it yourself
    #[command(after_help = "\
Examples:
  chela mcp test git
  chela mcp test git --call git_status --arguments '{\"repo_path\": \"/home/me/src/app\"}'")]
    Test(TestArgs),

    /// Log in to an MCP server that wants it (OAuth, in a browser on this machine)
    Login {
        /// Its name
        name: String,
        /// Ask for this scope, besides what the server wants
        #[arg(long, value_name = "SCOPE")]
        scope: Option<String>,
    },

    /// Delete the login to an MCP server
    Logout {
        /// Its name
        name: String,
    },

    /// Show the tools of an MCP server: what they say of themselves, what you say they do
    Tools {
        /// Its name; all of them unless given
        name: Option<String>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },

    /// Show what MCP servers say differently since their tools were accepted
    Diff {
        /// Its name; all of them unless given
        name: Option<String>,
    },

    /// Approve the tools of an MCP server as they are now
    #[command(after_help = "\
Examples:
  chela mcp trust git                   all of them, after a look
  chela mcp trust git git_commit --yes  one of them
  chela mcp trust git --effect 'git_status=read' --effect 'git_log=read'

Tools of a new server are used at first sight unless something in their descriptions is odd; what they
say counts as untrusted content then. Once you have approved a server, its new tools wait for you, too.
A tool whose description or arguments change is not called until you have approved the change.")]
    Trust(TrustArgs),

    /// Keep tools of an MCP server from being used
    Revoke {
        /// Its name
        name: String,
        /// Names of tools; all of them unless given
        tools: Vec<String>,
    },

    /// Show what an MCP server printed
    Logs {
        /// Its name
        name: String,
        /// So many lines
        #[arg(long, short = 'n', default_value_t = 50, value_name = "N")]
        lines: usize,
    },

    /// Be an MCP server: other agents can use memory, skills and sessions of this one
    #[command(after_help = "\
Examples:
  chela mcp serve                       for a client that starts it (stdio)
  chela mcp serve --scope memory,skills

In a client's settings: { \"command\": \"chela\", \"args\": [\"mcp\", \"serve\"] }. A gateway that runs
serves the same at /mcp, with a token of its own: chela mcp token NAME --scope memory.

A caller is not you: it sees what you open to it with --scope, and an agent it asks treats its words as
untrusted content.")]
    Serve(ServeArgs),

    /// Make, list and delete tokens for callers of the gateway's /mcp
    #[command(subcommand)]
    Token(TokenCommand),
}

#[derive(Debug, Args)]
pub struct AddArgs {
    /// What to call it; its tools are called NAME__tool
    #[arg(required_unless_present = "from")]
    pub name: Option<String>,

    /// Its URL
    #[arg(value_hint = ValueHint::Url, conflicts_with = "command")]
    pub url: Option<String>,

    /// The servers that this file names (.mcp.json of a project)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["name", "url", "command"])]
    pub from: Option<PathBuf>,

    /// A variable for it
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,

    /// One of your variables, by name
    #[arg(long, value_name = "NAME")]
    pub pass_env: Vec<String>,

    /// A header sent to its URL
    #[arg(long, value_name = "NAME=VALUE")]
    pub header: Vec<String>,

    /// A host it may reach
    #[arg(long, value_name = "HOST")]
    pub host: Vec<String>,

    /// A folder it may read
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub read: Vec<PathBuf>,

    /// A folder it may change
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub write: Vec<PathBuf>,

    /// What its tools do: irreversible, read, egress, write_reversible, write_outward
    #[arg(long, value_name = "TOOL=EFFECT")]
    pub effect: Vec<String>,

    /// How messages travel to a URL: streamable-http or sse
    #[arg(long, value_name = "TRANSPORT")]
    pub transport: Option<String>,

    /// Run the program outside the sandbox, with all you may do yourself
    #[arg(long)]
    pub no_sandbox: bool,

    /// Do not start it now
    #[arg(long)]
    pub no_test: bool,

    /// Ask nothing
    #[arg(long, short = 'y')]
    pub yes: bool,

    /// The program and its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

#[derive(Debug, Args)]
pub struct TestArgs {
    /// Its name
    pub name: String,

    /// Call this tool
    #[arg(long, value_name = "TOOL", conflicts_with_all = ["resource", "prompt"])]
    pub call: Option<String>,

    /// Read this resource
    #[arg(long, value_name = "URI", conflicts_with = "prompt")]
    pub resource: Option<String>,

    /// Get this prompt
    #[arg(long, value_name = "PROMPT")]
    pub prompt: Option<String>,

    /// What the tool or the prompt is given, as JSON
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub arguments: String,

    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Its name
    pub name: String,

    /// Names of tools; all of them unless given
    pub tools: Vec<String>,

    /// What its tools do: irreversible, read, egress, write_reversible, write_outward
    #[arg(long, value_name = "TOOL=EFFECT")]
    pub effect: Vec<String>,

    /// Ask nothing
    #[arg(long, short = 'y')]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The agent whose memory and skills are served
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,

    /// What callers may use: memory, skills, context, sessions, ask
    #[arg(
        long,
        value_name = "SCOPES",
        value_delimiter = ',',
        default_value = "memory,skills"
    )]
    pub scope: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token; it is shown once
    Create {
        /// Who it is for
        name: String,
        /// What it opens: memory, skills, context, sessions, ask
        #[arg(
            long,
            value_name = "SCOPES",
            value_delimiter = ',',
            default_value = "memory,skills"
        )]
        scope: Vec<String>,
        /// The agent it is about
        #[arg(long, value_name = "AGENT")]
        agent: Option<String>,
    },
    /// List them, without the tokens themselves
    List(JsonArgs),
    /// Delete one
    Delete {
        /// Who it is for
        name: String,
    },
}
