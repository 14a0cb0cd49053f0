//! A file of weights taken in: tried out, and put where it stays.

use std::path::{Path, PathBuf};

use chela_core::ContentHash;
use chela_files::{FileDraft, FileMode};

use super::{MiniLm, split_stamp, stamped};
use crate::embed::{EmbedError, EmbedRole, EmbedText, Embedder, ModelId};
use crate::word_table::WordTable;

/// Numbers in a vector of the model.
const DIMENSIONS: usize = 384;

/// A model that can be used from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledModel {
    pub path: PathBuf,
    pub id: ModelId,
    pub placed: ModelPlacement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelPlacement {
    New,
    /// The same weights were installed before.
    AlreadyThere,
}

/// Why a file is not installed. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("cannot {what} {}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is not usable: {why}", path.display())]
    Unfit { path: PathBuf, why: String },
}

impl InstallError {
    fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io {
            what,
            path: path.to_owned(),
            source,
        }
    }
}

/// Tries the model in `source` and copies it to `<folder>/<name>-<hash>.onnx`.
pub fn install(source: &Path, folder: &Path) -> Result<InstalledModel, InstallError> {
    let unfit = |why: String| InstallError::Unfit {
        path: source.to_owned(),
        why,
    };
    same_vocabulary(source).map_err(unfit)?;
    let bytes = std::fs::read(source).map_err(InstallError::io("read", source))?;
    let name = stamped(&plain_name(source), &ContentHash::of(&bytes));
    let path = folder.join(format!("{name}.onnx"));
    std::fs::create_dir_all(folder).map_err(InstallError::io("create", folder))?;
    // What is tried is what will be used: the copy, before it gets its name.
    let copy = FileDraft::beside(&path, &bytes, FileMode::KeepOrUsual)
        .map_err(|error| InstallError::io("write", &path)(error.source))?;
    drop(bytes);
    probe(&copy.path()).map_err(unfit)?;
    let placed = match path.exists() {
        true => ModelPlacement::AlreadyThere,
        false => ModelPlacement::New,
    };
    copy.put_in_place()
        .map_err(|error| InstallError::io("write", &path)(error.source))?;
    let id = MiniLm::new(&path).id();
    Ok(InstalledModel { path, id, placed })
}

/// The name of the file, as far as it is fit for one.
fn plain_name(source: &Path) -> String {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let (plain, _) = split_stamp(&stem);
    let fit = |c: &char| c.is_ascii_alphanumeric() || "-_.".contains(*c);
    let name: String = plain.chars().filter(fit).take(64).collect();
    match name.trim_matches(['.', '-']) {
        "" => "model".to_owned(),
        name => name.to_owned(),
    }
}

/// A vocabulary that lies beside the weights must be the built-in one: its numbers are what the
/// model is given.
fn same_vocabulary(source: &Path) -> Result<(), String> {
    let Ok(text) = std::fs::read_to_string(source.with_file_name("vocab.txt")) else {
        return Ok(());
    };
    let own = WordTable::built_in().vocabulary();
    match text.lines().map(str::trim_end).eq(own.lines()) {
        true => Ok(()),
        false => Err("vocab.txt beside it is not that of all-MiniLM-L6-v2".into()),
    }
}

/// Runs texts through it: like ones must come out nearer to each other than unlike ones.
fn probe(path: &Path) -> Result<(), String> {
    let texts = [
        "the doctor's appointment is on friday",
        "visit to the physician",
        "compile the rust program",
    ]
    .map(EmbedText::plain);
    let vectors = MiniLm::new(path)
        .embed(&texts, EmbedRole::Document)
        .map_err(|EmbedError { reason, .. }| {
            // It speaks of the copy.
            let why = reason.split_once("cannot be used: ");
            let why = why.map_or(&*reason, |(_, why)| why);
            why.trim_end_matches("; check `local.modelPath`").to_owned()
        })?;
    let [about, like, unlike] = vectors.as_slice() else {
        return Err("it does not answer".into());
    };
    if about.len() != DIMENSIONS {
        return Err(format!(
            "its vectors have {} numbers, those of all-MiniLM-L6-v2 have {DIMENSIONS}",
            about.len()
        ));
    }
    let (near, far) = (cosine(about, like), cosine(about, unlike));
    // Not a number is not greater, either.
    match near > far + 0.1 {
        true => Ok(()),
        false => Err("it cannot tell similar texts from different ones".into()),
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::{install, plain_name, same_vocabulary};
    use crate::word_table::WordTable;

    #[test]
    fn what_is_no_model_is_refused_and_nothing_stays() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("weights.onnx");
        let models = folder.path().join("models");
        std::fs::write(&source, "not a model").unwrap();
        let why = install(&source, &models).unwrap_err().to_string();
        assert!(why.contains("weights.onnx is not usable: "), "{why}");
        assert!(!why.contains("modelPath"), "{why}");
        assert_eq!(std::fs::read_dir(&models).unwrap().count(), 0);
        let missing = install(&folder.path().join("no.onnx"), &models).unwrap_err();
        assert!(missing.to_string().starts_with("cannot read "), "{missing}");
    }

    #[test]
    fn another_vocabulary_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("weights.onnx");
        let vocabulary = folder.path().join("vocab.txt");
        assert_eq!(same_vocabulary(&source), Ok(()));
        std::fs::write(&vocabulary, WordTable::built_in().vocabulary()).unwrap();
        assert_eq!(same_vocabulary(&source), Ok(()));
        std::fs::write(&vocabulary, "[PAD]\nhello\n").unwrap();
        assert!(same_vocabulary(&source).is_err());
    }

    #[test]
    fn names_are_plain() {
        let named = |path: &str| plain_name(path.as_ref());
        assert_eq!(named("a/all-minilm-0123456789ab.onnx"), "all-minilm");
        assert_eq!(named("a/../my model.onnx"), "mymodel");
        assert_eq!(named("...onnx"), "model");
    }
}
