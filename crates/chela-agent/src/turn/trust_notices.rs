//! Telling the owner, once per change, who else wrote what the agent reads.

use chela_core::ok_or_debug;
use chela_workspace::{
    FileRemark, FileReport, FileStatus, NoticeStore, OwnerNotice, owner_notices,
};

use crate::assemble::AssembledPrompt;
use crate::scope::ConversationScope;
use crate::surface::{TurnEvent, TurnSurface};
use chela_session::MessageSource;

/// Says what is new about the trust in the files of this session. Where no person listens,
/// nothing is said, so that nothing counts as heard.
pub(super) fn tell_of_trust(
    scope: &ConversationScope,
    assembled: &AssembledPrompt,
    surface: &dyn TurnSurface,
) {
    let unsettled: Vec<FileReport> = assembled
        .files
        .iter()
        .filter(|file| is_unsettled(file))
        .cloned()
        .collect();
    let others = &assembled.notices;
    if unsettled.is_empty() && others.is_empty() || scope.source != MessageSource::Person {
        return;
    }
    let host = &scope.agents.host;
    let store = NoticeStore::of(host);
    let seen = store.seen();
    let mut notices = owner_notices(&seen, &unsettled);
    let is_news = |notice: &&OwnerNotice| !seen.contains(&notice.key);
    notices.extend(others.iter().filter(is_news).cloned());
    for notice in &notices {
        surface.event(TurnEvent::Notice(notice.text.clone()));
    }
    let kept = store.remember(host, notices.iter().map(|notice| notice.key));
    ok_or_debug!(kept, "the same notices will be given again");
}

fn is_unsettled(file: &FileReport) -> bool {
    let about_trust = |remark: &FileRemark| {
        matches!(
            remark,
            FileRemark::Unconfirmed { .. }
                | FileRemark::Proposed { .. }
                | FileRemark::Suspicious { .. }
        )
    };
    file.status == FileStatus::SetAside || file.remarks.iter().any(about_trust)
}
