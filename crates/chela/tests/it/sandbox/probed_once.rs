//! Whether walls stand is tried once, not by every command; a machine that changes is tried again.

use std::os::unix::fs::PermissionsExt;

use super::{BWRAP, is_here};
use crate::home::TestHome;

/// A bubblewrap that leaves a line in a file each time it is started.
fn write_counted_bwrap(home: &TestHome, remark: &str) {
    let real = BWRAP.as_ref().unwrap().join("bwrap");
    let script = format!(
        "#!/bin/sh\n# {remark}\necho started >> '{}'\nexec '{}' \"$@\"\n",
        home.path("starts").display(),
        real.display()
    );
    let file = home.write("bin/bwrap", &script);
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn later_commands_remember_it_until_something_changes() {
    if is_here("bwrap").is_none() {
        return;
    }
    let home = TestHome::ready();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", home.path("bin").display());
    let home = home.env("PATH", &path);
    write_counted_bwrap(&home, "one");
    let starts = |home: &TestHome| home.read("starts").lines().count();

    home.run(&["prompt"]).ok();
    assert_eq!(starts(&home), 1);
    home.run(&["prompt"]).ok();
    home.run(&["context", "list"]).ok();
    assert_eq!(starts(&home), 1);

    write_counted_bwrap(&home, "another");
    home.run(&["prompt"]).ok();
    assert_eq!(starts(&home), 2);

    // Whoever asks about the sandbox itself hears what is so now.
    home.run(&["sandbox", "explain"]).ok();
    assert!(starts(&home) > 2);
    home.write(".chela/state/sandbox-probe.json", "not JSON");
    home.run(&["prompt"]).ok();
}
