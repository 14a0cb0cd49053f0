//! `chela skills enable` and `disable`: for everybody, or for one agent.

use chela_config::KeyPath;
use chela_config::text::edit;
use chela_core::AgentId;
use serde_json::{Value, json};

use super::InstalledSkills;
use crate::cmd::config::{change, key_path};
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

/// Which way a skill is switched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillSwitch {
    On,
    Off,
}

pub fn run(
    setup: &CommandSetup,
    installed: &InstalledSkills,
    screen: &mut Screen,
    (name, agent): (&str, Option<&str>),
    switch: SkillSwitch,
) -> CommandOutcome {
    let skill = installed.skill(name)?.skill();
    let word = match switch {
        SkillSwitch::On => "on",
        SkillSwitch::Off => "off",
    };
    let Some(agent) = agent else {
        let path = key_path(&format!("skills.entries[\"{}\"].enabled", skill.key()))?;
        let value = Value::Bool(switch == SkillSwitch::On);
        change(&setup.host, |source| edit::set(source, &path, &value))?;
        screen.line(format!("{} is {word} for every agent.", skill.name))?;
        return Ok(CommandExit::Fine);
    };
    let agent = AgentId::normalize(agent);
    let path = list_of(setup, &agent)?;
    let now = installed.shelf.settings().allowed.clone();
    match switched(now, &skill.name, switch) {
        Some(list) => change(&setup.host, |source| edit::set(source, &path, &json!(list)))?,
        None => change(&setup.host, |source| {
            edit::unset(source, &path).map(|(text, _)| text)
        })?,
    };
    screen.line(format!("{} is {word} for agent {agent}.", skill.name))?;
    Ok(CommandExit::Fine)
}

/// The key under which the config has the skills of an agent.
fn list_of(setup: &CommandSetup, agent: &AgentId) -> Result<KeyPath, CommandError> {
    let list = &setup.loaded.config.agents.list;
    let at = list
        .iter()
        .position(|entry| AgentId::normalize(&entry.id) == *agent);
    match at {
        Some(at) => key_path(&format!("agents.list[{at}].skills")),
        None if *agent == AgentId::main() => key_path("agents.defaults.skills"),
        None => Err(CommandError::new(format!("there is no agent `{agent}`"))
            .hint("`chela agents list` shows them")),
    }
}

/// The list with a skill switched; `None` where everything is on again. `!name` leaves one out.
fn switched(now: Option<Vec<String>>, name: &str, switch: SkillSwitch) -> Option<Vec<String>> {
    let left_out = format!("!{name}");
    let mut list = now.clone().unwrap_or_default();
    list.retain(|word| word != name && *word != left_out);
    let names_some = list.iter().any(|word| !word.starts_with('!'));
    let is_closed = now.as_ref().is_some_and(|now| now.is_empty() || names_some)
        || now
            .as_ref()
            .is_some_and(|now| now.iter().any(|word| word == name));
    match (switch, is_closed) {
        (SkillSwitch::On, true) => list.push(name.to_owned()),
        (SkillSwitch::On, false) => {}
        (SkillSwitch::Off, true) => {}
        (SkillSwitch::Off, false) => list.push(left_out),
    }
    (is_closed || !list.is_empty()).then_some(list)
}

#[cfg(test)]
mod tests {
    use super::{SkillSwitch, switched};

    #[test]
    fn a_list_is_changed_as_little_as_possible() {
        let list = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
        let (on, off) = (SkillSwitch::On, SkillSwitch::Off);
        for (now, switch, then) in [
            (None, off, list(&["!pdf"])),
            (list(&["!pdf"]), on, None),
            (list(&["!pdf", "!mail"]), on, list(&["!mail"])),
            (list(&["mail"]), on, list(&["mail", "pdf"])),
            (list(&["mail", "pdf"]), off, list(&["mail"])),
            (list(&["pdf"]), off, list(&[])),
            (list(&[]), on, list(&["pdf"])),
            (list(&[]), off, list(&[])),
            (None, on, None),
        ] {
            assert_eq!(
                switched(now.clone(), "pdf", switch),
                then,
                "{now:?} {switch:?}"
            );
        }
    }
}
