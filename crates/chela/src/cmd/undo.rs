//! `chela undo`: taking back what an agent did to files.

use std::path::{Path, PathBuf};

use chela_agent::file_trust::FileTrust;
use chela_core::{AgentId, Host};
use chela_ledger::AuditKind;
use chela_session::journal::{
    ConflictRule, FileJournal, JournalChange, JournalError, JournalRetention, ListAsk,
    UndoConflict, UndoError, UndoPlan, UndoTarget, UndoneChange, undone_in_words,
};
use chela_tools::approvals::shown;
use serde_json::json;

use super::time::utc;
use super::{CommandOutcome, CommandSetup, change_records, owner};
use crate::cli::undo::UndoArgs;
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, shorten};

impl From<JournalError> for CommandError {
    fn from(error: JournalError) -> Self {
        let cause = std::error::Error::source(&error)
            .map(|source| format!(": {source}"))
            .unwrap_or_default();
        Self::new(format!("{error}{cause}"))
    }
}

impl From<UndoError> for CommandError {
    fn from(error: UndoError) -> Self {
        match error {
            UndoError::Journal(error) => error.into(),
            UndoError::Conflicts(ref steps) => {
                let later = steps.iter().find_map(|step| match step.conflict {
                    Some(UndoConflict::ChangedLater { by }) => Some(by),
                    _ => None,
                });
                let copied = steps
                    .iter()
                    .any(|step| step.conflict == Some(UndoConflict::OtherHome));
                let hint = match later {
                    _ if copied => "undo it in the home it was made in, or use --force".to_owned(),
                    Some(by) => format!(
                        "undo the later change first with `chela undo {by}`, or overwrite it \
                            with --force"
                    ),
                    None => "--force overwrites what is there; a copy is kept for redo".to_owned(),
                };
                Self::new(shown_lines(&error.to_string())).hint(hint)
            }
            error => Self::new(shown_lines(&error.to_string())),
        }
    }
}

pub fn run(host: &Host, screen: &mut Screen, args: &UndoArgs) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    let agent = setup.agent(args.agent.as_deref())?;
    let desk = Desk {
        journal: FileJournal::of(host, &agent, JournalRetention::of(&setup.loaded))
            .with_workspace(real(&setup.workspace_dir(&agent))),
        trust: setup.file_trust(),
        workspace: real(&setup.workspace_dir(&agent)),
        host,
        agent,
    };
    if args.list {
        return desk.list(screen, args);
    }
    if !args.dry_run {
        owner::require_owner(host, "changes are undone")?;
    }
    match &args.keep {
        Some(file) => desk.keep(screen, file, args.json),
        None => desk.undo(screen, args),
    }
}

/// One agent's journal, and what its files are called.
struct Desk<'a> {
    host: &'a Host,
    agent: AgentId,
    journal: FileJournal,
    trust: FileTrust,
    workspace: PathBuf,
}

