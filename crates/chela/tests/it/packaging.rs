//! The packages: made by `scripts/package.sh` from this very program, installed where nothing else
//! is, and run.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

mod managers;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use chela_testkit::find_part;

use crate::home::{TestHome, text};

const SAYS: &str = concat!("chela ", env!("CARGO_PKG_VERSION"), "\n");

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn script(name: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg(repository().join("scripts").join(name));
    command
}

/// Whether a tool is there, for `find_part`.
fn starts(program: &str, args: &[&str]) -> Result<(), String> {
    match Command::new(program).args(args).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("`{program} {}`: {}", args.join(" "), output.status)),
        Err(error) => Err(format!("{program}: {error}")),
    }
}

#[track_caller]
pub fn done(output: Output) -> String {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}\n{said}\n{errors}",
        output.status
    );
    said
}

#[track_caller]
fn refused(output: Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The folder with the packages of one kind, made once for all tests that want them; `None` where
/// a tool is missing, and may be.
pub fn packages(kind: &'static str) -> Option<PathBuf> {
    static FOLDERS: [OnceLock<PathBuf>; 4] = [const { OnceLock::new() }; 4];
    find_part("binutils", starts("objdump", &["--version"]))?;
    let (folder, found) = match kind {
        "archive" => (&FOLDERS[0], Ok(())),
        "container" => (&FOLDERS[1], starts("dpkg-deb", &["--version"])),
        "npm" => (&FOLDERS[2], starts("npm", &["--version"])),
        _ => (&FOLDERS[3], starts("python3", &["-m", "pip", "--version"])),
    };
    let part = match kind {
        "container" => "dpkg",
        "npm" => "npm",
        "wheel" => "pip",
        _ => "binutils",
    };
    find_part(part, found)?;
    let made = folder.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("packages-{kind}"));
        if out.exists() {
            std::fs::remove_dir_all(&out).unwrap();
        }
        let licences = repository().join("LICENSE-MIT");
        let mut command = script("package.sh");
        command
            .args(["--binary", env!("CARGO_BIN_EXE_chela"), "--fast"])
            .args(["--notices", text(&licences), "--out", text(&out), kind]);
        done(command.output().unwrap());
        out
    });
    Some(made.clone())
}

/// The only file of a folder whose name ends so.
#[track_caller]
pub fn only(folder: &Path, end: &str) -> PathBuf {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let mut found = entries
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().ends_with(end));
    let first = found
        .next()
        .unwrap_or_else(|| panic!("no {end} in {folder:?}"));
    assert_eq!(found.next(), None, "more than one {end}");
    first
}

/// The installed program runs, works in a home of its own, and leaves its update to `installer`.
#[track_caller]
fn works(home: &TestHome, program: &Path, installer: Option<&str>) {
    let run = |args: &[&str]| home.command_of(text(program)).args(args).output().unwrap();
    assert_eq!(done(run(&["--version"])), SAYS);
    assert!(done(run(&["init"])).contains("SOUL.md"));
    assert!(done(run(&["prompt"])).len() > 1000);
    let update = refused(run(&["update"]), 1);
    let expected = match installer {
        Some(name) => format!("installed with {name}"),
        None => "update.url".to_owned(),
    };
    assert!(update.contains(&expected), "{update}");
}

#[test]
fn the_archive_is_installed_run_and_taken_away() {
    let Some(packages) = packages("archive") else {
        return;
    };
    let home = TestHome::empty();
    let install = |args: &[&str]| {
        let mut command = home.command_of("sh");
        command.arg(packages.join("install.sh")).args(args);
        command.output().unwrap()
    };
    let said = done(install(&[]));
    assert!(said.contains("is installed: "), "{said}");
    assert!(said.contains("is not on your PATH"), "{said}");
    works(&home, &home.path(".local/bin/chela"), None);
    for file in [
        "bash-completion/completions/chela",
        "zsh/site-functions/_chela",
        "fish/vendor_completions.d/chela.fish",
        "man/man1/chela.1",
        "doc/chela/README.md",
        "doc/chela/LICENSE-MIT",
        "doc/chela/LICENSE-APACHE",
        "doc/chela/THIRD-PARTY.md",
        "doc/chela/docs/ARCHITECTURE.md",
    ] {
        let text = home.read(&format!(".local/share/{file}"));
        assert!(text.len() > 500, "{file}");
    }
    // Once more over itself, then away: the agent stays.
    done(install(&[]));
    home.write(".local/share/mine.txt", "mine");
    let said = done(install(&["--uninstall"]));
    assert!(said.contains("Your agents are still in"), "{said}");
    assert!(home.exists(".chela/workspace/SOUL.md"));
    let left = std::fs::read_dir(home.path(".local")).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["share"]);
    assert_eq!(home.read(".local/share/mine.txt"), "mine");
    assert_eq!(
        std::fs::read_dir(home.path(".local/share"))
            .unwrap()
            .count(),
        1
    );
    let said = refused(install(&["--uninstall"]), 1);
    assert!(said.contains("nothing installed by this script"), "{said}");
}

