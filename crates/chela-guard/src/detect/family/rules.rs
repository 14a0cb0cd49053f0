//! The rules of the families, as a table: how a phrase begins, and what must follow.
//!
//! Text is plain when it gets here: small letters, single blanks, accents gone. A blank in a rule
//! is a blank or the end of a line.

use super::PhraseFamily;
use super::PhraseFamily::{
    Authority, Concealment, ContextReset, Disregard, Elevation, ExecInjection, Exfiltration,
    ForcedRemoval, InstructionOverride, MassDeletion, NewInstructions, RoleDelimiter, RoleHijack,
    RolePlay, SystemPrompt, SystemTag,
};

/// One way to say something.
pub struct PhraseRule {
    pub family: PhraseFamily,
    /// Any of these begins the phrase.
    pub starts: &'static [&'static str],
    /// This follows at once.
    pub rest: &'static str,
    pub place: PhrasePlace,
}

/// Where a phrase means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhrasePlace {
    Anywhere,
    /// At the beginning of a line.
    Line,
}

const fn rule(
    family: PhraseFamily,
    starts: &'static [&'static str],
    rest: &'static str,
) -> PhraseRule {
    PhraseRule {
        family,
        starts,
        rest,
        place: PhrasePlace::Anywhere,
    }
}

const fn line(
    family: PhraseFamily,
    starts: &'static [&'static str],
    rest: &'static str,
) -> PhraseRule {
    PhraseRule {
        family,
        starts,
        rest,
        place: PhrasePlace::Line,
    }
}

/// Phrases that are worth a note and say too little to be weighed: honest texts have them, too.
pub const QUIET: &[PhraseRule] = &[
    // system: override
    rule(
        SystemTag,
        &["system"],
        r" ?:? ?(?:prompt|override|command)s?\b",
    ),
    // exec command="rm x"
    rule(
        ExecInjection,
        &["exec"],
        r#"[^a-z0-9_\n][^\n]{0,200}?\bcommand"? ?="#,
    ),
    // A turn of somebody else behind a closed bracket.
    rule(
        RoleDelimiter,
        &["]"],
        r" ?\n ?\[?(?:system|assistant|user)\]?:",
    ),
];

