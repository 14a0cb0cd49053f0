//! Reading a prompt's input from one JSON document, so that a prompt can be rendered, embedded
//! and reported about with no config, disk or clock involved.

mod reader;

use chela_core::{Origin, Trust};

use crate::out::one_line;
use crate::{
    AcpDelegation, CitationMode, CleanText, ContextFile, ElevatedExec, ElevatedLevel,
    ElevatedPermission, FamilyContribution, FullAccess, FullAccessBlock, HostBrowser, MemoryRecall,
    OwnerDisplay, OwnerList, PromptInput, PromptMode, PromptTool, ReactionLevel, ReactionSettings,
    ReasoningLevel, ReplyFormat, RuntimeFacts, SandboxFacts, SilentReplies, SkillsListing,
    SourcedValue, WorkDelegation, WorkspaceAccess,
};
use reader::ObjectReader;

/// Why a facts document was refused. `path` is where in the document, as in `sandboxInfo.enabled`.
#[derive(Debug, thiserror::Error)]
pub enum FactsError {
    #[error("the facts are not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    #[error("{path}: expected {expected}, found {found}")]
    WrongType {
        path: String,
        expected: &'static str,
        found: &'static str,
    },
    #[error("unknown key `{path}`{}", did_you_mean(.nearest))]
    UnknownKey {
        path: String,
        nearest: Option<&'static str>,
    },
    #[error("{path}: `{given}` is not one of {}{}", .allowed.join(", "), did_you_mean(.nearest))]
    UnknownValue {
        path: String,
        given: String,
        allowed: Vec<&'static str>,
        nearest: Option<&'static str>,
    },
    #[error("`{path}` is missing: {hint}")]
    Missing { path: String, hint: &'static str },
    #[error(
        "{path}: section `{section}` cannot be overridden; only interaction_style, \
         tool_call_style and execution_bias can{}",
        did_you_mean(.nearest)
    )]
    Override {
        path: String,
        section: String,
        nearest: Option<&'static str>,
    },
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest
        .map(|nearest| format!("; did you mean `{nearest}`?"))
        .unwrap_or_default()
}

impl PromptInput {
    /// Reads the facts of one prompt. Every key but `workspaceDir` may be absent; a value that is
    /// blank counts as absent; an unknown key is an error.
    pub fn from_facts(json: &str) -> Result<Self, FactsError> {
        let document = serde_json::from_str(json)?;
        let mut facts = ObjectReader::root(document)?;
        let workspace_dir = facts.text("workspaceDir")?.ok_or(FactsError::Missing {
            path: "workspaceDir".to_owned(),
            hint: "give the folder the agent works in",
        })?;
        let mut input = Self::new(workspace_dir);
        read_identity(&mut facts, &mut input)?;
        read_context(&mut facts, &mut input)?;
        read_conversation(&mut facts, &mut input)?;
        if let Some(mut sandbox) = facts.object("sandboxInfo")? {
            input.sandbox = read_sandbox(&mut sandbox)?;
            sandbox.finish()?;
        }
        if let Some(mut contribution) = facts.object("promptContribution")? {
            input.contribution = Some(read_contribution(&mut contribution)?);
            contribution.finish()?;
        }
        if let Some(mut runtime) = facts.object("runtimeInfo")? {
            input.runtime = read_runtime(&mut runtime)?;
            runtime.finish()?;
        }
        facts.finish()?;
        Ok(input)
    }
}

/// Mode, tools, owners and models.
fn read_identity(facts: &mut ObjectReader, input: &mut PromptInput) -> Result<(), FactsError> {
    let modes = PromptMode::ALL.map(|mode| (mode.as_str(), mode));
    input.mode = facts.one_of("promptMode", &modes)?.unwrap_or(input.mode);
    input.tools = read_tools(facts)?;
    input.native_commands = sourced_lines(facts, "nativeCommandGuidanceLines")?;
    if facts.flag("acpEnabled")? == Some(true) {
        input.acp = AcpDelegation::On;
    }
    let delegation = [
        ("suggest", WorkDelegation::Suggest),
        ("prefer", WorkDelegation::Prefer),
    ];
    input.delegation = facts
        .one_of("delegationMode", &delegation)?
        .unwrap_or(input.delegation);
    input.owners = read_owners(facts)?;
    input.model_aliases = sourced_lines(facts, "modelAliasLines")?;
    let levels = [
        ReasoningLevel::Off,
        ReasoningLevel::On,
        ReasoningLevel::Stream,
    ];
    let levels = levels.map(|level| (level.as_str(), level));
    input.reasoning = facts
        .one_of("reasoningLevel", &levels)?
        .unwrap_or(input.reasoning);
    input.thinking = facts.text("defaultThinkLevel")?;
    if facts.flag("reasoningTagHint")? == Some(true) {
        input.reply_format = ReplyFormat::Tagged;
    }
    Ok(())
}

