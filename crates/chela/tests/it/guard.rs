//! The guard through the binary: one file for each thing that was broken once.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

mod at_the_card;
mod everyday;
mod provenance;
pub(crate) mod web_scene;

mod c2_known;
mod c3_custody;

mod f10_directives;
mod f11_ancestry;
mod f11_authority;
mod f11_fence;
mod f11_queue;
mod f12_environment;
mod f13_process_input;
mod f13_refusals;
mod f14_display;
mod f14_recipients;
mod f14_walls;
mod f1_dotenv;
mod f2_whole_targets;
mod f3_called_skills;
mod f3_links;
mod f3_meanwhile;
mod f3_never_written;
mod f3_option_lists;
mod f3_shown_inside;
mod f3_staged;
mod f3_unlabelled;
mod f4_self_executing;
mod f4_skill_grants;
mod f4_standing;
mod f4_work_folders;
mod f5_seen;
mod f6_keys;
mod f7_choosing;
mod f8_laundering;
mod f9_skills;
mod h1_watched;
mod livable;
mod m1_orders;
mod owner_edits;
mod read_versions;
mod revoked;
mod running;
mod too_strict;
mod two_terminals;
mod typed_commands;
mod write_then_fire;
