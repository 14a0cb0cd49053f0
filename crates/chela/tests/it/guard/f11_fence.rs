//! A command the owner lets run outside the sandbox has the machine, and not what Chela keeps: each
//! way in is tried with each way to keep it out.

use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint};
use serde_json::{Value, json};

use crate::home::{CommandRun, TestHome};
use crate::sandbox::{is_here, with_bwrap, without_namespaces};

const SECRET: &str = "nobody-outside-reads-this";

/// What is not to change, with the same text in each.
const BAITS: [&str; 5] = [
    "bait.json",
    "state/bait",
    "state/runtime.sqlite",
    "agents/main/bait",
    "elsewhere/bait",
];

/// What is not to be made.
const MADE: [&str; 4] = [
    "exec-approvals.json",
    "state/evil",
    "agents/main/evil",
    "folders.json",
];

/// A way to keep commands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fence {
    Mounts,
    /// The same for somebody who is not root.
    MountsOfUser,
    Bubblewrap,
    Landlock,
}

impl Fence {
    const ALL: [Self; 4] = [
        Self::Mounts,
        Self::MountsOfUser,
        Self::Bubblewrap,
        Self::Landlock,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Mounts | Self::MountsOfUser => "mounts",
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
        }
    }

    /// A home whose commands run outside, with baits in it; `None` where this cannot be had.
    fn home(self) -> Option<TestHome> {
        let is_root = rustix::process::getuid().is_root();
        let (backend, mut home) = match self {
            Self::Mounts => ("auto", TestHome::empty()),
            Self::MountsOfUser if !is_root => return None,
            Self::MountsOfUser => ("auto", TestHome::empty()),
            Self::Bubblewrap => {
                is_here("bwrap")?;
                ("bwrap", with_bwrap(TestHome::empty()))
            }
            Self::Landlock => ("auto", without_namespaces(TestHome::empty())?),
        };
        let config = json!({
            "tools": { "exec": { "mode": "full" } },
            "agents": { "defaults": { "sandbox": { "mode": "off", "backend": backend } } },
        });
        home.write(".chela/chela.json", &config.to_string());
        home.run(&["init"]).ok();
        home.run(&["memory", "index"]).ok();
        for bait in BAITS {
            home.write(&format!(".chela/{bait}"), SECRET);
        }
        for key in [".env", "state/gateway.token"] {
            home.write(&format!(".chela/{key}"), &format!("KEY={SECRET}\n"));
        }
        // No file of records of ours, so that nothing but the walls is in the way.
        home.write("project/file", "old");
        if self == Self::MountsOfUser {
            let mut owned = home.command_of("chown");
            let owned = owned.args(["-R", "65534:65534"]).arg(home.path(""));
            assert!(owned.status().unwrap().success());
            home = home.through(&[
                "setpriv",
                "--reuid=65534",
                "--regid=65534",
                "--clear-groups",
            ]);
        }
        let told = home.run(&["sandbox", "explain", "--json"]).json();
        let by = &told["stateProtected"]["by"];
        assert_eq!(*by, self.name(), "{told:#}");
        Some(home)
    }
}

fn sh(home: &TestHome, script: &str) -> CommandRun {
    home.run(&["sandbox", "run", "--", "sh", "-c", script])
}

/// Nothing of what Chela keeps has changed, or lies elsewhere.
fn assert_untouched(home: &TestHome, how: &str, run: &CommandRun) {
    for bait in BAITS {
        let file = home.path(".chela").join(bait);
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(text, SECRET, "{bait} after {how}: {run:?}");
    }
    for made in MADE {
        assert!(
            !home.exists(&format!(".chela/{made}")),
            "{made}: {how}: {run:?}"
        );
    }
    assert!(!is_stolen(home), "{how}: {run:?}");
}

fn is_stolen(home: &TestHome) -> bool {
    let stolen = std::fs::read(home.path("project/stolen")).unwrap_or_default();
    String::from_utf8_lossy(&stolen).contains(SECRET)
}

