//! Errors that are not returned are said to the log, in one line where they happen.
//!
//! Macros and not functions, so that the statement carries the module it stands in: `--log
//! model=debug` then shows what the model crate swallowed.

/// The value of a `Result`; an error a person loses something by goes to the log as a warning.
///
/// ```
/// let read: Result<u8, std::num::ParseIntError> = "x".parse();
/// let value = chela_core::ok_or_warn!(read, "the number is not used", text = "x");
/// assert_eq!(value, None);
/// ```
#[macro_export]
macro_rules! ok_or_warn {
    ($result:expr, $what:literal $(, $($field:tt)+)?) => {
        match $result {
            Ok(value) => Some(value),
            Err(error) => {
                $crate::tracing_for_macros::warn!($($($field)+,)? error = %error, $what);
                None
            }
        }
    };
}

/// The value of a `Result`; an error that changes nothing for a person goes to the log for whoever
/// looks closely.
#[macro_export]
macro_rules! ok_or_debug {
    ($result:expr, $what:literal $(, $($field:tt)+)?) => {
        match $result {
            Ok(value) => Some(value),
            Err(error) => {
                $crate::tracing_for_macros::debug!($($($field)+,)? error = %error, $what);
                None
            }
        }
    };
}
