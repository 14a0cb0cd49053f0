//! What a plugin may do: asked for by its author, granted by the owner, one by one.

use std::fmt;

use chela_config::model::McpEffect;

use crate::hook_name::HookName;

/// The most text one place of the prompt may be granted, in tokens.
const MOST_TOKENS: usize = 8_000;

/// One thing a plugin may do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PluginGrant {
    Hook(HookName),
    Prompt {
        place: PromptPlace,
        tokens: usize,
    },
    /// `prompt`, or the name of a context file: put other text in its place.
    Replace(String),
    /// `provider` or `provider/model` a turn may be sent to.
    Model(String),
    Host(String),
    Read(String),
    Write(String),
    Env(String),
    /// A tool of one of its servers, and what it does.
    Tool {
        name: String,
        effect: String,
    },
    Conversation,
    Vouched,
}

/// Where text of a plugin may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PromptPlace {
    /// With the newest message, anew each time.
    Tail,
    /// In what a session begins with.
    System,
}

impl PromptPlace {
    fn as_str(self) -> &'static str {
        match self {
            Self::Tail => "tail",
            Self::System => "system",
        }
    }
}

/// Why a text is no grant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no grant: {why}")]
pub struct GrantError {
    pub given: String,
    pub why: String,
}

impl PluginGrant {
    /// Reads a grant as it is written: `hook:before_tool_call`, `prompt:tail=500`, `host:example.org`.
    pub fn parse(given: &str) -> Result<Self, GrantError> {
        let wrong = |why: &str| GrantError {
            given: chela_core::sanitize::literal(given).into_owned(),
            why: why.to_owned(),
        };
        match given.trim() {
            "conversation" => return Ok(Self::Conversation),
            "vouched" => return Ok(Self::Vouched),
            _ => {}
        }
        let (kind, rest) = given.trim().split_once(':').ok_or_else(|| wrong(KINDS))?;
        let rest = rest.trim();
        if rest.is_empty() || rest.len() > 1_000 || rest.chars().any(char::is_control) {
            return Err(wrong("there is nothing usable behind the colon"));
        }
        match kind {
            "hook" => {
                let hook = HookName::parse(rest);
                hook.map(Self::Hook).ok_or_else(|| {
                    wrong("there is no hook of this name; `chela plugins hooks` lists them")
                })
            }
            "prompt" => {
                let (place, tokens) = rest.split_once('=').unwrap_or((rest, "500"));
                let place = match place {
                    "tail" => PromptPlace::Tail,
                    "system" => PromptPlace::System,
                    _ => return Err(wrong("the place is `tail` or `system`: prompt:tail=500")),
                };
                let tokens: usize = tokens
                    .parse()
                    .map_err(|_| wrong("the budget is a number of tokens: prompt:tail=500"))?;
                match (1..=MOST_TOKENS).contains(&tokens) {
                    true => Ok(Self::Prompt { place, tokens }),
                    false => Err(wrong(&format!("the budget is 1 to {MOST_TOKENS} tokens"))),
                }
            }
            "replace" => {
                let is_file = rest.ends_with(".md") && !rest.contains(['/', '\\']);
                match rest == "prompt" || is_file {
                    true => Ok(Self::Replace(rest.to_owned())),
                    false => Err(wrong(
                        "it is `replace:prompt` or a file, as in replace:SOUL.md",
                    )),
                }
            }
            "model" => Ok(Self::Model(rest.to_owned())),
            "host" => Ok(Self::Host(rest.to_owned())),
            "read" => Ok(Self::Read(rest.to_owned())),
            "write" => Ok(Self::Write(rest.to_owned())),
            "env" => {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
                match rest.chars().all(plain) {
                    true => Ok(Self::Env(rest.to_owned())),
                    false => Err(wrong("it is the name of a variable")),
                }
            }
            "tool" => {
                let (name, effect) = rest.rsplit_once('=').unwrap_or((rest, "irreversible"));
                match McpEffect::from_word(effect) {
                    Some(_) => Ok(Self::Tool {
                        name: name.to_owned(),
                        effect: effect.to_owned(),
                    }),
                    None => Err(wrong(
                        "effects are irreversible, read, egress, write_reversible and write_outward",
                    )),
                }
            }
            _ => Err(wrong(KINDS)),
        }
    }

