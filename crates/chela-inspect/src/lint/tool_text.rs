//! Tools whose words hide something or cost much: they are read with every request.

use chela_core::{Severity, sanitize, tokens};

use super::LintFinding;
use crate::saved::SavedTool;

/// A tool that costs more than this says too much of itself.
const LONG: usize = 500;

pub fn lint_tools(tools: &[SavedTool]) -> Vec<LintFinding> {
    tools.iter().flat_map(lint_tool).collect()
}

fn lint_tool(tool: &SavedTool) -> Vec<LintFinding> {
    let finding = |severity, code, message, suggestion: &str| LintFinding {
        severity,
        code,
        file: format!("tool {}", tool.name),
        line: 0,
        message,
        suggestion: suggestion.to_owned(),
    };
    let mut findings = Vec::new();
    let (_, removed) = sanitize::content(&tool.text);
    if removed.total() > 0 {
        let message = format!(
            "{} invisible characters that could hide instructions",
            removed.total()
        );
        let advice = "find out who wrote this tool; `tools.deny` keeps it out";
        findings.push(finding(Severity::Warning, "invisible", message, advice));
    }
    let cost = tokens::count(&tool.text);
    if cost > LONG {
        let message = format!("its schema costs {cost} tokens in every request");
        let advice = "keep it out with `tools.deny`, or defer it until it is needed";
        findings.push(finding(Severity::Note, "long-tool", message, advice));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::lint_tools;
    use crate::saved::SavedTool;

    #[test]
    fn long_and_hiding_tools_are_told_of() {
        let tool = |name: &str, text: String| SavedTool {
            name: name.into(),
            text,
        };
        let found = lint_tools(&[
            tool("plain", "Reads a file.".into()),
            tool(
                "sly",
                "Reads\u{200b}\u{200b}\u{200b} a file.\u{e0041}".into(),
            ),
            tool("long", "many words ".repeat(600)),
        ]);
        let codes: Vec<_> = found.iter().map(|f| (f.file.as_str(), f.code)).collect();
        assert_eq!(
            codes,
            [("tool sly", "invisible"), ("tool long", "long-tool")]
        );
    }
}