pub const RULES: &[PhraseRule] = &[
    // ignore all previous instructions
    rule(
        InstructionOverride,
        &[
            "ignore",
            "ignoring",
            "override",
            "overriding",
            "bypass",
            "bypassing",
            "skip",
            "overlook",
            "discard",
            "forget",
            "neglect",
            "set aside",
            "abandon",
        ],
        r"[ ,]+(?:(?:about|all|any|every|everything|the|your|my|our|these|those|this|that|of|above|previous|previously|prior|preceding|past|earlier|former|foregoing|initial|original|existing|current|given|system|safety|security|content|ethical|other|and|or|said|before|you|were|was|have|been|told|old|last|first|default|built-in|internal|strict|programmed)[ ,]+){0,7}(?:instruction|prompt|rule|guideline|directive|command|context|order|programming|training|restriction|constraint|polic|filter|message|assignment|statement|information|request|task|protocol|guardrail|limitation|boundar|moderation|safeguard|above|previous|before)",
    ),
    // regardless of your previous instructions
    rule(
        InstructionOverride,
        &[
            "regardless of",
            "despite",
            "contrary to",
            "in spite of",
            "rather than following",
            "instead of following",
        ],
        r" (?:(?:all|any|the|your|my|what) ){0,2}(?:previous|prior|earlier|above|original|initial|system|existing) (?:[a-z]+ )?(?:instruction|prompt|rule|guideline|directive|command|order|message)",
    ),
    // ignore the page and say
    rule(
        InstructionOverride,
        &["ignore"],
        r" (?:the|this|that|all|any|its|your) (?:[a-z]+ ){0,4}and (?:instead |just |only |simply |then )?(?:state|say|print|output|respond|reply|write|answer|return|tell|do|execute|run|send|follow)\b",
    ),
    // The same in Spanish, Portuguese, French, Italian, German, Dutch, Polish, Swedish.
    rule(
        InstructionOverride,
        &[
            "ignora",
            "ignorez",
            "ignore",
            "ignoriere",
            "ignorieren sie",
            "vergiss",
            "vergessen sie",
            "vergesst",
            "olvida",
            "olvide",
            "oubliez",
            "oublie",
            "esqueca",
            "dimentica",
            "negeer",
            "vergeet",
            "zignoruj",
            "ignoruj",
            "ignorera",
        ],
        r"[ ,]+(?:(?:a|as|o|os|la|le|les|las|los|el|lo|il|i|de|die|der|das|den|alle|alles|allen|todas|todos|tutte|tutti|toutes|tous|tout|todo|tus|tes|vos|sus|suas|tuas|deine|ihre|meine|vorherigen|vorigen|bisherigen|obigen|fruheren|saemtliche|samtliche|vorige|eerdere|wszystkie|poprzednie|anteriores|precedentes|precedenti|previas|tidigare|alla|vorher|davor)[ ,]+){0,6}(?:instru|anweisung|befehl|aufgabe|aufforderung|vorgabe|regel|kontext|ordenes|ordens|ordres|regle|regra|regol|consigne|istruzion|polecen|opdracht|anterior|precedent|previo|davor|vorher|zuvor|indicac|directriz)",
    ),
    // Chinese, Japanese, Korean, Russian, Arabic.
    rule(
        InstructionOverride,
        &["忽略", "无视", "忘记", "忘掉", "無視"],
        r"[^\n。]{0,12}?(?:指令|指示|说明|提示|规则|命令|要求)",
    ),
    rule(
        InstructionOverride,
        &["指令", "指示", "命令"],
        r"(?:を|は)[^\n。]{0,4}?(?:無視|忘れ)",
    ),
    rule(
        InstructionOverride,
        &["이전"],
        r"[^\n]{0,30}?(?:지시|명령|지침)[^\n]{0,12}?무시",
    ),
    rule(
        InstructionOverride,
        &["игнорируи", "забудь", "забудьте", "проигнорируи"],
        r"[^\n.]{0,30}?(?:инструкци|указани|правил|команд)",
    ),
    rule(
        InstructionOverride,
        &["تجاهل", "انس"],
        r"[^\n.]{0,20}?(?:التعليمات|الاوامر|السابقة)",
    ),
    rule(
        Disregard,
        &["disregard"],
        r"(?:ing)?[ ,]+(?:[a-z0-9_]+[ ,]+){0,6}?(?:instruction|prompt|rule|guideline|directive|command|context|order|programming|training|restriction|boundar|limit|safety|polic|ethic|above|previous|prior|everything|said|told)",
    ),
    rule(Disregard, &["pay no attention to"], ""),
    rule(
        Disregard,
        &[
            "do not follow",
            "do not obey",
            "do not listen to",
            "don't follow",
            "don't obey",
        ],
        r" (?:[a-z0-9_]+ ){0,3}(?:previous|prior|above|earlier|original|system)",
    ),
    rule(
        Disregard,
        &["you do not", "you don't", "you no longer"],
        r" (?:have|need) to (?:follow|obey|comply with)",
    ),
    rule(
        Disregard,
        &[
            "rules",
            "restrictions",
            "guidelines",
            "limitations",
            "filters",
        ],
        r" (?:no longer|do not|don't) apply",
    ),
    rule(
        Disregard,
        &["free from"],
        r" (?:all|any|your) (?:restriction|rule|limit|constraint)",
    ),
    rule(
        ContextReset,
        &["forget", "erase", "clear", "wipe", "reset"],
        r" (?:about )?(?:everything|all (?:of )?(?:that|this|the above|your)|your (?:memory|context|history|instructions)|the (?:above|previous|conversation|context)|what (?:i|you|we|was)|alles)",
    ),
    rule(
        ContextReset,
        &["end of"],
        r" (?:the )?(?:context|conversation|document|prompt|user (?:input|message))",
    ),
    rule(
        ContextReset,
        &["start", "starting"],
        r" (?:over|again|fresh|anew) (?:with|from)",
    ),
    rule(
        ContextReset,
        &["new conversation", "new session"],
        r" (?:starts|begins)",
    ),
    rule(
        ContextReset,
        &[
            "vergiss alles",
            "olvida todo",
            "oublie tout",
            "esqueca tudo",
            "dimentica tutto",
        ],
        "",
    ),
    rule(
        ContextReset,
        &["now"],
        r" (?:let's |lets )?(?:begin|start) (?:a )?new",
    ),
    rule(
        RoleHijack,
        &["you are"],
        r" (?:now (?:an?|the|my|in|going|able|free|operating|acting|called|named|under|part|dan|unrestricted|required|instructed|authorized|[a-z]+gpt)|no longer|from now on)\b",
    ),
    rule(
        RoleHijack,
        &["from now on"],
        r",? (?:you|your|act|answer|respond|only|do|always)",
    ),
    rule(RoleHijack, &["do anything now"], ""),
    rule(
        RoleHijack,
        &[
            "developer mode",
            "god mode",
            "jailbreak mode",
            "debug mode",
            "maintenance mode",
            "dan mode",
            "unrestricted mode",
            "opposite mode",
            "sudo mode",
            "override mode",
            "unfiltered mode",
            "admin mode",
            "root mode",
            "diagnostic mode",
            "dev mode",
        ],
        r"(?: (?:has been|is|was) | now|[ -]?(?:enabled|activated|engaged|on\b|output)|[>!*\]]| ?: ?(?:on|enabled|true|active))",
    ),
    rule(
        RoleHijack,
        &[
            "enter",
            "entering",
            "enable",
            "activate",
            "activating",
            "switch to",
            "switching to",
            "engage",
            "now in",
        ],
        r"(?: (?:the|a|an|into|in|to|your|law|security|system)){0,4}(?: [a-z]+)? (?:developer|god|jailbreak|debug|maintenance|dan|unrestricted|override|unfiltered|admin|root|diagnostic|dev) mode",
    ),
    rule(
        RoleHijack,
        &[
            "without",
            "with no",
            "free of",
            "have no",
            "has no",
            "no longer bound by",
        ],
        r" (?:any )?(?:restrictions|limitations|filters|censorship|ethical|moral|rules|guidelines|content polic)",
    ),
    rule(
        RoleHijack,
        &[
            "stay in character",
            "ab jetzt bist du",
            "agora voce e ",
            "ahora eres",
            "tu es maintenant",
            "ora sei un",
        ],
        "",
    ),
    rule(RoleHijack, &["du bist"], r" (?:jetzt|nun|ab jetzt)"),
    rule(
        NewInstructions,
        &[
            "new",
            "updated",
            "revised",
            "additional",
            "real",
            "actual",
            "true",
            "next",
            "special",
            "secret",
        ],
        r" (?:and [a-z0-9_]+ )?(?:instructions?|tasks?|rules?|directives?|orders?|objectives?|assignments?|goals?|mission|aufgaben?)(?: ?:| is\b| are\b| from\b| follows?\b| for you|[*!]{1,3}|\n)",
    ),
    rule(
        NewInstructions,
        &["important", "urgent", "critical"],
        r"(?: new)? instructions?\b| (?:new )?(?:task|order|directive|command)s?[*!:]|!{2,}",
    ),
    rule(
        NewInstructions,
        &[
            "your new",
            "the new",
            "a new",
            "with new",
            "come new",
            "comes new",
            "are new",
        ],
        r" (?:task|assignment|instruction)s?[.:!,]",
    ),
    rule(
        NewInstructions,
        &[
            "follow these",
            "follow the following",
            "follow my",
            "follow only",
        ],
        r"(?: my| these)?(?: new| next| exact)? (?:instruction|order|command|direction)",
    ),
    rule(
        NewInstructions,
        &["before you"],
        r" (?:can )?(?:solve|continue|proceed|do|complete|start|finish|answer)[ a-z0-9_]{0,24}(?:task|request|question)",
    ),
    rule(
        NewInstructions,
        &["instead"],
        r",? (?:you (?:must|should|will|need)|please|do the following|say|print|output|write|reply|respond|answer)",
    ),
    rule(
        NewInstructions,
        &["your only", "your sole", "your primary"],
        r" (?:task|job|goal|purpose) is",
    ),
    rule(NewInstructions, &["attention!!"], ""),
    rule(
        NewInstructions,
        &[
            "neue aufgabe",
            "neue anweisung",
            "nachste aufgabe",
            "nuevas instruccion",
            "nueva instruccion",
            "nueva tarea",
            "novas instruc",
            "nova instruc",
            "nova tarefa",
            "nouvelles instruction",
            "nouvelle instruction",
            "nouvelle tache",
            "nouvelle consigne",
        ],
        "",
    ),
    rule(
        NewInstructions,
        &["新的指令", "新指令", "新任务", "新的任务", "新しい指示"],
        "",
    ),
    rule(
        SystemPrompt,
        &[
            "reveal",
            "show",
            "print",
            "repeat",
            "display",
            "output",
            "leak",
            "expose",
            "disclose",
            "tell me",
            "give me",
            "what is",
            "what's",
            "what are",
            "what were",
            "what was",
            "write",
            "share",
            "spellcheck",
            "spell-check",
            "spell check",
            "summarize",
            "summarise",
            "return",
            "translate",
            "recite",
            "copy",
            "list",
            "dump",
            "say",
            "begin with",
            "start with",
            "encode",
            "paste",
            "quote",
        ],
        r"(?: out| down)?[ :](?:[a-z0-9_]+[ ,']+){0,6}?(?:(?:system|initial|original|hidden|secret|full|first|entire|complete|previous|prior|above|internal|confidential|own)[ -](?:[a-z0-9_]+ )?(?:prompt|instruction|message|rules|text|guideline|directive|configuration)|your (?:prompt|instructions|rules|guidelines|programming|configuration)|prompt (?:text|above|instructions|verbatim)|instructions above)",
    ),
    rule(
        SystemPrompt,
        &[
            "your system prompt",
            "your initial prompt",
            "your original prompt",
            "secret prompt",
            "hidden prompt",
        ],
        "",
    ),
    rule(
        ExecInjection,
        &["curl", "wget", "iwr", "fetch"],
        r"[^a-z\n|][^\n|]{0,200}\| ?(?:sudo )?(?:ba|z|da)?sh\b",
    ),
    rule(
        ExecInjection,
        &["base64 -d", "base64 --decode"],
        r"[^\n|]{0,60}\| ?(?:sudo )?(?:ba|z)?sh\b",
    ),
    rule(
        ExecInjection,
        &["run", "execute", "paste", "enter"],
        r" (?:(?:the|this|that|these|following|exactly|below) ?){1,3}(?:shell |bash |terminal |system )?(?:command|script|code)s?(?: in (?:your|the|a) (?:terminal|shell)| ?:| now| immediately| first)",
    ),
    rule(
        ExecInjection,
        &["os.system(", "nc -e /bin", "/dev/tcp/"],
        "",
    ),
    rule(ExecInjection, &["powershell"], r"(?:\.exe)? -e(?:nc|p)?\b"),
    rule(
        Elevation,
        &["elevated"],
        r#""? ?[=:] ?"?(?:true|on|full|1|yes)\b"#,
    ),
    rule(
        Elevation,
        &["security", "ask"],
        r#""? ?[=:] ?"?(?:full|off)\b"#,
    ),
    rule(Elevation, &["--dangerously", "--yolo"], ""),
    rule(
        Elevation,
        &[
            "with root",
            "with admin",
            "with administrator",
            "with elevated",
        ],
        r" (?:privileges|access|permissions) (?:and|to|now)",
    ),
    rule(
        ForcedRemoval,
        &["rm -rf", "rm -fr", "rm -r -f", "rm -f -r"],
        "",
    ),
    rule(
        ForcedRemoval,
        &[
            "del /s",
            "del /f",
            "del /q",
            "format c:",
            "mkfs.",
            "dd if=/dev/zero",
            "dd if=/dev/random",
            "drop table",
            "drop database",
            "git push --force",
        ],
        "",
    ),
    rule(
        MassDeletion,
        &[
            "delete", "erase", "remove", "wipe", "destroy", "purge", "shred", "trash",
        ],
        r" (?:(?:all|every|everything|each|any|the|my|your|of|user|users|single|entire|their|unread|whole|his|her) ?){1,4}(?:files?|e-?mails?|messages?|data|documents?|records?|contacts?|backups?|folders?|director|events?|accounts?|repositor|inbox|drive|database)",
    ),
    rule(
        SystemTag,
        &["<", "</"],
        r"(?:system|assistant|instructions?|admin|important|information|sys|system[-_ ](?:message|prompt|note|reminder|instruction|override)|human|untrusted|tool_result|data)>",
    ),
    rule(
        SystemTag,
        &["[", "[/"],
        r"(?:system|inst|admin|assistant|system (?:message|prompt|note|override))\]",
    ),
    rule(SystemTag, &["<<sys>>", "<</sys>>"], ""),
    rule(
        SystemTag,
        &[
            "system override",
            "system alert",
            "system notice",
            "system update",
            "system message",
            "system instruction",
        ],
        r"s? ?[:!>*]",
    ),
    rule(
        SystemTag,
        &["admin", "administrator", "developer", "root"],
        r" (?:override|instruction|message|command)s? ?[:!>*]",
    ),
    line(
        RoleDelimiter,
        &[
            "system",
            "assistant",
            "human",
            "developer",
            "ai",
            "chatgpt",
            "gpt",
        ],
        r"\*{0,2} ?:",
    ),
    rule(
        RoleDelimiter,
        &["###"],
        r" ?(?:system|instruction|assistant|human)",
    ),
    rule(RoleDelimiter, &["<|"], r"[a-z_]{2,20}\|>"),
    rule(
        RoleDelimiter,
        &["---"],
        r"-* ?(?:begin|end|start) (?:of )?(?:system|admin|new|user)",
    ),
    rule(RoleDelimiter, &["==="], r"=* ?(?:system|end|new)\b"),
    rule(
        Authority,
        &["this is"],
        r" (?:an? )?(?:[a-z0-9_]+ ){0,2}(?:message|instruction|request|order|notice|command) (?:from|by) (?:me|your|the|us)\b",
    ),
    rule(
        Authority,
        &["i am your", "i'm your", "as your", "from your"],
        r" (?:creator|developer|administrator|admin|owner|boss|maker|programmer)\b",
    ),
    rule(
        Authority,
        &["message to", "message for"],
        r" (?:the )?(?:ai|assistant|agent|model|bot|llm)\b",
    ),
    rule(
        Authority,
        &["dear", "hey", "hello", "attention", "note to"],
        r",? (?:ai|assistant|agent|llm|language model|chatbot)\b",
    ),
    rule(
        Authority,
        &["openai", "anthropic", "google"],
        r" (?:has|requires|policy|employee|staff)\b",
    ),
    rule(
        Authority,
        &[
            "to you, the ai",
            "to you, the assistant",
            "to you, the model",
            "to you the ai",
            "to you the assistant",
        ],
        r"(?:[^a-z]|\z)",
    ),
    rule(
        Authority,
        &["if you are", "as an", "as a"],
        r"(?: an?)? (?:ai|llm|language model|assistant)(?: agent| assistant| model)?,? (?:reading|processing|parsing|you (?:must|should|will))",
    ),
    rule(
        Authority,
        &["ai", "llm"],
        r"(?: agent| assistant| model)?s? (?:reading|processing|parsing) this",
    ),
    rule(
        Concealment,
        &["do not", "don't", "dont", "never", "without"],
        r" (?:tell|mention|inform|reveal|show|notify|alert|telling|informing|notifying|asking|mentioning|alerting|let)(?:ing)? ?(?:(?:this|anything|it|about|to|the|your|any|of|that) ?){0,4}(?:user|owner|human|anyone|anybody|them|him|her|operator)\b",
    ),
    rule(
        Concealment,
        &["keep this", "keep it"],
        r" (?:a )?(?:secret|hidden|between us)",
    ),
    rule(
        Concealment,
        &["silently", "secretly", "quietly"],
        r" (?:send|forward|run|execute|delete|upload|add|copy|install|post)\b",
    ),
    rule(
        Concealment,
        &["delete the", "delete this"],
        r" (?:sent )?(?:e-?mail|message|instruction|text) (?:after|once|when)",
    ),
    rule(
        Exfiltration,
        &[
            "send",
            "forward",
            "post",
            "upload",
            "exfiltrate",
            "email",
            "e-mail",
            "transmit",
            "leak",
            "submit",
            "share",
            "give",
        ],
        r"[ a-z0-9_',:]{1,80}(?:api[- ]?keys?|passwords?|credentials?|secrets?|tokens?|\.env|private keys?|ssh keys?|security code|credit card|passport|bank account|bank details|contents? of)[ a-z0-9_',.:]{0,80}(?: to | at |https?:)",
    ),
    rule(
        RolePlay,
        &[
            "act as",
            "behave as",
            "respond as",
            "answer as",
            "reply as",
            "talk as",
            "speak as",
        ],
        r" (?:if you|though you|an? (?:[a-z0-9_]+ ){0,3}(?:without|who|that|with no)|my|dan)\b",
    ),
    rule(
        RolePlay,
        &["pretend", "imagine", "suppose", "assume"],
        r" (?:that )?(?:you are|you're|you were|to be|you have no)",
    ),
    rule(
        RolePlay,
        &["i want you to"],
        r" (?:act|pretend|respond|behave)",
    ),
];
