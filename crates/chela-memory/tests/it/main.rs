//! What memory promises when things go wrong.

mod faults;
