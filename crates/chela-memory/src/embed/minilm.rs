//! The whole model behind the table: all-MiniLM-L6-v2, run in this process.
//!
//! A thousand times slower than the table and better on code and short facts. Its weights are a
//! file the operator gives; the vocabulary is the table's own.

mod install;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use chela_core::ContentHash;
use rten::{Model, NodeId, ValueOrView};
use rten_tensor::NdTensor;

use super::{
    EmbedCost, EmbedError, EmbedPrice, EmbedRole, EmbedText, Embedder, ModelId, RetryAdvice,
};
use crate::word_table::WordTable;

pub use install::{InstallError, InstalledModel, ModelPlacement, install};

/// A model in ONNX form. The file is not opened before the first text.
pub struct MiniLm {
    path: PathBuf,
    name: OnceLock<String>,
    network: OnceLock<Result<Network, String>>,
}

impl std::fmt::Debug for MiniLm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MiniLm")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

struct Network {
    model: Model,
    ids: NodeId,
    mask: NodeId,
    /// Which of two texts a piece is of; some files ask for it.
    kinds: Option<NodeId>,
    output: NodeId,
}

const FIRST: i32 = 101;
const LAST: i32 = 102;
/// More pieces than this are cut: the model was trained on fewer.
const MOST_PIECES: usize = 254;
/// Pieces of what was said before the text.
const MOST_CONTEXT: usize = 64;
/// Texts of like length that go through together.
const TOGETHER: usize = 16;

impl MiniLm {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            name: OnceLock::new(),
            network: OnceLock::new(),
        }
    }

    fn network(&self) -> Result<&Network, EmbedError> {
        self.network
            .get_or_init(|| Network::load(&self.path))
            .as_ref()
            .map_err(|why| self.failed(why))
    }

    fn failed(&self, why: &str) -> EmbedError {
        EmbedError {
            provider: "local".into(),
            reason: format!(
                "{} cannot be used: {why}; check `local.modelPath`",
                self.path.display()
            ),
            retry: RetryAdvice::Never,
        }
    }
}

impl Embedder for MiniLm {
    fn id(&self) -> ModelId {
        ModelId {
            provider: "local".into(),
            model: self.name.get_or_init(|| name_of(&self.path)).clone(),
        }
    }

    fn cost(&self) -> EmbedCost {
        EmbedCost::PerBatch {
            texts: 4 * TOGETHER,
            price: EmbedPrice::Free,
            tokens_per_second: 3_000.0,
        }
    }

    fn embed(&self, texts: &[EmbedText<'_>], _: EmbedRole) -> Result<Vec<Vec<f32>>, EmbedError> {
        let network = self.network()?;
        let pieces: Vec<Vec<i32>> = texts.iter().map(pieces).collect();
        let mut order: Vec<usize> = (0..pieces.len()).collect();
        order.sort_by_key(|at| pieces[*at].len());
        let mut made = vec![Vec::new(); pieces.len()];
        for some in order.chunks(TOGETHER) {
            let batch: Vec<&[i32]> = some.iter().map(|at| &pieces[*at][..]).collect();
            let vectors = network.run(&batch).map_err(|why| self.failed(&why))?;
            for (at, vector) in some.iter().zip(vectors) {
                made[*at] = vector;
            }
        }
        Ok(made)
    }
}

/// Its name and its content: other weights under the same name make other vectors. Installed files
/// are named so already, and need not be read for it.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let (plain, stamp) = split_stamp(&stem);
    match (stamp, std::fs::read(path)) {
        (Some(_), _) | (None, Err(_)) => stem.into_owned(),
        (None, Ok(bytes)) => stamped(plain, &ContentHash::of(bytes)),
    }
}

fn stamped(plain: &str, hash: &ContentHash) -> String {
    format!("{plain}-{}", hash.short())
}

/// A name and the start of the content's hash, where it ends in one.
fn split_stamp(stem: &str) -> (&str, Option<&str>) {
    const DIGITS: usize = 12;
    match stem.rsplit_once('-') {
        Some((plain, stamp))
            if stamp.len() == DIGITS && stamp.bytes().all(|b| b.is_ascii_hexdigit()) =>
        {
            (plain, Some(stamp))
        }
        _ => (stem, None),
    }
}

