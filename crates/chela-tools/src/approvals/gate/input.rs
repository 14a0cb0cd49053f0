//! Input for a command that runs: what a shell reads is a command.

use chela_config::model::ExecSecurity;
use chela_core::ContentHash;
use chela_guard::approval::{
    AnswerError, ApprovalQuestion, ApprovalScope, Approver, AskedCall, OwnerAnswer, shown_block,
};

use super::{AllowedUntil, CommandGate, CommandRefusal};
use crate::approvals::document::ApprovalsDocument;
use crate::approvals::limits::{CommandRules, RuleAnswer};
use crate::approvals::show::{LONGEST_SHOWN, shown};

/// What a running command is to be told.
#[derive(Debug, Clone, Copy)]
pub struct ProcessInput<'a> {
    /// The id of the command.
    pub id: &'a str,
    pub command: &'a str,
    pub data: &'a str,
}

impl ProcessInput<'_> {
    /// The hash of everything that decides what happens.
    pub fn binds(&self) -> ContentHash {
        let everything = serde_json::json!(["process input", self.id, self.command, self.data]);
        ContentHash::of(everything.to_string())
    }

    /// What will happen, in plain words.
    pub fn words(&self) -> String {
        format!(
            "Type into {}, which runs outside the sandbox",
            shown(self.id)
        )
    }
}

impl CommandGate {
    /// Asks about input for a command that runs outside the sandbox, as about a command: what a
    /// shell reads is one.
    pub async fn clear_input(
        &self,
        input: &ProcessInput<'_>,
        approver: &dyn Approver,
    ) -> Result<(), CommandRefusal> {
        let document = ApprovalsDocument::load(&self.setup.document)?;
        let rules = CommandRules::of(&self.setup.config, &document, &self.setup.agent);
        match rules.unlisted {
            RuleAnswer::Run => return Ok(()),
            RuleAnswer::Deny if rules.listed == RuleAnswer::Deny => {
                return Err(CommandRefusal::Off);
            }
            RuleAnswer::Deny => {
                return Err(CommandRefusal::NotListed(
                    "input to a running command cannot be pre-approved".to_owned(),
                ));
            }
            RuleAnswer::Ask => {}
        }
        let binds = input.binds();
        if rules.listed == RuleAnswer::Run && self.is_still_allowed(&document, &binds) {
            return Ok(());
        }
        if input.data.chars().count() > LONGEST_SHOWN {
            return Err(CommandRefusal::TooLong);
        }
        let id = self.setup.host.random_hex(3);
        let call = AskedCall {
            tool: "process".to_owned(),
            summary: input.words(),
            exact: vec![
                ("command".to_owned(), shown(input.command)),
                ("input".to_owned(), shown_block(input.data)),
            ],
            why: "it runs outside the sandbox, and input to it is as powerful as a command"
                .to_owned(),
            passage: None,
            shape: binds,
        };
        let mut question = ApprovalQuestion::new(vec![call], self.timing(&id));
        let asking = tokio::time::timeout(question.lasts(), approver.ask(&question));
        let answer = asking.await.unwrap_or(OwnerAnswer::NOBODY);
        match question.answer(answer, self.setup.host.clock.now()) {
            Ok(grant) => {
                if matches!(
                    grant.scope(),
                    ApprovalScope::Session | ApprovalScope::Always
                ) {
                    self.allow_until(binds, AllowedUntil::SessionEnds);
                }
                Ok(())
            }
            Err(AnswerError::Denied) => Err(CommandRefusal::Denied),
            Err(AnswerError::LeftInPeace) => Err(CommandRefusal::LeftInPeace),
            Err(_) if rules.fallback == ExecSecurity::Full => Ok(()),
            Err(_) => Err(CommandRefusal::Unanswered(
                "input to a command outside the sandbox".to_owned(),
            )),
        }
    }
}