/// Ways to what Chela keeps.
const ATTEMPTS: [&str; 25] = [
    // By name, from where it stands, and by the names of processes.
    "echo evil > ~/.chela/bait.json",
    "echo evil > ~/.chela/exec-approvals.json",
    "echo evil > ../state/evil; echo evil > ../state/bait",
    "cd ..; echo evil > state/evil; cd state; echo evil > bait; rm -f runtime.sqlite",
    "echo evil > /proc/self/cwd/../state/bait",
    "for p in $PPID 1 $(ls /proc | grep -E '^[0-9]+$'); do \
     echo evil > /proc/$p/root$HOME/.chela/state/bait; done",
    "echo evil > /proc/$PPID/cwd/.chela/state/bait; echo evil > /proc/$PPID/cwd/../state/bait",
    // Moved away, linked, emptied, replaced.
    "rm -rf ~/.chela/state ~/.chela/agents ~/.chela/bait.json ~/.chela/elsewhere",
    "mv ~/.chela/state ~/.chela/away; mkdir ~/.chela/state; echo evil > ~/.chela/state/bait",
    "mv ~/.chela ~/away; mkdir -p ~/.chela/state; echo evil > ~/.chela/state/bait",
    "cd /; mv $HOME $HOME.away && mkdir -p $HOME/.chela/state; \
            echo evil > $HOME/.chela/state/bait",
    "ln ~/.chela/state/bait ~/project/hard && echo evil > ~/project/hard",
    "ln -s ~/.chela/state/bait ~/project/soft && echo evil > ~/project/soft",
    "truncate -s 0 ~/.chela/state/bait",
    "cp /etc/hostname ~/.chela/agents/main/evil",
    "sed -i s/nobody/evil/ ~/.chela/agents/main/bait",
    "tar -C / -cf - etc/hostname | tar -C ~/.chela/state -xf -; mv -f ~/project/file ~/.chela/state/bait",
    // The mounts themselves, with whatever rights can be had.
    "umount ~/.chela; umount -l ~/.chela/state; mount -o remount,bind,rw ~/.chela; \
            echo evil > ~/.chela/state/bait",
    "unshare -rm sh -c 'umount ~/.chela; mount -o remount,bind,rw ~/.chela; \
            mount --bind / /mnt; echo evil > ~/.chela/state/bait; \
            echo evil > /mnt$HOME/.chela/state/bait'",
    "nsenter -t $PPID -m sh -c 'echo evil > ~/.chela/state/bait'",
    "nsenter -t 1 -m sh -c \"echo evil > $HOME/.chela/state/bait\"",
    // Left behind, when everything else has ended.
    "(setsid env -i HOME=$HOME sh -c 'sleep 0.2; echo evil > ~/.chela/state/bait' &) ; sleep 0.6",
    // The keys.
    "cat ~/.chela/.env ../.env > ~/project/stolen",
    "cp ~/.chela/state/gateway.token ~/project/stolen",
    "tar -C ~/.chela -cf ~/project/stolen state/gateway.token .env",
];

#[test]
fn what_chela_keeps_is_out_of_reach_in_every_way() {
    for fence in Fence::ALL {
        let Some(home) = fence.home() else {
            continue;
        };
        for attempt in ATTEMPTS {
            let run = sh(&home, attempt);
            assert_untouched(&home, &format!("{fence:?}: {attempt}"), &run);
        }
        // The config is one of them.
        let before = home.read(".chela/chela.json");
        sh(
            &home,
            "sed -i s/full/deny/ ~/.chela/chela.json; echo {} > ~/.chela/chela.json",
        );
        assert_eq!(home.read(".chela/chela.json"), before, "{fence:?}");
    }
}

#[test]
fn the_rest_of_the_machine_is_there() {
    for fence in Fence::ALL {
        let Some(home) = fence.home() else {
            continue;
        };
        let run = sh(
            &home,
            "set -e; echo new > ~/project/file; mkdir ~/project/folder; echo x > ~/project/folder/x; \
             echo own > own.txt; mkdir -p deep/er; mv own.txt deep/er/; cat /etc/passwd > /dev/null; \
             echo skill > ~/.chela/skills/x.md; \
             test -r ~/.chela/chela.json; cd ~/project && git init -q . 2> /dev/null || true; \
             sh -c 'exit 0' & wait $!; echo all-well",
        );
        assert!(run.out.contains("all-well"), "{fence:?}: {run:?}");
        assert_eq!(home.read("project/file"), "new\n", "{fence:?}");
        assert_eq!(home.read(".chela/workspace/deep/er/own.txt"), "own\n");
        let run = sh(
            &home,
            "echo x > ~/new.txt && mkdir ~/made && echo y > ~/made/y && echo made",
        );
        // Rules of Landlock cannot let anything be made beside what they keep closed.
        let is_made = run.out.contains("made");
        assert_eq!(is_made, fence != Fence::Landlock, "{fence:?}: {run:?}");
        let run = home.run(&["sandbox", "explain"]);
        assert!(
            run.flat()
                .contains("commands cannot change Chela's own files"),
            "{run:?}"
        );
        // The exit code is the command's.
        assert_eq!(sh(&home, "exit 7").code, 7, "{fence:?}");
    }
}

