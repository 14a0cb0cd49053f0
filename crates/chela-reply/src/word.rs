//! The two words, letter by letter.

use super::fold::{FoldedChar, seen};
use crate::Silence;

/// A word as it was matched.
pub struct MatchedWord {
    pub end: usize,
    pub which: Silence,
    pub between: WordJoint,
    pub capitals: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordJoint {
    Underscore,
    Hyphen,
    Space,
    Nothing,
}

pub enum WordMatch {
    No,
    /// The text ends in the middle of it. `beyond`: letters after an underscore.
    Cut {
        beyond: usize,
    },
    Yes(MatchedWord),
}

/// Which of the two begins at `at`.
pub fn which_begins(chars: &[char], at: usize) -> Silence {
    match chars.get(at).copied().map(seen) {
        Some(FoldedChar::Letter('n')) => Silence::NoReply,
        _ => Silence::HeartbeatOk,
    }
}

/// Whether one of the two words begins at `at`.
pub fn try_word(chars: &[char], at: usize) -> WordMatch {
    let (head, tail, which) = match chars.get(at).copied().map(seen) {
        Some(FoldedChar::Letter('n')) => ("no", "reply", Silence::NoReply),
        Some(FoldedChar::Letter('h')) => ("heartbeat", "ok", Silence::HeartbeatOk),
        _ => return WordMatch::No,
    };
    let mut place = at;
    let mut capitals = true;
    if let Err(tried) = letters_of(head, chars, &mut place, &mut capitals) {
        return tried;
    }
    let (mut underscore, mut hyphen, mut space) = (false, false, false);
    let between_from = place;
    loop {
        let Some(&c) = chars.get(place) else {
            return WordMatch::Cut { beyond: 0 };
        };
        match seen(c) {
            FoldedChar::Underscore => underscore = true,
            FoldedChar::Dash => hyphen = true,
            FoldedChar::Space if c == '\n' && !underscore => return WordMatch::No,
            FoldedChar::Space => space = true,
            FoldedChar::Nothing => {}
            FoldedChar::Other if matches!(c, '\\' | '*' | '`' | '~') => {}
            FoldedChar::Letter(_) => break,
            FoldedChar::Other => return WordMatch::No,
        }
        place += 1;
        if place - between_from > 200 {
            return WordMatch::No;
        }
    }
    let tail_from = place;
    match letters_of(tail, chars, &mut place, &mut capitals) {
        Ok(()) => {}
        Err(WordMatch::Cut { .. }) if underscore => {
            return WordMatch::Cut {
                beyond: place - tail_from,
            };
        }
        Err(tried) => return tried,
    }
    let between = match (underscore, hyphen, space) {
        (true, _, _) => WordJoint::Underscore,
        (_, true, _) => WordJoint::Hyphen,
        (_, _, true) => WordJoint::Space,
        _ => WordJoint::Nothing,
    };
    WordMatch::Yes(MatchedWord {
        end: place,
        which,
        between,
        capitals,
    })
}

fn letters_of(
    word: &str,
    chars: &[char],
    place: &mut usize,
    capitals: &mut bool,
) -> Result<(), WordMatch> {
    for wanted in word.chars() {
        loop {
            let Some(&c) = chars.get(*place) else {
                return Err(WordMatch::Cut { beyond: 0 });
            };
            match seen(c) {
                FoldedChar::Nothing => *place += 1,
                FoldedChar::Letter(letter) if letter == wanted => {
                    *capitals &= !c.is_lowercase();
                    *place += 1;
                    break;
                }
                _ => return Err(WordMatch::No),
            }
        }
    }
    Ok(())
}

pub fn is_letter(c: char) -> bool {
    matches!(seen(c), FoldedChar::Letter(_))
}
