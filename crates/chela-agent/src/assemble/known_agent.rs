//! What is looked up once for an agent: its settings, its workspace, whose files are trusted, its skills.

use std::borrow::Borrow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use chela_config::{AgentView, LoadedConfig};
use chela_core::secret::Redactor;
use chela_core::{AgentId, Host, lock, ok_or_debug, ok_or_warn};
use chela_prompt::SkillsListing;
use chela_skills::{
    AgentSkills, FirstLook, RefreshOutcome, Skill, SkillLibrary, TrustNotice, TrustState,
};
use chela_workspace::Workspace;
use chela_workspace::custody::Custody;

use super::PromptAssembler;
use super::prompt_request::AssembleError;
use crate::prompt_knobs::PromptKnobs;
use crate::skill_ranker::{DESCRIBED_PER_MESSAGE, SkillRanker};
use crate::skills::{library_of, usable_skills};
use crate::skills_search::SearchedSkills;
use crate::toolset::{PromptSize, SessionTools};
use crate::trust::custody_of;

/// What is looked up once for an agent and holds as long as the assembler does.
#[derive(Clone)]
pub(super) struct KnownAgent {
    pub view: Arc<AgentView>,
    pub knobs: Arc<PromptKnobs>,
    pub workspace: Option<Arc<Workspace>>,
    pub custody: Arc<Custody>,
    pub repo_root: Option<PathBuf>,
    pub library: Arc<Mutex<SkillLibrary>>,
    /// As they were when somebody last looked. What a session began with is frozen with it.
    pub skills: Arc<AgentSkills>,
    pub ranker: Arc<SkillRanker>,
    pub listings: Arc<Mutex<Vec<Listed>>>,
    pub tools: Arc<Mutex<Vec<Offered>>>,
}

/// Some of those that fit lack a tool they need.
const RANKED_PER_MESSAGE: usize = DESCRIBED_PER_MESSAGE * 2;

/// The listing of skills for a session that lacks some of the tools they need.
type Listed = (Vec<String>, Option<SkillsListing>);

/// The tools of a session.
type Offered = ((String, PromptSize), SessionTools);

/// The nearest folder, from `dir` upwards, that is a git repository.
fn repository_above(dir: &Path) -> Option<PathBuf> {
    dir.ancestors()
        .find(|folder| folder.join(".git").exists())
        .map(Path::to_path_buf)
}

impl<H: Borrow<Host>, L: Borrow<LoadedConfig>> PromptAssembler<H, L> {
    /// Looks at an agent's folders and skills anew the next time: a session begins.
    pub fn refresh(&self, agent: &AgentId) {
        lock(&self.known).retain(|(id, _)| id != agent);
    }

    /// The same for a session that begins beside others: what is as it was stays the very same, so
    /// that those keep the tools they were made with.
    pub fn look_again(&self, agent: &AgentId) -> Result<(), AssembleError> {
        let known = self.known(agent)?;
        let is_same = {
            let mut library = lock(&known.library);
            library.refresh() == RefreshOutcome::Unchanged
                && usable_skills(&mut library, self.loaded()).hides_the_same(&known.skills)
        };
        let root = |known: &KnownAgent| {
            let configured = known.knobs.repo_root.clone();
            configured.or_else(|| repository_above(&known.knobs.workspace))
        };
        let is_same = is_same && known.workspace.is_some() && root(&known) == known.repo_root;
        if !is_same {
            self.refresh(agent);
        }
        Ok(())
    }

    /// The skills of an agent, as its prompts list them.
    pub fn skills(&self, agent: &AgentId) -> Result<Arc<AgentSkills>, AssembleError> {
        Ok(self.known(agent)?.skills)
    }

    /// Looks whether skills came, changed or went since somebody last looked.
    pub fn look_at_skills(&self, agent: &AgentId) -> Result<(), AssembleError> {
        let mut known = self.known(agent)?;
        let mut library = lock(&known.library);
        if library.refresh() == RefreshOutcome::Unchanged {
            return Ok(());
        }
        let skills = usable_skills(&mut library, self.loaded());
        tracing::info!(%agent, skills = skills.listed().len(), "the skills are not what they were");
        drop(library);
        known.skills = Arc::new(skills);
        known.ranker = Arc::default();
        known.listings = Arc::default();
        let mut all = lock(&self.known);
        if let Some((_, kept)) = all.iter_mut().find(|(id, _)| id == agent) {
            *kept = known;
        }
        Ok(())
    }

