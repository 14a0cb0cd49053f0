//! Telling the owner, once per change, what of their files does not reach the model.

use std::io::Write;

use chela_core::Host;
use chela_workspace::{FileReport, NoticeStore, owner_notices};

/// Says on standard error what has not been said yet, and remembers it. A home that cannot be
/// written to hears it every time, which is better than never.
pub fn tell_once(host: &Host, files: &[FileReport]) {
    if !files.iter().any(FileReport::wants_attention) {
        return;
    }
    let store = NoticeStore::of(host);
    let notices = owner_notices(&store.seen(), files);
    let mut stderr = std::io::stderr().lock();
    for notice in &notices {
        let _ = writeln!(stderr, "notice: {}", notice.text);
    }
    let _ = store.remember(host, notices.iter().map(|notice| notice.key));
}
