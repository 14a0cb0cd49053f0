//! Makes a test of each file in `fuzz/fuzz_targets`.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;

fn main() {
    let targets = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../fuzz_targets");
    println!("cargo::rerun-if-changed={}", targets.display());
    let mut paths: Vec<_> = fs::read_dir(&targets)
        .unwrap()
        .map(|entry| entry.unwrap().path().canonicalize().unwrap())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    paths.sort();
    let mut code = String::new();
    for path in paths {
        let name = path.file_stem().unwrap().to_str().unwrap();
        writeln!(
            code,
            "#[path = {path:?}]\nmod {name}_target;\n\
             #[test]\nfn {name}() {{ smoke({name:?}, {name}_target::run); }}"
        )
        .unwrap();
    }
    let out = Path::new(&env::var("OUT_DIR").unwrap()).join("targets.rs");
    fs::write(out, code).unwrap();
}
