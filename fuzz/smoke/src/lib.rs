//! Every fuzz target as an ordinary test, with inputs made up on the spot.
//!
//! The files in `fuzz/fuzz_targets` are written for libFuzzer. Here its macro is this crate's:
//! the body becomes a function, and [`drive`] calls it with seeds from `fuzz/seeds` and what
//! chance makes of them. The chance is the same on every run. It finds no deep fault as a guided
//! run does; it keeps the targets compiling and their invariants true.

// The targets say `use libfuzzer_sys::fuzz_target`.
extern crate self as libfuzzer_sys;

mod driver;
mod mutate;

pub use arbitrary;
pub use driver::{Budget, Failure, drive, read_seeds};

// Before the macro, so that the targets reach it by the path they name.
#[cfg(test)]
#[expect(
    clippy::items_after_test_module,
    reason = "the macro has to come after the targets"
)]
mod targets {
    //! One module and one test for each target.
    #![allow(unused_attributes, reason = "`no_main` is for libFuzzer's build")]

    fn smoke(name: &str, run: fn(&[u8])) {
        if let Err(failure) =
            crate::drive(name, &crate::read_seeds(name), crate::Budget::asked(), run)
        {
            panic!("{failure}");
        }
    }

    include!(concat!(env!("OUT_DIR"), "/targets.rs"));
}

/// What libFuzzer's macro of this name takes; gives a function `run` over raw bytes.
#[macro_export]
macro_rules! fuzz_target {
    (|$input:ident: &[u8]| $body:expr) => {
        pub fn run($input: &[u8]) {
            $body
        }
    };
    (|$input:ident: $kind:ty| $body:expr) => {
        pub fn run(bytes: &[u8]) {
            let unstructured = $crate::arbitrary::Unstructured::new(bytes);
            let made =
                <$kind as $crate::arbitrary::Arbitrary<'_>>::arbitrary_take_rest(unstructured);
            let Ok($input) = made else {
                return;
            };
            $body
        }
    };
}