    /// Scans skills that were not scanned yet, and gives the skills as they are then.
    pub fn look_into_skills(
        &self,
        agent: &AgentId,
        which: &dyn Fn(&Skill) -> bool,
    ) -> Result<Arc<AgentSkills>, AssembleError> {
        let known = self.known(agent)?;
        let mut library = lock(&known.library);
        ok_or_warn!(
            library.look_into(which, &FirstLook),
            "no note is kept of the skills that were scanned"
        );
        Ok(self.take_skills(agent, &mut library))
    }

    /// Scans a few of the skills that were not scanned yet; how many are left. What a prompt holds
    /// changes only when one of them is not to be used.
    pub fn scan_some_skills(&self, agent: &AgentId, most: usize) -> Result<usize, AssembleError> {
        let known = self.known(agent)?;
        let mut library = lock(&known.library);
        let mut waiting = library.waiting_looks();
        let left = waiting.len().saturating_sub(most);
        waiting.truncate(most);
        if waiting.is_empty() {
            return Ok(0);
        }
        let is_one = |skill: &Skill| waiting.contains(&skill.folder);
        let notices = library.look_into(&is_one, &FirstLook);
        let notices = ok_or_warn!(notices, "no note is kept of the skills that were scanned");
        let held = |notice: &TrustNotice| notice.state == TrustState::Quarantined;
        if left == 0 || notices.iter().flatten().any(held) {
            self.take_skills(agent, &mut library);
        }
        // Where nothing can be written down nothing is ever done.
        Ok(notices.map_or(0, |_| left))
    }

    fn take_skills(&self, agent: &AgentId, library: &mut SkillLibrary) -> Arc<AgentSkills> {
        let skills = Arc::new(usable_skills(library, self.loaded()));
        let mut all = lock(&self.known);
        if let Some((_, kept)) = all.iter_mut().find(|(id, _)| id == agent) {
            kept.skills = Arc::clone(&skills);
            kept.listings = Arc::default();
        }
        skills
    }

    /// The skills that fit a message, best first.
    pub fn fitting_skills(
        &self,
        agent: &AgentId,
        message: &str,
    ) -> Result<(Arc<AgentSkills>, Vec<String>), AssembleError> {
        let known = self.known(agent)?;
        let ranked = known
            .ranker
            .rank(&known.skills, message, RANKED_PER_MESSAGE);
        let names = ranked.into_iter().map(|skill| skill.name.clone()).collect();
        Ok((known.skills, names))
    }

    /// What `skills_search` searches.
    pub(crate) fn searched_skills(
        &self,
        agent: &AgentId,
        redactor: Arc<Redactor>,
    ) -> Result<SearchedSkills, AssembleError> {
        let known = self.known(agent)?;
        Ok(SearchedSkills {
            skills: known.skills,
            ranker: known.ranker,
            redactor,
        })
    }

    /// The files of an agent under watch.
    pub fn custody(&self, agent: &AgentId) -> Result<Arc<Custody>, AssembleError> {
        Ok(self.known(agent)?.custody)
    }

    pub fn knobs(&self, agent: &AgentId) -> Result<Arc<PromptKnobs>, AssembleError> {
        Ok(self.known(agent)?.knobs)
    }

    pub(super) fn known(&self, agent: &AgentId) -> Result<KnownAgent, AssembleError> {
        let mut all = lock(&self.known);
        if let Some((_, known)) = all.iter().find(|(id, _)| id == agent) {
            return Ok(known.clone());
        }
        let view = self
            .loaded()
            .agent(agent)
            .ok_or_else(|| self.no_agent(agent.as_str()))?;
        let knobs = PromptKnobs::of(self.loaded(), &view);
        // A workspace that is not there yet is no error: its files are reported as missing.
        let workspace = Workspace::open(self.host(), &knobs.workspace);
        let workspace = ok_or_debug!(workspace, "there is no workspace to read").map(Arc::new);
        let repo_root = knobs
            .repo_root
            .clone()
            .or_else(|| repository_above(&knobs.workspace));
        let mut library = library_of(self.host(), self.loaded(), &view);
        let skills = usable_skills(&mut library, self.loaded());
        let known = KnownAgent {
            custody: Arc::new(custody_of(self.host(), self.loaded(), &view)),
            view: Arc::new(view),
            knobs: Arc::new(knobs),
            workspace,
            repo_root,
            library: Arc::new(Mutex::new(library)),
            skills: Arc::new(skills),
            ranker: Arc::default(),
            listings: Arc::default(),
            tools: Arc::default(),
        };
        all.push((agent.clone(), known.clone()));
        Ok(known)
    }

    pub(super) fn no_agent(&self, agent: &str) -> AssembleError {
        let known = self
            .loaded()
            .agents()
            .iter()
            .map(|id| format!("`{id}`"))
            .collect();
        AssembleError::NoAgent {
            agent: agent.to_owned(),
            known,
        }
    }
}
