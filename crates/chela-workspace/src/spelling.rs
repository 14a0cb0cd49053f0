//! How the core files are spelled in a folder. A disk that tells cases apart may hold `soul.md`:
//! it is the persona all the same.

use std::path::Path;

use crate::core_file::CoreFile;

/// The spellings of core files that a folder holds.
#[derive(Debug, Default)]
pub struct CoreSpelling {
    found: Vec<String>,
}

impl CoreSpelling {
    /// Looks into a folder. One that cannot be read has the usual names.
    pub fn of(folder: &Path) -> Self {
        let Ok(entries) = std::fs::read_dir(folder) else {
            return Self::default();
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut found: Vec<String> = names
            .filter_map(|name| name.into_string().ok())
            .filter(|name| CoreFile::of(name).is_some() && name != CoreFile::LOWER_MEMORY)
            .collect();
        found.sort_unstable();
        Self { found }
    }

    /// The name under which a core file is found: its own, or another case of it where that is
    /// all there is.
    pub fn name(&self, core: CoreFile) -> &str {
        let own = core.name();
        let is_it = |name: &&String| CoreFile::of(name) == Some(core);
        match self.found.iter().any(|name| name == own) {
            true => own,
            false => self.found.iter().find(is_it).map_or(own, String::as_str),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CoreSpelling;
    use crate::core_file::CoreFile;

    #[test]
    fn the_usual_name_wins_and_another_case_stands_in() {
        let names = |names: &[&str]| CoreSpelling {
            found: names.iter().map(|&name| name.to_owned()).collect(),
        };
        assert_eq!(names(&["soul.md"]).name(CoreFile::Soul), "soul.md");
        assert_eq!(
            names(&["SOUL.md", "soul.md"]).name(CoreFile::Soul),
            "SOUL.md"
        );
        assert_eq!(names(&[]).name(CoreFile::Soul), "SOUL.md");
    }
}
