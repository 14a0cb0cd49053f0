//! Whose text a command prints, and who answers for the files it makes.
//!
//! Reading a foreign file with a file tool labels it; `cat` would wash it clean. So what a command
//! prints is foreign unless the record shows otherwise: its words say all that it can print, and
//! somebody answers for each file among them; or it ran in a sandbox without a network, and
//! somebody answers for everything that it could reach there. Of such a command in a clean session
//! the files it makes are the agent's own. Those of any other are nobody's, without anybody having
//! to notice.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chela_core::{ContentHash, Trust, ok_or_debug, ok_or_warn};
use chela_files::FileStamp;
use chela_guard::flow::SessionTaint;
use chela_guard::{ExternalSource, LabelledText};
use chela_model::ToolCall;
use chela_sandbox::{NetworkAccess, SandboxStanding, WriteRecord, others_run_commands};
use chela_session::journal::{AnsweredBy, FileWriter, LookedAtFile};
use chela_tools::approvals::is_plain_repository;
use chela_tools::{Effect, OutputPiece, SinkKind, ToolOutput, ToolSpec};
use serde_json::{Map, Value};

use super::RunningTurn;
use super::package_text::{may_print_history, may_print_packages};
use super::staged_text::{may_print_staged, staged_is_own};
use super::work_rules::WorkRules;
use crate::blocking_work::on_blocking_thread;
use crate::command_overlap::OverlapWatch;
use crate::command_reach::{CommandReach, CommandWords};
use crate::file_custody::{CommandWrites, FileCustody};
use crate::order_files::OrderLeave;
use crate::own_output::{is_own, is_own_file, runs_only_known, trust_as_skill};
use crate::scope::ConversationScope;

/// Files up to this size are known by what they hold, so many at most of one command; the others
/// by their stamps.
const MOST_HASHED_BYTES: u64 = 64 << 10;
const MOST_HASHED: usize = 256;

/// What was known about a command before it ran.
pub(super) struct CommandOrigin {
    standing: OriginStanding,
    /// The files its words say it writes.
    writes: Vec<PathBuf>,
    /// Those of them that were there before, as they were.
    before: Vec<LookedAtFile>,
    /// The rules of work folders, as they were.
    rules: WorkRules,
    /// Nobody had looked at anything before this moment.
    before_looking: i128,
    overlap: OverlapWatch,
    /// A command that nobody answers for ran on in the background when it began.
    is_beside_foreign: bool,
}

enum OriginStanding {
    Foreign,
    /// Its words say all it can print, and somebody answers for that.
    Named,
    /// Somebody answers for all that it can reach.
    Enclosed(Vec<PathBuf>),
}

