//! Skills the agent does not have though someone put them there, and skills that changed.

use std::collections::BTreeMap;

use chela_core::{AgentId, Severity};
use chela_skills::{SkillPresence, SkillSource, TrustState};

use super::DoctorFinding;
use crate::cmd::CommandSetup;
use crate::screen::count_noun;

/// More than these of a kind are told in one finding.
const FEW: usize = 5;

pub fn check(setup: &CommandSetup) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    for id in setup.loaded.agents() {
        if let Some(view) = setup.loaded.agent(&id) {
            let (library, skills) =
                chela_agent::skills::scanned_skills(&setup.host, &setup.loaded, &view);
            let mut told = SkillRemarks::default();
            for skill in skills.skills() {
                told.add(skill);
            }
            for skipped in &library.catalog().skipped {
                let path = setup.host.compact(&skipped.path);
                let reason = skipped.reason.to_string();
                told.note(
                    SkillProblem::Skipped,
                    &skipped.name,
                    format!("{path}: {reason}"),
                );
            }
            findings.extend(told.findings(&id));
        }
    }
    findings
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SkillProblem {
    Changed,
    Quarantined,
    Hidden,
    Skipped,
}

/// What there is to say, by its kind: each with the name of the skill.
#[derive(Default)]
struct SkillRemarks(BTreeMap<SkillProblem, Vec<(String, String)>>);

impl SkillRemarks {
    fn note(&mut self, problem: SkillProblem, name: &str, message: String) {
        let of_kind = self.0.entry(problem).or_default();
        of_kind.push((name.to_owned(), message));
    }

    fn add(&mut self, skill: &chela_skills::AgentSkill) {
        let name = &skill.skill().name;
        let reason = &skill.entry.trust.reason;
        match skill.presence() {
            SkillPresence::Quarantined => self.note(
                SkillProblem::Quarantined,
                name,
                format!("skill `{name}` is quarantined: {reason}"),
            ),
            SkillPresence::Hidden if skill.skill().source != SkillSource::Bundled => {
                let why = skill.hidden.first().map(ToString::to_string);
                let why = why.unwrap_or_default();
                self.note(
                    SkillProblem::Hidden,
                    name,
                    format!("skill `{name}` is hidden: {why}"),
                );
            }
            _ if skill.entry.trust.state == TrustState::Changed => {
                self.note(
                    SkillProblem::Changed,
                    name,
                    format!("skill `{name}` {reason}"),
                );
            }
            _ => {}
        }
    }

    fn findings(self, id: &AgentId) -> Vec<DoctorFinding> {
        let mut findings = Vec::new();
        for (problem, remarks) in self.0 {
            let severity = match problem {
                SkillProblem::Changed => Severity::Warning,
                _ => Severity::Note,
            };
            let finding = |message: String| {
                DoctorFinding::new("skills", severity, format!("agent {id}: {message}"))
            };
            if remarks.len() > FEW {
                let names: Vec<&str> = remarks.iter().map(|(name, _)| name.as_str()).collect();
                let (first, rest) = names.split_at(FEW);
                let message = format!(
                    "{}: {} and {} more",
                    problem.of_many(remarks.len()),
                    first.join(", "),
                    rest.len()
                );
                findings.push(finding(message).hint(problem.hint_for("NAME", id)));
                continue;
            }
            for (name, message) in remarks {
                findings.push(finding(message).hint(problem.hint_for(&name, id)));
            }
        }
        findings
    }
}

impl SkillProblem {
    fn of_many(self, count: usize) -> String {
        let what = match self {
            Self::Changed => return format!("{} changed", count_noun(count, "skill")),
            Self::Quarantined => "quarantined",
            Self::Hidden => "hidden",
            Self::Skipped => return format!("{} skipped", count_noun(count, "skill folder")),
        };
        format!("{} are {what}", count_noun(count, "skill"))
    }

    fn hint_for(self, name: &str, id: &AgentId) -> String {
        match self {
            Self::Changed => format!("chela skills diff {name}, then chela skills trust {name}"),
            Self::Skipped => "chela skills list --all".to_owned(),
            Self::Quarantined | Self::Hidden => format!("chela skills why {name} --agent {id}"),
        }
    }
}
