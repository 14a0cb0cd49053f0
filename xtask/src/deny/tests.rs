use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::licence::is_satisfied;
use super::{CargoMetadata, DenyRules, LockFile, findings};

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn rules() -> DenyRules {
    let text = std::fs::read_to_string("../deny.toml").expect("deny.toml");
    toml::from_str(&text).expect("rules")
}

/// What is found in a workspace that has, besides what `bans.skip` expects, these crates.
fn found(lock: &str, packages: Value) -> Vec<String> {
    let mut text = String::new();
    for skip in rules().bans.skip {
        for version in [1, 2] {
            let name = &skip.name;
            text.push_str(&format!(
                "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"{CRATES_IO}\"\n"
            ));
        }
    }
    let locked: LockFile = toml::from_str(&(text + lock)).expect("a lock file");
    let known: CargoMetadata =
        serde_json::from_value(json!({ "packages": packages })).expect("metadata");
    findings(&rules(), &locked.package, &known.packages)
}

fn package(name: &str, license: Value) -> Value {
    json!({
        "name": name, "version": "1.0.0", "license": license,
        "source": CRATES_IO, "dependencies": [],
    })
}

#[test]
fn what_should_not_be_is_found() {
    assert_eq!(found("", json!([])), Vec::<String>::new());
    let lock = r#"
        [[package]]
        name = "openssl"
        version = "0.10.1"
        source = "registry+https://github.com/rust-lang/crates.io-index"
        [[package]]
        name = "rustls"
        version = "0.22.0"
        source = "registry+https://github.com/rust-lang/crates.io-index"
        [[package]]
        name = "rustls"
        version = "0.23.0"
        source = "registry+https://elsewhere.example/index"
        [[package]]
        name = "patched"
        version = "1.0.0"
        source = "git+https://example.org/patched?rev=1#0123"
        [[package]]
        name = "ours"
        version = "0.1.0"
    "#;
    let ours = json!({
        "name": "ours", "version": "0.1.0", "license": "MIT OR Apache-2.0", "source": null,
        "dependencies": [
            { "name": "any", "req": "*", "path": null },
            { "name": "sister", "req": "*", "path": "../sister" },
            { "name": "one", "req": "^1", "path": null },
        ],
    });
    let packages = json!([
        ours,
        package("copyleft", json!("GPL-3.0-only")),
        package("both", json!("MIT AND GPL-2.0-only")),
        package("silent", Value::Null),
        package("fine", json!("GPL-2.0-only OR MIT")),
    ]);
    assert_eq!(
        found(lock, packages),
        [
            "openssl 0.10.1 is banned: rustls is the TLS stack",
            "rustls is there in 2 versions: 0.22.0, 0.23.0",
            "rustls 0.23.0 comes from registry+https://elsewhere.example/index, which `sources` \
             does not allow",
            "patched 1.0.0 comes from git+https://example.org/patched?rev=1#0123, which `sources` \
             does not allow",
            "ours takes any version of any",
            "copyleft 1.0.0 is under `GPL-3.0-only`, which `licenses.allow` does not satisfy",
            "both 1.0.0 is under `MIT AND GPL-2.0-only`, which `licenses.allow` does not satisfy",
            "silent 1.0.0 names no licence",
        ]
    );
}

#[test]
fn an_exception_that_is_no_longer_needed_is_found() {
    let mut rules = rules();
    rules.bans.skip.truncate(1);
    let found = findings(&rules, &[], &[]);
    let told = "has one version only: take it out of `bans.skip`";
    assert!(found.len() == 1 && found[0].ends_with(told), "{found:?}");
}

#[test]
fn licence_expressions() {
    let allowed: BTreeSet<String> = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"]
        .map(str::to_owned)
        .into();
    for good in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-3.0 OR MIT AND ISC",
        "(GPL-3.0 OR MIT) AND ISC",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(is_satisfied(good, &allowed), "{good}");
    }
    for bad in [
        "",
        "Apache-2.0",
        "MIT WITH Something",
        "MIT AND GPL-3.0",
        "MIT OR",
        "(MIT",
        "MIT)",
        "MIT ISC",
        "OR",
    ] {
        assert!(!is_satisfied(bad, &allowed), "{bad}");
    }
}
