//! The kernel and other processes.

use std::process::{Child, Command};

use serde_json::json;

use super::{SandboxedHome, everywhere};

/// A process outside that belongs to the same user.
struct Bystander(Child);

impl Bystander {
    fn new() -> Self {
        Self(Command::new("sleep").arg("300").spawn().unwrap())
    }

    fn is_well(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn system_calls_that_no_command_needs_are_refused() {
    everywhere(&json!({ "workspaceAccess": "rw" }), |cell| {
        cell.holds("calls", "", 40);
    });
}

#[test]
fn other_processes_are_out_of_reach() {
    everywhere(&json!({ "workspaceAccess": "rw" }), |cell| {
        let mut bystander = Bystander::new();
        let target = bystander.0.id();
        let out = cell.holds("processes", &format!("TARGET={target}"), 15);
        assert!(out.contains(&format!("end {target}: held")), "{out}");
        // By hand, as a script would.
        cell.sh(&format!(
            "kill -9 {target}; kill -STOP {target}; kill -9 -{target}; pkill -9 -x sleep; \
             cat /proc/{target}/environ; renice -n 19 -p {target}; true"
        ));
        assert!(bystander.is_well(), "{}", cell.backend);
        let limits = std::fs::read_to_string(format!("/proc/{target}/limits")).unwrap();
        assert!(!limits.contains("Max open files            3 "), "{limits}");
    });
}

#[test]
fn the_first_process_inside_is_no_way_around_the_filter() {
    everywhere(&json!({}), |cell| {
        // Whoever could write its memory would run what the filter refuses.
        let run = cell.sh(
            "(exec 3<>/proc/1/mem) && echo WRITABLE; (exec 3>/proc/$PPID/mem) && echo WRITABLE; \
             ls /proc/1/root/ /proc/1/cwd/ /proc/1/fd && echo SEEN; cat /proc/1/environ && echo READ; \
             echo tried",
        );
        assert!(run.out.contains("tried"), "{}: {run:?}", cell.backend);
        for way in ["WRITABLE", "SEEN", "READ"] {
            assert!(!run.out.contains(way), "{} {way}: {run:?}", cell.backend);
        }
    });
}

#[test]
fn command_lines_of_others_are_not_shown() {
    everywhere(&json!({}), |cell| {
        let mut bystander = Bystander(
            Command::new("sh")
                .args(["-c", "sleep 300; : a-password-on-a-command-line"])
                .spawn()
                .unwrap(),
        );
        let run = cell.sh("cat /proc/[0-9]*/cmdline; ps -ef; ps aux; ls /proc");
        assert!(
            !run.out.contains("a-password-on-a-command-line"),
            "{}: {run:?}",
            cell.backend
        );
        assert!(bystander.is_well());
        let _ = Command::new("pkill")
            .args(["-P", &bystander.0.id().to_string()])
            .status();
    });
}

#[test]
fn its_own_processes_work_as_usual() {
    everywhere(&json!({ "workspaceAccess": "rw" }), |cell| {
        // Signals to its own, pipes, process substitution, background jobs, temporary files.
        let run = cell.sh(
            "sleep 60 & kill $! && wait $!; echo $?; echo a b | tr a-z A-Z; \
             f=$(mktemp) && echo temp > $f && cat $f; cat /dev/null; head -c 4 /dev/urandom | wc -c; \
             command -v git >/dev/null && git init -q repo && echo git; nproc >/dev/null && echo ok",
        );
        for line in ["143", "A B", "temp", "4", "ok"] {
            assert!(
                run.out.lines().any(|out| out.trim() == line),
                "{} {line}: {run:?}",
                cell.backend
            );
        }
    });
}

#[test]
fn no_privileges_and_none_to_be_had() {
    everywhere(
        &json!({ "workspaceAccess": "rw", "docker": { "ulimits": { "nofile": 100 } } }),
        |cell| {
            let out = cell.holds("privileges", "", 3);
            assert!(
                out.contains("no new privileges: Ok(1)"),
                "{}: {out}",
                cell.backend
            );
            assert!(
                out.contains("open files: Some(100)"),
                "{}: {out}",
                cell.backend
            );
            let opened = out.lines().find_map(|line| line.strip_prefix("opened: "));
            assert!(opened.unwrap().parse::<usize>().unwrap() < 100, "{out}");
            // A program that would make its caller somebody else.
            let run = cell.sh("cp /usr/bin/id own-id && chmod u+s,g+s own-id; mount -t tmpfs none . ; unshare -r true; su -c true; id -u");
            assert!(!run.out.contains("mounted"), "{run:?}");
        },
    );
}

#[test]
fn a_terminal_outside_gets_no_words() {
    everywhere(&json!({}), |cell: &SandboxedHome| {
        let run = cell.sh(
            "echo pwned > /dev/tty; echo pwned > /dev/console; ls /dev/pts; echo x > /dev/pts/0",
        );
        assert!(!run.out.contains("pwned"), "{run:?}");
    });
}

#[test]
fn settings_of_the_kernel_cannot_be_opened_for_writing() {
    // Opened only, never written: should one be open, nothing happens.
    let files = [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/kernel/printk_delay",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sysrq-trigger",
        "/sys/kernel/uevent_helper",
        "/sys/power/state",
        "/sys/fs/cgroup/cgroup.procs",
        "/sys/fs/cgroup/pids/cgroup.procs",
        "/sys/fs/cgroup/memory/cgroup.procs",
        "/sys/fs/cgroup/pids/pids.max",
        "/dev/mem",
        "/dev/kmsg",
    ];
    everywhere(&json!({ "workspaceAccess": "rw" }), |cell| {
        let attempts =
            files.map(|file| format!("(exec 3>>{file}) 2>/dev/null && echo OPEN {file}"));
        let run = cell.sh(&format!("{}; echo tried", attempts.join("; ")));
        assert_eq!(run.out, "tried\n", "{}", cell.backend);
    });
    // Root can open some of them outside, so the attempt is one.
    if rustix::process::getuid().is_root() {
        let open = |file: &&str| std::fs::File::options().append(true).open(file).is_ok();
        assert!(files.iter().any(open));
    }
}

#[test]
fn a_program_that_would_change_the_user_does_not() {
    everywhere(&json!({ "workspaceAccess": "rw" }), |cell| {
        // Everything that runs as somebody else, by its owner, and a shell told to keep that.
        let run = cell.sh(
            "id -u; for p in /usr/bin/su /usr/bin/passwd /usr/bin/mount /usr/bin/newgrp; do \
             test -u $p && head -c 1 $p >/dev/null && $p --version >/dev/null 2>&1; done; \
             cp /usr/bin/id ./mine 2>/dev/null && chmod 6777 ./mine 2>/dev/null; ./mine -u; true",
        );
        let mut users: Vec<&str> = run
            .out
            .lines()
            .filter(|line| line.chars().all(|c| c.is_ascii_digit()))
            .collect();
        users.dedup();
        assert_eq!(users.len(), 1, "{}: {run:?}", cell.backend);
    });
}