impl RunningTurn<'_> {
    /// Looks at what a call may print, before it does. `None` for one that runs no command.
    pub(super) async fn command_origin(
        &self,
        spec: &ToolSpec,
        arguments: &Map<String, Value>,
        effect: Effect,
    ) -> Option<CommandOrigin> {
        let is_command = |kind| kind == SinkKind::Command;
        if !spec.sinks.iter().any(|sink| is_command(sink.kind)) {
            return None;
        }
        let scope = Arc::clone(self.parts.scope);
        let custody = Arc::clone(self.parts.custody);
        let standing = Arc::clone(self.parts.background.commands.sandbox());
        let is_clean = self.parts.guarding.taint() == SessionTaint::Clean;
        let folder = standing.workdir(&scope.view.workspace.value).to_owned();
        let start = self.parts.background.commands.start_of(arguments);
        // One that has no folder to start in is not run.
        let start = start.unwrap_or_else(|| folder.clone());
        // What goes on in the background was another call's command.
        let words = CommandWords::of_call(arguments, &start);
        // One that needs nobody's yes reaches no more outside than the workspace.
        let leaves = match effect {
            Effect::Irreversible => leaves_sandbox(arguments),
            _ => reaches_hosts(arguments),
        };
        let names_git = Value::Object(arguments.clone()).to_string().contains("git");
        let given = arguments.clone();
        let overlap = scope.agents.commands.begin();
        let before_looking = surely_past();
        let look = on_blocking_thread(move || {
            let Some(words) = words else {
                return CommandOrigin {
                    standing: OriginStanding::Foreign,
                    writes: Vec::new(),
                    before: Vec::new(),
                    rules: WorkRules::look(&scope),
                    before_looking,
                    overlap,
                    is_beside_foreign: true,
                };
            };
            let writes = words.writes.clone();
            let before = writes.iter().filter_map(|path| looked_at(path)).collect();
            let standing = match (&words.reach, &*standing) {
                (CommandReach::Named(targets), _)
                    if runs_only_known(&scope, &words, &start)
                        && targets.iter().all(|target| is_own(&scope, target)) =>
                {
                    OriginStanding::Named
                }
                (_, SandboxStanding::Inside(plan) | SandboxStanding::CommandsInside(plan))
                    if is_clean
                        && !leaves
                        && plan.network == NetworkAccess::None
                        && !custody.lingers_foreign()
                        && trees(&scope, &folder).all(|tree| {
                            keeps_to_own(tree, names_git)
                                && (!may_print_staged(&given) || staged_is_own(&scope, tree))
                        })
                        && !may_print_history(&given, &start)
                        && !may_print_packages(&given, &start, plan.toolchains()) =>
                {
                    // The folders Chela made; what lies in them is what commands left there. And
                    // whatever else is shown inside.
                    let roots = std::iter::once(folder).chain(plan.own_folders());
                    let roots = roots.chain(plan.shown_besides_system());
                    let own = own_trees(&scope, &custody, roots);
                    own.map_or(OriginStanding::Foreign, OriginStanding::Enclosed)
                }
                _ => OriginStanding::Foreign,
            };
            CommandOrigin {
                standing,
                writes,
                before,
                rules: WorkRules::look(&scope),
                before_looking,
                overlap,
                is_beside_foreign: custody.lingers_foreign()
                    || others_run_commands(&scope.agents.host),
            }
        });
        Some(look.await)
    }

    /// The output of a call, foreign where the command may have printed foreign text. Of one that
    /// cannot have, in a clean session, the files it made are noted as the agent's own.
    pub(super) async fn relabelled(
        &self,
        call: &ToolCall,
        origin: Option<CommandOrigin>,
        mut output: ToolOutput,
    ) -> ToolOutput {
        let Some(origin) = origin else {
            return output;
        };
        let leave = self.order_leave();
        let changed = origin.rules.changed(self.parts.scope, &leave);
        self.tell_of_rules(changed);
        if matches!(origin.standing, OriginStanding::Foreign) {
            for piece in output
                .content
                .iter_mut()
                .filter(|piece| is_agents_own(piece))
            {
                if let OutputPiece::Text(text) = piece {
                    *text = as_printed(self.parts.scope, text, &call.name);
                }
            }
            return output;
        }
        let brought_nothing = !output.content.iter().any(is_foreign);
        if self.parts.guarding.taint() == SessionTaint::Clean && brought_nothing {
            let (scope, tool) = (Arc::clone(self.parts.scope), call.name.clone());
            let custody = Arc::clone(self.parts.custody);
            let turn = self.recorder.turn().to_owned();
            let written = output.written.clone();
            let note = move || {
                let by = AnsweredBy {
                    writer: FileWriter::Agent,
                    how: &tool,
                    turn: &turn,
                };
                origin.note_made(&scope, &custody, &leave, written.as_deref(), &by);
            };
            on_blocking_thread(note).await;
        }
        output
    }
}

/// A moment that is past for every file that changes from now on: the kernel stamps files by a clock
/// that may be some milliseconds late. In nanoseconds since 1970.
fn surely_past() -> i128 {
    const LATE: Duration = Duration::from_millis(20);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let since = since.unwrap_or_default().saturating_sub(LATE);
    i128::try_from(since.as_nanos()).unwrap_or_default()
}

