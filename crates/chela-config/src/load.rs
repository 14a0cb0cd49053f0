//! From the file to a config that can be used.
//!
//! [`load`] never fails and never writes: what cannot be used is left out and named, a file that
//! cannot be read is replaced by the last one that could. [`validate`] is the strict side.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chela_core::Host;

use crate::check::{self, CheckFinding, check, prune};
use crate::diagnostic::{ConfigDiagnostic, Severity};
use crate::key_path::KeyPath;
use crate::migrate::{MovedKey, migrate, written_at};
use crate::model::Config;
use crate::node::{ConfigNode, NodeSpan};
use crate::shape::HasShape;
use crate::sources::{GatheredConfig, MainFile, gather, gather_text};
use crate::store::ConfigStore;

/// A config that can be used, and everything worth saying about it.
#[derive(Clone)]
pub struct LoadedConfig {
    pub config: Config,
    /// The same as a tree: in the present shape, without what cannot be used. Values keep the
    /// place they were written at.
    pub tree: Arc<ConfigNode>,
    pub source: ConfigSource,
    /// In the order of the file. Nothing here stopped the start.
    pub diagnostics: Vec<ConfigDiagnostic>,
    /// What was read from another place than it belongs.
    pub moves: Arc<[MovedKey]>,
    pub(crate) gathered: Arc<GatheredConfig>,
    pub(crate) host: Host,
}

impl std::fmt::Debug for LoadedConfig {
    /// Leaves the values out: they hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded")
            .field("source", &self.source)
            .field("diagnostics", &self.diagnostics)
            .finish_non_exhaustive()
    }
}

/// Which config is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigSource {
    /// The config file.
    File,
    /// The file is broken; the last good one, found good at this time (seconds since 1970).
    LastGood { saved_at: u64 },
    /// Nothing but defaults.
    Defaults(DefaultsReason),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultsReason {
    /// There is no config file.
    Missing,
    /// The file cannot be used and no earlier one was kept.
    Unusable,
}

/// Loads the config of this machine. Reads only.
pub fn load(host: &Host) -> LoadedConfig {
    let gathered = gather(host);
    match gathered.main {
        MainFile::Read => usable(host, gathered, ConfigSource::File, Vec::new()),
        MainFile::Missing => usable(
            host,
            gathered,
            ConfigSource::Defaults(DefaultsReason::Missing),
            Vec::new(),
        ),
        MainFile::Unusable => fall_back(host, gathered),
    }
}

/// The same for a text in place of the config file.
pub fn load_text(host: &Host, source: &str) -> LoadedConfig {
    let gathered = gather_text(host, source);
    let from = match gathered.main {
        MainFile::Read => ConfigSource::File,
        MainFile::Missing => ConfigSource::Defaults(DefaultsReason::Missing),
        MainFile::Unusable => ConfigSource::Defaults(DefaultsReason::Unusable),
    };
    usable(host, gathered, from, Vec::new())
}

/// Whether there is nothing to keep: it is no file, or the one that is kept already.
pub fn is_remembered(loaded: &LoadedConfig) -> bool {
    loaded.source != ConfigSource::File || ConfigStore::new(&loaded.host).is_kept(&loaded.gathered)
}

/// Keeps a config that was loaded from the file as the last good one. Says so if that fails. One
/// with errors never takes the place of one without.
pub fn remember(loaded: &LoadedConfig) -> Option<ConfigDiagnostic> {
    if loaded.source != ConfigSource::File {
        return None;
    }
    let store = ConfigStore::new(&loaded.host);
    let is_told = |found: &ConfigDiagnostic| found.severity >= Severity::Warning;
    if loaded.diagnostics.iter().any(is_told)
        && has_errors(&loaded.gathered)
        && let Some(kept) = store.last_good()
        && !has_errors(&kept.gather(&loaded.host))
    {
        tracing::debug!("the config has errors, so the last good one stays");
        return None;
    }
    store.remember_good(&loaded.gathered)
}

fn has_errors(gathered: &GatheredConfig) -> bool {
    let mut found = strict(gathered).into_iter();
    found.any(|found| found.severity == Severity::Error)
}

/// Everything wrong with the config file, strictly. Empty or only notes and warnings: valid.
pub fn validate(host: &Host) -> Vec<ConfigDiagnostic> {
    strict(&gather(host))
}

/// Everything that would be wrong if the config file held this text.
pub fn validate_source(host: &Host, source: &str) -> Vec<ConfigDiagnostic> {
    strict(&gather_text(host, source))
}

fn strict(gathered: &GatheredConfig) -> Vec<ConfigDiagnostic> {
    let mut tree = gathered.root.clone();
    let migrated = migrate(&mut tree);
    check::fill_in(Config::SHAPE, &mut tree);
    let mut found = check(&tree).findings;
    found.extend(check::not_in_use(Config::SHAPE, &tree));
    let mut diagnostics = gathered.diagnostics.clone();
    let findings = migrated
        .findings
        .into_iter()
        .chain(written(found, &migrated.moves));
    diagnostics.extend(placed(gathered, findings, CheckFinding::strict));
    in_file_order(&mut diagnostics);
    diagnostics
}

