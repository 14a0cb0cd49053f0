//! Reading requests on record.

use chela_core::ContentHash;
use chela_store::{RequestLine, RequestQuery, ReuseFacts};

use crate::cache::PrefixReuse;
use crate::ledger::{Ledger, LedgerError};
use crate::redact::{RequestRedaction, restore};
use crate::request::{RecordId, RecordedRequest, ReplayedRequest, RequestSummary};

impl Ledger {
    /// Requests in the order they were made.
    pub async fn list(&self, filter: &RequestQuery) -> Result<Vec<RequestSummary>, LedgerError> {
        let found = self.store.requests(filter.clone()).await?;
        Ok(found.into_iter().map(summary_of).collect())
    }

    /// Everything about a request but its bytes.
    pub async fn show(&self, id: RecordId) -> Result<RecordedRequest, LedgerError> {
        let found = self.store.request(id.0).await?;
        let found = found.ok_or(LedgerError::NoRecord(id.0))?;
        Ok(RecordedRequest {
            reuse: reuse_of(&found.line.reuse),
            summary: summary_of(found.line),
            url: found.url,
            sent: found.sent,
            sections: self.parsed(&found.sections)?,
            tools: self.parsed(&found.tools)?,
            redactions: self.redactions_of(found.redactions.as_deref())?,
            outcome: found
                .outcome
                .map(|outcome| self.parsed(&outcome))
                .transpose()?,
        })
    }

    /// The bytes of a request as they are stored: names stand for secrets.
    pub async fn raw(&self, id: RecordId) -> Result<Vec<u8>, LedgerError> {
        let found = self.store.request_body(id.0).await?;
        Ok(found.ok_or(LedgerError::NoRecord(id.0))?.stored)
    }

    /// The request as it was sent, made again; `resolve` gives the values of secrets by name.
    pub async fn replay(
        &self,
        id: RecordId,
        resolve: &dyn Fn(&str) -> Option<String>,
    ) -> Result<ReplayedRequest, LedgerError> {
        let found = self.store.request_body(id.0).await?;
        let found = found.ok_or(LedgerError::NoRecord(id.0))?;
        let redactions = self.redactions_of(found.redactions.as_deref())?;
        let (bytes, unknown_secrets) = restore(&found.stored, &redactions, resolve);
        Ok(ReplayedRequest {
            hash: ContentHash::of(&bytes),
            sent: found.sent,
            bytes,
            unknown_secrets,
        })
    }

    /// The requests of a session with what each reused.
    pub(crate) async fn session_reuse(
        &self,
        session: &str,
    ) -> Result<Vec<(RequestSummary, PrefixReuse)>, LedgerError> {
        let found = self.store.requests(RequestQuery {
            session: Some(session.to_owned()),
            ..RequestQuery::default()
        });
        let lines = found.await?.into_iter();
        Ok(lines
            .map(|line| {
                let reuse = reuse_of(&line.reuse);
                (summary_of(line), reuse)
            })
            .collect())
    }

    /// The id of the session a person means: by its id or the start of one, by its key or the end
    /// of one; of several the one recorded last. `None` for the last of all.
    pub async fn find_session(&self, given: Option<&str>) -> Result<Option<String>, LedgerError> {
        Ok(self.store.find_session(given).await?)
    }

    fn redactions_of(&self, text: Option<&str>) -> Result<Vec<RequestRedaction>, LedgerError> {
        match text {
            Some(text) => self.parsed(text.as_bytes()),
            None => Ok(Vec::new()),
        }
    }
}

fn summary_of(line: RequestLine) -> RequestSummary {
    RequestSummary {
        id: RecordId(line.number),
        at: line.at,
        agent: line.agent,
        session: line.session,
        session_key: line.session_key,
        turn: line.turn,
        step: line.step,
        model: line.model,
        length: line.length,
        tokens: line.reuse.tokens,
        reused_tokens: line.reuse.reused_tokens,
        cause: line.reuse.cause,
        ended: line.ended,
        usage: line.usage,
        cost: line.cost,
        error: line.error,
    }
}

fn reuse_of(facts: &ReuseFacts) -> PrefixReuse {
    PrefixReuse {
        total_tokens: facts.tokens,
        tokens: facts.reused_tokens,
        total_bytes: facts.bytes,
        bytes: facts.reused_bytes,
        reread_tokens: facts.reread_tokens,
        // A newer version may know more causes.
        broken: facts.broken.as_deref().and_then(|text| {
            chela_core::ok_or_debug!(
                serde_json::from_str(text),
                "where a prefix broke cannot be read"
            )
        }),
    }
}
