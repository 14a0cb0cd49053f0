use crate::embed::{EmbedCost, EmbedError, EmbedRole, EmbedText, Embedder, ModelId};
use crate::memory::{Memory, MemoryQuestion, OpenMemory};
use crate::settings::{MemorySettings, QueryMode};
use crate::source::MemoryPlaces;
use crate::tests_support::{MemoryHome, ask, sync};

/// Ten notes, and the cosine of each with the question.
const NOTES: [(&str, f32); 10] = [
    ("red apple pie", 0.55),
    ("green pear", 0.8),
    ("blue sky over town", 0.4),
    ("red apple red apple", 0.2),
    ("old oak tree", 0.0),
    ("a long walk home", 0.0),
    ("tea with milk", 0.0),
    ("night train north", 0.0),
    ("stone wall", 0.51),
    ("paper boat", 0.0),
];

/// Gives the question the direction (1, 0) and each note the angle of its cosine.
struct Angles;

impl Embedder for Angles {
    fn id(&self) -> ModelId {
        ModelId {
            provider: "test".into(),
            model: "angles".into(),
        }
    }

    fn cost(&self) -> EmbedCost {
        EmbedCost::Instant
    }

    fn embed(&self, texts: &[EmbedText<'_>], _: EmbedRole) -> Result<Vec<Vec<f32>>, EmbedError> {
        let cosine = |text: &str| {
            let note = NOTES.iter().find(|(note, _)| *note == text);
            note.map_or(1.0, |(_, cosine)| *cosine)
        };
        Ok(texts
            .iter()
            .map(|text| cosine(text.text))
            .map(|cosine| vec![cosine, (1.0 - cosine * cosine).sqrt()])
            .collect())
    }
}

fn home() -> MemoryHome {
    let mut home = MemoryHome::new(&[]);
    home.settings = MemorySettings::default();
    home.settings.query.mode = QueryMode::Compat;
    for (at, (text, _)) in NOTES.iter().enumerate() {
        home.write(&format!("memory/n{at}.md"), &format!("- {text}\n"));
    }
    home
}

fn memory(home: &MemoryHome) -> Memory<'_> {
    let mut memory = Memory::open(OpenMemory {
        host: &home.host,
        index_file: home.index_file(),
        places: MemoryPlaces {
            workspace: home.workspace(),
            sessions: None,
            ..Default::default()
        },
        settings: home.settings.clone(),
        embedder: Some(&Angles),
    })
    .unwrap();
    sync(&mut memory);
    memory
}

fn ranking(memory: &mut Memory<'_>, ask: &MemoryQuestion<'_>) -> Vec<(String, f32)> {
    let hits = memory.search(ask).unwrap().answer.hits;
    hits.into_iter()
        .map(|hit| (hit.text.replace("- ", ""), hit.score))
        .collect()
}

/// By hand: both words stand in two of ten notes of 31 words, so each has the weight ln(8.5/2.5)
/// = 1.2238. The pie of three words has r = 2 x 1.2238 x 2.2 / 2.2 = 2.4476, the note that says
/// both twice in four words r = 3.0769; as r/(1+r) that is 0.7099 and 0.7547. With the cosines:
/// 0.7 x 0.55 + 0.3 x 0.7099 = 0.5980, 0.7 x 0.8 = 0.56, 0.7 x 0.2 + 0.3 x 0.7547 = 0.3664,
/// 0.7 x 0.51 = 0.357; the sky has 0.7 x 0.4 = 0.28 and is cut.
#[test]
fn the_ranking_is_the_one_computed_by_hand() {
    let home = home();
    let found = ranking(&mut memory(&home), &ask("red apple"));
    let expected = [
        ("red apple pie", 0.5980),
        ("green pear", 0.56),
        ("red apple red apple", 0.3664),
        ("stone wall", 0.357),
    ];
    let names: Vec<&str> = found.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(names, expected.map(|(text, _)| text));
    for ((text, score), (_, by_hand)) in found.iter().zip(expected) {
        // Vectors are kept in bytes: a cosine is known to a hundredth.
        assert!((score - by_hand).abs() < 0.004, "{text}: {score} {by_hand}");
    }
}

#[test]
fn every_word_is_wanted_and_the_cut_can_be_moved() {
    let home = home();
    let mut memory = memory(&home);
    // No note has all three words: only the vectors speak.
    let found = ranking(&mut memory, &ask("red apple walk"));
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[0].0, "green pear");
    let low = MemoryQuestion {
        min_score: Some(0.25),
        ..ask("red apple")
    };
    assert_eq!(ranking(&mut memory, &low)[4].0, "blue sky over town");
}