fn read_tools(facts: &mut ObjectReader) -> Result<Vec<PromptTool>, FactsError> {
    let names = facts.texts("toolNames")?;
    let mut summaries = Vec::new();
    if let Some(mut given) = facts.object("toolSummaries")? {
        for name in given.keys() {
            let key = one_line(&name).to_lowercase();
            summaries.push((key, given.text(name)?));
        }
    }
    let tools = names.into_iter().map(|name| {
        let key = one_line(&name).to_lowercase();
        let known = summaries
            .iter()
            .find(|(known, summary)| *known == key && summary.is_some());
        PromptTool {
            summary: known.and_then(|(_, summary)| summary.clone()),
            ..PromptTool::core(name)
        }
    });
    Ok(tools.map(labelled).collect())
}

/// A tool that is not Chela's own is described by the document.
fn labelled(tool: PromptTool) -> PromptTool {
    let key = one_line(&tool.name).to_lowercase();
    if crate::core_tools().any(|core| core == key) {
        return tool;
    }
    PromptTool {
        origin: Origin::config(format!("toolSummaries.{key}")),
        ..tool
    }
}

fn read_owners(facts: &mut ObjectReader) -> Result<OwnerList, FactsError> {
    let ids = facts.texts("ownerNumbers")?;
    let secret = facts
        .text("ownerDisplaySecret")?
        .map(|secret| secret.trim().to_owned());
    let hashed = facts.one_of("ownerDisplay", &[("raw", false), ("hash", true)])?;
    let display = match (hashed, secret) {
        (Some(true), Some(secret)) => OwnerDisplay::Hashed { secret },
        (Some(true), None) => {
            return Err(FactsError::Missing {
                path: "ownerDisplaySecret".to_owned(),
                hint: "`ownerDisplay: \"hash\"` needs a secret, because ids can be guessed; \
                       give any long random string, such as the output of `openssl rand -hex 32`",
            });
        }
        _ => OwnerDisplay::Raw,
    };
    Ok(OwnerList { ids, display })
}

/// Files, skills, memory, folders and time.
fn read_context(facts: &mut ObjectReader, input: &mut PromptInput) -> Result<(), FactsError> {
    for mut file in facts.objects("contextFiles")? {
        let path = file.text("path")?.unwrap_or_default();
        let content = file.raw_text("content")?.unwrap_or_default();
        file.finish()?;
        input.files.push(ContextFile::new(path.trim(), &content));
    }
    input.skills = facts.text("skillsPrompt")?.and_then(|listing| {
        SkillsListing::new(&listing, Origin::config("skillsPrompt"), Trust::Owner)
    });
    let citations = [
        ("auto", CitationMode::Auto),
        ("on", CitationMode::On),
        ("off", CitationMode::Off),
    ];
    let citations = facts
        .one_of("memoryCitationsMode", &citations)?
        .unwrap_or(CitationMode::Auto);
    input.memory = match facts.flag("includeMemorySection")? {
        Some(false) => MemoryRecall::Off,
        _ => MemoryRecall::On(citations),
    };
    input.time_zone = facts.text("userTimezone")?;
    input.docs_path = facts.text("docsPath")?;
    input.source_path = facts.text("sourcePath")?;
    input.workspace_notes = sourced_lines(facts, "workspaceNotes")?;
    Ok(())
}

/// Channel, voice, heartbeat and what else belongs to talking.
fn read_conversation(facts: &mut ObjectReader, input: &mut PromptInput) -> Result<(), FactsError> {
    input.voice_hint = sourced(facts, "ttsHint")?;
    input.heartbeat = sourced(facts, "heartbeatPrompt")?;
    input.message_hints = sourced_lines(facts, "messageToolHints")?;
    input.message_channels = facts.texts("messageChannels")?;
    input.extra_context = facts
        .text("extraSystemPrompt")?
        .map(|text| CleanText::new(&text))
        .filter(|text| !text.is_empty())
        .map(|text| SourcedValue::config("extraSystemPrompt", text));
    let silence = [
        ("generic", SilentReplies::Generic),
        ("none", SilentReplies::Never),
    ];
    input.silent_replies = facts
        .one_of("silentReplyPromptMode", &silence)?
        .unwrap_or(input.silent_replies);
    if let Some(mut guidance) = facts.object("reactionGuidance")? {
        let levels = [
            ("minimal", ReactionLevel::Minimal),
            ("extensive", ReactionLevel::Extensive),
        ];
        let level = guidance.one_of("level", &levels)?;
        let channel = guidance.text("channel")?;
        guidance.finish()?;
        input.reactions = level.map(|level| ReactionSettings { level, channel });
    }
    Ok(())
}

