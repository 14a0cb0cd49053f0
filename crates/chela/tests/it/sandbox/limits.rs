//! How much a command may use.

use chela_testkit::{find_part, wait_until};
use serde_json::json;

use super::{BACKENDS, SandboxedHome, everywhere};

/// How many processes of the machine sleep for so long.
fn running(word: &str) -> usize {
    sleeping(word).len()
}

/// Processes on the machine whose command line begins with this sleep.
fn sleeping(word: &str) -> Vec<i32> {
    let begin = format!("sleep\0{word}");
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            let pid = entry.file_name().to_str()?.parse().ok()?;
            line.starts_with(begin.as_bytes()).then_some(pid)
        })
        .collect()
}

/// A number of seconds nobody else sleeps for.
fn odd_seconds(cell: &SandboxedHome, what: u32) -> String {
    format!("77{what}{}.{}", cell.backend.len(), std::process::id())
}

/// What was killed is gone a moment later.
fn wait_until_gone(word: &str) {
    wait_until(&format!("`sleep {word}` is gone"), || running(word) == 0);
}

/// The same with the kernel counting and where nobody can ask it to.
fn counted_and_watched(settings: &serde_json::Value, attempt: impl Fn(&SandboxedHome)) {
    everywhere(settings, &attempt);
    for backend in BACKENDS {
        if let Some(cell) = SandboxedHome::without_groups(backend, settings) {
            attempt(&cell);
        }
    }
}

#[test]
fn a_fork_bomb_is_stopped() {
    counted_and_watched(
        &json!({ "workspaceAccess": "rw", "docker": { "pidsLimit": 40 } }),
        |cell| {
            let word = odd_seconds(cell, 1);
            let run = cell.sh(&format!(
                "i=0; while [ $i -lt 400 ]; do sleep {word} & i=$((i+1)); done; echo all; wait"
            ));
            let stopped = run.err.contains("too many processes");
            let refused = run.err.contains("fork") || run.out.contains("fork");
            assert!(stopped || refused, "{}: {run:?}", cell.backend);
            wait_until_gone(&word);
        },
    );
}

#[test]
fn memory_is_limited_for_one_and_for_all() {
    counted_and_watched(
        &json!({ "workspaceAccess": "rw", "docker": { "memory": "96m" } }),
        |cell| {
            let one = cell.attempt("balloon", "MEGABYTES=200");
            assert!(one.contains("refused"), "{}: {one}", cell.backend);
            let fits = cell.sh("dd if=/dev/zero of=/dev/null bs=20M count=1 && echo fits");
            assert!(fits.out.contains("fits"), "{}: {fits:?}", cell.backend);
            let program = super::this_program();
            let run = cell.sh(&format!(
            "for i in 1 2 3 4; do ESCAPE=balloon MEGABYTES=50 '{}' --exact sandbox::inside::probe --nocapture & done; wait",
            program.display()
        ));
            assert!(
                run.err.contains("too much memory"),
                "{}: {run:?}",
                cell.backend
            );
            assert!(!run.out.contains("still here"), "{}: {run:?}", cell.backend);
        },
    );
}

/// What the kernel holds a command to: microseconds of processor time in each period of so many.
fn processor_share(cell: &SandboxedHome) -> (u64, u64) {
    let word = odd_seconds(cell, 6);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| cell.sh(&format!("exec sleep {word}")));
        wait_until("the command sleeps", || running(&word) > 0);
        let pid = *sleeping(&word).first().unwrap();
        let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
        let share = groups.lines().find_map(share_of_group);
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        run.join().unwrap();
        assert!(share.is_some(), "{}: no share in {groups}", cell.backend);
        share.unwrap()
    })
}

/// From a line of `/proc/PID/cgroup`, in either version of groups.
fn share_of_group(line: &str) -> Option<(u64, u64)> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let read = |root: &str, file: &str| {
        std::fs::read_to_string(format!("/sys/fs/cgroup{root}{path}/{file}")).ok()
    };
    if controllers.split(',').any(|name| name == "cpu") {
        let quota = read("/cpu", "cpu.cfs_quota_us")
            .or_else(|| read("/cpu,cpuacct", "cpu.cfs_quota_us"))?;
        let period = read("/cpu", "cpu.cfs_period_us")
            .or_else(|| read("/cpu,cpuacct", "cpu.cfs_period_us"))?;
        return Some((quota.trim().parse().ok()?, period.trim().parse().ok()?));
    }
    let both = read("", "cpu.max")?;
    let (quota, period) = both.trim().split_once(' ')?;
    Some((quota.parse().ok()?, period.parse().ok()?))
}

