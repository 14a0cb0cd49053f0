//! `chela mcp add NAME npx -y PACKAGE`, as other programs take it: the program stands behind its
//! name, and what follows is its own.

use std::ffi::OsString;

use clap::{Arg, Command};

use super::wants_next;

/// The arguments with `--` before the program; `None` where none is named that way.
pub(super) fn with_program_apart(command: &Command, args: &[OsString]) -> Option<Vec<OsString>> {
    let add = command.find_subcommand("mcp")?.find_subcommand("add")?;
    let known: Vec<&Arg> = add.get_arguments().collect();
    let (mut path, mut named) = (["mcp", "add"].iter().peekable(), false);
    let mut at = 1;
    while let Some(arg) = args.get(at) {
        let text = arg.to_string_lossy();
        if text == "--" {
            return None;
        } else if text.starts_with('-') && text.len() > 1 {
            at += usize::from(wants_next(&known, &text)?);
        } else if path.next_if(|word| **word == text).is_some() {
        } else if path.peek().is_some() {
            return None;
        } else if !named {
            named = true;
        } else if text.contains("://") || args.len() == at + 1 {
            // A URL, or one word that may be meant as one.
            return None;
        } else {
            let (ours, program) = args.split_at(at);
            return Some([ours, &["--".into()], program].concat());
        }
        at += 1;
    }
    None
}
