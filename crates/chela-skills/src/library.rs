//! The skills of one agent, kept in step with the disk.

use std::path::{Path, PathBuf};

use chela_core::Host;
use chela_files::FileStamp;

use crate::agent_skills::AgentSkills;
use crate::bundled;
use crate::catalog::SkillCatalog;
use crate::eligibility::{GateContext, PathPrograms, SkillPlatform};
use crate::roots::{SkillPlaces, SkillRoot, roots};
use crate::scan::{RootScan, ScanRequest};
use crate::settings::{SkillNewcomers, SkillsSettings};
use crate::skill::Skill;
use crate::trust::{LockError, SkillLook, SkillScanner, TrustLock, TrustNotice, TrustPolicy};
use crate::uses::SkillUses;

/// Everything known about an agent's skills.
#[derive(Debug)]
pub struct SkillLibrary {
    host: Host,
    places: SkillPlaces,
    settings: SkillsSettings,
    roots: Vec<SkillRoot>,
    scan: RootScan,
    lock: TrustLock,
    lock_stamp: Option<FileStamp>,
    catalog: SkillCatalog,
    programs: PathPrograms,
    pub uses: SkillUses,
    /// Why the bundled skills could not be put on the disk, if they could not.
    pub bundled_problem: Option<String>,
}

/// What a second look showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshOutcome {
    Unchanged,
    Changed,
}

impl SkillLibrary {
    /// Finds the skills of an agent.
    pub fn open(host: &Host, places: SkillPlaces, settings: SkillsSettings) -> Self {
        let (bundled_dir, bundled_problem) = match bundled::materialise(&places.state_dir) {
            Ok(dir) => (dir, None),
            Err(error) => (bundled::dir(&places.state_dir), Some(error.to_string())),
        };
        let roots = roots(host, &places, &settings, &bundled_dir);
        let scan = RootScan::run(&request(host, &roots, &settings), None);
        let lock = TrustLock::open(&places.state_dir);
        let catalog = SkillCatalog::new(&scan, &lock, &policy(&settings));
        Self {
            lock_stamp: stamp_of(&lock.path()),
            programs: PathPrograms::new(host),
            uses: SkillUses::open(&places.state_dir),
            host: host.clone(),
            places,
            settings,
            roots,
            scan,
            lock,
            catalog,
            bundled_problem,
        }
    }

