//! What is known of languages: their small words, names of days and months, and forms of dates.
//!
//! All of it is data, one file for each language in `text/languages`; a language more is a file
//! more and a line in `FILES`.

mod detect;
mod signs;
mod table;

use std::sync::LazyLock;

use rust_stemmers::Algorithm;

pub use detect::LanguageVote;
pub use signs::TextSigns;
pub use table::{DateFormLine, FormElement, LanguageTable, SmallNumber, phrase_words};

/// A language, by its place among those that are known. The index keeps the number: a new one
/// goes to the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Language(u8);

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        const FILES: &[&str] = &[$(include_str!(concat!("../text/languages/", $name, ".txt"))),+];
    };
}

files!(
    "en", "de", "es", "fr", "it", "pt", "nl", "sv", "da", "no", "fi", "hu", "ro", "tr", "ru", "pl",
    "cs", "el", "ar", "ta", "zh", "ja", "ko",
);

static TABLES: LazyLock<Vec<LanguageTable>> =
    LazyLock::new(|| FILES.iter().map(|text| LanguageTable::read(text)).collect());

impl Language {
    pub const ENGLISH: Self = Self(0);

    pub fn all() -> impl Iterator<Item = Self> {
        (0..FILES.len()).filter_map(|at| u8::try_from(at).ok().map(Self))
    }

    /// By its code, such as `de`.
    pub fn named(code: &str) -> Option<Self> {
        Self::all().find(|language| language.table().code == code)
    }

    /// As the index keeps it. One that is not known any more is taken for English.
    pub fn from_number(number: u8) -> Self {
        match usize::from(number) < FILES.len() {
            true => Self(number),
            false => Self::ENGLISH,
        }
    }

    pub fn number(self) -> u8 {
        self.0
    }

    pub fn table(self) -> &'static LanguageTable {
        static EMPTY: LazyLock<LanguageTable> = LazyLock::new(LanguageTable::default);
        TABLES.get(usize::from(self.0)).unwrap_or(&EMPTY)
    }

    pub fn code(self) -> &'static str {
        self.table().code
    }

    /// What brings its words to their stems, where that is known.
    pub fn stemmer(self) -> Option<Algorithm> {
        self.table().stemmer
    }
}

#[cfg(test)]
mod tests;
