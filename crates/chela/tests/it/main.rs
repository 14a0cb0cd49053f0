//! The binary as people use it: real processes, real files, whole outputs.

mod home;

mod agents;
mod bad_input;
mod chat;
mod config;
mod context;
mod doctor;
mod first_use;
mod memory;
mod prompt;
mod sessions;
mod skills;
mod testkit;
mod workspace;
