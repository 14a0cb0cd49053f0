//! A copy of a home that is in use: whole, checked to the last bit, without secrets, restored.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::io::Read as _;
use std::process::Output;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use chela_testkit::{EndpointScript, ScriptStep, wait_until};
use serde_json::Value;

use crate::gateway::{TestGateway, said};
use crate::scene::{KEY, ScriptedHome};

const FILE: &str = "copy.tar.gz";
const VARIABLE: &str = "CHELA_MODELS_PROVIDERS_KIT_APIKEY";

fn scene() -> ScriptedHome {
    ScriptedHome::new(EndpointScript::always(ScriptStep::reply("hello")))
}

fn archive(scene: &ScriptedHome) -> String {
    scene.home.path(FILE).display().to_string()
}

/// A command in the restored home.
fn restored(scene: &ScriptedHome, args: &[&str]) -> Output {
    let mut command = scene.home.command();
    command.env("CHELA_HOME", scene.home.path("restored"));
    command.env(VARIABLE, KEY).args(args).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_home_is_copied_while_turns_run_and_goes_on_where_the_copy_was_made() {
    let scene = scene();
    let gateway = TestGateway::start(&scene.home);
    let (stop, talked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let file = archive(&scene);
    std::thread::scope(|scope| {
        for session in 0..3 {
            let (gateway, stop, talked) = (&gateway, &stop, &talked);
            scope.spawn(move || {
                let session = format!("talk-{session}");
                for turn in 0.. {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    said(&gateway.say(&session, &format!("word {turn} in {session}")));
                    talked.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        wait_until("turns run", || talked.load(Ordering::SeqCst) > 5);
        for _ in 0..3 {
            let args = ["backup", "create", &file, "--force", "--with-secrets"];
            scene.home.run(&args).ok();
        }
        stop.store(true, Ordering::SeqCst);
    });
    let sound = scene.home.run(&["backup", "verify", &file]).ok();
    assert!(sound.starts_with("Sound: "), "{sound}");

    let to = scene.home.path("restored").display().to_string();
    scene
        .home
        .run(&["backup", "restore", &file, "--to", &to])
        .ok();
    // The record of what was done hangs together, and each conversation is whole up to a turn.
    let audit = text(&restored(&scene, &["audit", "verify", "--json"]));
    let audit: Value = serde_json::from_str(&audit).unwrap();
    assert_eq!(audit["damage"].as_array().map_or(0, Vec::len), 0, "{audit}");
    for session in 0..3 {
        let key = format!("agent:main:talk-{session}");
        let exported = text(&restored(&scene, &["sessions", "export", &key]));
        let words = exported.matches("word ").count();
        assert!(words > 0);
        for turn in 0..words {
            let word = format!("word {turn} in talk-{session}");
            assert_eq!(exported.matches(&word).count(), 1, "{word}");
        }
    }
    let answer = restored(&scene, &["chat", "-m", "are you there?"]);
    assert_eq!(text(&answer), "hello\n");
}

#[test]
fn no_secret_is_in_it_unless_it_is_asked_for() {
    let scene = scene();
    scene.chat("hi").ok();
    drop(TestGateway::start(&scene.home));
    let file = archive(&scene);
    let token = scene.home.read(".chela/state/gateway.token");
    let told = scene.home.run(&["backup", "create", &file]).ok();
    assert!(told.contains("state/gateway.token (secret"), "{told}");
    assert!(
        told.contains(&format!("set the variable {VARIABLE}")),
        "{told}"
    );
    let inside = unpacked(&scene);
    for secret in [KEY, token.trim()] {
        assert!(!inside.contains(secret), "a secret is in the archive");
    }
    let to = scene.home.path("restored").display().to_string();
    let told = scene
        .home
        .run(&["backup", "restore", &file, "--to", &to])
        .ok();
    assert!(told.contains(&format!("Set {VARIABLE}")), "{told}");
    assert!(told.contains("`chela audit verify`"), "{told}");
    let again = scene.home.run(&["backup", "create", &file]).fails(1);
    assert!(
        again.contains("exists already") && again.contains("--force"),
        "{again}"
    );
    scene
        .home
        .run(&["backup", "create", &file, "--force", "--with-secrets"])
        .ok();
    let inside = unpacked(&scene);
    assert!(inside.contains(KEY) && inside.contains(token.trim()));
    // Bait is looked for in the home and what was printed; here it was asked for.
    std::fs::remove_file(scene.home.path(FILE)).unwrap();
    let within = scene.home.path(".chela/copy.tar.gz").display().to_string();
    let within = scene.home.run(&["backup", "create", &within]).fails(1);
    assert!(within.contains("inside of the home"), "{within}");
}

fn unpacked(scene: &ScriptedHome) -> String {
    let file = std::fs::File::open(scene.home.path(FILE)).unwrap();
    let mut bytes = Vec::new();
    let mut unpacking = flate2::read::MultiGzDecoder::new(file);
    unpacking.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_bit_that_flipped_is_found_and_nothing_is_restored_from_it() {
    let scene = scene();
    scene.chat("hi").ok();
    let file = archive(&scene);
    scene.home.run(&["backup", "create", &file]).ok();
    let path = scene.home.path(FILE);
    let whole = std::fs::read(&path).unwrap();
    let is_sound = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        chela_backup::verify(&path, None).is_ok_and(|check| check.damage.is_empty())
    };
    assert!(is_sound(&whole));
    // Each bit of the ends, where headers and the seal are, and some of every stretch between.
    let step = whole.len() / 60;
    let ends = (0..24).chain(whole.len() - 110..whole.len());
    let places = ends.chain((24..whole.len()).step_by(step));
    for (number, place) in places.enumerate() {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (number % 8);
        assert!(!is_sound(&bytes), "byte {place} of {}", whole.len());
    }
    for length in [0, 5, 100, whole.len() - 1] {
        assert!(!is_sound(&whole[..length]), "cut off at {length}");
    }
    let mut longer = whole.clone();
    longer.push(0);
    assert!(!is_sound(&longer));

    let mut bytes = whole.clone();
    bytes[whole.len() / 2] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let to = scene.home.path("restored").display().to_string();
    let refused = scene
        .home
        .run(&["backup", "restore", &file, "--to", &to])
        .fails(1);
    assert!(refused.contains("is damaged"), "{refused}");
    assert!(!scene.home.exists("restored"));
    scene.home.write("other.tar.gz", "no archive at all");
    let other = scene.home.path("other.tar.gz").display().to_string();
    let refused = scene.home.run(&["backup", "verify", &other]).fails(1);
    assert!(refused.contains("is not a backup of Chela"), "{refused}");
}

#[test]
fn a_home_that_is_there_is_moved_aside_and_never_written_into() {
    let scene = scene();
    scene.chat("before the copy").ok();
    let file = archive(&scene);
    scene
        .home
        .run(&["backup", "create", &file, "--with-secrets"])
        .ok();
    scene.chat("after the copy").ok();
    let refused = scene.home.run(&["backup", "restore", &file]).fails(1);
    assert!(
        refused.contains("exists already") && refused.contains("--force"),
        "{refused}"
    );
    let gateway = TestGateway::start(&scene.home);
    let refused = scene
        .home
        .run(&["backup", "restore", &file, "--force"])
        .fails(1);
    assert!(refused.contains("chela gateway stop"), "{refused}");
    drop(gateway);
    let told = scene
        .home
        .run(&["backup", "restore", &file, "--force"])
        .ok();
    assert!(told.contains(".before-restore-"), "{told}");
    let exported = scene.exported();
    let said = serde_json::to_string(&exported).unwrap();
    assert!(said.contains("before the copy") && !said.contains("after the copy"));
    // The archive holds the key because it was asked to.
    std::fs::remove_file(scene.home.path(FILE)).unwrap();
}

/// Whoever made an archive decides what agents may do: one from elsewhere is not restored unasked.
#[test]
fn an_archive_from_elsewhere_is_restored_only_when_the_owner_says_it_is_theirs() {
    use std::os::unix::fs::PermissionsExt as _;
    let evil = scene();
    evil.chat("hi").ok();
    evil.home.run(&["approvals", "allow", "wget"]).ok();
    let loose = evil.home.path(".chela/exec-approvals.json");
    std::fs::set_permissions(&loose, std::fs::Permissions::from_mode(0o666)).unwrap();
    let file = archive(&evil);
    evil.home.run(&["backup", "create", &file]).ok();
    let scene = scene();
    scene.chat("hi").ok();
    let before = scene.home.read(".chela/chela.json");
    let told = scene.home.run(&["backup", "verify", &file]).ok();
    assert!(told.contains("cannot be told"), "{told}");
    let to = scene.home.path("restored").display().to_string();
    for args in [
        ["backup", "restore", &file, "--to", &to],
        ["backup", "restore", &file, "--force", "--json"],
    ] {
        let refused = scene.home.run(&args).fails(1);
        assert!(
            refused.contains("was not made by this installation") && refused.contains("--mine"),
            "{refused}"
        );
    }
    assert!(!scene.home.exists("restored"));
    assert!(!scene.home.exists(".chela/exec-approvals.json"));
    assert_eq!(scene.home.read(".chela/chela.json"), before);
    scene
        .home
        .run(&["backup", "restore", &file, "--to", &to, "--mine"])
        .ok();
    let restored = scene.home.path("restored/exec-approvals.json");
    let mode = restored.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o022, 0, "others could write: {mode:o}");
    // One's own needs no such word, and one that was changed is not one's own.
    let own = archive(&scene);
    scene.home.run(&["backup", "create", &own]).ok();
    let told = scene.home.run(&["backup", "verify", &own]).ok();
    assert!(told.contains("This installation made it."), "{told}");
    let elsewhere = scene.home.path("again").display().to_string();
    scene
        .home
        .run(&["backup", "restore", &own, "--to", &elsewhere])
        .ok();
}
