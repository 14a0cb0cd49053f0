//! Assembling from real folders and configs.

mod assembling;
mod compacting;
mod economy;
mod embedding;
mod guarding;
mod hooking;
mod incidents;
mod journalling;
mod own_writes;
mod recording;
mod skill_bound;
mod spending;
mod subagents;
mod surviving;
mod swept;
mod trust_table;
mod trusting;
mod turning;