#[test]
fn an_archive_is_held_against_its_sums_and_their_signature() {
    let Some(packages) = packages("archive") else {
        return;
    };
    let home = TestHome::empty();
    let archive = only(&packages, ".tar.gz");
    let copy = home.path(&format!(
        "got/{}",
        archive.file_name().unwrap().to_string_lossy()
    ));
    std::fs::create_dir(home.path("got")).unwrap();
    std::fs::copy(&archive, &copy).unwrap();
    let install = |args: &[&str]| {
        let mut command = home.command_of("sh");
        command.arg(repository().join("scripts/install.sh"));
        command.arg(&copy).args(args).output().unwrap()
    };
    let said = refused(install(&[]), 1);
    assert!(said.contains("there is no SHA256SUMS"), "{said}");
    let sums = std::fs::read_to_string(packages.join("SHA256SUMS")).unwrap();
    home.write("got/SHA256SUMS", &sums.replace(".tar.gz", ".tar.xz"));
    let said = refused(install(&[]), 1);
    assert!(said.contains("SHA256SUMS does not list"), "{said}");
    home.write("got/SHA256SUMS", &sums);
    done(install(&["--prefix", text(&home.path("here"))]));
    assert!(home.exists("here/bin/chela"));
    // What another installer put there is not written over.
    home.write("pips/share/chela/installed-by", "pip\n");
    let said = refused(install(&["--prefix", text(&home.path("pips"))]), 1);
    assert!(said.contains("belongs to pip"), "{said}");
    check_signed(&home, &install);
    let mut bytes = std::fs::read(&copy).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&copy, bytes).unwrap();
    let said = refused(install(&["--prefix", text(&home.path("there"))]), 1);
    assert!(said.contains("does not match SHA256SUMS"), "{said}");
    assert!(!home.exists("there"));
}

fn check_signed(home: &TestHome, install: &dyn Fn(&[&str]) -> Output) {
    // It has no option that only says which it is.
    let there = Command::new("ssh-keygen").arg("-?").output().map(drop);
    if find_part("ssh-keygen", there).is_none() {
        return;
    }
    let key = home.path("release");
    let sign = |namespace: &str| {
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-Y", "sign", "-n", namespace, "-f", text(&key)]);
        done(command.arg(home.path("got/SHA256SUMS")).output().unwrap());
    };
    let args = ["-q", "-t", "ed25519", "-N", "", "-f", text(&key)];
    done(Command::new("ssh-keygen").args(args).output().unwrap());
    let public = home.path("release.pub");
    let prefix = home.path("signed");
    let with_key = ["--key", text(&public), "--prefix", text(&prefix)];
    let said = refused(install(&with_key), 1);
    assert!(said.contains("SHA256SUMS.sig is missing"), "{said}");
    sign("file");
    let said = refused(install(&with_key), 1);
    assert!(said.contains("was not signed with the key"), "{said}");
    std::fs::remove_file(home.path("got/SHA256SUMS.sig")).unwrap();
    sign("chela-release");
    done(install(&with_key));
    assert!(home.exists("signed/bin/chela"));
}

/// Without a program it builds one, and finds it where cargo puts it. Cargo itself is stood in for:
/// building the real thing takes minutes.
#[test]
fn without_a_program_it_builds_one() {
    if find_part("binutils", starts("objdump", &["--version"])).is_none() {
        return;
    }
    let home = TestHome::empty();
    let target = home.path("elsewhere");
    let built = target.join("dist/chela");
    std::fs::create_dir_all(target.join("dist")).unwrap();
    let cargo = format!(
        "#!/bin/sh\necho \"$*\" >> \"{0}/asked\"\ncase \"$*\" in\n\
         *metadata*) echo '{{\"packages\":[],\"target_directory\":\"{1}\",\"version\":1}}';;\n\
         *dist) cp \"{2}\" \"{3}\";;\n*notices*) echo licences > \"$7\";;\nesac\n",
        text(&home.path("")),
        text(&target),
        env!("CARGO_BIN_EXE_chela"),
        text(&built),
    );
    let program = home.write("bin/cargo", &cargo);
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", home.path("bin").display(), env_path());
    let out = home.path("out");
    let mut command = script("package.sh");
    command
        .env("PATH", path)
        .args(["--fast", "--out", text(&out), "archive"]);
    done(command.output().unwrap());
    let asked = home.read("asked");
    assert!(asked.contains("--package xtask -- dist\n"), "{asked}");
    assert!(asked.contains("--package xtask -- notices "), "{asked}");
    let listed = Command::new("tar")
        .args(["-tzf", text(&only(&out, ".tar.gz"))])
        .output();
    let listed = done(listed.unwrap());
    assert!(listed.contains("/bin/chela\n"), "{listed}");
    assert!(listed.contains("/THIRD-PARTY.md\n"), "{listed}");
}

fn env_path() -> String {
    std::env::var("PATH").unwrap()
}

#[test]
fn what_cannot_be_packaged_is_said() {
    let home = TestHome::empty();
    let out = home.path("out");
    let run = |args: &[&str]| script("package.sh").args(args).output().unwrap();
    let said = refused(run(&["--binary", "/nowhere/chela", "--out", text(&out)]), 1);
    assert!(said.contains("/nowhere/chela is no program"), "{said}");
    let said = refused(run(&["snap"]), 2);
    assert!(said.contains("unknown word: snap"), "{said}");
    let said = refused(run(&["--binary", "/bin/true", "--out", text(&out)]), 1);
    assert!(said.contains("not chela"), "{said}");
}