impl Desk<'_> {
    fn list(&self, screen: &mut Screen, args: &UndoArgs) -> CommandOutcome {
        let changes = self.journal.list(ListAsk { limit: args.limit })?;
        if let Some(loss) = self.journal.loss() {
            return Err(CommandError::new(loss.words_before_new_one()));
        }
        if args.json {
            screen.json(&json!({ "agent": self.agent, "changes": changes }))?;
            return Ok(CommandExit::Fine);
        }
        if changes.is_empty() {
            screen.line("Nothing to undo: no file was changed by a file tool yet.")?;
            return Ok(CommandExit::Fine);
        }
        let paint = screen.paint;
        let mut rows = vec![
            ["change", "when", "turn", "session", "call", "file", "what"]
                .iter()
                .map(|head| paint.dim(head))
                .collect(),
        ];
        rows.extend(changes.iter().map(|change| self.row(change, screen)));
        screen.table("", &rows)?;
        Ok(CommandExit::Fine)
    }

    fn row(&self, change: &JournalChange, screen: &Screen) -> Vec<String> {
        let paint = screen.paint;
        let mut what = change.what.clone();
        if change.tool == "undo" {
            what.push_str(" (an undo)");
        }
        if change.tainted {
            what.push_str(&paint.warn(", with untrusted content in context"));
        }
        match change.undone {
            Some(0) => what.push_str(&paint.dim(", undone")),
            Some(by) => what.push_str(&paint.dim(format!(", undone by {by}"))),
            None => {}
        }
        vec![
            paint.accent(change.id),
            utc(change.at / 1000),
            shorten(&change.turn, 11),
            shorten(&shown(&change.session), 32),
            shorten(&shown(&change.call), 12),
            self.called(&change.path),
            what,
        ]
    }

    fn undo(&self, screen: &mut Screen, args: &UndoArgs) -> CommandOutcome {
        let which = match &args.what {
            Some(given) if given != "last" => UndoTarget::Named(given.clone()),
            _ => UndoTarget::LastTurn,
        };
        let plan = match self.journal.plan_undo(&which) {
            Err(UndoError::Nothing) => return Err(self.nothing_to_undo()?),
            planned => planned?,
        };
        if args.dry_run {
            if args.json {
                screen.json(&json!({ "agent": self.agent, "plan": plan }))?;
            } else {
                self.show(screen, &plan)?;
            }
            return Ok(CommandExit::Fine);
        }
        let conflicts = match args.force {
            true => ConflictRule::Overwrite,
            false => ConflictRule::Refuse,
        };
        let undone = self.journal.undo(&plan, conflicts)?;
        change_records::record_change(
            self.host,
            AuditKind::Undo,
            &json!({ "agent": self.agent, "forced": args.force, "files": undone }),
        );
        if args.json {
            screen.json(&json!({ "agent": self.agent, "undone": undone }))?;
            return Ok(CommandExit::Fine);
        }
        for line in undone_in_words(&undone, |path| self.called(path)) {
            screen.line(format!("  {line}"))?;
        }
        screen.line(match back(&undone) {
            Some(again) => format!("Undone. Run `chela undo {again}` to redo."),
            None => "Nothing to do: everything is already as it was before.".to_owned(),
        })?;
        Ok(CommandExit::Fine)
    }

    /// Why there is nothing to take back.
    fn nothing_to_undo(&self) -> Result<CommandError, CommandError> {
        if let Some(loss) = self.journal.loss() {
            return Ok(CommandError::new(loss.words_before_new_one()));
        }
        let listed = self.journal.list(ListAsk { limit: 1 })?;
        Ok(match listed.is_empty() {
            true => UndoError::Nothing.into(),
            false => {
                CommandError::new("everything is already undone; `chela undo --list` shows it")
            }
        })
    }

    fn show(&self, screen: &mut Screen, plan: &UndoPlan) -> Result<(), CommandError> {
        let paint = screen.paint;
        screen.line("Undoing this would change these files:")?;
        for step in &plan.steps {
            let against = match &step.conflict {
                None => String::new(),
                Some(UndoConflict::ChangedLater { by }) => {
                    paint.warn(format!(" - changed again later, by change {by}"))
                }
                Some(UndoConflict::ChangedElsewhere) => {
                    paint.warn(" - changed by someone else since")
                }
                Some(UndoConflict::OtherHome) => paint.warn(" - a file in another home"),
                Some(UndoConflict::Unreadable { why }) => paint.bad(format!(" - {}", shown(why))),
            };
            screen.line(format!(
                "  {}: {}{against}",
                self.called(&step.path),
                step.what
            ))?;
        }
        Ok(())
    }

    /// The owner stands for a file.
    fn keep(&self, screen: &mut Screen, file: &Path, as_json: bool) -> CommandOutcome {
        let given = file.to_string_lossy();
        let in_workspace = self.workspace.join(file);
        let path = match in_workspace.exists() {
            true => in_workspace,
            false => self.host.expand(&given),
        };
        let path = path.canonicalize().map_err(|error| {
            CommandError::new(format!("{} cannot be read: {error}", shown(&given)))
                .hint("a path relative to the workspace, or an absolute one")
        })?;
        let was_foreign = self.trust.vouch(&path)?;
        if was_foreign {
            let body = json!({ "agent": self.agent, "file": path, "trust": "vouched" });
            change_records::record_change(self.host, AuditKind::TrustChange, &body);
        }
        if as_json {
            screen
                .json(&json!({ "agent": self.agent, "file": path, "wasForeign": was_foreign }))?;
            return Ok(CommandExit::Fine);
        }
        let name = self.called(&path);
        screen.line(match was_foreign {
            true => format!("{name} is kept, and counts as yours from now on."),
            false => {
                format!("{name} has nothing that was written with untrusted content in context.")
            }
        })?;
        Ok(CommandExit::Fine)
    }

    fn called(&self, path: &Path) -> String {
        shown(&match path.strip_prefix(&self.workspace) {
            Ok(inside) => inside.display().to_string(),
            Err(_) => self.host.compact(path),
        })
    }
}

/// What brings back what was just taken back.
fn back(undone: &[UndoneChange]) -> Option<String> {
    let mut made = undone.iter().filter(|one| one.change.is_some());
    let first = made.next()?;
    match made.next() {
        None => first.change.map(|id| id.to_string()),
        Some(_) => Some(first.turn.clone()),
    }
}

fn shown_lines(text: &str) -> String {
    text.lines().map(shown).collect::<Vec<_>>().join("\n")
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