#[test]
fn processors_are_limited() {
    let half = json!({ "docker": { "cpus": 0.5 } });
    super::in_namespaces(&half, |cell| {
        let explained = cell.home.run(&["sandbox", "explain", "--json"]).json();
        let held = match explained["limitsHeldBy"].as_str() {
            Some("watching") => Err("the kernel counts for nobody here"),
            _ => Ok(()),
        };
        if find_part("cgroups", held).is_none() {
            return;
        }
        let (quota, period) = processor_share(cell);
        assert_eq!(quota * 2, period, "{}", cell.backend);
    });
    for backend in BACKENDS {
        let Some(cell) =
            SandboxedHome::without_groups(backend, &json!({ "docker": { "cpus": 1 } }))
        else {
            continue;
        };
        assert_eq!(cell.sh("nproc").out, "1\n", "{backend}");
        // It cannot help itself to more.
        let more = cell.sh("taskset -p ffff $$; taskset ffff nproc; nproc");
        assert_eq!(more.out.lines().last(), Some("1"), "{backend}: {more:?}");
    }
}

#[test]
fn tmpfs_of_the_config_is_there_and_bounded() {
    let settings =
        json!({ "docker": { "memory": "64m", "tmpfs": ["/scratch:size=1m", "/etc/../x"] } });
    let Some(cell) = SandboxedHome::new("bwrap", &settings) else {
        return;
    };
    let run = cell
        .sh("echo kept > /scratch/a && cat /scratch/a; echo x 2>/dev/null > /tmp/x || echo no tmp");
    assert_eq!(run.out, "kept\nno tmp\n", "{run:?}");
    assert_ne!(cell.sh("head -c 2M /dev/zero > /scratch/a").code, 0);
    let explained = cell.home.run(&["sandbox", "explain"]).flat();
    assert!(
        explained.contains("tmpfs `/etc/../x` is ignored"),
        "{explained}"
    );
    let landlock = json!({ "docker": { "tmpfs": ["/scratch"] } });
    if let Some(cell) = SandboxedHome::new("landlock", &landlock) {
        let explained = cell.home.run(&["sandbox", "explain"]).flat();
        assert!(
            explained.contains("docker.tmpfs has no effect"),
            "{explained}"
        );
    }
}

#[test]
fn files_in_memory_are_limited() {
    everywhere(&json!({ "docker": { "memory": "64m" } }), |cell| {
        for folder in ["/tmp", "/dev/shm", "/var/tmp"] {
            let run = cell.sh(&format!(
                "dd if=/dev/zero of={folder}/balloon bs=1M count=40"
            ));
            assert_ne!(run.code, 0, "{} {folder}: {run:?}", cell.backend);
        }
    });
}

#[test]
fn time_is_limited() {
    everywhere(&json!({}), |cell| {
        let word = odd_seconds(cell, 2);
        let in_a_second = |script: &str| {
            let order = ["sandbox", "run", "--timeout", "1", "--", "sh", "-c", script];
            cell.home.run(&order)
        };
        let run = in_a_second(&format!("trap '' TERM INT; sleep {word}; sleep {word}"));
        assert!(
            run.err.contains("it timed out"),
            "{}: {run:?}",
            cell.backend
        );
        wait_until_gone(&word);
        // Not by hiding from it either.
        let hidden = odd_seconds(cell, 4);
        let script = format!(
            "trap '' TERM; setsid sh -c \"env -i setsid sleep {hidden} & trap '' TERM; sleep {hidden}\" & \
             (setsid sh -c '(env -i sleep {hidden} &) & exit 0' &); sleep {hidden}"
        );
        let run = in_a_second(&script);
        assert!(run.err.contains("it timed out"), "{run:?}");
        wait_until_gone(&hidden);
    });
}

#[test]
fn nothing_outlives_the_command() {
    counted_and_watched(&json!({ "workspaceAccess": "rw" }), |cell| {
        let word = odd_seconds(cell, 3);
        // A group, a session, a parent and an environment of their own: nothing to be known by.
        let run = cell.sh(&format!(
            "setsid sh -c 'env -i setsid sleep {word} & exit 0' & \
             (setsid sh -c '(env -i sh -c \"sleep {word} & sleep {word}\" &) & exit 0' &); \
             while [ ! -e never ] && [ $((i=i+1)) -lt 3000 ]; do :; done; echo done"
        ));
        assert!(run.out.contains("done"), "{}: {run:?}", cell.backend);
        wait_until_gone(&word);
    });
}

#[test]
fn exit_codes_come_through() {
    everywhere(&json!({}), |cell| {
        assert_eq!(cell.sh("exit 0").code, 0);
        assert_eq!(cell.sh("exit 42").code, 42, "{}", cell.backend);
        assert_eq!(cell.sh("kill -9 $$").code, 137, "{}", cell.backend);
        let none = cell.home.run(&["sandbox", "run", "--", "no-such-program"]);
        assert_ne!(none.code, 0);
    });
}
