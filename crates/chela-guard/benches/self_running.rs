//! What it costs to tell which of 10,000 files programs run, as around each command: `cargo bench -p chela-guard --bench self_running`.

use chela_guard::{may_run_somewhere, runs_when_made};
use chela_testkit::bench::measure;

fn main() {
    let names: Vec<(String, String)> = (0..10_000)
        .map(|at| {
            let name = format!("file{at}.rs");
            (format!("src/part{}/{name}", at / 20), name)
        })
        .collect();
    let plain = measure("lower case of 10,000 paths", 0, || {
        names
            .iter()
            .map(|(path, _)| path.to_lowercase().len())
            .sum::<usize>()
    });
    plain.print(None);
    measure("told by their paths", 0, || {
        names
            .iter()
            .filter(|(path, _)| runs_when_made(path).is_some())
            .count()
    })
    .print(Some(&plain));
    measure("told by their names", 0, || {
        names
            .iter()
            .filter(|(_, name)| may_run_somewhere(name))
            .count()
    })
    .print(Some(&plain));
}
