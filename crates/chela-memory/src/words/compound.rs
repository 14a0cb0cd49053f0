//! Words that are made of two: `Zahnarzttermin`.

/// Shorter words are not taken apart, and no part is shorter than this.
const SHORTEST: usize = 8;
const SHORTEST_PART: usize = 4;
/// What may stand between the parts.
const LINKS: [&str; 6] = ["", "s", "es", "n", "en", "e"];

/// The two parts of a word, both of which are known. The longest second part wins: it says what
/// the whole is.
pub fn parts<'w>(word: &'w str, is_known: &impl Fn(&str) -> bool) -> Vec<&'w str> {
    if word.len() < SHORTEST || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Vec::new();
    }
    for at in SHORTEST_PART..=word.len() - SHORTEST_PART {
        let (Some(first), Some(second)) = (word.get(..at), word.get(at..)) else {
            continue;
        };
        if !is_known(second) {
            continue;
        }
        let bare = LINKS
            .iter()
            .filter_map(|link| first.strip_suffix(link))
            .find(|bare| bare.len() >= SHORTEST_PART - 1 && is_known(bare));
        if let Some(bare) = bare {
            return vec![bare, second];
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn words_of_two_are_taken_apart() {
        let known = ["zahnarzt", "termin", "arbeit", "vertrag", "kind", "garten"];
        let is_known = |part: &str| known.contains(&part);
        assert_eq!(parts("zahnarzttermin", &is_known), ["zahnarzt", "termin"]);
        assert_eq!(parts("arbeitsvertrag", &is_known), ["arbeit", "vertrag"]);
        assert_eq!(parts("kindergarten", &is_known), [""; 0]);
        assert_eq!(parts("termin", &is_known), [""; 0]);
    }
}
