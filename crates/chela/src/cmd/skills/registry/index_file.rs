//! A registry that is one file: `{"skills": [{"name", "description", "version", "url", "sha256"}]}`.
//! The addresses in it are relative to its own.

use chela_core::ContentHash;
use chela_model::resolve_address;
use chela_skills::{AddSource, RegistryName, SkillOrigin};
use serde::Deserialize;

use super::{RegistryEntry, RegistryRow, SkillRegistries, shown};
use crate::fail::CommandError;

#[derive(Debug, Deserialize)]
struct IndexFile {
    skills: Vec<IndexEntry>,
}

#[derive(Debug, Clone, Deserialize)]
struct IndexEntry {
    name: String,
    #[serde(default)]
    description: String,
    version: String,
    url: String,
    #[serde(default)]
    owner: Option<String>,
    #[serde(default)]
    sha256: Option<String>,
}

/// Whether an address is that of a file and not of a service.
pub(super) fn is_index(address: &str) -> bool {
    address.ends_with(".json")
}

async fn read(
    registries: &SkillRegistries,
    address: &str,
) -> Result<Vec<IndexEntry>, CommandError> {
    let answer = registries.answer(address).await?;
    let index: IndexFile = serde_json::from_value(answer).map_err(|error| {
        CommandError::new(format!("{address} is not an index of skills: {error}"))
    })?;
    Ok(index.skills)
}

pub(super) async fn search(
    registries: &SkillRegistries,
    address: &str,
    words: &str,
    most: usize,
) -> Result<Vec<RegistryRow>, CommandError> {
    let words = words.to_lowercase();
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut found: Vec<(usize, IndexEntry)> = read(registries, address)
        .await?
        .into_iter()
        .map(|entry| {
            let text = format!("{} {}", entry.name, entry.description).to_lowercase();
            let fitting = words.iter().filter(|word| text.contains(**word)).count();
            (fitting, entry)
        })
        .filter(|(fitting, _)| *fitting > 0 || words.is_empty())
        .collect();
    found.sort_by(|(a, x), (b, y)| b.cmp(a).then_with(|| x.name.cmp(&y.name)));
    let rows = found.into_iter().take(most).map(|(_, entry)| RegistryRow {
        name: shown(&entry.name),
        owner: entry.owner.map(|owner| shown(&owner)),
        version: Some(shown(&entry.version)),
        summary: shown(&entry.description),
        registry: address.to_owned(),
    });
    Ok(rows.collect())
}

async fn entry_of(
    registries: &SkillRegistries,
    address: &str,
    name: &RegistryName,
) -> Result<IndexEntry, CommandError> {
    let is_it = |entry: &IndexEntry| {
        entry.name == name.name
            && (name.owner.is_none() || entry.owner == name.owner)
            && name
                .version
                .as_ref()
                .is_none_or(|version| *version == entry.version)
    };
    // The last one is the newest.
    let entries = read(registries, address).await?;
    let found = entries.into_iter().rfind(is_it);
    found.ok_or_else(|| CommandError::new(format!("{address} has no skill `{name}`")))
}

pub(super) async fn look_up(
    registries: &SkillRegistries,
    address: &str,
    name: &RegistryName,
) -> Result<RegistryEntry, CommandError> {
    let entry = entry_of(registries, address, name).await?;
    Ok(RegistryEntry {
        registry: address.to_owned(),
        version: shown(&entry.version),
        warning: None,
    })
}

pub(super) async fn fetch(
    registries: &SkillRegistries,
    known: &RegistryEntry,
    name: &RegistryName,
) -> Result<AddSource, CommandError> {
    let name = RegistryName {
        version: Some(known.version.clone()),
        ..name.clone()
    };
    let entry = entry_of(registries, &known.registry, &name).await?;
    let address = resolve_address(&known.registry, &entry.url).map_err(CommandError::new)?;
    let bytes = registries.archive(&address).await?;
    if let Some(expected) = &entry.sha256 {
        let expected = ContentHash::from_hex(expected);
        if expected != Some(ContentHash::of(&bytes)) {
            let fail = CommandError::new(format!(
                "{address} is refused: its hash does not match the index"
            ));
            return Err(fail.hint("nothing of it was used"));
        }
    }
    Ok(AddSource::Fetched {
        bytes,
        from: SkillOrigin::Registry {
            registry: known.registry.clone(),
            owner: name.owner.clone(),
            name: name.name.clone(),
            version: known.version.clone(),
        },
    })
}
