//! Where the documentation and the source of this very program lie, if they are on this machine.

use std::path::{Path, PathBuf};

use chela_core::Host;

/// What of Chela itself can be read here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnDocumentation {
    pub docs: Option<PathBuf>,
    pub source: Option<PathBuf>,
}

impl OwnDocumentation {
    /// Beside the program, in the share folder it was installed with, or in the checkout it was
    /// built in.
    pub fn find(host: &Host) -> Self {
        let Some(program) = host.program.as_deref() else {
            return Self::default();
        };
        // A link on PATH says nothing about where the program lies.
        let program = program
            .canonicalize()
            .unwrap_or_else(|_| program.to_owned());
        let source = program.ancestors().find(|dir| is_checkout(dir));
        let folder = program.parent();
        let shared = folder.and_then(Path::parent).map(|top| top.join("share"));
        let places = [
            folder.map(|folder| folder.join("docs")),
            shared.as_ref().map(|share| share.join("chela/docs")),
            shared.as_ref().map(|share| share.join("doc/chela")),
            source.map(|source| source.join("docs")),
        ];
        Self {
            docs: places.into_iter().flatten().find(|dir| is_docs(dir)),
            source: source.map(Path::to_owned),
        }
    }
}

fn is_checkout(dir: &Path) -> bool {
    dir.join("Cargo.toml").is_file() && dir.join("crates/chela-prompt/text").is_dir()
}

/// A folder of this name may be anybody's.
fn is_docs(dir: &Path) -> bool {
    dir.join("generated/CONFIG.md").is_file() || dir.join("book/README.md").is_file()
}
