//! What a word of a question is looked for as, besides itself.
//!
//! A word that stands in no note may begin longer ones, be a slip of the finger, or be written in
//! one word there and in two here. Such forms count less than the word itself would.

use rust_stemmers::Stemmer;

use super::weights::FormWeights;
use crate::gloss::{self, GlossTable};
use crate::language::{Language, LanguageVote};
use crate::query::{ParsedQuery, QueryTerm};
use crate::snapshot::IndexSnapshot;
use crate::word_table::WordTable;
use crate::words::{GLOSS_MARK, TermReader, compound_parts, english_stem, is_cjk};

const SHORTEST_PREFIX: usize = 4;
const MOST_PREFIXED: usize = 8;
/// Words shorter than this are too like each other; longer ones may have two slips.
const SHORTEST_SLIP: usize = 4;
const SHORTEST_TWO_SLIPS: usize = 8;
const MOST_SLIPS: usize = 6;
/// Each part of a word that is written in two.
const SHORTEST_PART: usize = 3;

/// Adds forms to the words of a question that need some.
pub fn expand(
    snapshot: &IndexSnapshot,
    query: &mut ParsedQuery,
    weights: &FormWeights,
    reader: &mut TermReader,
) {
    join_neighbours(snapshot, query, weights, reader);
    let tongues = QuestionTongues::of(snapshot, query);
    for term in &mut query.terms {
        let stands_there = term.forms.iter().any(|form| stands(snapshot, &form.text));
        tongues.add_meanings(term, stands_there, weights);
        if stands_there {
            continue;
        }
        let text = term.text().to_owned();
        if text.chars().any(is_cjk) {
            continue;
        }
        let length = text.chars().count();
        if length >= SHORTEST_PREFIX {
            for longer in longer_terms(snapshot, &text) {
                term.add_form(&longer, weights.begins);
            }
        }
        if length >= SHORTEST_SLIP && !text.bytes().any(|byte| byte.is_ascii_digit()) {
            add_slips(snapshot, term, &text, weights);
        }
        if !term.forms.iter().any(|form| stands(snapshot, &form.text)) {
            split_in_two(snapshot, term, weights, reader);
        }
    }
}

/// Which languages a question and the texts are in, and so what its words may mean there.
struct QuestionTongues {
    /// Of the question, where its words have English ones.
    glosses: Vec<(Language, &'static GlossTable)>,
    /// Texts in other languages have English words beside them.
    has_others: bool,
}

impl QuestionTongues {
    fn of(snapshot: &IndexSnapshot, query: &ParsedQuery) -> Self {
        let has_others = snapshot
            .languages
            .iter()
            .any(|language| gloss::table_of(*language).is_some());
        // A question of a word or two does not tell its language.
        let told = LanguageVote::of(&query.text).winner();
        let languages: Vec<Language> = match told {
            Some(language) => vec![language],
            None => Language::all().collect(),
        };
        Self {
            glosses: languages
                .into_iter()
                .filter_map(|language| Some((language, gloss::table_of(language)?)))
                .collect(),
            has_others,
        }
    }

    /// Adds what a word means in English, and in texts of other languages.
    fn add_meanings(&self, term: &mut QueryTerm, stands_there: bool, weights: &FormWeights) {
        let own = term.text().to_owned();
        let word = term.word.clone();
        let is_guess = self.glosses.len() > 1;
        if is_guess && (stands_there || WordTable::built_in().has_word(&word).is_some()) {
            self.add_marked(term, &own, weights);
            return;
        }
        let mut found = false;
        for (language, table) in &self.glosses {
            let stem_of = |word: &str| stem_in(*language, word);
            let mut words: Vec<&'static str> = table.english(&stem_of(&word)).collect();
            if words.is_empty() {
                let is_known = |part: &str| table.knows(&stem_of(part));
                for part in compound_parts(&word, &is_known) {
                    let part = stem_of(part);
                    term.add_form(&part, weights.part);
                    words.extend(table.english(&part));
                }
            }
            for english in words {
                found = true;
                let stem = english_stem(english);
                term.add_form(&stem, weights.meaning);
                self.add_marked(term, &stem, weights);
            }
        }
        if !found {
            self.add_marked(term, &own, weights);
        }
    }

