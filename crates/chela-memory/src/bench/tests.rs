use std::path::Path;

use crate::embed::LocalTable;
use crate::search::RankWeights;
use crate::settings::MemorySettings;

use super::{BenchError, BenchRequest, SetReport};

fn run(dir: &Path) -> Result<Vec<SetReport>, BenchError> {
    let request = BenchRequest {
        settings: &MemorySettings::default(),
        weights: &RankWeights::default(),
        embedder: Some(&LocalTable),
    };
    super::run(dir, &request)
}

#[test]
fn question_sets_are_measured() {
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "sets/tiny/docs.jsonl",
        "{\"id\":\"1\",\"group\":\"g\",\"covers\":[\"a\"],\"text\":\"the cat sleeps\"}\n\
         {\"id\":\"2\",\"group\":\"g\",\"covers\":[\"b\"],\"text\":\"the dog barks\"}\n",
    );
    write(
        "sets/tiny/queries.jsonl",
        "{\"qid\":\"q\",\"group\":\"g\",\"question\":\"who barks?\",\"gold\":[\"b\"]}\n",
    );
    write(
        "sets/notes/g/memory/2026-03-04.md",
        "# Day\n\n- Ann: hi\n- Bob: the dog barks\n",
    );
    write(
        "sets/notes/queries.jsonl",
        "{\"qid\":\"q\",\"group\":\"g\",\"question\":\"who barks?\",\"gold\":[{\"path\":\"memory/2026-03-04.md\",\"line\":4}]}\n",
    );
    let reports = run(&home.path().join("sets")).unwrap();
    assert_eq!(reports.len(), 2);
    for report in &reports {
        assert_eq!(report.all.recall_at_5, 1.0, "{report:?}");
        assert_eq!(report.all.recall_in_4200, 1.0, "{report:?}");
    }
    let one = run(&home.path().join("sets/tiny")).unwrap();
    assert_eq!(one[0].all.mrr, 1.0);
    let wrong = run(home.path()).unwrap_err();
    assert!(wrong.to_string().contains("holds no set"), "{wrong}");
}
