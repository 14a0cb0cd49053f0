//! The one gate between what a model says and what reaches a person.

mod fold;
mod whole;

pub use whole::{is_silence, silence};
