//! Trains the detector and reports how it does on sources it never saw:
//! `cargo run --release -p chela-guard --example train_detector -- DATA_FOLDER [WEIGHTS_OUT]`.
//!
//! The folder holds JSONL files of `{text, label, source}`. The same files give the same weights:
//! nothing here is random but a shuffle with a fixed seed.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use chela_guard::detect::{TrainedWeights, WindowExample, WindowModel, detect_with, training};
use serde::Deserialize;

const FILES: [&str; 4] = [
    "tool-outputs.jsonl",
    "prompts.jsonl",
    "skills.jsonl",
    "docs-benign.jsonl",
];
const EPOCHS: usize = 4;
const ROUNDS: usize = 3;

#[derive(Debug, Deserialize)]
struct Line {
    text: String,
    label: u8,
    source: String,
}

struct Text {
    line: Line,
    group: usize,
    windows: Vec<WindowExample>,
}

/// Sources that share their making are left out together.
const GROUPS: &[(&str, &[&str])] = &[
    ("agentdojo", &["agentdojo"]),
    (
        "injecagent",
        &[
            "injecagent_base",
            "injecagent_enhanced",
            "injecagent_simulated_tool_output",
            "injecagent_template_benign_fill",
        ],
    ),
    ("deepset", &["deepset_prompt-injections"]),
    ("cyberseceval", &["cyberseceval_pi"]),
    ("spikee", &["spikee_jailbreaks"]),
    ("notinject", &["notinject"]),
    ("wildguard", &["wildguard_benign"]),
    ("docs", &["openclaw_docs"]),
    ("security docs", &["openclaw_docs_security"]),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let outcome = match (arguments.next(), arguments.next()) {
        (Some(folder), out) => run(&folder, out.as_deref()),
        _ => Err("train_detector DATA_FOLDER [WEIGHTS_OUT]".to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(&message);
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &str, out: Option<&str>) -> Result<(), String> {
    let texts = load(folder)?;
    // Harmless texts in two halves: one to learn from, one to set the threshold by.
    let half = |text: &Text| text.line.label == 0 && text.line.text.len().is_multiple_of(2);
    let mut found = vec![false; texts.len()];
    for group in 0..=GROUPS.len() {
        let is_member = |text: &Text| text.group == group && text.line.label == 1;
        if !texts.iter().any(is_member) {
            continue;
        }
        let seen: Vec<&Text> = texts
            .iter()
            .filter(|text| trains(text) && !half(text) && !is_member(text))
            .collect();
        let model = WindowModel::of(&train(&seen));
        let unseen = texts.iter().filter(|text| half(text));
        let threshold = quantile(unseen.map(|text| score(&model, text)), 0.01);
        for (text, found) in texts
            .iter()
            .zip(&mut found)
            .filter(|(text, _)| is_member(text))
        {
            *found = score(&model, text) >= threshold;
        }
    }
    let all: Vec<&Text> = texts.iter().filter(|text| trains(text)).collect();
    let kept: Vec<&Text> = all.iter().copied().filter(|text| !half(text)).collect();
    let model = WindowModel::of(&train(&kept));
    let unseen = || {
        texts
            .iter()
            .filter(|text| half(text))
            .map(|text| score(&model, text))
    };
    let (medium, high) = (quantile(unseen(), 0.01), quantile(unseen(), 0.001));
    // False alarms are counted harder: by a model that saw nothing at all of the source.
    for group in 0..=GROUPS.len() {
        let seen: Vec<&Text> = texts
            .iter()
            .filter(|text| text.group != group && trains(text))
            .collect();
        let model = WindowModel::of(&train(&seen));
        let harmless = |text: &Text| text.group == group && text.line.label == 0;
        for (text, found) in texts
            .iter()
            .zip(&mut found)
            .filter(|(text, _)| harmless(text))
        {
            *found = score(&model, text) >= medium;
        }
    }
    report(&texts, &found);
    let model = WindowModel::of(&TrainedWeights {
        medium,
        high,
        ..train(&all)
    });
    speed(&model, &texts);
    if let Some(out) = out {
        let bytes = model.write();
        say(&format!(
            "{} bytes of weights, medium {medium:.3}, high {high:.3}",
            bytes.len()
        ));
        std::fs::write(out, bytes).map_err(|error| format!("{out}: {error}"))?;
    }
    Ok(())
}

fn score(model: &WindowModel, text: &Text) -> f32 {
    detect_with(model, &text.line.text).score
}

/// The score that this share of the scores reaches.
fn quantile(scores: impl Iterator<Item = f32>, share: f64) -> f32 {
    let mut scores: Vec<f32> = scores.collect();
    scores.sort_by(f32::total_cmp);
    let at = (scores.len() as f64 * (1.0 - share)) as usize;
    scores.get(at).or(scores.last()).copied().unwrap_or(1.0)
}

/// Attacks on skills are plain requests inside of long texts: they teach nothing but noise.
fn trains(text: &Text) -> bool {
    text.line.label == 0 || GROUPS.get(text.group).is_some()
}

fn load(folder: &str) -> Result<Vec<Text>, String> {
    let mut texts = Vec::new();
    for file in FILES {
        let path = format!("{folder}/{file}");
        let content = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        for line in content.lines() {
            let line: Line =
                serde_json::from_str(line).map_err(|error| format!("{path}: {error}"))?;
            let group = GROUPS
                .iter()
                .position(|(_, sources)| sources.contains(&line.source.as_str()))
                .unwrap_or(GROUPS.len());
            let windows = training::windows_of(&line.text);
            texts.push(Text {
                line,
                group,
                windows,
            });
        }
    }
    Ok(texts)
}

/// Logistic regression with a step of its own for each weight. Of an attack only the window that
/// reads worst is one: the rest of the text is what surrounded it.
fn train(texts: &[&Text]) -> TrainedWeights {
    let mut learner = Learner::new();
    let per_group = counts(texts);
    for round in 0..ROUNDS {
        let mut lessons: Vec<(&WindowExample, f32, f32)> = Vec::new();
        for text in texts {
            let share = 1.0 / per_group[&(text.group, text.line.label)] as f32;
            if text.line.label == 0 {
                let weight = (share * 3000.0).clamp(0.3, 3.0);
                lessons.extend(text.windows.iter().map(|window| (window, 0.0, weight)));
                continue;
            }
            let weight = (share * 3000.0).clamp(1.0, 10.0);
            let worst = text
                .windows
                .iter()
                .max_by(|a, b| learner.score(a).total_cmp(&learner.score(b)));
            match worst {
                Some(worst) if round > 0 => lessons.push((worst, 1.0, weight)),
                _ => {
                    let weight = weight / text.windows.len().max(1) as f32;
                    lessons.extend(text.windows.iter().map(|window| (window, 1.0, weight)));
                }
            }
        }
        for epoch in 0..EPOCHS {
            shuffle(&mut lessons, (round * EPOCHS + epoch) as u64);
            for (window, label, weight) in &lessons {
                learner.learn(window, *label, *weight);
            }
        }
    }
    TrainedWeights {
        weights: learner.weights,
        families: learner.families,
        bias: learner.bias,
        medium: 1.0,
        high: 1.0,
    }
}

fn counts(texts: &[&Text]) -> BTreeMap<(usize, u8), usize> {
    let mut counts = BTreeMap::new();
    for text in texts {
        let each = if text.line.label == 0 {
            text.windows.len()
        } else {
            1
        };
        *counts.entry((text.group, text.line.label)).or_default() += each;
    }
    counts
}

struct Learner {
    weights: Vec<f32>,
    steps: Vec<f32>,
    families: [f32; training::FAMILIES],
    bias: f32,
}

impl Learner {
    fn new() -> Self {
        Self {
            weights: vec![0.0; training::BUCKETS],
            steps: vec![0.0; training::BUCKETS],
            families: training::PRIOR,
            bias: -2.0,
        }
    }

    fn words(&self, window: &WindowExample) -> f32 {
        let sum: f32 = window
            .buckets
            .iter()
            .map(|bucket| self.weights[*bucket as usize])
            .sum();
        sum / training::norm(window.buckets.len())
    }

    fn score(&self, window: &WindowExample) -> f32 {
        let families: f32 = window
            .families
            .iter()
            .map(|family| self.families[*family])
            .sum();
        training::squashed(self.words(window)) + families + self.bias
    }

    fn learn(&mut self, window: &WindowExample, label: f32, weight: f32) {
        const RATE: f32 = 0.3;
        const SHRINK: f32 = 2e-5;
        let scale =
            training::slope(self.words(window)).max(0.05) / training::norm(window.buckets.len());
        let error = (1.0 / (1.0 + (-self.score(window)).exp()) - label) * weight;
        self.bias -= 0.002 * error;
        for family in &window.families {
            let back = self.families[*family] - training::PRIOR[*family];
            self.families[*family] =
                (self.families[*family] - 0.003 * error - 0.0002 * back).max(0.0);
        }
        for bucket in &window.buckets {
            let at = *bucket as usize;
            let gradient = error * scale + SHRINK * self.weights[at];
            self.steps[at] += gradient * gradient;
            self.weights[at] -= RATE * gradient / (0.05 + self.steps[at].sqrt());
        }
    }
}

fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for at in (1..items.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        items.swap(at, (state % (at as u64 + 1)) as usize);
    }
}

/// Whether an attack says that it is one. A list of plain words; who wrote it knew the patterns.
fn announces_itself(text: &str) -> bool {
    const WORDS: [&str; 12] = [
        "ignore",
        "disregard",
        "forget ",
        "system prompt",
        "you are now",
        "pretend",
        "new instruction",
        "important message",
        "previous instruction",
        "override",
        "new task",
        "from now on",
    ];
    let text = text.to_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

fn report(texts: &[Text], found: &[bool]) {
    let mut rows: BTreeMap<(u8, &str), [usize; 4]> = BTreeMap::new();
    for (text, found) in texts.iter().zip(found) {
        let row = rows
            .entry((text.line.label, &text.line.source))
            .or_default();
        let found = usize::from(*found);
        row[0] += 1;
        row[1] += found;
        if text.line.label == 1 && announces_itself(&text.line.text) {
            row[2] += 1;
            row[3] += found;
        }
    }
    say(
        "each text by a model that saw nothing of its source; threshold at 1 % of unseen harmless texts",
    );
    say(&format!(
        "{:<36} {:>6} {:>9} {:>22}",
        "source", "texts", "found", "that announce themselves"
    ));
    let mut all = [0; 4];
    // One source that repeats one sentence a thousand times would speak for all.
    let mut without_largest = [0; 4];
    let largest = rows
        .iter()
        .filter(|((label, _), _)| *label == 1)
        .max_by_key(|(_, row)| row[2])
        .map(|((_, source), _)| *source);
    for ((label, source), row) in &rows {
        let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        let kind = if *label == 1 { "attack" } else { "benign" };
        let announced = if row[2] > 0 {
            format!("{}/{} {:.0} %", row[3], row[2], share(row[3], row[2]))
        } else {
            String::new()
        };
        say(&format!(
            "{kind} {source:<36} {:>6} {:>8.1} % {announced:>20}",
            row[0],
            share(row[1], row[0])
        ));
        if *label == 1 {
            all.iter_mut().zip(row).for_each(|(sum, each)| *sum += each);
            if Some(*source) != largest {
                let sums = without_largest.iter_mut();
                sums.zip(row).for_each(|(sum, each)| *sum += each);
            }
        }
    }
    say(&format!(
        "all attacks: {}/{}; those that announce themselves: {}/{}",
        all[1], all[0], all[3], all[2]
    ));
    say(&format!(
        "without {}: those that announce themselves {}/{}",
        largest.unwrap_or_default(),
        without_largest[3],
        without_largest[2]
    ));
}

fn speed(model: &WindowModel, texts: &[Text]) {
    let mut page = String::new();
    for text in texts
        .iter()
        .filter(|text| text.line.source == "openclaw_docs")
    {
        page.push_str(&text.line.text);
        if page.len() > 1 << 16 {
            break;
        }
    }
    page.truncate(page.floor_char_boundary(1 << 16));
    let best = (0..10)
        .map(|_| {
            let started = Instant::now();
            let score = detect_with(model, &page).score;
            (started.elapsed(), score)
        })
        .min_by_key(|(time, _)| *time);
    if let Some((time, _)) = best {
        say(&format!(
            "{:.3} ms for each 4 KiB",
            time.as_secs_f64() * 1000.0 / 16.0
        ));
    }
}

#[expect(
    clippy::print_stdout,
    reason = "training talks to the person at the terminal"
)]
fn say(text: &str) {
    println!("{text}");
}
