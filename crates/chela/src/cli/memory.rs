//! `chela memory …`, as typed.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use super::AgentArg;

#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// Show what is indexed, by which model, how fresh it is, and what failed
    Status {
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Bring the index up to date with the notes
    #[command(after_help = "\
Examples:
  chela memory index             what is new or changed
  chela memory index --force     rebuild everything; the old index answers meanwhile
  chela memory index --yes       also make vectors that take long or cost money")]
    Index {
        /// Rebuild everything, file by file
        #[arg(long)]
        force: bool,
        /// Accept the time and money the provider's vectors take
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Search memory
    #[command(after_help = "\
Examples:
  chela memory search when does the lease end
  chela memory search '\"blue bike\" repair' --explain
  chela memory search what happened last week
  chela memory search dentist --since march --until 2026-06-30
  chela memory search --on yesterday
  chela memory search --in skills make a slide deck
  chela memory search --in files quarterly figures
  chela memory search invoices --max-results 3 --json

Dates are understood in questions and after --since, --until and --on: 2026-03-04, 4.3.2026,
March, last tuesday, two weeks ago, vor drei Tagen.")]
    Search {
        /// The question, in any words; none lists the days after --since, --until and --on
        #[arg(num_args = 0.., required_unless_present_any = ["since", "until", "on"])]
        query: Vec<String>,
        /// Only entries of this day or later
        #[arg(long, value_name = "DATE")]
        since: Option<String>,
        /// Only entries of this day or earlier
        #[arg(long, value_name = "DATE")]
        until: Option<String>,
        /// Only entries of this day, week, month or year
        #[arg(long, value_name = "DATE")]
        on: Option<String>,
        /// Search only here
        #[arg(long = "in", value_name = "PLACE")]
        place: Option<MemoryPlace>,
        /// Return at most this many results; else as many as fit
        #[arg(long, short = 'n', value_name = "N")]
        max_results: Option<usize>,
        /// Return at most this many characters of text
        #[arg(long, value_name = "N")]
        max_chars: Option<usize>,
        /// Leave out results weaker than this share of the best (0 to 1)
        #[arg(long, value_name = "SCORE")]
        min_score: Option<f32>,
        /// Explain each score
        #[arg(long)]
        explain: bool,
        /// Search the index as it is, without checking the files first
        #[arg(long)]
        no_sync: bool,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Show everything said by and about somebody
    #[command(after_help = "\
Examples:
  chela memory about Paola
  chela memory about 'Ann Meyer' --json

A name is found as words, as a [[link]] or a #tag, in headings and in the names of files.")]
    About {
        /// A name, in any case
        #[arg(required = true, num_args = 1..)]
        name: Vec<String>,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Print lines from a note
    #[command(
        after_help = "Example:\n  chela memory get memory/2026-03-04.md --from 10 --lines 20"
    )]
    Get {
        /// The note, as `search` names it
        path: String,
        /// First line
        #[arg(long, value_name = "LINE")]
        from: Option<u32>,
        /// How many lines
        #[arg(long, value_name = "N")]
        lines: Option<u32>,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Remove a fact from the notes, the index and the cache
    #[command(after_help = "\
Examples:
  chela memory forget 'old address'              show what would be removed
  chela memory forget 'old address' --yes        remove it
  chela memory forget --file MEMORY.md --lines 12-14 --yes

A copy of each changed note is kept beside the index.")]
    Forget {
        /// Entries containing these words
        #[arg(required_unless_present = "file")]
        text: Option<String>,
        /// Entries in this note instead
        #[arg(long, requires = "lines", conflicts_with = "text")]
        file: Option<String>,
        /// Lines of the note, such as 12 or 12-14
        #[arg(long, value_name = "LINES")]
        lines: Option<String>,
        /// Remove, instead of showing what would be removed
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Look for repeated, contradictory and outdated entries
    #[command(after_help = "\
Examples:
  chela memory lint              list findings; exit 1 if there are any
  chela memory lint --diff       propose moving entries to a daily note, as a diff
  chela memory lint --diff | patch -p0 -d ~/.chela/workspace")]
    Lint {
        /// Print the proposed move from MEMORY.md as a diff
        #[arg(long)]
        diff: bool,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Take what outlasts its day from the notes into MEMORY.md, as a diff you accept
    #[command(after_help = "\
Examples:
  chela memory consolidate              show what would be taken over; exit 1 if there is anything
  chela memory consolidate --yes        take it over
  chela memory consolidate --refuse     never propose these lines again

Standing wishes, what you say of yourself and facts with a value are taken from notes of the last
90 days, with their day. What changed keeps its earlier value. Notes with untrusted content are not
read. `chela undo NUMBER` takes it back.")]
    Consolidate {
        /// Write MEMORY.md
        #[arg(long, conflicts_with = "refuse")]
        yes: bool,
        /// Never propose these lines again
        #[arg(long)]
        refuse: bool,
        /// Only what adds to MEMORY.md and changes nothing in it
        #[arg(long)]
        additions_only: bool,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Measure search on sets of questions with known answers
    #[command(after_help = "\
Examples:
  chela memory bench sets/           every set in a folder
  chela memory bench sets/locomo-files --json

A set is a folder with queries.jsonl and either docs.jsonl or one folder of notes for each group.
Questions are asked as the agent asks them; neither your notes nor your config are read.")]
    Bench {
        /// The set, or a folder of sets
        #[arg(value_hint = ValueHint::DirPath)]
        folder: PathBuf,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// A stronger embedding model than the built-in one
    #[command(subcommand)]
    Model(MemoryModelCommand),
}

/// What can be searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum MemoryPlace {
    /// MEMORY.md, USER.md, memory/ and the extra paths
    Notes,
    /// What was said in conversations
    Sessions,
    /// Documents in the agent's folder: Markdown, text, tables
    Files,
    /// The agent's skills, by name and description
    Skills,
    /// The agent's tools, also those it must look for first
    Tools,
}

#[derive(Debug, Subcommand)]
pub enum MemoryModelCommand {
    /// Test an ONNX file of all-MiniLM-L6-v2, keep a copy and search with it
    #[command(after_help = "\
Example:
  chela memory model install all-minilm-l6-v2.onnx

The built-in table answers until the model's vectors are complete. Needs a build with
`--features minilm`.")]
    Install {
        /// The weights, as an ONNX file
        #[arg(value_hint = ValueHint::FilePath)]
        path: PathBuf,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Show which model makes the vectors, and its progress
    Status {
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
}
