//! Asking about a command, and keeping what was allowed.

use chela_config::model::ExecSecurity;
use chela_core::lock;
use chela_guard::approval::{
    AnswerError, ApprovalQuestion, ApprovalScope, Approver, AskedCall, OwnerGrant, QuestionTiming,
    shown_block,
};
use chela_guard::flow::SessionTaint;

use super::cleared::{ClearedBy, ClearedCommand, CommandRefusal, unchanged};
use super::{AllowedUntil, CommandGate, binds_of, choices};
use crate::approvals::circumstances::{CommandCircumstances, RunPlace, StateReach};
use crate::approvals::document::{ApprovalsDocument, HostGrant};
use crate::approvals::limits::{CommandRules, RuleAnswer};
use crate::approvals::list_match::{ListMatch, exact_entry, prefix_entry};
use crate::approvals::planned_command::{PlannedCommand, PlannedForm};
use crate::approvals::show::{LONGEST_SHOWN, shown};

fn why_of(listed: &ListMatch) -> String {
    match listed {
        ListMatch::Yes(_) => "every command asks (ask: always)".to_owned(),
        ListMatch::Shelved(_, why) | ListMatch::No(why) => why.clone(),
    }
}

impl CommandGate {
    pub(super) async fn ask(
        &self,
        planned: PlannedCommand,
        (rules, circumstances): (CommandRules, CommandCircumstances<'_>),
        (document, listed): (&ApprovalsDocument, &ListMatch),
        approver: &dyn Approver,
    ) -> Result<ClearedCommand, CommandRefusal> {
        let looked_up = planned.binds();
        let binds = binds_of(&planned, circumstances);
        let remembers = rules.listed == RuleAnswer::Run;
        if remembers && self.is_still_allowed(document, &binds) {
            return Ok(ClearedCommand {
                planned,
                by: ClearedBy::Session,
            });
        }
        let id = self.setup.host.random_hex(3);
        let mut question = self.question(&planned, circumstances, listed, &id)?;
        let asking = tokio::time::timeout(question.lasts(), approver.ask(&question));
        let answer = asking
            .await
            .unwrap_or(chela_guard::approval::OwnerAnswer::NOBODY);
        match question.answer(answer, self.setup.host.clock.now()) {
            Ok(grant) => self.remember(&grant, &planned, circumstances)?,
            Err(AnswerError::Denied) => return Err(CommandRefusal::Denied),
            Err(AnswerError::LeftInPeace) => return Err(CommandRefusal::LeftInPeace),
            Err(AnswerError::Changed) => {
                return Err(CommandRefusal::Changed(
                    "the answer was to something else".to_owned(),
                ));
            }
            Err(_) => {
                let fallback = match (rules.fallback, listed) {
                    (ExecSecurity::Full, _) => true,
                    (ExecSecurity::Allowlist, ListMatch::Yes(_)) => true,
                    (ExecSecurity::Allowlist | ExecSecurity::Deny, _) => false,
                };
                if !fallback {
                    return Err(CommandRefusal::Unanswered(why_of(listed)));
                }
                return Ok(ClearedCommand {
                    planned: unchanged(&planned, looked_up)?,
                    by: ClearedBy::Policy,
                });
            }
        }
        Ok(ClearedCommand {
            planned: unchanged(&planned, looked_up)?,
            by: ClearedBy::Person,
        })
    }

    /// Keeps a yes for as long as it was given. One that was given after text from outside was
    /// read ends with the session.
    fn remember(
        &self,
        grant: &OwnerGrant,
        planned: &PlannedCommand,
        circumstances: CommandCircumstances<'_>,
    ) -> Result<(), CommandRefusal> {
        let (hosts, scope) = (circumstances.hosts, grant.scope());
        if matches!(scope, ApprovalScope::Once | ApprovalScope::Deny) {
            return Ok(());
        }
        if scope == ApprovalScope::Session || circumstances.taint == SessionTaint::Tainted {
            match hosts.is_empty() {
                true => {
                    let binds = binds_of(planned, circumstances);
                    self.allow_until(binds, AllowedUntil::SessionEnds);
                }
                false => lock(&self.hosts).extend(hosts.iter().cloned()),
            }
            return Ok(());
        }
        let mut entry = match (grant.choice() == choices::PREFIX, prefix_entry(planned)) {
            (true, Some(entry)) => entry,
            _ => exact_entry(planned),
        };
        entry.id = self.setup.host.random_hex(4);
        entry.granted_at = Some(self.now());
        entry.last_used_at = Some(self.now());
        let agent = self.setup.agent.as_str();
        let grants: Vec<HostGrant> = hosts.iter().map(|host| self.grant_of(host)).collect();
        let mut id = None;
        ApprovalsDocument::change(&self.setup.document, |document| {
            if grants.is_empty() {
                id = Some(document.allow_under_id(agent, entry));
            }
            for grant in grants {
                document.allow_host(agent, grant);
            }
        })?;
        if let Some(id) = id {
            self.allow_until(binds_of(planned, circumstances), AllowedUntil::Revoked(id));
        }
        Ok(())
    }

    fn grant_of(&self, host: &str) -> HostGrant {
        HostGrant {
            id: self.setup.host.random_hex(4),
            host: host.to_owned(),
            granted_at: self.now(),
            other: serde_json::Map::new(),
        }
    }

    /// What will happen, in plain words.
    pub fn words(
        &self,
        planned: &PlannedCommand,
        circumstances: CommandCircumstances<'_>,
    ) -> String {
        let folder = shown(&self.setup.host.compact(&planned.folder));
        let what = match &planned.form {
            PlannedForm::Direct(_) => {
                format!("Run {}", shown(&planned.program.real.display().to_string()))
            }
            PlannedForm::Shell(_) => "Run a shell command".to_owned(),
        };
        let how = match (circumstances.place, circumstances.hosts) {
            (RunPlace::LeftSandbox, _) => ", outside the sandbox".to_owned(),
            (_, []) => String::new(),
            (_, hosts) => format!(", with access to {}", shown(&hosts.join(", "))),
        };
        let reach = match circumstances.state {
            StateReach::Kept => "",
            StateReach::Open => ", able to change Chela's own files",
        };
        format!("{what} in {folder}{how}{reach}")
    }

    fn question(
        &self,
        planned: &PlannedCommand,
        circumstances: CommandCircumstances<'_>,
        listed: &ListMatch,
        id: &str,
    ) -> Result<ApprovalQuestion, CommandRefusal> {
        let text = planned.text();
        if text.chars().count() > LONGEST_SHOWN {
            return Err(CommandRefusal::TooLong);
        }
        let call = AskedCall {
            tool: "exec".to_owned(),
            summary: self.words(planned, circumstances),
            exact: vec![("command".to_owned(), shown_block(&text))],
            why: why_of(listed),
            passage: None,
            shape: binds_of(planned, circumstances),
        };
        let question = ApprovalQuestion::new(vec![call], self.timing(id));
        Ok(question.offering(self.choices(planned, circumstances)))
    }

    pub(super) fn timing<'i>(&self, id: &'i str) -> QuestionTiming<'i> {
        QuestionTiming {
            id,
            now: self.setup.host.clock.now(),
            lasts: self.setup.expires_after,
        }
    }
}
