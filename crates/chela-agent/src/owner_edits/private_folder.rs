//! Whether nobody but the owner can have written a file.

use std::fs::Metadata;
use std::path::Path;

use chela_files::{FileFacts as _, FileOwner, this_user};

const STICKY: u32 = 0o1000;

/// Whether a file is this user's, and no other user can put another in its place. Where the system
/// does not say whose files are, none is known to be.
pub(super) fn is_private(file: &Path) -> bool {
    let (Ok(real), Some(me)) = (file.canonicalize(), this_user()) else {
        return false;
    };
    let user_of = |facts: &Metadata| facts.owner().map(|owner| owner.user);
    let mine = |facts: &Metadata| user_of(facts) == Some(me.user);
    let is_mine = real
        .metadata()
        .is_ok_and(|facts| mine(&facts) && !others_may_write(&facts, me));
    // What lies directly above is the owner's own; further up the system's is as good.
    let mut folders = real.ancestors().skip(1);
    let holds = folders.next().is_some_and(|folder| {
        folder
            .metadata()
            .is_ok_and(|facts| mine(&facts) && !others_may_write(&facts, me))
    });
    is_mine
        && holds
        && folders.all(|folder| {
            folder.metadata().is_ok_and(|facts| {
                let is_sticky = facts.permission_bits() & STICKY != 0;
                let is_good = mine(&facts) || user_of(&facts) == Some(0);
                is_good && (is_sticky || !others_may_write(&facts, me))
            })
        })
}

/// A group of one's own, as many systems give every user, has nobody else in it.
fn others_may_write(facts: &Metadata, me: FileOwner) -> bool {
    let own_group = facts
        .owner()
        .is_some_and(|owner| owner.group == me.group && owner.group == owner.user);
    let bits = facts.permission_bits();
    bits & 0o002 != 0 || bits & 0o020 != 0 && !own_group
}