/// The pieces of a text between the model's marks, after the end of what was said before.
fn pieces(text: &EmbedText<'_>) -> Vec<i32> {
    let table = WordTable::built_in();
    let context = table.encode(text.context);
    let from = context.len().saturating_sub(MOST_CONTEXT);
    let mut ids = vec![FIRST];
    let both = context[from..]
        .iter()
        .copied()
        .chain(table.encode(text.text));
    ids.extend(both.take(MOST_PIECES).map(i32::from));
    ids.push(LAST);
    ids
}

impl Network {
    fn load(path: &Path) -> Result<Self, String> {
        if !path.is_file() {
            return Err("there is no such file".into());
        }
        let model = Model::load_file(path).map_err(|error| error.to_string())?;
        let find = |name: &str| {
            model
                .find_node(name)
                .ok_or_else(|| format!("it has no `{name}`"))
        };
        let (ids, mask) = (find("input_ids")?, find("attention_mask")?);
        let kinds = model.find_node("token_type_ids");
        let output = *model.output_ids().first().ok_or("it has no output")?;
        Ok(Self {
            ids,
            mask,
            kinds,
            output,
            model,
        })
    }

    /// One vector per text: the mean of the states of its pieces.
    fn run(&self, batch: &[&[i32]]) -> Result<Vec<Vec<f32>>, String> {
        let width = batch.iter().map(|ids| ids.len()).max().unwrap_or(0);
        let of = |value: &dyn Fn(&[i32], usize) -> i32| -> ValueOrView<'static> {
            NdTensor::from_fn([batch.len(), width], |[text, at]| value(batch[text], at)).into()
        };
        let mut inputs = vec![
            (self.ids, of(&|ids, at| ids.get(at).copied().unwrap_or(0))),
            (self.mask, of(&|ids, at| i32::from(at < ids.len()))),
        ];
        if let Some(kinds) = self.kinds {
            inputs.push((kinds, of(&|_, _| 0)));
        }
        let [states] = self
            .model
            .run_n(inputs, [self.output], None)
            .map_err(|error| error.to_string())?;
        let ([texts, rows, size], states) = states
            .into_shape_vec::<f32, 3>()
            .map_err(|error| format!("its output is of another form: {error}"))?;
        if texts != batch.len() || rows != width {
            return Err("its output is of another form".into());
        }
        Ok(batch
            .iter()
            .enumerate()
            .map(|(text, ids)| {
                let from = text * rows * size;
                let mut sum = vec![0.0; size];
                for state in states[from..from + ids.len() * size].chunks_exact(size.max(1)) {
                    for (sum, part) in sum.iter_mut().zip(state) {
                        *sum += part;
                    }
                }
                sum
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{MiniLm, pieces};
    use crate::embed::{EmbedRole, EmbedText, Embedder};

    #[test]
    fn a_file_that_is_no_model_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all-minilm-l6-v2.onnx");
        let ask = |model: &MiniLm| {
            let text = EmbedText::plain("hello");
            let problem = model.embed(&[text], EmbedRole::Query).unwrap_err();
            problem
                .to_string()
                .replace(&folder.path().display().to_string(), "DIR")
        };
        let model = MiniLm::new(&path);
        assert_eq!(model.id().to_string(), "local/all-minilm-l6-v2");
        assert_eq!(
            ask(&model),
            "embedding provider local failed: DIR/all-minilm-l6-v2.onnx cannot be used: \
             there is no such file; check `local.modelPath`"
        );
        std::fs::write(&path, "not a model").unwrap();
        assert!(ask(&MiniLm::new(&path)).contains("cannot be used"));
    }

    #[test]
    fn other_weights_under_the_same_name_are_another_model() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.onnx");
        let id = |path: &std::path::Path| MiniLm::new(path).id().model;
        std::fs::write(&path, "one").unwrap();
        let one = id(&path);
        std::fs::write(&path, "two").unwrap();
        assert_ne!(one, id(&path));
        assert_eq!(one.len(), "m-".len() + 12);
        // As it is named when it is installed.
        let installed = folder.path().join(format!("{one}.onnx"));
        assert_eq!(id(&installed), one);
    }

    #[test]
    fn a_text_keeps_its_end_marks_and_the_end_of_its_context() {
        let long = "word ".repeat(1_000);
        let text = EmbedText {
            context: &long,
            ..EmbedText::plain(&long)
        };
        let ids = pieces(&text);
        assert_eq!((ids.len(), ids[0], ids[255]), (256, 101, 102));
        let short = EmbedText::plain("hello");
        assert_eq!(pieces(&short), [101, 7592, 102]);
    }
}