    /// What it means, as the end of "may …".
    pub fn in_words(&self) -> String {
        match self {
            Self::Hook(hook) => hook.does().to_owned(),
            Self::Prompt { place, tokens } => match place {
                PromptPlace::Tail => format!("add up to {tokens} tokens to each of your messages"),
                PromptPlace::System => {
                    format!("add up to {tokens} tokens to the system prompt of each session")
                }
            },
            Self::Replace(what) if what == "prompt" => {
                "replace the system prompt, but for safety, sandbox and authorized senders"
                    .to_owned()
            }
            Self::Replace(file) => format!("replace your {file}"),
            Self::Model(model) => format!("have turns answered by {model}"),
            Self::Host(host) => format!("reach {host} over the network"),
            Self::Read(path) => format!("read {path}"),
            Self::Write(path) => format!("read and change {path}"),
            Self::Env(name) => format!("know the value of your variable {name}"),
            Self::Tool { name, effect } => {
                format!("offer the tool {name}, which counts as {effect}")
            }
            Self::Conversation => {
                "see your messages, the agent's answers and results of tools".to_owned()
            }
            Self::Vouched => {
                "have its words count as an installed plugin's and not as a stranger's".to_owned()
            }
        }
    }

    /// The worst a plugin can do with it.
    pub fn worst(&self) -> String {
        match self {
            Self::Hook(hook) => hook.worst().to_owned(),
            Self::Prompt { .. } => "tell the agent to do something you did not ask for".to_owned(),
            Self::Replace(what) if what == "prompt" => "make another agent of yours".to_owned(),
            Self::Replace(_) => "make the agent be and want something else".to_owned(),
            Self::Model(_) => {
                "send all you say there, and let it answer in place of your model".to_owned()
            }
            Self::Host(host) => format!("send what it knows to {host}"),
            Self::Read(_) => "know all that is in there".to_owned(),
            Self::Write(_) => "delete or falsify all that is in there".to_owned(),
            Self::Env(_) => "use it elsewhere, if it reaches a host".to_owned(),
            Self::Tool { .. } => "do something else than it says".to_owned(),
            Self::Conversation => "keep it, and pass it on to the hosts it reaches".to_owned(),
            Self::Vouched => "give orders that the guard does not take for a stranger's".to_owned(),
        }
    }
}

const KINDS: &str = "it starts with hook:, prompt:, replace:, model:, host:, read:, write:, env: or tool:, or is `conversation` or `vouched`";

impl fmt::Display for PluginGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hook(hook) => write!(f, "hook:{hook}"),
            Self::Prompt { place, tokens } => write!(f, "prompt:{}={tokens}", place.as_str()),
            Self::Replace(what) => write!(f, "replace:{what}"),
            Self::Model(model) => write!(f, "model:{model}"),
            Self::Host(host) => write!(f, "host:{host}"),
            Self::Read(path) => write!(f, "read:{path}"),
            Self::Write(path) => write!(f, "write:{path}"),
            Self::Env(name) => write!(f, "env:{name}"),
            Self::Tool { name, effect } => write!(f, "tool:{name}={effect}"),
            Self::Conversation => f.write_str("conversation"),
            Self::Vouched => f.write_str("vouched"),
        }
    }
}

/// What was granted to one plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantSet(Vec<PluginGrant>);

impl GrantSet {
    /// Those that can be read, and what is wrong with others.
    pub fn parse(given: &[String]) -> (Self, Vec<GrantError>) {
        let (mut grants, mut wrong) = (Vec::new(), Vec::new());
        for one in given {
            match PluginGrant::parse(one) {
                Ok(grant) => grants.push(grant),
                Err(error) => wrong.push(error),
            }
        }
        grants.sort();
        grants.dedup();
        (Self(grants), wrong)
    }

