use std::sync::Arc;

use chela_core::FixedEntropy;
use proptest::prelude::*;

use super::apply::apply;
use super::parse::{PatchSection, parse};
use super::{FileTools, Outcome, commit};
use crate::ImageInput;
use crate::place::{OpenPlace, PlaceAccess};
use crate::toolbox::tests::ToolboxFixture;

fn files(bench: &ToolboxFixture) -> FileTools {
    FileTools {
        places: Arc::clone(bench.toolbox.places()),
        patch_places: Arc::clone(bench.toolbox.places()),
        bound: Arc::clone(bench.toolbox.bound()),
        entropy: Arc::new(FixedEntropy(5)),
        images: ImageInput::No,
        most_image_bytes: 0,
        journal: None,
        redactor: Arc::default(),
        locks: chela_files::PathLocks::of(&chela_core::Host::fixed(bench.home.path())),
    }
}

#[test]
fn a_failure_half_way_is_taken_back() {
    let bench = ToolboxFixture::new();
    for name in ["a.txt", "c.txt", "swapped.txt"] {
        bench.put(name, "old");
    }
    let files = files(&bench);
    let outcome = |spot: OpenPlace, before: Option<&str>, after: Option<&str>| Outcome {
        spot,
        before: before.map(|text| text.as_bytes().to_vec()),
        after: after.map(|text| text.as_bytes().to_vec()),
        keeps: None,
        said: String::new(),
        details: serde_json::Value::Null,
    };
    let at = |path: &str| files.places.locate(path, PlaceAccess::Write).unwrap();
    let outcomes = [
        outcome(at("a.txt"), Some("old"), Some("new")),
        outcome(at("c.txt"), Some("old"), None),
        outcome(at("added.txt"), None, Some("new")),
        outcome(at("swapped.txt"), Some("old"), Some("new")),
    ];
    // Between plan and commit a file becomes a folder.
    std::fs::remove_file(bench.path("swapped.txt")).unwrap();
    std::fs::create_dir(bench.path("swapped.txt")).unwrap();
    let placed = commit(&files, &outcomes, "c1").unwrap();
    assert_eq!(placed, chela_files::DraftPlacement::Changed);
    assert_eq!(bench.text("a.txt"), "old");
    assert_eq!(bench.text("c.txt"), "old");
    assert!(!bench.path("added.txt").exists());
}

fn lines() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec("[a-d]{1,2}", 1..12)
}

proptest! {
    /// A patch made from two texts turns the one into the other.
    #[test]
    fn a_patch_does_what_it_says(old in lines(), new in lines()) {
        let mut patch = "*** Begin Patch\n*** Update File: x\n@@\n".to_owned();
        for line in &old {
            patch.push_str(&format!("-{line}\n"));
        }
        for line in &new {
            patch.push_str(&format!("+{line}\n"));
        }
        patch.push_str("*** End Patch");
        let sections = parse(&patch).unwrap();
        let PatchSection::Update { chunks, .. } = &sections[0] else {
            panic!("an update")
        };
        let body = |lines: &[String]| lines.join("\n") + "\n";
        prop_assert_eq!(apply(&body(&old), chunks).unwrap(), body(&new));
    }

    /// Whatever a model writes, reading it ends.
    #[test]
    fn any_text_can_be_read(text in "(?s).{0,200}") {
        let _ = parse(&text);
        let _ = parse(&format!("*** Begin Patch\n*** Update File: x\n{text}\n*** End Patch"));
    }
}
