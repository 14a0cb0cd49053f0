//! A registry with the HTTP API of ClawHub.

use chela_skills::{AddSource, GitSource, RegistryName, SkillOrigin};
use serde::Deserialize;

use super::{RegistryEntry, RegistryRow, SkillRegistries, in_query, shown};
use crate::fail::CommandError;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SearchAnswer {
    results: Vec<SearchResult>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SearchResult {
    slug: String,
    display_name: Option<String>,
    summary: Option<String>,
    version: Option<String>,
    owner_handle: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SkillAnswer {
    latest_version: Option<SkillVersion>,
    moderation: Option<SkillModeration>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SkillVersion {
    version: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SkillModeration {
    is_suspicious: bool,
    is_malware_blocked: bool,
    summary: Option<String>,
}

/// The answer of a registry that does not keep the files itself.
#[derive(Debug, Deserialize)]
struct SourceHandoff {
    repo: String,
    commit: String,
    #[serde(default)]
    path: String,
}

fn address(registry: &str, path: &str, query: &[(&str, Option<&str>)]) -> String {
    let given = query.iter().filter_map(|(key, value)| {
        let value = (*value)?;
        Some(format!("{key}={}", in_query(value)))
    });
    let query = given.collect::<Vec<_>>().join("&");
    let mark = if query.is_empty() { "" } else { "?" };
    format!(
        "{}/api/v1/{path}{mark}{query}",
        registry.trim_end_matches('/')
    )
}

pub(super) async fn search(
    registries: &SkillRegistries,
    registry: &str,
    words: &str,
    most: usize,
) -> Result<Vec<RegistryRow>, CommandError> {
    let limit = most.to_string();
    let address = address(
        registry,
        "search",
        &[("q", Some(words)), ("limit", Some(&limit))],
    );
    let answer: SearchAnswer = read(registries, &address).await?;
    let rows = answer.results.into_iter().map(|found| RegistryRow {
        summary: shown(&found.summary.or(found.display_name).unwrap_or_default()),
        name: shown(&found.slug),
        owner: found.owner_handle.map(|owner| shown(&owner)),
        version: found.version.map(|version| shown(&version)),
        registry: registry.to_owned(),
    });
    Ok(rows.take(most).collect())
}

pub(super) async fn look_up(
    registries: &SkillRegistries,
    registry: &str,
    name: &RegistryName,
) -> Result<RegistryEntry, CommandError> {
    let owner = name.owner.as_deref();
    let path = format!("skills/{}", in_query(&name.name));
    let address = address(registry, &path, &[("ownerHandle", owner)]);
    let answer: SkillAnswer = read(registries, &address).await?;
    let moderation = answer.moderation.unwrap_or_default();
    let summary = shown(&moderation.summary.unwrap_or_default());
    if moderation.is_malware_blocked {
        return Err(CommandError::new(format!(
            "{registry} blocks `{name}` as malware {summary}"
        )));
    }
    let latest = answer.latest_version.map(|latest| latest.version);
    let version = name
        .version
        .clone()
        .or(latest)
        .filter(|version| !version.is_empty());
    Ok(RegistryEntry {
        registry: registry.to_owned(),
        version: version
            .ok_or_else(|| CommandError::new(format!("{registry} has no version of `{name}`")))?,
        warning: moderation.is_suspicious.then(|| {
            format!("{registry} calls it suspicious {summary}")
                .trim()
                .to_owned()
        }),
    })
}

pub(super) async fn fetch(
    registries: &SkillRegistries,
    entry: &RegistryEntry,
    name: &RegistryName,
) -> Result<AddSource, CommandError> {
    let query = [
        ("slug", Some(name.name.as_str())),
        ("ownerHandle", name.owner.as_deref()),
        ("version", Some(entry.version.as_str())),
    ];
    let address = address(&entry.registry, "download", &query);
    let bytes = registries.archive(&address).await?;
    if let Ok(handoff) = serde_json::from_slice::<SourceHandoff>(&bytes) {
        return source_of(&handoff).ok_or_else(|| {
            CommandError::new(format!("{address} names a source that cannot be used"))
        });
    }
    Ok(AddSource::Fetched {
        bytes,
        from: SkillOrigin::Registry {
            registry: entry.registry.clone(),
            owner: name.owner.clone(),
            name: name.name.clone(),
            version: entry.version.clone(),
        },
    })
}

/// A repository on GitHub, at a commit.
fn source_of(handoff: &SourceHandoff) -> Option<AddSource> {
    let plain = |text: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        text.chars().all(allowed) && !text.starts_with('-') && !text.contains("..")
    };
    let is_repo = handoff.repo.split('/').count() == 2 && plain(&handoff.repo);
    let is_usable = is_repo && plain(&handoff.commit) && plain(&handoff.path);
    is_usable.then(|| {
        AddSource::Git(GitSource {
            url: format!("https://github.com/{}", handoff.repo),
            folder: (!handoff.path.is_empty()).then(|| handoff.path.clone()),
            reference: Some(handoff.commit.clone()),
        })
    })
}

async fn read<T: for<'a> Deserialize<'a>>(
    registries: &SkillRegistries,
    address: &str,
) -> Result<T, CommandError> {
    let answer = registries.answer(address).await?;
    serde_json::from_value(answer).map_err(|error| {
        CommandError::new(format!("{address} answered with something else: {error}"))
    })
}
