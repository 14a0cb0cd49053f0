//! Whether nobody but the owner can have written a file.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::process::{getegid, geteuid};

const STICKY: u32 = 0o1000;

/// Whether a file is this user's, and no other user can put another in its place.
pub(super) fn is_private(file: &Path) -> bool {
    let Ok(real) = file.canonicalize() else {
        return false;
    };
    let mine = |facts: &Metadata| facts.uid() == geteuid().as_raw();
    let is_mine = real
        .metadata()
        .is_ok_and(|facts| mine(&facts) && !others_may_write(&facts));
    // What lies directly above is the owner's own; further up the system's is as good.
    let mut folders = real.ancestors().skip(1);
    let holds = folders.next().is_some_and(|folder| {
        folder
            .metadata()
            .is_ok_and(|facts| mine(&facts) && !others_may_write(&facts))
    });
    is_mine
        && holds
        && folders.all(|folder| {
            folder.metadata().is_ok_and(|facts| {
                let is_sticky = facts.mode() & STICKY != 0;
                (mine(&facts) || facts.uid() == 0) && (is_sticky || !others_may_write(&facts))
            })
        })
}

/// A group of one's own, as many systems give every user, has nobody else in it.
fn others_may_write(facts: &Metadata) -> bool {
    let own_group = facts.gid() == getegid().as_raw() && facts.gid() == facts.uid();
    facts.mode() & 0o002 != 0 || facts.mode() & 0o020 != 0 && !own_group
}
