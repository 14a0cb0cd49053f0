//! A plugin in words: what it is, what it runs, what it asks for and the worst it could do with it.

use chela_plugins::{GrantSet, PluginPackage};

use crate::chat::clean_line;
use crate::fail::CommandError;
use crate::screen::{Screen, count_noun};

/// What a package is and does.
pub fn print_package(
    screen: &mut Screen,
    package: &PluginPackage,
    servers: &[String],
) -> Result<(), CommandError> {
    let paint = screen.paint;
    let manifest = &package.manifest;
    let version = manifest.version.as_deref().unwrap_or("without a version");
    screen.line(format!(
        "{} {} ({}, {})",
        paint.bold(clean_line(&manifest.id)),
        clean_line(version),
        manifest.form.in_words(),
        count_noun(package.files.len(), "file")
    ))?;
    if let Some(author) = &manifest.author {
        screen.line(format!("  by {}, as it says", clean_line(author)))?;
    }
    if let Some(text) = &manifest.description {
        screen.line(format!("  {}", clean_line(text)))?;
    }
    for part in package.runs() {
        screen.line(format!(
            "  runs {}: {}",
            part.what,
            clean_line(&part.command)
        ))?;
    }
    let skills = package.skills();
    if !skills.is_empty() {
        screen.line(format!(
            "  brings {}: {}",
            count_noun(skills.len(), "skill"),
            clean_line(&skills.join(", "))
        ))?;
    }
    for server in servers {
        screen.line(format!("  brings an MCP server: {}", clean_line(server)))?;
    }
    for left in &manifest.left_out {
        screen.line(paint.dim(format!("  not used: {}", clean_line(left))))?;
    }
    if manifest.is_required {
        screen.line(
            "  says that it is required: while it does not work, nothing is sent or deleted",
        )?;
    }
    Ok(())
}

/// Grants with what they mean and the worst of it.
pub fn print_grants(screen: &mut Screen, grants: &GrantSet) -> Result<(), CommandError> {
    let paint = screen.paint;
    for grant in grants.iter() {
        screen.line(format!(
            "  {} - it may {}",
            paint.bold(clean_line(&grant.to_string())),
            clean_line(&grant.in_words())
        ))?;
        screen.line(paint.dim(format!("      worst: {}", clean_line(&grant.worst()))))?;
    }
    Ok(())
}
