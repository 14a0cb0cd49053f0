//! The packages of package managers, and the image.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{SAYS, done, only, packages, refused, works};
use crate::home::{TestHome, text};

/// The .deb in a root of its own. As root it is installed by dpkg, in a system with nothing but what
/// the package says it needs; for others it is unpacked.
fn with_deb(home: &TestHome, packages: &Path) -> PathBuf {
    let root = home.path("root");
    let deb = only(packages, ".deb");
    let mut command = Command::new("dpkg");
    if is_root() {
        std::fs::create_dir_all(root.join("var/lib/dpkg/info")).unwrap();
        std::fs::create_dir_all(root.join("var/lib/dpkg/updates")).unwrap();
        let needed = Command::new("dpkg")
            .args(["-s", "libc6", "libgcc-s1"])
            .output();
        std::fs::write(root.join("var/lib/dpkg/status"), needed.unwrap().stdout).unwrap();
        command.args(["--root", text(&root), "--log", "/dev/null"]);
        command.args(["-i", text(&deb)]);
    } else {
        command.args(["-x", text(&deb), text(&root)]);
    }
    done(command.output().unwrap());
    if is_root() {
        copy_libraries(&root);
    }
    root
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What libc6 and libgcc-s1 would bring.
fn copy_libraries(root: &Path) {
    let listed = Command::new("ldd").arg(root.join("usr/bin/chela")).output();
    for library in done(listed.unwrap())
        .split_whitespace()
        .filter(|word| word.starts_with('/'))
    {
        let place = root.join(library.trim_start_matches('/'));
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::copy(library, place).unwrap();
    }
}

#[test]
fn the_deb_is_installed_in_a_clean_root_and_run() {
    let Some(packages) = packages("container") else {
        return;
    };
    let home = TestHome::empty();
    let root = with_deb(&home, &packages);
    works(&home, &root.join("usr/bin/chela"), Some("apt or dpkg"));
    for file in [
        "man/man1/chela.1.gz",
        "doc/chela/copyright",
        "zsh/vendor-completions/_chela",
    ] {
        assert!(root.join("usr/share").join(file).is_file(), "{file}");
    }
    if is_root() {
        let inside = Command::new("chroot")
            .args([text(&root), "/usr/bin/chela", "--version"])
            .output();
        assert_eq!(done(inside.unwrap()), SAYS);
    }
}

#[test]
fn the_npm_packages_are_installed_from_files_and_run() {
    let Some(packages) = packages("npm") else {
        return;
    };
    let home = TestHome::empty();
    let version = env!("CARGO_PKG_VERSION");
    let main = packages.join(format!("chela-{version}.tgz"));
    let platform = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "x64",
    };
    let program = packages.join(format!("chela-linux-{platform}-{version}.tgz"));
    let install = |files: &[&Path]| {
        let mut command = home.command_of("npm");
        command
            .args(["install", "-g", "--offline", "--no-audit", "--no-fund"])
            .args(["--no-update-notifier", "--omit=optional", "--prefix"])
            .arg(home.path("npm"))
            .args(files);
        done(command.output().unwrap());
    };
    let launcher = home.path("npm/bin/chela");
    // Without the package for this machine it says what is missing.
    install(&[&main]);
    let said = refused(home.command_of(text(&launcher)).output().unwrap(), 1);
    assert!(said.contains("is not installed"), "{said}");
    install(&[&program, &main]);
    works(&home, &launcher, Some("npm"));
    // What the program ends with is what the launcher ends with.
    let wrong = home
        .command_of(text(&launcher))
        .arg("nonsense")
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn the_wheel_is_installed_from_a_file_and_run() {
    let Some(packages) = packages("wheel") else {
        return;
    };
    let home = TestHome::empty();
    let wheel = only(&packages, ".whl");
    assert!(text(&wheel).contains("-py3-none-manylinux_2_"), "{wheel:?}");
    let venv = home.path("venv");
    let python = |args: &[&str]| done(Command::new("python3").args(args).output().unwrap());
    python(&["-m", "venv", "--without-pip", text(&venv)]);
    let inside = venv.join("bin/python");
    let pip = [
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--python",
        text(&inside),
    ];
    let install = [
        "install",
        "--quiet",
        "--no-index",
        "--no-cache-dir",
        text(&wheel),
    ];
    python(&[pip.as_slice(), &install].concat());
    works(&home, &venv.join("bin/chela"), Some("pip"));
    assert!(venv.join("share/man/man1/chela.1").is_file());
    // What was installed is what the wheel's record says.
    let shown = python(&[pip.as_slice(), &["show", "--files", "chela"]].concat());
    assert!(
        shown.contains("bin/chela") && shown.contains("LICENSE-MIT"),
        "{shown}"
    );
    python(&[pip.as_slice(), &["uninstall", "--yes", "--quiet", "chela"]].concat());
    assert!(!venv.join("bin/chela").exists());
}

#[test]
fn the_image_is_built_from_what_lies_there() {
    let Some(packages) = packages("container") else {
        return;
    };
    let context = packages.join("container");
    let recipe = std::fs::read_to_string(context.join("Containerfile")).unwrap();
    let copies: Vec<&str> = recipe
        .lines()
        .filter(|line| line.starts_with("COPY "))
        .collect();
    assert!(!copies.is_empty());
    for line in copies {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let (_, sources) = words.split_last().unwrap();
        for source in sources {
            assert!(context.join(source).exists(), "{line}");
        }
    }
    let user = recipe.lines().find_map(|line| line.strip_prefix("USER "));
    assert!(user.is_some_and(|user| user != "root"), "{user:?}");
    let home = "ENV CHELA_HOME=/data";
    assert!(recipe.contains(home) && recipe.contains("VOLUME /data"));
    assert!(recipe.contains("ENTRYPOINT [\"chela\"]"), "{recipe}");
    assert!(recipe.contains("ARG BASE=docker.io/library/debian:"));
    if is_root() {
        runs_as_in_the_image(&recipe, &packages);
    }
}

/// The .deb of the image in a root of its own, as the recipe's user, with its volume and nothing
/// else that can be written. Only the base and what apt fetches are left out.
fn runs_as_in_the_image(recipe: &str, packages: &Path) {
    let home = TestHome::empty();
    let root = with_deb(&home, packages);
    let (_, uid) = recipe.split_once("--uid ").unwrap();
    let uid = uid.split_whitespace().next().unwrap();
    assert!(recipe.contains("-m 700 /data"), "{recipe}");
    let data = root.join("data");
    std::fs::create_dir(&data).unwrap();
    let own = format!("{uid}:{uid}");
    done(
        Command::new("chown")
            .args([&own, text(&data)])
            .output()
            .unwrap(),
    );
    let inside = |args: &[&str]| {
        let run = Command::new("chroot")
            .args(["--userspec", &own, text(&root), "/usr/bin/chela"])
            .args(args)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("CHELA_HOME", "/data")
            .output();
        done(run.unwrap())
    };
    assert_eq!(inside(&["--version"]), SAYS);
    assert!(inside(&["init"]).contains("SOUL.md"));
    assert!(inside(&["prompt"]).contains("## Safety"));
    assert!(data.join("workspace/SOUL.md").is_file());
}
