//! The binary as people use it: real processes, real files, whole outputs.

mod home;
mod risky;
mod scene;
mod secrets;
mod secrets_in_use;
mod security;

mod agents;
mod approvals;
mod bad_input;
mod chat;
mod chat_e2e;
mod config;
mod context;
mod doctor;
mod economy;
mod faults;
mod first_use;
mod hostile;
mod kill;
mod ledger;
mod logs;
mod lost_updates;
mod memory;
mod models;
mod prompt;
mod real_model;
mod sandbox;
mod sessions;
mod skills;
mod testkit;
mod trust;
mod undo;
mod waking;
mod workspace;