#[test]
fn chela_goes_on_looking_inside() {
    let chela = env!("CARGO_BIN_EXE_chela");
    let looks = [
        "status",
        "doctor",
        "config get agents",
        "memory status",
        "memory search bait",
        "skills list",
        "approvals list",
        "trust status",
        "context list",
        "sessions list",
        "sandbox explain",
        "cron list",
        "usage",
        "gateway status",
    ];
    for fence in Fence::ALL {
        let Some(home) = fence.home() else {
            continue;
        };
        std::fs::remove_file(home.path(".chela/state/runtime.sqlite")).unwrap();
        std::fs::remove_file(home.path(".chela/bait.json")).unwrap();
        let outside: Vec<i32> = looks
            .iter()
            .map(|look| home.run(&look.split(' ').collect::<Vec<_>>()).code)
            .collect();
        for (look, outside) in looks.iter().zip(outside) {
            let run = sh(&home, &format!("{chela} {look}"));
            assert_eq!(run.code, outside, "{fence:?}: {look}: {run:?}");
        }
        // And changes nothing.
        let run = sh(&home, &format!("{chela} approvals allow wget"));
        assert_eq!(run.code, 1, "{run:?}");
    }
}

/// A disk that is mounted in two places.
#[test]
fn what_is_kept_is_kept_by_its_other_names_too() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    for fence in [Fence::Mounts, Fence::Bubblewrap] {
        let Some(home) = fence.home() else {
            continue;
        };
        let other = tempfile::tempdir().unwrap();
        let script = format!(
            "mount --bind {} {} && exec \"$0\" \"$@\"",
            home.path("").display(),
            other.path().display()
        );
        let home = home.through(&["unshare", "--mount", "sh", "-c", &script]);
        let other = other.path().display();
        let run = sh(
            &home,
            &format!(
                "ls {other}/project; echo evil > {other}/.chela/state/bait; \
                 cp {other}/.chela/.env ~/project/stolen"
            ),
        );
        assert!(run.out.contains("file"), "{run:?}");
        assert_untouched(&home, "another mount", &run);
    }
}

/// The home is reached by a link, which lies where everybody of the owner's may write.
#[test]
fn a_home_behind_a_link_is_not_exchanged() {
    let Some(home) = Fence::Mounts.home() else {
        return;
    };
    std::fs::rename(home.path(".chela"), home.path("disk")).unwrap();
    std::os::unix::fs::symlink("disk", home.path(".chela")).unwrap();
    let endpoint = ScriptedEndpoint::start(EndpointScript::steps([
        ScriptStep::tool(
            "exec",
            json!({ "command": "cd ~; rm .chela; mkdir -p .chela/state; echo evil > .chela/evil" }),
        ),
        ScriptStep::reply("done"),
    ]))
    .unwrap();
    let mut config: Value = serde_json::from_str(&home.read(".chela/chela.json")).unwrap();
    config["models"] = json!({ "providers": { "kit": {
        "baseUrl": endpoint.url(), "api": "openai-completions", "apiKey": "k",
        "models": [{ "id": "scripted", "contextWindow": 64_000 }],
    } } });
    config["agents"]["defaults"]["model"] = "kit/scripted".into();
    home.write("disk/chela.json", &config.to_string());
    let run = home.run(&["chat", "-m", "go"]);
    let link = std::fs::read_link(home.path(".chela"));
    assert_eq!(link.ok().as_deref(), Some("disk".as_ref()), "{run:?}");
    assert!(!home.exists("disk/evil"), "{run:?}");
    let told = run.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("~/.chela changed while a command"), "{told}");
}