fn read_sandbox(info: &mut ObjectReader) -> Result<Option<SandboxFacts>, FactsError> {
    let enabled = info.flag("enabled")?;
    let access = [
        ("none", WorkspaceAccess::None),
        ("ro", WorkspaceAccess::ReadOnly),
        ("rw", WorkspaceAccess::ReadWrite),
    ];
    let mut sandbox = SandboxFacts {
        host_dir: info.text("workspaceDir")?,
        container_dir: info.text("containerWorkspaceDir")?,
        access: info.one_of("workspaceAccess", &access)?,
        agent_mount: info.text("agentWorkspaceMount")?,
        browser_bridge: info.text("browserBridgeUrl")?,
        host_browser: match info.flag("hostBrowserAllowed")? {
            Some(true) => HostBrowser::Allowed,
            Some(false) => HostBrowser::Blocked,
            None => HostBrowser::Unknown,
        },
        ..SandboxFacts::default()
    };
    if let Some(mut elevated) = info.object("elevated")? {
        sandbox.elevated = Some(read_elevated(&mut elevated)?);
        elevated.finish()?;
    }
    Ok((enabled == Some(true)).then_some(sandbox))
}

fn read_elevated(info: &mut ObjectReader) -> Result<ElevatedExec, FactsError> {
    let permission = match info.flag("allowed")? {
        Some(true) => ElevatedPermission::Allowed,
        _ => ElevatedPermission::Denied,
    };
    let levels = [
        ElevatedLevel::On,
        ElevatedLevel::Off,
        ElevatedLevel::Ask,
        ElevatedLevel::Full,
    ];
    let level = info.one_of("defaultLevel", &levels.map(|level| (level.as_str(), level)))?;
    let available = info.flag("fullAccessAvailable")?;
    let block = info
        .text("fullAccessBlockedReason")?
        .map(|reason| match reason.trim() {
            "host-policy" => FullAccessBlock::HostPolicy,
            "channel" => FullAccessBlock::Channel,
            "sandbox" => FullAccessBlock::Sandbox,
            _ => FullAccessBlock::Other,
        });
    let full = match (available, block) {
        (Some(true), _) | (None, None) => FullAccess::Available,
        (_, Some(block)) => FullAccess::Blocked(block),
        (Some(false), None) => FullAccess::Blocked(FullAccessBlock::Other),
    };
    Ok(ElevatedExec {
        permission,
        level,
        full,
    })
}

fn read_contribution(given: &mut ObjectReader) -> Result<FamilyContribution, FactsError> {
    let text = |text: Option<String>| {
        text.and_then(|text| SourcedValue::provider("facts", &text, Trust::Operator))
    };
    let mut contribution = FamilyContribution {
        stable_prefix: text(given.text("stablePrefix")?),
        dynamic_suffix: text(given.text("dynamicSuffix")?),
        ..FamilyContribution::default()
    };
    let Some(mut overrides) = given.object("sectionOverrides")? else {
        return Ok(contribution);
    };
    contribution.interaction_style = text(overrides.text("interaction_style")?);
    contribution.tool_call_style = text(overrides.text("tool_call_style")?);
    contribution.execution_bias = text(overrides.text("execution_bias")?);
    overrides.finish().map_err(|error| match error {
        FactsError::UnknownKey { path, nearest } => {
            let section = path.rsplit('.').next().unwrap_or_default().to_owned();
            let path = "promptContribution.sectionOverrides".to_owned();
            FactsError::Override {
                path,
                section,
                nearest,
            }
        }
        other => other,
    })?;
    Ok(contribution)
}

fn read_runtime(info: &mut ObjectReader) -> Result<RuntimeFacts, FactsError> {
    Ok(RuntimeFacts {
        agent: info.text("agentId")?,
        host: info.text("host")?,
        repo_root: info.text("repoRoot")?,
        os: info.text("os")?,
        arch: info.text("arch")?,
        model: info.text("model")?,
        default_model: info.text("defaultModel")?,
        shell: info.text("shell")?,
        channel: info.text("channel")?,
        capabilities: info.texts("capabilities")?,
        canvas_root: info.text("canvasRootDir")?,
    })
}

fn sourced(
    facts: &mut ObjectReader,
    key: &'static str,
) -> Result<Option<SourcedValue<String>>, FactsError> {
    Ok(facts.text(key)?.map(|text| SourcedValue::config(key, text)))
}

fn sourced_lines(
    facts: &mut ObjectReader,
    key: &'static str,
) -> Result<Vec<SourcedValue<String>>, FactsError> {
    Ok(facts
        .texts(key)?
        .into_iter()
        .map(|text| SourcedValue::config(key, text))
        .collect())
}
