//! Assembling from real folders and configs.

mod assembling;
mod compacting;
mod economy;
mod subagents;
mod turning;
