//! What is known about a panic, from where it happened to where it is caught.
//!
//! A panic hook (the binary's) sees message, place and stack; whoever catches the panic sees only
//! a value. What the hook found waits here for the catcher, on the thread they share.

use std::any::Any;
use std::cell::RefCell;
use std::path::PathBuf;

/// A panic, as it is told to people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PanicReport {
    /// What it said.
    pub message: String,
    /// File, line and column.
    pub place: Option<String>,
    /// Where the details were written.
    pub report: Option<PathBuf>,
}

thread_local! {
    static LATEST: RefCell<Option<PanicReport>> = const { RefCell::new(None) };
}

/// Keeps what a hook found for whoever catches the panic on this thread.
pub fn note_panic(report: PanicReport) {
    LATEST.with(|latest| {
        if let Ok(mut latest) = latest.try_borrow_mut() {
            *latest = Some(report);
        }
    });
}

/// What is known about the panic just caught on this thread.
pub fn caught_panic(payload: &(dyn Any + Send)) -> PanicReport {
    let noted = LATEST.with(|latest| latest.try_borrow_mut().ok()?.take());
    noted.unwrap_or_else(|| PanicReport {
        message: panic_message(payload).to_owned(),
        ..PanicReport::default()
    })
}

/// The words of a panic.
pub fn panic_message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it gave no reason")
}

impl std::fmt::Display for PanicReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        if let Some(place) = &self.place {
            write!(f, " (at {place})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{PanicReport, caught_panic, note_panic};

    #[test]
    fn what_a_hook_noted_is_told_once() {
        let noted = PanicReport {
            message: "out of cheese".to_owned(),
            place: Some("mouse.rs:1:2".to_owned()),
            report: None,
        };
        note_panic(noted.clone());
        assert_eq!(caught_panic(&"out of cheese"), noted);
        assert_eq!(noted.to_string(), "out of cheese (at mouse.rs:1:2)");
        let bare = caught_panic(&String::from("later"));
        assert_eq!((bare.message.as_str(), bare.place), ("later", None));
        assert_eq!(caught_panic(&7_u8).message, "it gave no reason");
    }
}
