//! `chela skills add` and `search`: skills from elsewhere.

use chela_skills::{
    AddError, AddRequest, AddSource, AddedSkill, FetchError, FirstLook, SkillOrigin,
    SkillSignature, StagedSkills, TrustedPublishers,
};

use super::registry::SkillRegistries;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun, shorten};

/// What is to be fetched, as it was typed.
#[derive(Debug, Clone, Copy)]
pub struct FetchRequest<'a> {
    pub source: &'a str,
    pub only: Option<&'a str>,
    pub registry: Option<&'a str>,
}

pub async fn search(
    setup: &CommandSetup,
    screen: &mut Screen,
    words: &str,
    (registry, json): (Option<&str>, bool),
) -> CommandOutcome {
    const MOST: usize = 20;
    let registries = SkillRegistries::of(&setup.host, &setup.loaded, registry);
    let (rows, failed) = registries.search(words, MOST).await?;
    if json {
        screen.json(&rows)?;
        return Ok(CommandExit::Fine);
    }
    let paint = screen.paint;
    for error in &failed {
        crate::chat::print_warning(paint, &error.message);
    }
    let width = screen.width.saturating_sub(44).max(24);
    let table: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let name = match &row.owner {
                Some(owner) => format!("@{owner}/{}", row.name),
                None => row.name.clone(),
            };
            vec![
                paint.bold(name),
                paint.dim(row.version.as_deref().unwrap_or_default()),
                shorten(&row.summary, width),
            ]
        })
        .collect();
    screen.table("", &table)?;
    screen.line(match rows.len() {
        0 => "No registry has a skill for that.".to_owned(),
        _ => "Fetch one into quarantine: chela skills add NAME".to_owned(),
    })?;
    Ok(CommandExit::Fine)
}

/// Fetches what was named into a folder of ours, and nowhere else.
pub async fn stage(
    setup: &CommandSetup,
    request: FetchRequest<'_>,
) -> Result<(StagedSkills, Vec<String>), CommandError> {
    let git_host = &setup.loaded.config.skills.git_host;
    let source =
        AddSource::parse(request.source, git_host, &setup.host).map_err(CommandError::new)?;
    stage_source(setup, source, request).await
}

pub async fn stage_source(
    setup: &CommandSetup,
    source: AddSource,
    request: FetchRequest<'_>,
) -> Result<(StagedSkills, Vec<String>), CommandError> {
    let host = &setup.host;
    let (source, warnings) = at_hand(setup, source, request).await?;
    let state_dir = host.state_dir();
    let request = AddRequest {
        source: &source,
        only: request.only,
        state_dir: &state_dir,
        host,
        scanner: &FirstLook,
    };
    let staged = chela_skills::stage(&request).map_err(cannot_add)?;
    Ok((staged, warnings))
}

fn cannot_add(error: AddError) -> CommandError {
    const SOURCES: &str = "`chela skills add --help` lists what can be added";
    let hint = match &error {
        AddError::Nothing { .. } => Some("name the folder that has the SKILL.md"),
        AddError::Fetch(FetchError::NoArchive { .. }) => Some(SOURCES),
        AddError::Fetch(FetchError::Git { .. }) => {
            Some("check the name and the network; git uses its own credentials")
        }
        _ => None,
    };
    let error = CommandError::new(error);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// A source whose files are here or which git can fetch, and what a registry warns of.
async fn at_hand(
    setup: &CommandSetup,
    source: AddSource,
    request: FetchRequest<'_>,
) -> Result<(AddSource, Vec<String>), CommandError> {
    let registries = SkillRegistries::of(&setup.host, &setup.loaded, request.registry);
    match source {
        AddSource::Web { address } => {
            let bytes = registries.archive(&address).await?;
            let from = SkillOrigin::Web { address };
            Ok((AddSource::Fetched { bytes, from }, Vec::new()))
        }
        AddSource::Registry(name) => {
            let entry = registries.look_up(&name).await.map_err(|error| {
                let here = format!("for a file or folder of that name: chela skills add ./{name}");
                match error.hint {
                    Some(_) => error,
                    None => error.hint(here),
                }
            })?;
            let source = registries.fetch(&entry, &name).await?;
            Ok((source, entry.warning.into_iter().collect()))
        }
        other => Ok((other, Vec::new())),
    }
}

pub async fn add(
    setup: &CommandSetup,
    screen: &mut Screen,
    request: FetchRequest<'_>,
) -> CommandOutcome {
    let (staged, warnings) = stage(setup, request).await?;
    let needs: Vec<String> = staged
        .skills()
        .iter()
        .filter(|staged| !staged.skill.front.gating.install.is_empty())
        .map(|staged| staged.skill.name.clone())
        .collect();
    let host = &setup.host;
    let added = staged
        .quarantine(&host.state_dir(), host)
        .map_err(CommandError::new)?;
    for warning in warnings {
        crate::chat::print_warning(screen.paint, &warning);
    }
    let waiting = print_added(setup, screen, &added)?;
    for name in needs {
        screen.line(format!(
            "{name} says how to install what it needs: chela skills setup {name}"
        ))?;
    }
    let name = match waiting.as_slice() {
        [] => return Ok(CommandExit::Fine),
        [only] => only.as_str(),
        _ => "NAME",
    };
    screen.line(format!("Review it and decide: chela skills trust {name}"))?;
    Ok(CommandExit::Fine)
}

/// Says what was added, and gives the names of those that wait for the owner.
fn print_added(
    setup: &CommandSetup,
    screen: &mut Screen,
    added: &[AddedSkill],
) -> Result<Vec<String>, CommandError> {
    let publishers = TrustedPublishers::parse(&setup.loaded.config.skills.trust.publishers);
    let paint = screen.paint;
    let mut waiting = Vec::new();
    for skill in added {
        if let SkillSignature::Valid(key) = chela_skills::verify(&skill.folder)
            && let Some(publisher) = publishers.find(&key)
        {
            screen.line(format!(
                "{} {}: every file matches the signature of {}",
                paint.good("trusted"),
                paint.bold(&skill.name),
                publisher.label()
            ))?;
            continue;
        }
        waiting.push(skill.name.clone());
        screen.line(format!(
            "{} {} ({}) in {}",
            paint.warn("quarantined"),
            paint.bold(&skill.name),
            count_noun(skill.files, "file"),
            setup.host.compact(&skill.folder)
        ))?;
        for finding in &skill.report.findings {
            super::scan::print_finding(screen, "  ", finding)?;
        }
        for left in &skill.left_behind {
            screen.line(paint.dim(format!("  not copied: {left}")))?;
        }
    }
    Ok(waiting)
}
