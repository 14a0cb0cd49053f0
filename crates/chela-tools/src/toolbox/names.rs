//! What a tool that comes from elsewhere may be called.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::{Tool, policy};

/// The longest name every endpoint takes.
const LONGEST: usize = 64;

/// Why a tool cannot be used under its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolNameError {
    #[error(
        "the tool `{name}` is skipped: another tool has this name; call it something else, such \
            as `mine__{name}`"
    )]
    Taken { name: String },
    #[error(
        "the tool `{name}` is skipped: Chela reserves this name; call it something else, such as \
            `mine__{name}`"
    )]
    Reserved { name: String },
    #[error(
        "the tool `{name}` is skipped: no model can call it; use 1 to {LONGEST} letters, digits, \
            `_` and `-`"
    )]
    Unusable { name: String },
}

/// Checks the names of tools that come from elsewhere, against each other and against ours.
pub fn check_own_names(tools: &[Arc<dyn Tool>]) -> Result<(), ToolNameError> {
    let mut names = BTreeSet::new();
    for tool in tools {
        let name = &*tool.spec().name;
        check_name(name)?;
        if !names.insert(name) {
            return Err(ToolNameError::Taken {
                name: name.to_owned(),
            });
        }
    }
    Ok(())
}

/// Whether a tool from elsewhere may have this name, whoever else is there.
pub fn check_own_name(name: &str) -> Result<(), ToolNameError> {
    check_name(name)
}

pub(super) fn check_name(name: &str) -> Result<(), ToolNameError> {
    let callable = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > LONGEST || !name.chars().all(callable) {
        return Err(ToolNameError::Unusable {
            name: chela_core::sanitize::literal(name)
                .chars()
                .take(LONGEST)
                .collect(),
        });
    }
    match policy::is_built_in(name) {
        true => Err(ToolNameError::Reserved {
            name: name.to_owned(),
        }),
        false => Ok(()),
    }
}
