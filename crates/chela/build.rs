//! Puts the pages of the book (`docs/book`) into the program, so that `chela docs` prints them
//! without a network and without the checkout.

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let book = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("../../docs/book");
    println!("cargo::rerun-if-changed={}", book.display());
    let mut pages = Vec::new();
    // Outside of the checkout there is no book; what the program says of itself is left.
    for entry in std::fs::read_dir(&book).into_iter().flatten() {
        let path = entry?.path();
        let is_page = path.extension().is_some_and(|end| end == "md");
        if let (true, Some(name)) = (is_page, path.file_stem().and_then(|name| name.to_str())) {
            pages.push((name.to_owned(), path.canonicalize()?));
        }
    }
    pages.sort();
    let mut table = String::from("&[\n");
    for (name, path) in pages {
        writeln!(table, "    ({name:?}, include_str!({path:?})),")?;
    }
    table.push_str("]\n");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    Ok(std::fs::write(out.join("book.rs"), table)?)
}
