//! Assembling a prompt from the disk: warm, as from the second turn on, and cold.

#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up has nothing to measure"
)]

use chela_agent::assemble::{PromptAssembler, PromptRequest, assemble};
use chela_core::Host;
use chela_testkit::bench::measure;
use chela_workspace::{RepositoryMode, SeedMode, SeedOptions, seed};

fn main() {
    let home = tempfile::tempdir().expect("a folder");
    let host = Host::fixed(home.path());
    let options = SeedOptions {
        mode: SeedMode::Fill,
        skip_optional: Vec::new(),
        repository: RepositoryMode::Leave,
    };
    let dir = host.state_dir().join("workspace");
    seed(&host, &dir, &options).expect("a workspace");
    // Files of the size people have: eight of ten kilobytes.
    let paragraph =
        "- A rule of ordinary length that says what to do and what to leave.\n".repeat(150);
    for name in [
        "AGENTS.md",
        "SOUL.md",
        "IDENTITY.md",
        "USER.md",
        "TOOLS.md",
        "MEMORY.md",
    ] {
        std::fs::write(dir.join(name), &paragraph).expect("a file");
    }
    let loaded = chela_config::load(&host);
    let ask = PromptRequest::default();
    let assembler = PromptAssembler::new(&host, &loaded);
    let text = assembler.assemble(&ask).expect("a prompt").prompt.text;

    let copy = measure("copy the same bytes", text.len(), || text.clone());
    copy.print(None);
    measure("assemble, warm", text.len(), || {
        assembler.assemble(&ask).map(|done| done.prompt.boundary)
    })
    .print(Some(&copy));
    measure("assemble, cold", text.len(), || {
        assemble(&host, &loaded, &ask).map(|done| done.prompt.boundary)
    })
    .print(Some(&copy));
    measure("load the config, no file", 0, || {
        chela_config::load(&host).diagnostics.len()
    })
    .print(Some(&copy));
}
