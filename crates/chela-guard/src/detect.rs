//! Looking for injected instructions.
//!
//! Three layers: text is made plain first (look-alikes folded, encodings undone), then looked
//! through for families of phrases, then weighed by a small linear model over words and the
//! families found. Detection only adds friction: nothing that may happen rests on it, since a
//! plain request in the wrong place cannot be told from one in the right place.

mod consequence;
mod family;
mod model;
mod plain;

use std::ops::Range;

use chela_config::model::{DetectionOutcome, GuardDetection};
use serde::Serialize;

pub use consequence::{DetectionConsequence, DetectionNotice, NoticeSpot, id_of, screen};
pub use family::PhraseFamily;
pub use model::{TrainedWeights, WindowExample, WindowModel};
pub use plain::{PhraseForm, PlainView, views};

/// What was found in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct TextDetection {
    pub severity: DetectionSeverity,
    /// From 0 to 1: how much the worst stretch reads like an injected instruction.
    pub score: f32,
    /// The worst stretch of the text.
    pub worst: Range<usize>,
    pub findings: Vec<PhraseFinding>,
}

/// How sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DetectionSeverity {
    None,
    /// A phrase that is also used harmlessly.
    Low,
    /// One harmless text in a hundred reads like this.
    Medium,
    /// One in a thousand.
    High,
}

/// A phrase of a family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhraseFinding {
    pub family: PhraseFamily,
    /// Where it stands in the text as it came.
    pub range: Range<usize>,
    /// How it was written there.
    pub form: PhraseForm,
    /// The phrase in plain letters.
    pub phrase: String,
}

/// What training sees of a text: the same as detection.
pub mod training {
    pub use super::model::{BUCKETS, FAMILIES, PRIOR, WindowExample, norm, slope, squashed};

    /// The windows of all views of a text.
    pub fn windows_of(text: &str) -> Vec<WindowExample> {
        super::views(text)
            .iter()
            .flat_map(|view| super::model::windows(&view.text, &super::family::find(&view.text)))
            .collect()
    }
}

/// Looks through foreign text with the model that is compiled in.
pub fn detect(text: &str) -> TextDetection {
    detect_with(WindowModel::built_in(), text)
}

/// Looks through foreign text with a given model.
pub fn detect_with(model: &WindowModel, text: &str) -> TextDetection {
    let mut found = TextDetection {
        severity: DetectionSeverity::None,
        score: 0.0,
        worst: 0..0,
        findings: Vec::new(),
    };
    // What was hidden and says something was hidden for a reason.
    let mut hidden = false;
    for view in views(text) {
        let phrases = family::find(&view.text);
        let weighed = model.weigh(&view.text, &phrases);
        if weighed.score > found.score {
            found.score = weighed.score;
            found.worst = view.original(&weighed.range);
        }
        hidden |= view.form != PhraseForm::Open
            && phrases.iter().any(|phrase| phrase.family.is_telling());
        let quiet = family::find_quiet(&view.text);
        found.findings.extend(
            phrases
                .into_iter()
                .chain(quiet)
                .map(|phrase| PhraseFinding {
                    family: phrase.family,
                    range: view.original(&phrase.range),
                    form: view.form,
                    phrase: view.text.get(phrase.range).unwrap_or_default().to_owned(),
                }),
        );
    }
    found.severity = match found.score {
        score if score >= model.high() || hidden => DetectionSeverity::High,
        score if score >= model.medium() => DetectionSeverity::Medium,
        _ if !found.findings.is_empty() => DetectionSeverity::Low,
        _ => DetectionSeverity::None,
    };
    found
}

impl TextDetection {
    /// What the operator wants done; `None` when there is nothing to do.
    pub fn outcome(&self, settings: &GuardDetection) -> Option<DetectionOutcome> {
        let outcome = match self.severity {
            DetectionSeverity::None => return None,
            DetectionSeverity::Low => &settings.low,
            DetectionSeverity::Medium => &settings.medium,
            DetectionSeverity::High => &settings.high,
        };
        settings.enabled.then_some(*outcome)
    }

    /// Why, in a line for the owner.
    pub fn explain(&self, text: &str) -> String {
        let mut parts = vec![format!(
            "{} (score {:.2})",
            self.severity.text(),
            self.score
        )];
        for finding in &self.findings {
            let phrase = crate::approval::shown(&finding.phrase);
            let form = finding.form.text();
            parts.push(format!(
                "{}{form}: \"{phrase}\" at {}",
                finding.family.as_str(),
                finding.range.start
            ));
        }
        if self.findings.is_empty()
            && let Some(worst) = text
                .get(self.worst.clone())
                .filter(|worst| !worst.is_empty())
        {
            parts.push(format!(
                "by its words: \"{}\"",
                crate::approval::shown(worst)
            ));
        }
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests;
