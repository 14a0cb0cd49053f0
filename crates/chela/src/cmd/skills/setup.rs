//! `chela skills setup`: installing what a skill needs, each step after a yes.

use std::process::{Command, Stdio};

use chela_config::is_secret_key;
use chela_core::secret::Redactor;
use chela_skills::{
    InstallPlan, InstallStep, InstallWishes, PathPrograms, SkillPlatform, TrustState,
    install_steps, missing_programs,
};

use super::InstalledSkills;
use super::trust::{asked, is_yes};
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

/// What was asked for.
#[derive(Debug, Clone, Copy)]
pub struct SetupRequest<'a> {
    pub name: &'a str,
    /// The id of one step.
    pub step: Option<&'a str>,
    pub yes: bool,
}

pub fn run(
    setup: &CommandSetup,
    installed: &InstalledSkills,
    screen: &mut Screen,
    request: SetupRequest<'_>,
) -> CommandOutcome {
    let found = installed.skill(request.name)?;
    let skill = found.skill();
    let mut programs = PathPrograms::new(&installed.host);
    let missing = missing_programs(skill, &mut programs);
    let install = &setup.loaded.config.skills.install;
    let wishes = InstallWishes {
        prefer_brew: install.prefer_brew,
        node_manager: install.node_manager.as_str(),
        platform: SkillPlatform::current(),
    };
    let steps = install_steps(skill, wishes, &mut programs);
    let paint = screen.paint;
    match missing.as_slice() {
        [] if request.step.is_none() => {
            screen.line(format!("{} has every program it needs.", skill.name))?;
            return Ok(CommandExit::Fine);
        }
        [] => {}
        missing => screen.line(format!("{} needs {}", skill.name, missing.join(", ")))?,
    }
    for step in &steps {
        let how = match &step.plan {
            InstallPlan::Run(argv) => argv.join(" "),
            InstallPlan::NoManager(manager) => paint.dim(format!("{manager} is not installed")),
            InstallPlan::ByHand(said) => {
                paint.warn(format!("run it yourself if you trust it: {said}"))
            }
        };
        screen.line(format!("  {}  {}  {how}", paint.bold(&step.id), step.label))?;
    }
    let chosen = choose(&steps, &missing, request)?;
    let Some((step, argv)) = chosen else {
        return Err(CommandError::new(format!(
            "{} names no step that can be run here",
            skill.name
        ))
        .hint(format!("install {} yourself", missing.join(", "))));
    };
    if found.entry.trust.state == TrustState::Quarantined {
        return Err(CommandError::new(format!(
            "{} is quarantined: nothing is installed for it",
            skill.name
        ))
        .hint(format!("chela skills trust {}", skill.name)));
    }
    let command = argv.join(" ");
    let agreed = request.yes
        || asked(
            screen,
            &format!("Run `{command}` on this machine, outside the sandbox? [y/N] "),
        )?
        .is_some_and(|answer| is_yes(&answer));
    if !agreed {
        return Err(CommandError::new("nothing was installed").hint(format!(
            "chela skills setup {} --step {} --yes",
            skill.name, step.id
        )));
    }
    screen.flush()?;
    run_step(installed, argv)?;
    programs = PathPrograms::new(&installed.host);
    let left = missing_programs(skill, &mut programs);
    screen.line(match left.as_slice() {
        [] => format!("{} has every program it needs.", skill.name),
        left => format!("Still missing: {}", left.join(", ")),
    })?;
    Ok(match left.is_empty() {
        true => CommandExit::Fine,
        false => CommandExit::Findings,
    })
}

/// The step that was named, else the first that can be run and brings what is missing.
fn choose<'s>(
    steps: &'s [InstallStep],
    missing: &[String],
    request: SetupRequest<'_>,
) -> Result<Option<(&'s InstallStep, &'s [String])>, CommandError> {
    let runs = |step: &'s InstallStep| match &step.plan {
        InstallPlan::Run(argv) => Some((step, argv.as_slice())),
        _ => None,
    };
    if let Some(id) = request.step {
        let named = steps.iter().find(|step| step.id == id);
        let named = named.ok_or_else(|| CommandError::new(format!("there is no step `{id}`")))?;
        return match runs(named) {
            Some(found) => Ok(Some(found)),
            None => Err(CommandError::new(format!("step `{id}` cannot be run here"))),
        };
    }
    let brings = |step: &InstallStep| {
        step.bins.is_empty() || step.bins.iter().any(|bin| missing.contains(bin))
    };
    Ok(steps.iter().filter(|step| brings(step)).find_map(runs))
}

/// Runs one command without the owner's keys in its environment.
fn run_step(installed: &InstalledSkills, argv: &[String]) -> Result<(), CommandError> {
    let secrets = Redactor::default();
    let is_plain = |(name, value): &(&String, &String)| {
        !is_secret_key(name) && secrets.find(value.as_bytes()).is_empty()
    };
    let (program, arguments) = argv
        .split_first()
        .ok_or_else(|| CommandError::new("there is nothing to run"))?;
    let status = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(installed.host.env.iter().filter(is_plain))
        .stdin(Stdio::null())
        .status()
        .map_err(|error| CommandError::new(format!("cannot run {program}: {error}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(CommandError::new(format!(
            "`{}` failed ({status})",
            argv.join(" ")
        ))),
    }
}
