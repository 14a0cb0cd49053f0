//! What Chela's own tests and benchmarks stand on.

pub mod bench;
