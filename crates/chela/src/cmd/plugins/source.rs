//! Where a plugin is fetched from, and the fetching of what lies on the web.

use base64::Engine as _;
use chela_plugins::{StagedPlugin, stage};
use chela_skills::{AddSource, SkillOrigin};
use sha2::{Digest as _, Sha512};

use crate::cmd::CommandSetup;
use crate::cmd::skills::registry::SkillRegistries;
use crate::fail::CommandError;

/// Where packages of npm are published.
const NPM: &str = "https://registry.npmjs.org";

/// Fetches what was named into a folder of ours, and nowhere else.
pub async fn fetch(setup: &CommandSetup, given: &str) -> Result<StagedPlugin, CommandError> {
    if let Some(name) = given.strip_prefix("npm:") {
        return finish(setup, fetch_npm(setup, name).await?);
    }
    let git_host = &setup.loaded.config.skills.git_host;
    let source = AddSource::parse(given, git_host, &setup.host).map_err(not_a_source)?;
    fetch_source(setup, source).await
}

/// Fetches a plugin again from where it came.
pub async fn fetch_again(
    setup: &CommandSetup,
    origin: &SkillOrigin,
) -> Result<StagedPlugin, CommandError> {
    match origin {
        SkillOrigin::Registry { name, .. } => finish(setup, fetch_npm(setup, name).await?),
        other => fetch_source(setup, AddSource::of_origin(other)).await,
    }
}

async fn fetch_source(
    setup: &CommandSetup,
    source: AddSource,
) -> Result<StagedPlugin, CommandError> {
    let source = match source {
        AddSource::Web { address } => {
            let registries = SkillRegistries::of(&setup.host, &setup.loaded, None);
            let bytes = registries.archive(&address).await?;
            let from = SkillOrigin::Web { address };
            AddSource::Fetched { bytes, from }
        }
        AddSource::Registry(name) => {
            return Err(CommandError::new(format!(
                "`{name}` is no folder, archive or repository here"
            ))
            .hint(format!(
                "for a package of npm: chela plugins add npm:{name}"
            )));
        }
        other => other,
    };
    finish(setup, source)
}

fn finish(setup: &CommandSetup, source: AddSource) -> Result<StagedPlugin, CommandError> {
    stage(&source, &setup.host).map_err(CommandError::new)
}

fn not_a_source(error: chela_skills::FetchError) -> CommandError {
    CommandError::new(error).hint(
        "a plugin is added from a folder, an archive (.tgz, .zip), a git URL, owner/repo or npm:NAME",
    )
}

/// A package of npm: its archive must be the one its registry names.
async fn fetch_npm(setup: &CommandSetup, given: &str) -> Result<AddSource, CommandError> {
    let (name, wanted) = match given.get(1..).and_then(|rest| rest.rsplit_once('@')) {
        Some((rest, version)) => (given.get(..rest.len() + 1).unwrap_or(given), Some(version)),
        None => (given, None),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '@' | '/' | '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(plain) || name.contains("..") {
        return Err(CommandError::usage(format!(
            "`{}` is not the name of a package of npm",
            crate::chat::clean_line(given)
        )));
    }
    let registries = SkillRegistries::of(&setup.host, &setup.loaded, None);
    let npm = setup.host.var("NPM_CONFIG_REGISTRY").unwrap_or(NPM);
    let address = format!("{}/{}", npm.trim_end_matches('/'), name.replace('/', "%2f"));
    let told = registries.answer(&address).await?;
    let newest = told["dist-tags"]["latest"].as_str();
    let version = wanted
        .or(newest)
        .ok_or_else(|| CommandError::new(format!("{address} names no version")))?;
    let dist = &told["versions"][version]["dist"];
    let tarball = dist["tarball"].as_str().ok_or_else(|| {
        CommandError::new(format!("npm has no version {version} of {name}"))
            .hint(format!("the newest is {}", newest.unwrap_or("unknown")))
    })?;
    let bytes = registries.archive(tarball).await?;
    let wanted_hash = dist["integrity"].as_str().and_then(|text| {
        text.split_whitespace()
            .find_map(|one| one.strip_prefix("sha512-"))
    });
    let hash = base64::engine::general_purpose::STANDARD.encode(Sha512::digest(&bytes));
    match wanted_hash {
        Some(wanted) if wanted == hash => {}
        Some(_) => {
            return Err(CommandError::new(format!(
                "{tarball} is not the archive that the registry names (its hash is another one); nothing was added"
            )));
        }
        None => {
            return Err(CommandError::new(format!(
                "the registry gives no hash for {name} {version}; nothing was added"
            )));
        }
    }
    let from = SkillOrigin::Registry {
        registry: npm.to_owned(),
        owner: None,
        name: name.to_owned(),
        version: version.to_owned(),
    };
    Ok(AddSource::Fetched { bytes, from })
}
