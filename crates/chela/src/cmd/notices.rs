//! Telling the owner, once per change, what of their files does not reach the model.

use chela_agent::assemble::AssembledPrompt;
use chela_core::{Host, ok_or_debug};
use chela_workspace::{FileReport, NoticeStore, OwnerNotice, owner_notices};

use crate::screen::print_beside;

/// Says on standard error what has not been said yet, and remembers it. A home that cannot be
/// written to hears it every time, which is better than never.
pub fn tell_once(host: &Host, assembled: &AssembledPrompt) {
    let files = &assembled.files;
    if !files.iter().any(FileReport::wants_attention) && assembled.notices.is_empty() {
        return;
    }
    let store = NoticeStore::of(host);
    let seen = store.seen();
    let mut notices = owner_notices(&seen, files);
    let is_news = |notice: &&OwnerNotice| !seen.contains(&notice.key);
    notices.extend(assembled.notices.iter().filter(is_news).cloned());
    for notice in &notices {
        print_beside(format_args!("notice: {}", notice.text));
    }
    let kept = store.remember(host, notices.iter().map(|notice| notice.key));
    ok_or_debug!(kept, "the same notices will be given again");
}