    fn add_marked(&self, term: &mut QueryTerm, english: &str, weights: &FormWeights) {
        if self.has_others {
            term.add_form(&format!("{GLOSS_MARK}{english}"), weights.meaning);
        }
    }
}

fn stem_in(language: Language, word: &str) -> String {
    match language.stemmer() {
        Some(algorithm) => Stemmer::create(algorithm).stem(word).into_owned(),
        None => word.to_owned(),
    }
}

/// Whether a term stands anywhere in the index.
fn stands(snapshot: &IndexSnapshot, term: &str) -> bool {
    let mut parts = snapshot.parts.iter();
    parts.any(|part| part.segment.postings_size(term) > 0)
}

fn longer_terms(snapshot: &IndexSnapshot, prefix: &str) -> Vec<String> {
    let mut terms: Vec<String> = snapshot
        .parts
        .iter()
        .flat_map(|part| part.segment.terms_with_prefix(prefix, MOST_PREFIXED))
        .map(str::to_owned)
        .collect();
    terms.sort_unstable();
    terms.dedup();
    terms.truncate(MOST_PREFIXED);
    terms
}

/// "dish washer" where the notes say "dishwasher".
fn join_neighbours(
    snapshot: &IndexSnapshot,
    query: &mut ParsedQuery,
    weights: &FormWeights,
    reader: &mut TermReader,
) {
    let pairs: Vec<(usize, usize)> = query
        .order
        .iter()
        .zip(query.order.iter().skip(1))
        .map(|(first, second)| (*first, *second))
        .collect();
    for (first, second) in pairs {
        let (Some(one), Some(other)) = (query.terms.get(first), query.terms.get(second)) else {
            continue;
        };
        let joined = format!("{}{}", one.word, other.word);
        if joined.chars().count() > 24 || !joined.chars().all(char::is_alphabetic) {
            continue;
        }
        for stem in reader.of_in(query.language, &joined) {
            if stands(snapshot, &stem) {
                for number in [first, second] {
                    if let Some(term) = query.terms.get_mut(number) {
                        term.add_form(&stem, weights.joined);
                    }
                }
            }
        }
    }
}

/// "dishwasher" where the notes say "dish washer".
fn split_in_two(
    snapshot: &IndexSnapshot,
    term: &mut QueryTerm,
    weights: &FormWeights,
    reader: &mut TermReader,
) {
    let word = term.word.clone();
    let starts = word.char_indices().map(|(at, _)| at).skip(SHORTEST_PART);
    for at in starts {
        let (Some(first), Some(second)) = (word.get(..at), word.get(at..)) else {
            continue;
        };
        if second.chars().count() < SHORTEST_PART {
            break;
        }
        let (one, other) = (reader.of(first), reader.of(second));
        if let ([one], [other]) = (one.as_slice(), other.as_slice())
            && stands(snapshot, one)
            && stands(snapshot, other)
        {
            term.add_form(one, weights.begins);
            term.add_form(other, weights.begins);
            return;
        }
    }
}

/// Terms that are one or two letters off. The first letter is taken to be right.
fn add_slips(snapshot: &IndexSnapshot, term: &mut QueryTerm, text: &str, weights: &FormWeights) {
    let length = text.chars().count();
    let most = if length >= SHORTEST_TWO_SLIPS { 2 } else { 1 };
    let Some(first) = text.chars().next() else {
        return;
    };
    let wanted: Vec<char> = text.chars().collect();
    let mut rows = SlipRows::default();
    let mut found: Vec<(usize, String)> = Vec::new();
    for part in &snapshot.parts {
        for other in part.segment.terms_starting_with(first) {
            let near = other.len().abs_diff(text.len()) <= 2 * most;
            if !near || found.iter().any(|(_, known)| known == other) {
                continue;
            }
            if let Some(slips) = rows.between(&wanted, other, most) {
                found.push((slips, other.to_owned()));
            }
        }
    }
    found.sort();
    // Two slips are looked at where nothing is nearer.
    let nearest = found.first().map_or(0, |(slips, _)| *slips);
    found.retain(|(slips, _)| *slips == nearest);
    for (slips, other) in found.into_iter().take(MOST_SLIPS) {
        let weight = match slips {
            0 | 1 => weights.one_slip,
            _ => weights.two_slips,
        };
        term.add_form(&other, weight);
    }
}

/// Room for counting slips: letters put in, left out, changed, or swapped with the next.
#[derive(Default)]
struct SlipRows {
    letters: Vec<char>,
    before_last: Vec<usize>,
    last: Vec<usize>,
    next: Vec<usize>,
}

impl SlipRows {
    /// How many slips lie between two words, if no more than `most`.
    fn between(&mut self, wanted: &[char], other: &str, most: usize) -> Option<usize> {
        self.letters.clear();
        self.letters.extend(other.chars());
        if self.letters.len().abs_diff(wanted.len()) > most {
            return None;
        }
        self.last.clear();
        self.last.extend(0..=self.letters.len());
        self.before_last.clone_from(&self.last);
        for (row, letter) in wanted.iter().enumerate() {
            self.next.clear();
            self.next.push(row + 1);
            let mut least = row + 1;
            for (column, there) in self.letters.iter().enumerate() {
                let at = |list: &[usize], place: usize| {
                    list.get(place).copied().unwrap_or(usize::MAX / 2)
                };
                let changed = at(&self.last, column) + usize::from(letter != there);
                let left_out = at(&self.last, column + 1) + 1;
                let put_in = at(&self.next, column) + 1;
                let mut slips = changed.min(left_out).min(put_in);
                let swaps = row > 0
                    && column > 0
                    && wanted.get(row - 1) == Some(there)
                    && self.letters.get(column - 1) == Some(letter);
                if swaps {
                    slips = slips.min(at(&self.before_last, column - 1) + 1);
                }
                least = least.min(slips);
                self.next.push(slips);
            }
            if least > most {
                return None;
            }
            std::mem::swap(&mut self.before_last, &mut self.last);
            std::mem::swap(&mut self.last, &mut self.next);
        }
        self.last.last().copied().filter(|slips| *slips <= most)
    }
}

#[cfg(test)]
mod tests {
    use super::SlipRows;

    #[test]
    fn slips_are_counted() {
        let slips = |a: &str, b: &str| {
            let wanted: Vec<char> = a.chars().collect();
            SlipRows::default().between(&wanted, b, 2)
        };
        assert_eq!(slips("restur", "restaur"), Some(1));
        assert_eq!(slips("recieve", "receive"), Some(1));
        assert_eq!(slips("dentist", "dentist"), Some(0));
        assert_eq!(slips("garden", "gardn"), Some(1));
        assert_eq!(slips("garden", "warning"), None);
        assert_eq!(slips("gdaren", "garden"), Some(2));
    }
}