/// Whether a call asks for more than the sandbox holds: the machine itself, or hosts.
pub(super) fn leaves_sandbox(arguments: &Map<String, Value>) -> bool {
    asks_for(arguments, &["elevated", "outside", "hosts"])
}

fn reaches_hosts(arguments: &Map<String, Value>) -> bool {
    asks_for(arguments, &["hosts"])
}

fn asks_for(arguments: &Map<String, Value>, names: &[&str]) -> bool {
    names.iter().any(|name| {
        let asked = arguments.get(*name).unwrap_or(&Value::Null);
        !matches!(asked, Value::Null | Value::Bool(false))
    })
}

impl CommandOrigin {
    /// Which of the files that change meanwhile are its doing: decided by what it can reach, not by
    /// what it prints.
    pub(super) fn writes(&self) -> CommandWrites {
        match self.standing {
            OriginStanding::Foreign => CommandWrites::Unknown,
            OriginStanding::Named => CommandWrites::Named(self.writes.clone()),
            OriginStanding::Enclosed(_) if self.overlap.was_alone() => CommandWrites::Enclosed,
            OriginStanding::Enclosed(_) => CommandWrites::Unknown,
        }
    }

    /// Whether no other command of this home can have written what it wrote.
    fn was_alone(&self, scope: &ConversationScope, custody: &FileCustody) -> bool {
        self.overlap.was_alone()
            && !self.is_beside_foreign
            && !custody.lingers_foreign()
            && !others_run_commands(&scope.agents.host)
    }

    /// Notes the files a command made or changed as the agent's own.
    fn note_made(
        self,
        scope: &ConversationScope,
        custody: &FileCustody,
        leave: &OrderLeave,
        written: Option<&WriteRecord>,
        by: &AnsweredBy<'_>,
    ) {
        let paths = match &self.standing {
            OriginStanding::Foreign => return,
            // Somebody else's command may have written them meanwhile.
            _ if !self.was_alone(scope, custody) => return,
            OriginStanding::Named => self.writes.clone(),
            // Not all that changed meanwhile is its doing: the owner's editor and their downloads
            // write there, too. What it wrote is known from its own calls.
            OriginStanding::Enclosed(roots) => {
                let written = written.map_or_else(HashSet::new, |calls| {
                    calls.written_since(self.before_looking)
                });
                let changed = roots
                    .iter()
                    .flat_map(|root| custody.trees.take_changed(root));
                changed.filter(|path| written.contains(path)).collect()
            }
        };
        let root = scope.workspace_root();
        let is_enclosed = matches!(self.standing, OriginStanding::Enclosed(_));
        // Words that say a file is written may not have come to it: `test -e a || echo x > a`.
        let is_written = |file: &LookedAtFile| {
            let was_same = |was: &LookedAtFile| was.path == file.path && was.stamp == file.stamp;
            !self.before.iter().any(was_same)
        };
        let mut made: Vec<LookedAtFile> = paths
            .iter()
            .filter_map(|path| looked_at(path))
            .filter(is_written)
            // An archive that somebody unpacked meanwhile has times of its own.
            .filter(|file| !is_enclosed || file.stamp.was_saved_here())
            // What gives orders in a work folder waits for the owner, as in the workspace.
            .filter(|file| file.path.starts_with(&root) || leave.covers_file(&root, &file.path))
            .collect();
        if made.is_empty() {
            return;
        }
        let small = made
            .iter_mut()
            .filter(|file| file.hash.is_none() && file.stamp.bytes <= MOST_HASHED_BYTES);
        for file in small.take(MOST_HASHED) {
            if file.path.is_file() {
                let read = std::fs::read(&file.path);
                let read = ok_or_debug!(read, "a file a command made is kept by its times alone");
                file.hash = read.map(ContentHash::of);
            }
        }
        let noted = scope.agents.journal(&scope.view.id).note_own(&made, by);
        ok_or_warn!(
            noted,
            "the files a command made are nobody's: they count as foreign"
        );
    }
}

