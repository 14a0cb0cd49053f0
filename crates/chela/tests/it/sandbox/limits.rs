//! How much a command may use.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{BACKENDS, Cell, everywhere};

/// Processes on the machine whose command line has this in it.
fn running(word: &str) -> usize {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| {
            let line: Vec<u8> = line
                .iter()
                .map(|byte| if *byte == 0 { b' ' } else { *byte })
                .collect();
            String::from_utf8_lossy(&line).starts_with(&format!("sleep {word}"))
        })
        .count()
}

/// A number of seconds nobody else sleeps for.
fn odd_seconds(cell: &Cell, what: u32) -> String {
    format!("77{what}{}.{}", cell.backend.len(), std::process::id())
}

fn gone(word: &str) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(5) {
        if running(word) == 0 {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

/// The same with the kernel counting and where nobody can ask it to.
fn counted_and_watched(settings: &serde_json::Value, attempt: impl Fn(&Cell)) {
    everywhere(settings, &attempt);
    for backend in BACKENDS {
        if let Some(cell) = Cell::without_groups(backend, settings) {
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
            let stopped = run.err.contains("more processes than it may");
            let refused = run.err.contains("fork") || run.out.contains("fork");
            assert!(stopped || refused, "{}: {run:?}", cell.backend);
            assert!(gone(&word), "{}: {} are left", cell.backend, running(&word));
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
                run.err.contains("more memory than it may"),
                "{}: {run:?}",
                cell.backend
            );
            assert!(!run.out.contains("still here"), "{}: {run:?}", cell.backend);
        },
    );
}

/// Seconds of processor time two busy shells used, and the seconds that took.
fn busy(cell: &Cell) -> (f64, f64) {
    let start = Instant::now();
    let run = cell.sh(
        "work() { i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; }; \
         work & work & wait; times",
    );
    let wall = start.elapsed().as_secs_f64();
    // The second line of `times` is about children: `0m0.51s 0m0.00s`.
    let line = run.out.lines().nth(1).unwrap_or_default().to_owned();
    let seconds = |text: &str| {
        let (minutes, seconds) = text.trim_end_matches('s').split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    let used: f64 = line.split_whitespace().filter_map(seconds).sum();
    assert!(used > 0.05, "{}: {run:?}", cell.backend);
    (used, wall)
}

#[test]
fn processors_are_limited() {
    let half = json!({ "docker": { "cpus": 0.5 } });
    super::in_namespaces(&half, |cell| {
        let explained = cell.home.run(&["sandbox", "explain", "--json"]).json();
        if explained["limitsHeldBy"] == "watching" {
            return;
        }
        let (used, wall) = busy(cell);
        assert!(wall > used * 1.5, "{}: {used} s in {wall} s", cell.backend);
    });
    for backend in BACKENDS {
        let Some(cell) = Cell::without_groups(backend, &json!({ "docker": { "cpus": 1 } })) else {
            continue;
        };
        assert_eq!(cell.sh("nproc").out, "1\n", "{backend}");
        // It cannot help itself to more.
        let more = cell.sh("taskset -p ffff $$; taskset ffff nproc; nproc");
        assert_eq!(more.out.lines().last(), Some("1"), "{backend}: {more:?}");
        let (used, wall) = busy(&cell);
        assert!(wall > used * 0.9, "{backend}: {used} s in {wall} s");
    }
}

#[test]
fn tmpfs_of_the_config_is_there_and_bounded() {
    let settings =
        json!({ "docker": { "memory": "64m", "tmpfs": ["/scratch:size=1m", "/etc/../x"] } });
    let Some(cell) = Cell::new("bwrap", &settings) else {
        return;
    };
    let run = cell
        .sh("echo kept > /scratch/a && cat /scratch/a; echo x 2>/dev/null > /tmp/x || echo no tmp");
    assert_eq!(run.out, "kept\nno tmp\n", "{run:?}");
    assert_ne!(cell.sh("head -c 2M /dev/zero > /scratch/a").code, 0);
    let explained = cell.home.run(&["sandbox", "explain"]).flat();
    assert!(
        explained.contains("tmpfs `/etc/../x` is left out"),
        "{explained}"
    );
    let landlock = json!({ "docker": { "tmpfs": ["/scratch"] } });
    if let Some(cell) = Cell::new("landlock", &landlock) {
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
        let start = Instant::now();
        let in_a_second = |script: &str| {
            let order = ["sandbox", "run", "--timeout", "1", "--", "sh", "-c", script];
            cell.home.run(&order)
        };
        let run = in_a_second(&format!("trap '' TERM INT; sleep {word}; sleep {word}"));
        assert!(
            run.err.contains("its time was up"),
            "{}: {run:?}",
            cell.backend
        );
        assert!(start.elapsed() < Duration::from_secs(30));
        assert!(gone(&word), "{}", cell.backend);
        // Not by hiding from it either.
        let hidden = odd_seconds(cell, 4);
        let script = format!(
            "trap '' TERM; setsid sh -c \"env -i setsid sleep {hidden} & trap '' TERM; sleep {hidden}\" & \
             (setsid sh -c '(env -i sleep {hidden} &) & exit 0' &); sleep {hidden}"
        );
        let run = in_a_second(&script);
        assert!(run.err.contains("its time was up"), "{run:?}");
        assert!(
            gone(&hidden),
            "{}: {} are left",
            cell.backend,
            running(&hidden)
        );
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
        assert!(gone(&word), "{}: {} are left", cell.backend, running(&word));
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
