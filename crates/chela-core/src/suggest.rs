//! "Did you mean": the nearest known word to a mistyped one.

/// The candidate nearest to `given`, if one is near enough to be worth naming.
///
/// Case and separators are ignored first; after that a third of the letters may differ.
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = fold(given);
    let allowed = (wanted.len() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .map(|candidate| (distance(&wanted, &fold(candidate)), candidate))
        .filter(|(steps, _)| *steps <= allowed)
        .min_by_key(|(steps, candidate)| (*steps, candidate.len().abs_diff(given.len())))
        .map(|(_, candidate)| candidate)
}

fn fold(word: &str) -> Vec<char> {
    word.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .take(64)
        .collect()
}

/// Edit distance with neighbouring letters swapped counting as one step.
fn distance(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    let mut rows = vec![(0..width).collect::<Vec<usize>>()];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (rows[i][j + 1] + 1)
                .min(row[j] + 1)
                .min(rows[i][j] + usize::from(x != y));
            if i > 0 && j > 0 && a[i - 1] == *y && b[j - 1] == *x {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_typos_and_leaves_strangers_alone() {
        let keys = ["workspace", "heartbeat", "model", "memorySearch"];
        assert_eq!(nearest("worksapce", keys), Some("workspace"));
        assert_eq!(nearest("heart_beat", keys), Some("heartbeat"));
        assert_eq!(nearest("memorysearch", keys), Some("memorySearch"));
        assert_eq!(nearest("modle", keys), Some("model"));
        assert_eq!(nearest("zebra", keys), None);
    }
}
