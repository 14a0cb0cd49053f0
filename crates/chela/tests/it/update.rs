//! `chela update`: a program in a folder of its own replaces itself, or does not.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

mod release_server;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use chela_core::{FixedEntropy, Host};
use chela_skills::{SecretKey, new_key};
use chela_testkit::find_part;
use serde_json::json;

use self::release_server::{ReleaseServer, archive_with};
use crate::home::{CommandRun, TestHome, text};
use crate::packaging::{done, only, packages, script};
use crate::tls::server::{TlsServer, certificate};

const TARGET: &str = concat!("x86_64", "-unknown-linux-gnu");
const NOW: &str = env!("CARGO_PKG_VERSION");

/// A program that only knows its version.
fn program_of(version: &str) -> Vec<u8> {
    format!("#!/bin/sh\necho 'chela {version}'\n").into_bytes()
}

/// A new key, and its public half beside it.
fn key_in(path: &Path, seed: u64) -> SecretKey {
    let host = Host {
        entropy: Arc::new(FixedEntropy(seed)),
        ..Host::fixed("/")
    };
    new_key(path, "publisher", &host).unwrap();
    SecretKey::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The program under test by another name: replacing that one leaves this one alone.
fn put_program(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let built = env!("CARGO_BIN_EXE_chela");
    // A second name costs nothing, but not over a border of file systems.
    if std::fs::hard_link(built, path).is_err() {
        std::fs::copy(built, path).unwrap();
    }
}

/// A home with a Chela in `.local/bin`, and a server that offers another one.
struct UpdateScene {
    home: TestHome,
    server: ReleaseServer,
    key: SecretKey,
}

impl UpdateScene {
    fn offering(version: &str) -> Self {
        let home = TestHome::empty();
        put_program(&home.path(".local/bin/chela"));
        let key = key_in(&home.path("publisher"), 7);
        let public = home.read("publisher.pub");
        let server = ReleaseServer::start();
        let url = server.address("index.json");
        home.write(
            ".chela/chela.json",
            &json!({ "update": { "url": url, "key": public.trim() } }).to_string(),
        );
        let scene = Self { home, server, key };
        scene.publish(version, &program_of(version));
        scene
    }

    fn publish(&self, version: &str, program: &[u8]) {
        let archive = archive_with(&[
            ("chela-x/README.md", b"hello"),
            ("chela-x/bin/chela", program),
            ("chela-x/share/man/man1/chela.1", b"the new page"),
        ]);
        self.publish_archive(version, archive);
    }

    fn publish_archive(&self, version: &str, archive: Vec<u8>) {
        let target = TARGET.replace("x86_64", std::env::consts::ARCH);
        let index = json!({ "format": 1, "channels": { "stable": {
            "version": version, "notes": "Faster.",
            "archives": { target: {
                "url": "chela.tar.gz", "size": archive.len(),
                "sha256": chela_core::ContentHash::of(&archive).to_string(),
            } },
        } } });
        self.server.put("chela.tar.gz", archive);
        self.sign_index(index.to_string(), "chela-release");
    }

    fn sign_index(&self, index: String, namespace: &str) {
        let signature = self.key.sign(namespace, index.as_bytes());
        self.server.put("index.json", index.into_bytes());
        self.server.put("index.json.sig", signature.into_bytes());
    }

    fn program(&self) -> PathBuf {
        self.home.path(".local/bin/chela")
    }

    /// The installed program, whichever it is by now.
    fn installed(&self, args: &[&str]) -> CommandRun {
        self.run(&self.program(), args)
    }

    fn run(&self, program: &Path, args: &[&str]) -> CommandRun {
        let output = self
            .home
            .command_of(text(program))
            .args(args)
            .output()
            .unwrap();
        CommandRun {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn version(&self) -> String {
        self.installed(&["--version"]).ok().trim().to_owned()
    }

    /// The update was refused, and nothing in the folder of the program is different.
    #[track_caller]
    fn refuses(&self, args: &[&str], code: i32, why: &str) {
        let folder = self.home.path(".local/bin");
        let names = || {
            let entries = std::fs::read_dir(&folder).unwrap().flatten();
            let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
            names.sort();
            names
        };
        let before = names();
        let said = self.installed(args).fails(code);
        assert!(said.contains(why), "{said}");
        assert_eq!(self.version(), format!("chela {NOW}"));
        assert_eq!(names(), before);
    }
}

#[test]
fn a_newer_version_is_found_installed_and_given_up_again() {
    let scene = UpdateScene::offering("99.0.0");
    let check = scene.installed(&["update", "--check"]).ok();
    assert!(check.contains("Chela 99.0.0 is available"), "{check}");
    assert!(check.contains("Faster."), "{check}");
    assert!(check.contains("chela update"), "{check}");
    assert_eq!(scene.version(), format!("chela {NOW}"));

    let said = scene.installed(&["update"]).ok();
    assert!(said.contains(&format!("now 99.0.0 (was {NOW})")), "{said}");
    assert_eq!(scene.version(), "chela 99.0.0");
    let mode = std::fs::metadata(scene.program())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o111, 0o111);

    // The one before lies beside it, whole: it can still go back by itself.
    let previous = scene.home.path(".local/bin/chela.previous");
    let mut command = scene.home.command_of(text(&previous));
    assert!(command.arg("--version").output().unwrap().status.success());
    std::fs::rename(&previous, scene.program()).unwrap();
    std::fs::write(&previous, program_of("99.0.0")).unwrap();
    std::fs::set_permissions(&previous, PermissionsExt::from_mode(0o755)).unwrap();
    let back = scene.installed(&["update", "--rollback", "--json"]).json();
    assert_eq!(back["to"], "99.0.0");
    assert_eq!(scene.version(), "chela 99.0.0");
    // Nobody listed files to keep up with: none were written.
    assert!(!scene.home.exists(".local/share"));
    let kept = scene
        .home
        .command_of(text(&previous))
        .arg("--version")
        .output();
    assert_eq!(kept.unwrap().stdout, format!("chela {NOW}\n").as_bytes());
}

#[test]
fn what_is_there_already_is_not_fetched() {
    let scene = UpdateScene::offering(NOW);
    let said = scene.installed(&["update"]).ok();
    assert!(said.contains("up to date"), "{said}");
    assert!(!scene.server.asked().contains(&"/chela.tar.gz".to_owned()));
    let json = scene.installed(&["update", "--check", "--json"]).json();
    assert_eq!(json["newer"], false);
    scene.refuses(&["update", "--rollback"], 1, "no older program");
}

#[test]
fn an_older_version_needs_a_word() {
    let scene = UpdateScene::offering("0.0.1");
    scene.refuses(&["update"], 1, "older than this Chela");
    let check = scene.installed(&["update", "--check"]).ok();
    assert!(check.contains("up to date"), "{check}");
    scene.installed(&["update", "--force"]).ok();
    assert_eq!(scene.version(), "chela 0.0.1");
}

#[test]
fn an_index_nobody_trusted_signed_is_refused() {
    let scene = UpdateScene::offering("99.0.0");
    // Changed after it was signed.
    let index = String::from_utf8(scene.server.get("index.json")).unwrap();
    let changed = index.replace("99.0.0", "99.0.1");
    scene.server.put("index.json", changed.into_bytes());
    scene.refuses(&["update"], 1, "does not match its signature");
    // Signed, but for something else.
    scene.sign_index(index.clone(), "chela-skill");
    scene.refuses(&["update"], 1, "made for `chela-skill`");
    // Signed by somebody else.
    let stranger = key_in(&scene.home.path("stranger"), 8);
    let signature = stranger.sign("chela-release", index.as_bytes());
    scene.server.put("index.json.sig", signature.into_bytes());
    scene.refuses(&["update"], 1, "not by publisher");
    // Not signed at all.
    scene.server.take("index.json.sig");
    scene.refuses(&["update", "--check"], 1, "status 404");
}

#[test]
fn an_archive_that_is_not_the_one_of_the_index_is_refused() {
    let scene = UpdateScene::offering("99.0.0");
    let whole = scene.server.get("chela.tar.gz");
    // Another one of the same length.
    let mut other = whole.clone();
    other[20] ^= 1;
    scene.server.put("chela.tar.gz", other);
    scene.refuses(&["update"], 1, "its hash does not match the index");
    // Cut off.
    scene
        .server
        .put("chela.tar.gz", whole[..whole.len() / 2].to_vec());
    scene.refuses(&["update"], 1, "bytes arrived");
    // Cut off on the way: fewer bytes than the server promised.
    scene.server.put("chela.tar.gz", whole.clone());
    scene.server.breaks_off("chela.tar.gz", whole.len() / 2);
    scene.refuses(&["update"], 1, "nothing was replaced");
    // Longer than the index allows.
    scene
        .server
        .put("chela.tar.gz", [whole.as_slice(), &[0; 4096]].concat());
    scene.refuses(&["update"], 1, "it is longer than the");
    // Signed, and no archive of ours.
    scene.publish_archive("99.0.0", archive_with(&[("chela-x/bin/other", b"x")]));
    scene.refuses(&["update"], 1, "has no bin/chela");
}

#[test]
fn a_program_that_does_not_run_or_is_another_is_not_kept() {
    let scene = UpdateScene::offering("99.0.0");
    scene.publish("99.0.0", b"#!/bin/sh\necho broken >&2\nexit 1\n");
    scene.refuses(&["update"], 1, "does not run here");
    scene.publish("99.0.0", &program_of("98.0.0"));
    scene.refuses(&["update"], 1, "says it is 98.0.0");
}

#[test]
fn a_redirect_is_followed_and_a_circle_is_not() {
    let scene = UpdateScene::offering("99.0.0");
    scene
        .server
        .leads("chela.tar.gz", "/elsewhere/chela.tar.gz");
    let archive = scene.server.get("chela.tar.gz");
    scene.server.put("elsewhere/chela.tar.gz", archive);
    scene.server.leads("index.json", "/index.json");
    scene.refuses(&["update"], 1, "redirects too often");
    scene.server.leads("index.json", "");
    scene.installed(&["update"]).ok();
    assert_eq!(scene.version(), "chela 99.0.0");
}

#[test]
fn without_an_address_or_a_key_it_says_so() {
    let scene = UpdateScene::offering("99.0.0");
    scene.home.write(".chela/chela.json", "{}");
    scene.refuses(&["update"], 1, "chela config set update.url");
    scene.home.write(
        ".chela/chela.json",
        r#"{ update: { url: "http://127.0.0.1:9/i.json" } }"#,
    );
    scene.refuses(&["update"], 1, "chela config set update.key");
    scene.home.write(
        ".chela/chela.json",
        r#"{ update: { url: "http://127.0.0.1:9/i.json", key: "ssh-rsa AAAA" } }"#,
    );
    scene.refuses(&["update"], 78, "update.key cannot be used");
    let args = ["update", "--channel", "stabel"];
    let scene = UpdateScene::offering("99.0.0");
    scene.refuses(&args, 1, "did you mean `stable`");
}

#[test]
fn what_a_package_manager_installed_is_left_to_it() {
    for (word, command) in [
        ("deb", "apt install --only-upgrade chela"),
        ("npm", "npm install -g chela@latest"),
        ("pip", "pip install --upgrade chela"),
        ("pacman", "use pacman"),
    ] {
        let scene = UpdateScene::offering("99.0.0");
        scene
            .home
            .write(".local/share/chela/installed-by", &format!("{word}\n"));
        scene.refuses(&["update"], 1, command);
        scene.refuses(&["update", "--rollback"], 1, command);
        let check = scene.installed(&["update", "--check"]).ok();
        assert!(check.contains(command), "{check}");
    }
    // One that cargo built says so, too: laid out as cargo does, for the one under test must not be
    // replaced should this fail.
    let scene = UpdateScene::offering("99.0.0");
    std::fs::create_dir_all(scene.home.path("target/debug/.fingerprint")).unwrap();
    for built in ["target/debug/chela", "target/debug/deps/chela-0a1b"] {
        let built = scene.home.path(built);
        put_program(&built);
        let said = scene.run(&built, &["update"]).fails(1);
        assert!(said.contains("installed with cargo"), "{said}");
    }
    // And what `install.sh` put there replaces itself.
    scene
        .home
        .write(".local/share/chela/installed-by", "archive\n");
    scene
        .home
        .write(".local/share/chela/installed-files", "bin/chela\n");
    scene.installed(&["update"]).ok();
    assert_eq!(scene.version(), "chela 99.0.0");
    // With the pages that go with it, which are then taken away with it.
    let page = "share/man/man1/chela.1";
    assert_eq!(scene.home.read(&format!(".local/{page}")), "the new page");
    let listed = scene.home.read(".local/share/chela/installed-files");
    assert_eq!(listed, format!("bin/chela\n{page}\n"));
}

/// From the packages to the program that runs, with the scripts a publisher uses.
#[test]
fn what_the_scripts_publish_is_what_an_update_installs() {
    let found = Command::new("ssh-keygen").arg("-?").output().map(drop);
    let (Some(packages), Some(())) = (packages("archive"), find_part("ssh-keygen", found)) else {
        return;
    };
    let scene = UpdateScene::offering("99.0.0");
    let out = scene.home.path("published");
    std::fs::create_dir(&out).unwrap();
    let archive = only(&packages, ".tar.gz");
    let name = archive.file_name().unwrap().to_string_lossy().into_owned();
    std::fs::copy(&archive, out.join(&name)).unwrap();
    std::fs::copy(packages.join("SHA256SUMS"), out.join("SHA256SUMS")).unwrap();
    let key = scene.home.path("publisher");
    let publish = script("release-index.sh")
        .args(["--key", text(&key), "--out", text(&out), "--notes", "Now."])
        .output();
    done(publish.unwrap());
    for file in [name.as_str(), "index.json", "index.json.sig"] {
        scene
            .server
            .put(file, std::fs::read(out.join(file)).unwrap());
    }
    let said = scene.installed(&["update"]).ok();
    assert!(said.contains("up to date"), "{said}");
    scene.installed(&["update", "--force"]).ok();
    assert_eq!(scene.version(), format!("chela {NOW}"));
    // It is the one of the archive, without symbols, and the old one is beside it.
    let size = |path: PathBuf| std::fs::metadata(path).unwrap().len();
    let previous = scene.home.path(".local/bin/chela.previous");
    assert!(size(scene.program()) < size(previous));
    scene.installed(&["update", "--rollback"]).ok();
}

#[test]
fn a_server_whose_certificate_has_expired_is_refused_for_that() {
    let scene = UpdateScene::offering("9.0.0");
    let endpoint = crate::tls::endpoint();
    let server = TlsServer::before(&endpoint, "expired");
    let url = format!("{}/index.json", server.url("localhost"));
    let public = scene.home.read("publisher.pub");
    scene.home.write(
        ".chela/chela.json",
        &json!({ "update": { "url": url, "key": public.trim() } }).to_string(),
    );
    let trusted = certificate("authority.pem");
    let scene = UpdateScene {
        home: scene.home.env("SSL_CERT_FILE", text(&trusted)),
        ..scene
    };
    let told = scene.installed(&["update"]).fails(1);
    assert!(
        told.contains("its certificate cannot be trusted: it has expired"),
        "{told}"
    );
}