/// Another profile has a home of its own, and agents of its own.
#[test]
fn the_homes_of_other_profiles_are_kept_too() {
    for fence in [Fence::Mounts, Fence::Landlock] {
        let Some(home) = fence.home() else {
            continue;
        };
        home.write(".chela-work/state/bait", SECRET);
        home.write(".chela-notes/text", "mine");
        sh(
            &home,
            "echo evil > ~/.chela-work/state/bait; echo evil > ~/.chela-work/chela.json",
        );
        assert_eq!(home.read(".chela-work/state/bait"), SECRET, "{fence:?}");
        assert!(!home.exists(".chela-work/chela.json"), "{fence:?}");
        // What only looks like one is the owner's own.
        sh(&home, "echo more > ~/.chela-notes/text");
        assert_eq!(home.read(".chela-notes/text"), "more\n", "{fence:?}");
    }
}

/// Letters put into the terminal the chat runs in would be the owner's.
#[test]
fn nobody_types_in_the_owners_place() {
    let probe = "import fcntl, sys\n\
        try:\n    fcntl.ioctl(0, 0x5412, b'y')\n    print('typed')\n\
        except OSError as error:\n    print('errno', error.errno)\n";
    for fence in Fence::ALL {
        let Some(home) = fence.home() else {
            continue;
        };
        home.write("project/probe.py", probe);
        let run = sh(&home, "python3 ~/project/probe.py || echo no python");
        let held = ["errno 1\n", "no python"];
        assert!(
            held.iter().any(|held| run.out.contains(held)),
            "{fence:?}: {run:?}"
        );
    }
}

/// No program becomes another user where nobody gains rights: one that is named runs without the
/// fence, and one that only a script names stays behind it.
#[test]
fn a_program_that_becomes_another_user_runs_without_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(home) = Fence::MountsOfUser.home() else {
        return;
    };
    let sudo = home.write("bin/sudo", "#!/bin/sh\nexec \"$@\"\n");
    std::fs::set_permissions(&sudo, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let home = {
        let bin = home.path("bin").display().to_string();
        home.env("PATH", &format!("{bin}:{path}"))
    };
    sh(&home, "sudo sh -c 'echo hidden > ~/.chela/state/hidden'");
    assert!(!home.exists(".chela/state/hidden"));
    let named = ["sandbox", "run", "--", "sudo", "touch", "STATE/named"];
    let state = home.path(".chela/state").display().to_string();
    let named = named.map(|word| word.replace("STATE", &state));
    let words: Vec<&str> = named.iter().map(String::as_str).collect();
    let run = home.run(&words);
    assert!(home.exists(".chela/state/named"), "{run:?}");
}

#[test]
fn the_owner_can_do_without_it_and_is_told() {
    let home = TestHome::empty();
    let config = json!({
        "tools": { "exec": { "mode": "full", "protectState": false } },
        "agents": { "defaults": { "sandbox": { "mode": "off" } } },
    });
    home.write(".chela/chela.json", &config.to_string());
    home.run(&["init"]).ok();
    sh(&home, "echo there > ~/.chela/state/evil");
    assert!(home.exists(".chela/state/evil"));
    let told = home.run(&["sandbox", "explain"]);
    let words = "commands can change Chela's own files: tools.exec.protectState is off";
    assert!(told.flat().contains(words), "{told:?}");
    let audit = home.run(&["security", "audit", "--json"]);
    assert!(audit.out.contains("tools.state-open"), "{audit:?}");
}

/// The attempts are some: without anything in the way, most of them lead there.
#[test]
fn without_it_the_same_ways_are_open() {
    let is_open = |attempt: &&str| {
        let Some(home) = Fence::Mounts.home() else {
            return false;
        };
        let config = home.read(".chela/chela.json").replace(
            "\"mode\":\"full\"",
            "\"mode\":\"full\",\"protectState\":false",
        );
        home.write(".chela/chela.json", &config);
        sh(&home, attempt);
        let is_changed = BAITS.iter().any(|bait| {
            let file = home.path(".chela").join(bait);
            std::fs::read_to_string(file).unwrap_or_default() != SECRET
        });
        let is_made = MADE
            .iter()
            .any(|made| home.exists(&format!(".chela/{made}")));
        is_changed || is_made || is_stolen(&home)
    };
    let shut: Vec<&str> = ATTEMPTS
        .into_iter()
        .filter(|attempt| !is_open(attempt))
        .collect();
    // Some need more than every machine gives.
    assert!(shut.len() <= 2, "{shut:#?}");
}
