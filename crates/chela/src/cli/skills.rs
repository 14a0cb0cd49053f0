//! `chela skills …` as it is typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

#[derive(Debug, Subcommand)]
pub enum SkillsCommand {
    /// List the skills: in the prompt, hidden, quarantined
    #[command(after_help = "\
Examples:
  chela skills list
  chela skills list --all        include shadowed and skipped ones, and the folders searched
  chela skills list --json")]
    List {
        #[command(flatten)]
        of: WhoseSkills,
        /// Include shadowed and skipped skills, and the folders searched
        #[arg(long)]
        all: bool,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Watch for added, changed or removed skills
    Watch {
        #[command(flatten)]
        of: WhoseSkills,
    },
    /// Show one skill: what it is for, needs and contains
    Info {
        /// Its name
        name: String,
        #[command(flatten)]
        of: WhoseSkills,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Check skills against the format; exit 1 if something needs fixing
    #[command(after_help = "\
Examples:
  chela skills check                 all skills found
  chela skills check deploy          one of them
  chela skills check ./my-skill      a folder anywhere")]
    Check {
        /// Names of skills or folders (default: all but the bundled ones)
        what: Vec<String>,
        #[command(flatten)]
        of: WhoseSkills,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Scan every file of skills for anything harmful; exit 1 if something is found
    #[command(after_help = "\
Examples:
  chela skills scan                  all skills found
  chela skills scan deploy           one of them
  chela skills scan ~/Downloads/x    a folder anywhere, skill or not

`dangerous` keeps a skill out of every prompt until you trust it; `suspicious` is worth a look.")]
    Scan {
        /// Names of skills or folders (default: all but the bundled ones)
        what: Vec<String>,
        #[command(flatten)]
        of: WhoseSkills,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Sign a skill: a list of all its files, and a signature of that list beside it
    #[command(after_help = "\
Examples:
  chela skills keygen ~/.ssh/skills
  chela skills sign ./deploy --key ~/.ssh/skills

Any ssh-ed25519 key will do. If yours has a passphrase, let ssh sign the list:
  ssh-keygen -Y sign -n chela-skill -f KEY ./deploy/SKILL.manifest")]
    Sign {
        /// The skill's folder
        #[arg(value_hint = ValueHint::DirPath)]
        folder: PathBuf,
        /// Your private key
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        key: PathBuf,
    },
    /// Check the signature of a skill against every file in its folder; exit 1 unless it is valid
    #[command(after_help = "\
Examples:
  chela skills verify deploy
  chela skills verify ./deploy --json

Publishers you trust go into the config, as a list of lines from their .pub files:
  chela config set skills.trust.publishers '[\"ssh-ed25519 AAAA… name\"]'")]
    Verify {
        /// The name of a skill, or a folder
        what: String,
        #[command(flatten)]
        of: WhoseSkills,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Create a key for signing skills
    Keygen {
        /// Where to write it; the public key goes beside it, as .pub
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// The name in the public key
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Explain a skill: where it was found, what shadows or hides it, its rank and cost
    #[command(after_help = "\
Examples:
  chela skills why deploy
  chela skills why deploy --for \"put the site online\"    also its rank for these words
  chela skills why deploy --agent research")]
    Why {
        /// Its name
        name: String,
        #[command(flatten)]
        of: WhoseSkills,
        /// Show how it ranks for a message
        #[arg(long = "for", value_name = "MESSAGE")]
        message: Option<String>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Review a skill and its scan results, then trust that version
    #[command(after_help = "\
Examples:
  chela skills trust deploy             review it, then decide
  chela skills trust deploy --grant     also let it run the commands its allowed-tools ask for
  chela skills trust --folder .         all skills in a project folder

A skill is code in natural language: read it before you trust it.")]
    Trust {
        /// Its name
        #[arg(required_unless_present = "folder")]
        name: Option<String>,
        /// Trust the skills in this project folder, including later ones
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "name")]
        folder: Option<PathBuf>,
        #[command(flatten)]
        of: WhoseSkills,
        /// Do not ask; a skill that the scan calls dangerous needs --despite-scan as well
        #[arg(long, short)]
        yes: bool,
        /// Trust it although the scan calls it dangerous
        #[arg(long)]
        despite_scan: bool,
        /// Let it run the commands its allowed-tools ask for without asking, while it is in use
        #[arg(long)]
        grant: bool,
    },
    /// Revoke trust: the skill stays on disk and out of every prompt
    Untrust {
        /// Its name
        #[arg(required_unless_present = "folder")]
        name: Option<String>,
        /// A trusted project folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "name")]
        folder: Option<PathBuf>,
        #[command(flatten)]
        of: WhoseSkills,
    },
    /// Show what changed in a skill since it was trusted
    Diff {
        /// Its name
        name: String,
        #[command(flatten)]
        of: WhoseSkills,
    },
    /// Create a skill from a template
    #[command(after_help = "\
Examples:
  chela skills new tidy-desk
  chela skills new tidy-desk --description \"Sort the desktop. Use when the owner says it is messy.\"")]
    New {
        /// Its name: a-z, 0-9 and hyphens
        name: String,
        /// What it does and when to use it
        #[arg(long, short)]
        description: Option<String>,
        /// Put it where all agents see it, instead of in the agent's workspace
        #[arg(long)]
        shared: bool,
        #[command(flatten)]
        of: WhoseSkills,
    },
    /// Search registries for skills
    #[command(after_help = "\
Examples:
  chela skills search pdf
  chela skills search merge pdf files --registry https://clawhub.ai

Registries are addresses with ClawHub's API, or of index files (skills.registries).")]
    Search {
        /// What it should do
        #[arg(required = true)]
        words: Vec<String>,
        /// Ask only this registry
        #[arg(long, value_name = "URL")]
        registry: Option<String>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Fetch skills into quarantine: from a folder, an archive, a repository or a registry
    #[command(after_help = "\
Examples:
  chela skills add ~/Downloads/deploy.skill              a .zip, .skill, .tar or .tar.gz file
  chela skills add https://example.org/deploy.zip
  chela skills add owner/repo                            all skills of a repository on GitHub
  chela skills add owner/repo/skills/deploy@v1.2         one folder of it, at a branch, tag or commit
  chela skills add https://example.org/team/skills.git#skills/deploy
  chela skills add gifgrep@1.2.3                         by name, from a registry

Nothing fetched is used until you run `chela skills trust NAME`.")]
    Add {
        /// A folder, an archive or its URL, a git URL (with #folder for a part of it),
        /// `owner/repo[/path][@ref]`, or a name in a registry with an optional @version
        source: String,
        /// Only the skill with this name
        #[arg(long, value_name = "NAME")]
        only: Option<String>,
        /// Ask only this registry
        #[arg(long, value_name = "URL")]
        registry: Option<String>,
    },
    /// List fetched skills that have a newer version; exit 1 if there is one
    Outdated {
        #[command(flatten)]
        of: WhoseSkills,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Fetch newer versions of skills, show what they change, and use them after a yes
    #[command(after_help = "\
Examples:
  chela skills update                all skills that were fetched
  chela skills update gifgrep

The version you trusted goes to the trash.")]
    Update {
        /// Names of fetched skills (default: all of them)
        names: Vec<String>,
        #[command(flatten)]
        of: WhoseSkills,
        /// Do not ask; a version that the scan calls dangerous needs --despite-scan as well
        #[arg(long, short)]
        yes: bool,
        /// Use a version although the scan calls it dangerous
        #[arg(long)]
        despite_scan: bool,
    },
    /// Install the programs a skill needs, after a yes
    #[command(after_help = "\
Examples:
  chela skills setup gifgrep                 show the steps, and run the preferred one
  chela skills setup gifgrep --step go

Commands and scripts of the skill's own are shown and never run.")]
    Setup {
        /// The name of the skill
        name: String,
        /// Run this step
        #[arg(long, value_name = "ID")]
        step: Option<String>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        of: WhoseSkills,
    },
    /// Turn a skill on, for every agent or with --agent for one
    Enable {
        /// Its name
        name: String,
        #[command(flatten)]
        of: WhoseSkills,
    },
    /// Turn a skill off, for every agent or with --agent for one
    Disable {
        /// Its name
        name: String,
        #[command(flatten)]
        of: WhoseSkills,
    },
    /// Move a skill to the trash
    Remove {
        /// Its name
        name: String,
        #[command(flatten)]
        of: WhoseSkills,
    },
}

/// Whose skills are meant.
#[derive(Debug, Clone, Args)]
pub struct WhoseSkills {
    /// Which agent (default: the default agent)
    #[arg(long, short = 'a', value_name = "ID")]
    pub agent: Option<String>,
    /// Also search this skill folder, before all others
    #[arg(long = "skill", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub explicit: Vec<PathBuf>,
}
