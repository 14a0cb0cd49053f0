//! The terminal chat: what is typed, what is shown, and one-shot runs for scripts.

pub mod asking;

mod clean;
mod editor;
mod for_now;
mod history;
mod ink;
mod keys;
mod lines;
mod markdown;
mod menu;
mod once;
mod questions;
mod relay;
mod room;
mod stage;
mod terminal;
mod trouble;
mod view;

pub use for_now::ForNow;
pub use history::History;
pub use lines::{is_skill, lines};
pub use once::{Asked, Form, note, once, page};
pub use room::{Opening, chat};

/// A text cut at the given places, as it might arrive.
#[cfg(test)]
fn pieces<'a>(text: &'a str, cuts: &[usize]) -> Vec<&'a str> {
    let mut places: Vec<usize> = cuts
        .iter()
        .copied()
        .filter(|at| *at <= text.len() && text.is_char_boundary(*at))
        .collect();
    places.sort_unstable();
    let mut pieces = Vec::new();
    let mut from = 0;
    for at in places {
        pieces.push(&text[from..at]);
        from = at;
    }
    pieces.push(&text[from..]);
    pieces
}
