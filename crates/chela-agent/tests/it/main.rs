//! Assembling from real folders and configs.

mod assembling;
mod turning;