    pub fn of(grants: impl IntoIterator<Item = PluginGrant>) -> Self {
        let mut grants: Vec<_> = grants.into_iter().collect();
        grants.sort();
        grants.dedup();
        Self(grants)
    }

    pub fn iter(&self) -> impl Iterator<Item = &PluginGrant> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has(&self, grant: &PluginGrant) -> bool {
        self.0.contains(grant)
    }

    /// Those of another set that are not in this one.
    pub fn missing(&self, asked: &Self) -> Self {
        Self::of(asked.0.iter().filter(|one| !self.has(one)).cloned())
    }

    pub fn hook(&self, hook: HookName) -> bool {
        self.has(&PluginGrant::Hook(hook))
    }

    /// How many tokens it may say at a place.
    pub fn budget(&self, wanted: PromptPlace) -> usize {
        let budgets = self.0.iter().filter_map(|grant| match grant {
            PluginGrant::Prompt { place, tokens } if *place == wanted => Some(*tokens),
            _ => None,
        });
        budgets.max().unwrap_or(0)
    }

    pub fn may_replace(&self, what: &str) -> bool {
        self.has(&PluginGrant::Replace(what.to_owned()))
    }

    /// Whether a turn may be sent to this model.
    pub fn may_redirect(&self, provider: &str, model: &str) -> bool {
        self.0.iter().any(|grant| match grant {
            PluginGrant::Model(allowed) => match allowed.split_once('/') {
                Some((of, name)) => of == provider && name == model,
                None => allowed == provider,
            },
            _ => false,
        })
    }

    pub fn sees_conversation(&self) -> bool {
        self.has(&PluginGrant::Conversation)
    }

    pub fn is_vouched(&self) -> bool {
        self.has(&PluginGrant::Vouched)
    }
}

#[cfg(test)]
mod tests {
    use super::{GrantSet, PluginGrant, PromptPlace};
    use crate::HookName;

    #[test]
    fn grants_are_read_as_they_are_written() {
        for written in [
            "hook:before_tool_call",
            "hook:agent:bootstrap",
            "prompt:tail=500",
            "prompt:system=20",
            "replace:prompt",
            "replace:SOUL.md",
            "model:openai/gpt-5",
            "host:api.example.org:8443",
            "read:~/notes",
            "write:/srv/x",
            "env:TOKEN",
            "tool:search_*=read",
            "conversation",
            "vouched",
        ] {
            let grant = PluginGrant::parse(written).unwrap();
            assert_eq!(grant.to_string(), written);
            assert!(!grant.in_words().is_empty() && !grant.worst().is_empty());
        }
        for wrong in [
            "",
            "all",
            "hook:",
            "hook:everything",
            "prompt:tail=0",
            "prompt:tail=999999",
            "prompt:top",
            "replace:../x.md",
            "replace:chela.json",
            "env:A B",
            "tool:x=harmless",
        ] {
            assert!(PluginGrant::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn nothing_is_granted_that_was_not_named() {
        let (grants, wrong) = GrantSet::parse(&[
            "model:kit".to_owned(),
            "model:far/big".to_owned(),
            "prompt:tail=40".to_owned(),
            "nonsense".to_owned(),
        ]);
        assert_eq!(wrong.len(), 1);
        assert!(grants.may_redirect("kit", "any") && grants.may_redirect("far", "big"));
        assert!(!grants.may_redirect("far", "small") && !grants.may_redirect("kitchen", "any"));
        assert_eq!(grants.budget(PromptPlace::Tail), 40);
        assert_eq!(grants.budget(PromptPlace::System), 0);
        assert!(!grants.hook(HookName::BeforeToolCall) && !grants.sees_conversation());
        let empty = GrantSet::default();
        assert_eq!(empty.missing(&grants).iter().count(), 3);
        assert!(grants.missing(&grants).is_empty());
    }
}
