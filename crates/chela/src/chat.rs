//! The terminal chat: what is typed, what is shown, and one-shot runs for scripts.

pub mod line_questions;

mod card;
mod clean;
mod editor;
mod file_words;
mod for_now;
mod gateway_talk;
mod history;
mod history_search;
mod ink;
mod keys;
mod lines;
mod markdown;
mod menu;
mod message_pictures;
mod once;
mod outside_editor;
mod picker;
mod question_text;
mod questions;
mod relay;
mod room;
mod stage;
mod stop_signals;
mod terminal;
mod turn_errors;
mod view;

pub use clean::clean_line;
pub use for_now::ForNow;
pub use gateway_talk::{GatewayTalk, GatewayTalkAsk};
pub use history::InputHistory;
pub use lines::run_line_chat;
pub use message_pictures::{read_images, who_looks_at_pictures};
pub use once::{
    AfterAnswer, AwaitedWork, OneShotRequest, OutputForm, WaitAfter, print_markdown, print_note,
    print_warning, run_once,
};
pub use room::{ChatLeave, ChatOpening, ChatStart, run_chat};

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
