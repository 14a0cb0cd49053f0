//! The two words, letter by letter.

use super::fold::{Seen, seen};
use crate::Silence;

/// A word as it was matched.
pub struct Match {
    pub end: usize,
    pub which: Silence,
    pub between: Between,
    pub capitals: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Between {
    Underscore,
    Hyphen,
    Space,
    Nothing,
}

pub enum Tried {
    No,
    /// The text ends in the middle of it. `beyond`: letters after an underscore.
    Cut {
        beyond: usize,
    },
    Yes(Match),
}

/// Which of the two begins at `at`.
pub fn which_begins(chars: &[char], at: usize) -> Silence {
    match seen(chars[at]) {
        Seen::Letter('n') => Silence::NoReply,
        _ => Silence::HeartbeatOk,
    }
}

/// Whether one of the two words begins at `at`.
pub fn try_word(chars: &[char], at: usize) -> Tried {
    let (head, tail, which) = match seen(chars[at]) {
        Seen::Letter('n') => ("no", "reply", Silence::NoReply),
        Seen::Letter('h') => ("heartbeat", "ok", Silence::HeartbeatOk),
        _ => return Tried::No,
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
            return Tried::Cut { beyond: 0 };
        };
        match seen(c) {
            Seen::Underscore => underscore = true,
            Seen::Dash => hyphen = true,
            Seen::Space if c == '\n' && !underscore => return Tried::No,
            Seen::Space => space = true,
            Seen::Nothing => {}
            Seen::Other if matches!(c, '\\' | '*' | '`' | '~') => {}
            Seen::Letter(_) => break,
            Seen::Other => return Tried::No,
        }
        place += 1;
        if place - between_from > 200 {
            return Tried::No;
        }
    }
    let tail_from = place;
    match letters_of(tail, chars, &mut place, &mut capitals) {
        Ok(()) => {}
        Err(Tried::Cut { .. }) if underscore => {
            return Tried::Cut {
                beyond: place - tail_from,
            };
        }
        Err(tried) => return tried,
    }
    let between = match (underscore, hyphen, space) {
        (true, _, _) => Between::Underscore,
        (_, true, _) => Between::Hyphen,
        (_, _, true) => Between::Space,
        _ => Between::Nothing,
    };
    Tried::Yes(Match {
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
) -> Result<(), Tried> {
    for wanted in word.chars() {
        loop {
            let Some(&c) = chars.get(*place) else {
                return Err(Tried::Cut { beyond: 0 });
            };
            match seen(c) {
                Seen::Nothing => *place += 1,
                Seen::Letter(letter) if letter == wanted => {
                    *capitals &= !c.is_lowercase();
                    *place += 1;
                    break;
                }
                _ => return Err(Tried::No),
            }
        }
    }
    Ok(())
}

pub fn is_letter(c: char) -> bool {
    matches!(seen(c), Seen::Letter(_))
}