    /// Looks again. While nothing changed this asks the file system for stamps and reads nothing.
    pub fn refresh(&mut self) -> RefreshOutcome {
        self.programs.refresh();
        let lock_stamp = stamp_of(&self.lock.path());
        let same_lock = lock_stamp == self.lock_stamp;
        let same_files = self.scan.is_current();
        if same_lock && same_files {
            return RefreshOutcome::Unchanged;
        }
        if !same_lock {
            self.lock = TrustLock::open(&self.places.state_dir);
            self.lock_stamp = lock_stamp;
        }
        let mut found_other = !same_lock;
        if !same_files {
            let scan = RootScan::run(
                &request(&self.host, &self.roots, &self.settings),
                Some(&self.scan),
            );
            found_other |= scan.skills != self.scan.skills || scan.skipped != self.scan.skipped;
            self.scan = scan;
        }
        if !found_other {
            return RefreshOutcome::Unchanged;
        }
        self.catalog = SkillCatalog::new(&self.scan, &self.lock, &policy(&self.settings));
        RefreshOutcome::Changed
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Says who may have put there what is new, as things stand now.
    pub fn expect_newcomers(&mut self, newcomers: SkillNewcomers) {
        if self.settings.newcomers != newcomers {
            self.settings.newcomers = newcomers;
            self.catalog = SkillCatalog::new(&self.scan, &self.lock, &policy(&self.settings));
        }
    }

    pub fn catalog(&self) -> &SkillCatalog {
        &self.catalog
    }

    pub fn settings(&self) -> &SkillsSettings {
        &self.settings
    }

    pub fn places(&self) -> &SkillPlaces {
        &self.places
    }

    /// Folders to watch for changes.
    pub fn watched_folders(&self) -> Vec<PathBuf> {
        self.roots.iter().map(|root| root.dir.clone()).collect()
    }

    pub fn lock(&self) -> &TrustLock {
        &self.lock
    }

    /// Changes the lock, writes it and judges all skills anew.
    pub fn change_lock<T>(
        &mut self,
        change: impl FnOnce(&mut TrustLock) -> T,
    ) -> Result<T, LockError> {
        let mut lock = self.lock.clone();
        let outcome = change(&mut lock);
        lock.save()?;
        self.lock_stamp = stamp_of(&lock.path());
        self.lock = lock;
        self.catalog = SkillCatalog::new(&self.scan, &self.lock, &policy(&self.settings));
        Ok(outcome)
    }

    /// Looks into what is new, locks it, notes what changed and returns what the owner has not
    /// been told yet. Writes only when there is something to write; where that fails, what was
    /// found still counts for this library.
    pub fn settle(&mut self, scanner: &dyn SkillScanner) -> Result<Vec<TrustNotice>, LockError> {
        self.settle_those(&|_| true, Some(scanner))
    }

    /// The same without looking into anything: what a prompt has time for.
    pub fn note_newcomers(&mut self) -> Result<Vec<TrustNotice>, LockError> {
        self.settle_those(&|_| true, None)
    }

    /// Looks into some of the skills that nobody has looked into.
    pub fn look_into(
        &mut self,
        which: &dyn Fn(&Skill) -> bool,
        scanner: &dyn SkillScanner,
    ) -> Result<Vec<TrustNotice>, LockError> {
        self.settle_those(which, Some(scanner))
    }

    /// The skill that lies in a folder.
    pub fn skill_in(&self, folder: &Path) -> Option<Skill> {
        let mut skills = self.scan.skills.iter();
        let found = skills.find(|skill| skill.folder == folder)?;
        Some(Skill::clone(found))
    }

    /// The folders of the skills that may be used and that nobody has looked into.
    pub fn waiting_looks(&self) -> Vec<PathBuf> {
        let entries = self.catalog.entries().iter();
        entries
            .filter(|entry| entry.trust.look == SkillLook::Waiting)
            .map(|entry| entry.skill.folder.clone())
            .collect()
    }

    fn settle_those(
        &mut self,
        which: &dyn Fn(&Skill) -> bool,
        scanner: Option<&dyn SkillScanner>,
    ) -> Result<Vec<TrustNotice>, LockError> {
        let mut lock = self.lock.clone();
        let skills = self.scan.skills.iter().map(AsRef::as_ref);
        let skills = skills.filter(|skill| which(skill));
        let notices = lock.settle(skills, &policy(&self.settings), scanner, &self.host);
        if !notices.is_empty() || lock.differs_from(&self.lock) {
            for TrustNotice {
                skill,
                state,
                message,
            } in &notices
            {
                tracing::info!(
                    skill,
                    ?state,
                    message,
                    "the trust in a skill is checked again"
                );
            }
            let saved = lock.save();
            self.lock_stamp = stamp_of(&lock.path());
            self.lock = lock;
            self.catalog = SkillCatalog::new(&self.scan, &self.lock, &policy(&self.settings));
            saved?;
        }
        Ok(notices)
    }

    /// What the agent can use now; a session keeps it until its next reset.
    pub fn for_agent(&mut self, config: &dyn Fn(&str) -> bool) -> AgentSkills {
        self.for_agent_on(SkillPlatform::current(), config)
    }

    pub(crate) fn for_agent_on(
        &mut self,
        platform: SkillPlatform,
        config: &dyn Fn(&str) -> bool,
    ) -> AgentSkills {
        let gates = GateContext {
            host: &self.host,
            settings: &self.settings,
            platform,
            config,
        };
        AgentSkills::new(&self.catalog, &gates, &mut self.programs, &self.uses)
    }
}

fn policy(settings: &SkillsSettings) -> TrustPolicy<'_> {
    TrustPolicy {
        on_change: settings.on_change,
        publishers: &settings.publishers,
        workspace: &settings.workspace,
        newcomers: settings.newcomers,
    }
}

fn request<'a>(
    host: &'a Host,
    roots: &'a [SkillRoot],
    settings: &'a SkillsSettings,
) -> ScanRequest<'a> {
    ScanRequest {
        host,
        roots,
        limits: &settings.limits,
        allow_symlink_targets: &settings.load.allow_symlink_targets,
    }
}

fn stamp_of(path: &Path) -> Option<FileStamp> {
    path.metadata()
        .ok()
        .map(|metadata| FileStamp::of(&metadata))
}

#[cfg(test)]
mod tests;
