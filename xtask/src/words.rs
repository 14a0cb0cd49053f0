//! Holds the words people read to the glossary: what its second table marks with a star under "not"
//! stands in no sentence of the program.
//!
//! There is no compiler here: the string literals of a file are read as they are written, and a
//! sentence is a literal with a blank in it. Texts for the model have words of their own.

mod literals;

use std::path::{Path, PathBuf};

use literals::{Literal, read_literals};

/// Files whose literals a model reads, or that look for words somebody else wrote.
const FOR_MODELS: [&str; 8] = [
    "chela-agent/src/turn/message_blocks.rs",
    "chela-agent/src/work_folders.rs",
    "chela-guard/src/detect",
    "chela-prompt/",
    // Statements for the database.
    "chela-store/src/sqlite",
    "chela-tools/src/exec.rs",
    "chela-tools/src/exec/",
    "chela-tools/src/files",
];

/// A phrase of the glossary that is not said, and what is said instead.
#[derive(Debug, PartialEq)]
struct Avoided {
    phrase: String,
    better: String,
}

/// The starred phrases of the table under "Say, and not".
fn avoided_phrases(glossary: &str) -> Vec<Avoided> {
    let (_, table) = glossary
        .split_once("## Say, and not")
        .expect("the glossary says what not to say");
    let mut found = Vec::new();
    for line in table.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [better, not, _when] = cells[..] else {
            panic!("three columns, found {line:?}");
        };
        let starred = not.split(", ").filter_map(|word| word.strip_prefix("* "));
        found.extend(starred.map(|phrase| {
            Avoided {
                phrase: phrase
                    .split(" (")
                    .next()
                    .unwrap_or(phrase)
                    .trim_end_matches(" …")
                    .to_lowercase(),
                better: better.to_owned(),
            }
        }));
    }
    found
}

/// Whether a text in small letters says a phrase, as whole words; `{name}` says nothing.
fn says(text: &str, phrase: &str) -> bool {
    let is_edge =
        |letter: Option<char>| !letter.is_some_and(|c| c.is_alphanumeric() || "_{".contains(c));
    text.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + phrase.len()..]);
        is_edge(before.chars().next_back()) && is_edge(after.chars().next())
    })
}

/// A sentence for people, as far as a literal shows: not SQL, not a marker of keys or patches.
fn is_sentence(literal: &Literal) -> bool {
    let text = literal.text.trim();
    text.contains(' ')
        && !text.starts_with("---")
        && !text.starts_with("***")
        && !text.starts_with("BEGIN ")
}

fn findings(file: &str, source: &str, avoided: &[Avoided]) -> Vec<String> {
    let mut found = Vec::new();
    for literal in read_literals(source).iter().filter(|one| is_sentence(one)) {
        let lower = literal.text.to_lowercase();
        for Avoided { phrase, better } in avoided {
            if says(&lower, phrase) {
                let line = literal.line;
                let text = &literal.text;
                found.push(format!(
                    "{file}:{line}: `{phrase}`, say `{better}`: {text:?}"
                ));
            }
        }
    }
    found
}

fn rust_files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, into);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            into.push(path);
        }
    }
}

#[test]
fn people_read_the_words_of_the_glossary() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let glossary = std::fs::read_to_string(root.join("docs/GLOSSARY.md")).unwrap();
    let avoided = avoided_phrases(&glossary);
    assert!(avoided.len() > 10, "{avoided:?}");
    let crates = root.join("crates");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&crates).unwrap() {
        rust_files(&entry.unwrap().path().join("src"), &mut files);
    }
    files.sort();
    let mut read = 0;
    let mut found = Vec::new();
    for path in files {
        let shown = path.strip_prefix(&crates).unwrap().display().to_string();
        let is_test = shown.contains("/tests") || shown.ends_with("fixture.rs");
        if is_test || FOR_MODELS.iter().any(|part| shown.starts_with(part)) {
            continue;
        }
        read += 1;
        let source = std::fs::read_to_string(&path).unwrap();
        found.extend(findings(&shown, &source, &avoided));
    }
    assert!(read > 300, "only {read} files");
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn a_phrase_is_found_where_it_is_said_and_nowhere_else() {
    let glossary = "## Say, and not\n\n| say | not | when |\n| --- | --- | --- |\n\
        | fix | * mend | always |\n| is not a … | * is no …, wrong | input |\n";
    let avoided = avoided_phrases(glossary);
    let phrases: Vec<&str> = avoided.iter().map(|one| one.phrase.as_str()).collect();
    assert_eq!(phrases, ["mend", "is no"]);
    let source = "/// Mend it.\nfn a() { // mend it\n    say(\"Mend \\\n        the file\");\n}\n\
        fn b() { say(\"recommend it to {mend}\", 'm', r#\"it \"is no\" file\"#, \"mend\"); }\n\
        #[cfg(test)]\nmod tests { fn c() { say(\"mend the test\"); } }\n";
    assert_eq!(
        findings("x.rs", source, &avoided),
        [
            "x.rs:3: `mend`, say `fix`: \"Mend the file\"",
            "x.rs:6: `is no`, say `is not a …`: \"it \\\"is no\\\" file\"",
        ]
    );
}