/// The file is broken: the last good one has to do.
fn fall_back(host: &Host, broken: GatheredConfig) -> LoadedConfig {
    let mut diagnostics = broken.diagnostics.clone();
    for found in &diagnostics {
        tracing::warn!(problem = %found, "the config file cannot be used");
    }
    let file = host.compact(&host.config_file());
    let mut tell = |code, message| {
        let hint = "fix the file, or run `chela doctor`";
        diagnostics.push(ConfigDiagnostic::whole(
            Severity::Error,
            code,
            message,
            hint,
        ));
    };
    match ConfigStore::new(host).last_good() {
        Some(last) => {
            let message = format!("{file} cannot be used, so the last good config is in use");
            tell("last-good-used", message);
            let saved_at = last.saved_at;
            let source = ConfigSource::LastGood { saved_at };
            usable(host, last.gather(host), source, diagnostics)
        }
        None => {
            let message = format!(
                "{file} cannot be used and no earlier config was kept, so defaults are in use"
            );
            tell("defaults-used", message);
            let mut empty = broken;
            empty.diagnostics.clear();
            let source = ConfigSource::Defaults(DefaultsReason::Unusable);
            usable(host, empty, source, diagnostics)
        }
    }
}

/// Migrates, checks, leaves out what cannot be used, and reads the rest.
fn usable(
    host: &Host,
    gathered: GatheredConfig,
    source: ConfigSource,
    mut diagnostics: Vec<ConfigDiagnostic>,
) -> LoadedConfig {
    diagnostics.extend(gathered.diagnostics.iter().cloned());
    let mut tree = gathered.root.clone();
    let migrated = migrate(&mut tree);
    check::fill_in(Config::SHAPE, &mut tree);
    let checked = check(&tree);
    prune(&mut tree, &checked.drops);
    let findings = migrated
        .findings
        .into_iter()
        .chain(written(checked.findings, &migrated.moves));
    diagnostics.extend(placed(&gathered, findings, CheckFinding::tolerated));
    let config = tree.read().unwrap_or_else(|error| {
        // Whatever the check lets through can be read; if that ever fails, say so and go on.
        let message = format!("the config could not be read ({error}); defaults are in use");
        let hint = "this is a bug in Chela; please report it";
        let found = ConfigDiagnostic::whole(Severity::Error, "unreadable", message, hint);
        diagnostics.push(found);
        Config::default()
    });
    in_file_order(&mut diagnostics);
    LoadedConfig {
        config,
        tree: Arc::new(tree),
        source,
        diagnostics,
        moves: migrated.moves.into(),
        gathered: Arc::new(gathered),
        host: host.clone(),
    }
}

/// Findings name the keys as the user wrote them.
fn written(findings: Vec<CheckFinding>, moves: &[MovedKey]) -> Vec<CheckFinding> {
    findings
        .into_iter()
        .map(|mut finding| {
            if let Some((path, _)) = crate::migrate::written_at(moves, &finding.path) {
                finding.path = path;
            }
            finding
        })
        .collect()
}

fn placed(
    gathered: &GatheredConfig,
    findings: impl Iterator<Item = CheckFinding>,
    tell: fn(CheckFinding, Option<crate::diagnostic::SourcePlace>) -> ConfigDiagnostic,
) -> Vec<ConfigDiagnostic> {
    findings
        .map(|finding| {
            let place = gathered.place(finding.at);
            tell(finding, place)
        })
        .collect()
}

/// By file and line; what concerns no line comes first.
fn in_file_order(diagnostics: &mut [ConfigDiagnostic]) {
    fn place(diagnostic: &ConfigDiagnostic) -> Option<(&Path, u32, u32)> {
        let place = diagnostic.place.as_ref()?;
        Some((&place.file, place.line, place.column))
    }
    diagnostics.sort_by(|a, b| place(a).cmp(&place(b)));
}

impl LoadedConfig {
    /// The files the config was read from; the config file first.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.gathered.files.iter().map(|file| file.path.as_path())
    }

    /// The config file, whether it exists or not.
    pub fn file(&self) -> PathBuf {
        self.host.config_file()
    }

    /// How many problems the last good config has itself, where it stands in for the file.
    pub fn problems_of_last_good(&self) -> usize {
        let ConfigSource::LastGood { .. } = self.source else {
            return 0;
        };
        let kept = ConfigStore::new(&self.host).last_good_path();
        let is_own = |found: &&ConfigDiagnostic| {
            let place = found.place.as_ref();
            found.severity >= Severity::Warning && place.is_some_and(|place| place.file == kept)
        };
        self.diagnostics.iter().filter(is_own).count()
    }

    /// The machine this was loaded on.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The environment with what `.env` of the state folder adds to it, and nothing of the current
    /// folder's.
    pub fn env(&self) -> &chela_core::HostEnv {
        &self.gathered.env
    }

    /// The value at a path, as set in the file.
    pub fn get(&self, path: &KeyPath) -> Option<&ConfigNode> {
        self.tree.at_path(path)
    }

    /// The config as written, in its own shape.
    pub fn written(&self) -> &GatheredConfig {
        &self.gathered
    }

    /// Parts of the config that are set and that nothing runs, as they stand in the file.
    pub fn idle_parts(&self) -> Vec<KeyPath> {
        check::idle_parts(Config::SHAPE, &self.tree)
            .into_iter()
            .map(|part| written_at(&self.moves, &part).map_or(part, |(written, _)| written))
            .collect()
    }

    /// Where something was written.
    pub fn place(&self, at: NodeSpan) -> Option<crate::diagnostic::SourcePlace> {
        self.gathered.place(at)
    }
}

#[cfg(test)]
mod tests;
