//! Versions, and which of two is newer.

use std::cmp::Ordering;

/// `1.2.3` or `1.2.3-rc.1`, ordered as semantic versions are; what follows a `+` says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramVersion {
    numbers: [u64; 3],
    /// Empty for a finished version.
    pre_release: Vec<PrePart>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum PrePart {
    Number(u64),
    Word(String),
}

impl ProgramVersion {
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.split_once('+').map_or(text, |(version, _)| version);
        let (numbers, pre) = match text.split_once('-') {
            Some((numbers, pre)) => (numbers, Some(pre)),
            None => (text, None),
        };
        let numbers: Vec<u64> = numbers
            .split('.')
            .map(|part| part.parse().ok())
            .collect::<Option<_>>()?;
        let pre_release = pre.map_or(Some(Vec::new()), |pre| {
            pre.split('.').map(PrePart::parse).collect()
        })?;
        Some(Self {
            numbers: numbers.try_into().ok()?,
            pre_release,
        })
    }
}

impl PrePart {
    fn parse(text: &str) -> Option<Self> {
        let is_word = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        match text.parse() {
            Ok(number) => Some(Self::Number(number)),
            Err(_) if !text.is_empty() && is_word(text) => Some(Self::Word(text.to_owned())),
            Err(_) => None,
        }
    }
}

impl Ord for ProgramVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        let finished = |version: &Self| version.pre_release.is_empty();
        self.numbers
            .cmp(&other.numbers)
            .then(finished(self).cmp(&finished(other)))
            .then_with(|| self.pre_release.cmp(&other.pre_release))
    }
}

impl PartialOrd for ProgramVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::ProgramVersion;

    #[test]
    fn versions_are_ordered_as_people_expect() {
        let sorted = [
            "0.1.0-alpha",
            "0.1.0-alpha.1",
            "0.1.0-beta.2",
            "0.1.0-beta.10",
            "0.1.0",
            "0.1.1",
            "0.2.0",
            "0.10.0",
            "1.0.0-rc.1",
            "1.0.0",
        ];
        let parsed: Vec<ProgramVersion> = sorted
            .iter()
            .filter_map(|text| ProgramVersion::parse(text))
            .collect();
        assert_eq!(parsed.len(), sorted.len());
        assert!(parsed.is_sorted(), "{parsed:?}");
        assert_eq!(
            ProgramVersion::parse("1.0.0+build.5"),
            ProgramVersion::parse("1.0.0")
        );
        for wrong in [
            "",
            "1",
            "1.2",
            "1.2.3.4",
            "v1.2.3",
            "1.2.x",
            "1.2.3-",
            "1.2.3-a b",
        ] {
            assert_eq!(ProgramVersion::parse(wrong), None, "{wrong}");
        }
    }
}