/// These trees, where somebody answers for everything in them.
fn own_trees(
    scope: &ConversationScope,
    custody: &FileCustody,
    roots: impl IntoIterator<Item = PathBuf>,
) -> Option<Vec<PathBuf>> {
    let known = scope.agents.file_trust();
    let mut trees: Vec<PathBuf> = Vec::new();
    for root in roots {
        let root = root.canonicalize().unwrap_or(root);
        if trees.iter().any(|other| root.starts_with(other)) {
            continue;
        }
        // The lock of the skills answers for every file of theirs.
        match trust_as_skill(scope, &root) {
            Some(trust) if trust >= Trust::Agent => continue,
            Some(_) => return None,
            None => {}
        }
        if root.is_file() && !is_own_file(scope, &root) {
            return None;
        }
        if !root.is_dir() {
            continue;
        }
        if !custody.trees.is_own(&root, &known) {
            return None;
        }
        trees.push(root);
    }
    Some(trees)
}

/// Where the agent works: its own folder and those the owner lets it work in.
fn trees<'a>(scope: &'a ConversationScope, folder: &'a Path) -> impl Iterator<Item = &'a Path> {
    let others = scope.ask.folders.iter().map(|other| other.path.as_path());
    std::iter::once(folder).chain(others)
}

/// Whether the repository of a tree, which no record of files speaks of, runs nothing by itself,
/// and, where git is asked, holds nothing that came from elsewhere.
fn keeps_to_own(tree: &Path, names_git: bool) -> bool {
    let repository = tree.join(".git");
    if repository.symlink_metadata().is_err() {
        return true;
    }
    is_plain_repository(tree, tree) && !(names_git && holds_fetched(&repository))
}

/// Whether a repository has ever fetched: what it holds then, somebody else may have written.
fn holds_fetched(repository: &Path) -> bool {
    let has_remote = || {
        let packed = std::fs::read_to_string(repository.join("packed-refs"));
        packed.is_ok_and(|packed| packed.contains("refs/remotes/"))
    };
    repository.join("FETCH_HEAD").exists()
        || repository.join("refs/remotes").exists()
        || has_remote()
}

/// A file as it is after a command; `None` when it is gone again.
fn looked_at(path: &Path) -> Option<LookedAtFile> {
    let folder = path.parent()?.canonicalize().ok()?;
    let path = folder.join(path.file_name()?);
    let facts = path.symlink_metadata().ok()?;
    Some(LookedAtFile {
        stamp: FileStamp::of(&facts),
        hash: None,
        path,
    })
}

fn is_agents_own(piece: &OutputPiece) -> bool {
    matches!(piece, OutputPiece::Text(text) if text.trust() == Trust::Agent)
}

fn is_foreign(piece: &OutputPiece) -> bool {
    !matches!(piece, OutputPiece::Text(text) if text.trust() >= Trust::Agent)
}

/// Text of a command as what it is: from outside.
pub(super) fn as_printed(
    scope: &ConversationScope,
    text: &LabelledText,
    command: &str,
) -> LabelledText {
    let source = ExternalSource::Process {
        command: command.to_owned(),
    };
    let entropy = scope.agents.host.entropy.as_ref();
    LabelledText::external(text.text(), &source, text.origin().clone(), entropy)
}

/// Whether a command that has ended meanwhile may have printed text that nobody answers for. Files it
/// read may have been others than those that are there now.
pub(super) fn may_print_foreign(scope: &ConversationScope, command: &str) -> bool {
    let words = CommandWords::of_line(command, &scope.view.workspace.value);
    match words.reach {
        CommandReach::Named(targets) => !targets.is_empty(),
        CommandReach::Anything => true,
    }
}
