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

pub use consequence::{Consequence, Notice, Spot, id_of, screen};
pub use family::Family;
pub use model::{Example, Model, Weights};
pub use plain::{Form, View, views};

/// What was found in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Detection {
    pub severity: Severity,
    /// From 0 to 1: how much the worst stretch reads like an injected instruction.
    pub score: f32,
    /// The worst stretch of the text.
    pub worst: Range<usize>,
    pub findings: Vec<Finding>,
}

/// How sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
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
pub struct Finding {
    pub family: Family,
    /// Where it stands in the text as it came.
    pub range: Range<usize>,
    /// How it was written there.
    pub form: Form,
    /// The phrase in plain letters.
    pub phrase: String,
}

/// What training sees of a text: the same as detection.
pub mod training {
    pub use super::model::{BUCKETS, Example, FAMILIES, PRIOR, norm, slope, squashed};

    /// The windows of all views of a text.
    pub fn windows_of(text: &str) -> Vec<Example> {
        super::views(text)
            .iter()
            .flat_map(|view| super::model::windows(&view.text, &super::family::find(&view.text)))
            .collect()
    }
}

/// Looks through foreign text with the model that is compiled in.
pub fn detect(text: &str) -> Detection {
    detect_with(Model::built_in(), text)
}

/// Looks through foreign text with a given model.
pub fn detect_with(model: &Model, text: &str) -> Detection {
    let mut found = Detection {
        severity: Severity::None,
        score: 0.0,
        worst: 0..0,
        findings: Vec::new(),
    };
    for view in views(text) {
        let phrases = family::find(&view.text);
        let weighed = model.weigh(&view.text, &phrases);
        if weighed.score > found.score {
            found.score = weighed.score;
            found.worst = view.original(&weighed.range);
        }
        found
            .findings
            .extend(phrases.into_iter().map(|phrase| Finding {
                family: phrase.family,
                range: view.original(&phrase.range),
                form: view.form,
                phrase: view.text.get(phrase.range).unwrap_or_default().to_owned(),
            }));
    }
    // What was hidden and says something was hidden for a reason.
    let hidden = found
        .findings
        .iter()
        .any(|finding| finding.form != Form::Open && finding.family.is_telling());
    found.severity = match found.score {
        score if score >= model.high() || hidden => Severity::High,
        score if score >= model.medium() => Severity::Medium,
        _ if !found.findings.is_empty() => Severity::Low,
        _ => Severity::None,
    };
    found
}

impl Detection {
    /// What the operator wants done; `None` when there is nothing to do.
    pub fn outcome(&self, settings: &GuardDetection) -> Option<DetectionOutcome> {
        let outcome = match self.severity {
            Severity::None => return None,
            Severity::Low => &settings.low,
            Severity::Medium => &settings.medium,
            Severity::High => &settings.high,
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
