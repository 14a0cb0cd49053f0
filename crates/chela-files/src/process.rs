use std::sync::OnceLock;

/// What tells this run of the machine from the one before; process numbers begin anew with it.
/// Empty where the system does not say.
pub fn this_boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map(|id| id.trim().to_owned())
            .unwrap_or_default()
    })
}

/// Whether the process that had this number in that run of the machine is still there.
#[cfg(unix)]
pub fn is_process_alive(boot: &str, pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .filter(|_| boot == this_boot())
    else {
        return false;
    };
    // Not being allowed to signal it means that it is there.
    !matches!(
        rustix::process::test_kill_process(pid),
        Err(rustix::io::Errno::SRCH)
    )
}

/// Nothing tells runs of the machine apart here, and numbers are given again: whoever left a word
/// and is not known to be gone is taken to be there.
#[cfg(not(unix))]
pub fn is_process_alive(_: &str, pid: u32) -> bool {
    pid != 0
}

#[cfg(test)]
mod tests {
    use super::{is_process_alive, this_boot};

    #[test]
    fn a_process_of_another_user_lives_and_one_of_another_boot_does_not() {
        let me = std::process::id();
        assert!(is_process_alive(this_boot(), me));
        assert!(!is_process_alive("an earlier boot", me));
        // The first process is root's; whoever may not signal it still sees that it is there.
        assert!(is_process_alive(this_boot(), 1));
        assert!(!is_process_alive(this_boot(), 0));
        assert!(!is_process_alive(this_boot(), u32::MAX));
    }
}
