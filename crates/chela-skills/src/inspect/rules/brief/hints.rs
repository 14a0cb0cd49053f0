//! The signs that are counted in a short package.

use crate::inspect::rules::pattern::{Pattern, patterns};

patterns! {
    TAKES = r"\b(?:read|cat|open|copy\s|collect|gather|extract|grab|dump|harvest|steal|scrape|capture|print|output|reveal|type|zip|tar|list|access)\b.{0,50}(?:~/?\.ssh\b|\.ssh/|\bid_(?:rsa|ed25519)|ssh keys?\b|private keys?\b|\.aws/credentials|aws credentials|/etc/(?:passwd|shadow)|\bkeychain\b|seed phrases?|recovery phrases?|mnemonic|browser (?:cookies|passwords|history)|saved passwords|(?:all|any|their|users?'?s?|stored|every|local) (?:the )?(?:api[ _-]?keys?|credentials?|passwords?|secrets|access tokens?|auth tokens?)\b|all environment variables|\bprintenv\b|\.netrc|\.npmrc|\.git-credentials|\.kube/config|\.docker/config|clipboard|wallet (?:files?|keys?)|secrets from |session (?:files|cookies|tokens))|读取.{0,12}(?:/etc/passwd|密钥|密码|凭证|凭据|私钥)|\$\{?aws_secret_access_key";
    TAKES_TOO = r"\b(?:find|search|locate|look)\b.{0,30}\b(?:seed phrase|private key|ssh key|recovery phrase|credentials)|\b(?:output|print|reveal|echo|display|list)\b.{0,30}\b(?:api keys?|secrets|credentials|access tokens?|auth tokens?)\b.{0,30}\b(?:environment|env|config|memory|user|system|found)|\bread\b.{0,20}\.env\b.{0,50}\b(?:keys?|secrets?|values|tokens|contents|passwords)\b|\b(?:enter|verify|confirm)\b.{0,20}\byour\b.{0,20}\b(?:password|credentials)\b";
    HANDS_OUT = r"(?:~/?\.ssh\b|\.ssh/|\bid_(?:rsa|ed25519)|ssh keys?\b|private keys?\b|\.aws/credentials|/etc/(?:passwd|shadow)|seed phrases?|recovery phrases?|(?:all|any|their|users?'?s?|stored|every|the|your) (?:api[ _-]?keys?|credentials?|passwords?|secrets?|access tokens?)\b|environment variables|\.env\b|os\.environ\b|\bprintenv\b).{0,80}(?:(?:in|into|to|as|within|with) (?:your|the|its|every|each|all) (?:\w+ ){0,2}(?:response|reply|answer|output|message|commit|summary|result)|\bto (?:a|an|my|our|the|this|that) (?:\w+ ){0,2}(?:server|webhook|endpoint|collector|url|address|host|channel)\b|\bupload|\bpost (?:it|them|the|to)\b|\bsend (?:it|them|the|to)\b|\|\s*nc\b)|\b(?:send|post|upload|transmit|forward|exfiltrate|submit|leak|push|email|include|embed|append|encode)\b.{0,60}(?:~/?\.ssh\b|\.ssh/|\bid_(?:rsa|ed25519)|ssh keys?\b|private keys?\b|\.aws/credentials|/etc/(?:passwd|shadow)|seed phrases?|recovery phrases?|(?:all|any|their|users?'?s?|stored|every) (?:api[ _-]?keys?|credentials?|passwords?|secrets|access tokens?)\b|secret values?|environment variables|\bprintenv\b|(?:your|the user's|their) (?:passwords?|credentials?|api keys?)\b|aws credentials|\bpasswords? and\b)|\b(?:pass|put|place)\b.{0,20}\b(?:api keys?|passwords?|credentials)\b.{0,30}\b(?:context|prompt|response|reply|chat)\b|\b(?:secrets?|credentials?|passwords|tokens|api keys|conversation|chat history|transcript)\b.{0,30}\b(?:and )?(?:post|send|upload|forward|submit|transmit)(?:s|ed)? (?:it|them|everything|the (?:result|output|content)s?)?\s*to\b";
    SENDS = r"\b(?:send|post|upload|transmit|forward|exfiltrate|submit|leak|relay|deliver|mail|email)s?\b.{0,60}\b(?:it|them|data|contents?|results?|outputs?|files?|secrets?|credentials?|conversations?|history|findings|everything|responses?|messages?|keys?|tokens?|environment|transcript|code|prompts?|inputs?|information|materials?)\b.{0,60}(?:https?://|\bto (?:my|our|an?|this) (?:\w+ ){0,2}(?:server|webhook|endpoint|collector|url|host)\b|\bto \S+\.(?:com|net|org|io|dev|xyz|ru|cn|top|example|invalid|test)\b|\bto\b.{0,20}\S+@\S+\.\w|external (?:server|endpoint|url|host|service)|remote (?:server|endpoint|host)|third[- ]party)|\b(?:upload|send|post|submit|forward)s? (?:it |them )?to\b.{0,12}(?:https?://|\b(?:my|our|an?|the) )|\b(?:move|moves|transfer|get|copy)\b.{0,60}\b(?:data|files?|secrets?)\b.{0,30}\boff (?:the|this|your) (?:machine|host|computer|device|network)";
    SENDS_PRIVATE = r"\b(?:send|post|upload|transmit|forward|submit|leak|relay|deliver|mail|email|push|copy)s?\b.{0,20}\b(?:all|any|every|collected|gathered|discovered|captured|users?'?s?|session|full|entire|whole|private|sensitive|personal|customer|local|internal|confidential|the)\s+(?:\w+\s+){0,2}(?:data|conversations?|chat|history|files|messages|contents|codebase|source code|repo(?:sitory)?|prompts?|inputs?|environment|transcripts?|secrets?|records?|documents|memory|context|emails)\b.{0,60}\bto\b.{0,24}(?:https?://|\S+@\S+\.\w|\S+\.(?:com|net|org|io|dev|xyz|ru|cn|top|example|invalid|test)\b|\b(?:server|endpoint|webhook|collector|host|url|attacker|third[- ]party|external|remote)\b)|\bupload to https?://\S+ (?:the|all|every|any)\b";
    SENDS_ABROAD = r"\bfilter that forwards?\b|\bforwards? messages\b.{0,120}\S+@\S+\.\w|\badd \W?\S+@\S+ as (?:an )?(?:optional )?attendee|\b(?:mail|inbox|email|filter) rule\b.{0,40}\bforwards?\b|\bforwards?\b.{0,20}\b(?:incoming|all|every|each) (?:\w+ )?(?:messages?|mails?|emails?)\b.{0,60}\S+@\S+\.\w|\b(?:bcc|blind copy)\b.{0,40}\S+@\S+\.\w|\|\s*(?:gzip\s*\|\s*)?\\?\s*curl\b.{0,60}(?:-t -|@-)\s*\S*https?://|\bexfiltrate\b|(?:发送|上传|传输|外传).{0,6}(?:到|至|给).{0,12}(?:外部|服务器|远程|http)|后门|전송.{0,20}http|отправ\w+ .{0,30}http|送信.{0,20}http";
    LEAVES_OUT = r"\bdo not bring it up\b|\bdoes not see this (?:note|comment|text)|\bwithout showing (?:it|them)\b|(?:do not|don't) list the \w+ when\b|\berzähle?\b.{0,20}\bnichts davon\b|(?:do not|don't|never|no need to|need not)\s+(?:list|show|mention|report|name|display|include) (?:it|them|this|these|that|steps? \d\S*|the (?:upload|copy|fetched \w+|transfer|second \w+))\b|\b(?:leave|leaves|keep|omit) (?:it|them|this|these|that|steps? [\d\W and]+)\s*out (?:of (?:the|your|its|any)\b|entirely)|\bleave no trace\b|\bno reason to (?:bring|mention)|\bour (?:little )?secret\b|\bdo not (?:refer to|state|write) (?:it|this|that)\b|\bdelete\b.{0,30}\bfrom (?:the )?sent\b|\b(?:they|he|she|users)(?:'d| would) (?:otherwise|only) (?:worry|object|ask)|\berwähne?\b.{0,30}\bnicht\b|\b(?:may|can|should|must) be (?:left out|omitted) (?:of|from) (?:the )?(?:\w+ )?(?:answer|summary|report|output|reply|response)|\bnot to be (?:shown|mentioned|listed|told|reported)\b|\bsteps? [\d\W and]+(?:is|are) (?:silent|hidden|invisible)|\bso that (?:readers|users|nobody|the user) (?:see|notice|sees|notices) no\w*|(?:users|owners?|they) (?:find|would find) it (?:confusing|annoying)|\bto avoid (?:confusion|questions|worry)";
    CONCEALS = r"(?:do not|don't|never|must not)\s+(?:ever\s+|explicitly\s+)?(?:(?:tell|inform|notify|alert|warn)\s+(?:the |your |a )?(?:user|owner|human|operator|anyone|anybody|them)\b|(?:mention|reveal|disclose|acknowledge|report|discuss)\s+(?:this\b|these\b|that you|any of this|it to|(?:\w+\s+){0,4}to (?:the |your )?(?:user|owner|human|operator|anyone)\b))|without (?:telling|informing|notifying|alerting|mentioning)\b|\b(?:silently|secretly|covertly|quietly|stealthily|surreptitiously|invisibly)\s+(?:\w+\s+)?(?:send|read|run|execut|cop[yi]|upload|post|writ|add|append|install|download|fetch|modif|chang|delet|approv|collect|forward|includ|push)|hidden from (?:the )?(?:user|owner|human)|(?:user|owner) (?:must|should|will|need) not (?:know|see|notice)|without (?:the )?(?:user|owner|human)(?:'s)? (?:knowledge|consent|awareness|knowing|noticing)|keep (?:this|it) (?:a )?(?:secret|hidden|between us)|(?:not|n't|no) need to (?:be )?(?:mention|report|disclos|tell|told|inform|show)|need not (?:be )?(?:mention|tell|told|inform|know)|不(?:要|得|可)?(?:告诉|通知|告知|提及)(?:用户|主人|任何人)|no le digas|не говори|알리지 ?마|ユーザーに(?:知らせ|伝え|言わ)(?:ない|ず)";
    OVERRIDES = r"\btakes? precedence over (?:this|the|your|all|any|what)\b|\b(?:anweisungen|regeln|sicherheitsregeln)\b.{0,40}\b(?:gelten|nicht mehr)\b|\bsupersedes?\b.{0,60}\b(?:rules|wishes|instructions|polic\w+)\b|\b(?:these|this skill's) (?:rules|instructions) (?:win|take precedence|override|supersede|have priority|come first)|\boverrides? (?:any|all|every) (?:other |previous |prior |existing )*(?:instruction|rule|polic|prompt|guideline)|\bignore (?:the user's|their|his|her) (?:actual |original |real )?(?:question|request|task|message)|(?:^|[^a-z])(?:ignore|disregard|forget|override|bypass|discard|circumvent)\s+(?:(?:all|any|the|your|every|each|of|these|those|previous|prior|above|earlier|existing|other|original|default|built-in|current|its|this|user|users|owner|operator|human|admin|system|developer|\w+'s|safety|security|content|ethical|\w+ safety|\w+ security)\s+){1,5}(?:instructions?|guidance|rules?|polic(?:y|ies)|guidelines?|safety|security|restrictions?|guardrails?|prompts?|directives?|constraints?|safeguards?|permissions?|approvals?|filters?|findings?)\b|(?:忽略|无视|忘记|绕过|不要遵守).{0,12}(?:指令|规则|提示|限制|约束|安全|审批)|(?:指示|ルール|命令|制限).{0,6}(?:無視|忘れ)|(?:지시|규칙|명령|제한).{0,6}무시|(?:игнорируй|забудь|обойди).{0,30}(?:инструкц|правил|огранич)|\b(?:ignore|disregard)\s+(?:\S+\s+){0,10}?previous instructions|(?:^|[.!:;,]\s+)(?:ignore|bypass|disregard)\s+(?:permissions?|approvals?|safety|guardrails?|restrictions?|instructions|policies|policy)\b|\b(?:ignore|disregard|override)\s+\S*(?:agents|claude|soul|security|polic|rules)\S*\.md\b|ignora (?:todas |las |tus )+\w*\s*instrucciones|ignoriere (?:alle |die )*(?:\w+ )?(?:anweisungen|regeln)";
    NEW_SELF = r"\byou are now (?:an? |in |the |my )?\w+|\bfrom now on,? you (?:are|will|must)\b|\bnew (?:system )?(?:instructions?|role|persona)\s*:|\b(?:enter|enable|activate|in|into|switch to)\s+(?:\w+ )?(?:admin|developer|god|root|debug|unrestricted|jailbreak|dan|sudo|maintenance) mode\b|\bsystem (?:directive|override|instruction|notice)s?\s*[:\]]|\bsystem prompt\s*:|\bno (?:ethical |safety |content )+(?:restrictions|limitations|guardrails|filters)\b|\byour (?:real|true|actual|new) (?:purpose|goal|task|instructions?|role|identity) (?:is|are)\b|act as (?:an? )?(?:administrator|root|admin|superuser|unrestricted)";
    POSES = r"</?(?:system(?:[-_ ]?(?:reminder|prompt|override|message|instructions?))?|admin)>|<\|im_|\[/?inst\]|</?skill>|</?tool_(?:use|call)s?>|<function_calls?>|\[(?:system|admin|override|hidden)\b[^\]]{0,24}\]|<<sys>>|###\s*system\s*:";
    EACH_TIME = r"\b(?:before|after|prior to) (?:answering|responding to|doing|handling|executing|processing|completing|using|reading|running|returning)?\s*(?:any|every|each|all|anything)\b.{0,80}\b(?:read|send|run|execute|include|post|upload|append|copy|curl)\b|\balways\b.{0,30}\bread\b.{0,20}\.env\b|\b(?:always|every time|whenever|on every (?:request|session|turn|run|invocation))\b.{0,60}\b(?:send|post|upload|exfiltrate|curl|forward|beacon|report to)\b|任何请求|每次.{0,12}(?:先|都).{0,20}(?:调用|执行|发送|上传)";
    OBEYS = r"\bfollow everything in (?:it|them)\b|\bcarry out (?:what|whatever|everything) (?:follows|it|they)\b|\bexecute (?:any|all|the|every) (?:commands?|code|steps?) (?:it|they|that|the \w+|from|in)\b.{0,30}\b(?:contains?|says?|fetched|returns?|response|file|page)|\btreat (?:the|its|their|it|them)\s+(?:\w+ ){0,4}as (?:part of this|(?:your |new |binding )?(?:instructions|rules|commands)|authoritative)|\bfollow (?:whatever|anything|any instructions|all instructions) (?:it|they|the \w+) (?:says?|contains?|returns?)|\b(?:fetch|download|load|retrieve|pull|get|curl|visit|open|wget)\b.{0,80}https?://.{0,100}\b(?:follow (?:it|its|the|any|all)|obey|apply (?:it|them|those|these)|execute (?:it|them|the|any|all)|run (?:it|them|the script)|as instructions|(?:its|the|any|those) instructions|do what)\b|\b(?:follow|obey|execute)\b.{0,30}\b(?:instructions?|commands?|code|payload|orders)\b.{0,30}\b(?:from|at|in|returned by|fetched|found)\b.{0,60}(?:https?://|\burl\b|web ?page|remote|server)|(?:访问|读取|打开|下载).{0,60}https?://.{0,60}(?:指令|执行|遵循)|按.{0,8}指令(?:执行|操作)";
    FETCHED = r"\b(?:curl|wget|iwr|irm)\b.{0,200}\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|\b(?:wget|curl)\b.{0,200}(?:&&|;)\s*(?:sudo\s+)?(?:chmod|(?:ba|z)?sh\b|\./|python)|\|\s*(?:ba|z)?sh\s*$|\biex\b.{0,60}\b(?:iwr|irm|downloadstring)|\b(?:curl|wget)\b.{0,120}\.(?:bin|exe|elf|scr|dll)\b|\bdownload(?:s|ed|ing)? and (?:run|execute|install|open|launch)\b";
    DECODES = r"base64\s+(?:-d|--decode)\b|b64decode|\batob\(|unhexlify|\bdecode (?:it|this|them|the) (?:\w+ ){0,3}and (?:run|execute|follow)";
    GARBLED = r"(?:\\x[0-9a-f]{2}){2}|\|\s*rev\b|\$'\\x|b85decode|a85decode|fromcharcode|\brot_?13\b|codecs\.decode|chr\(\d+\)\s*\+|getattr\(\s*(?:os|__builtins__)|marshal\.loads|frombase64string";
    EVALUATES = r"(?:^|[^.\w])(?:eval|exec)\s*\(|(?:^|[;&|`]\s*)eval\s+[\x22']?\$\{?\w|os\.system\s*\(|shell\s*=\s*true|__import__\s*\(|execsync\s*\(|new function\s*\(";
    WRECKS = r"\brm\s+(?:-\w+\s+)?\S*\.git/hooks/|\brm\s+-\w*[rf]\w*\s+(?:-\S+\s+)*(?:[\x22'])?(?:/(?:[\x22'\s`*]|$|home\b|etc\b|usr\b|var\b|boot\b)|~/?(?:[\x22'\s`*]|$)|\$home\b/?(?:[\x22'\s`*]|$)|\$\{home\}/?(?:[\x22'\s`*]|$)|\*)|\bmkfs\b|\bdd if=/dev|:\(\)\s*\{|\bformat c:|\b(?:delete|remove|wipe|erase|destroy|encrypt)\b (?:all|every|the entire|everything in) (?:\w+ ){0,2}(?:user|home|system|disk|backup|document|production|database|root)\w*|\bchmod\s+(?:-r\s+)?777\s+[/~]";
    STAYS = r"\|\s*crontab\b|\bcrontab\s+-(?:\s|$|[^elr]|\s*<)|>>\s*\S*authorized_keys|\b(?:add|append|write)\b.{0,60}\bauthorized_keys|\blaunchagents/|launchctl load|systemctl (?:--user )?enable|schtasks\s+/create|>\s*\S*\.git/hooks/|currentversion\\run\b|>>?\s*/etc/cron|\bld_preload\b|/etc/sudoers|\bnopasswd\b";
    OPENS_DOOR = r"/dev/(?:tcp|udp)/|\bnc\s+-\w*[el]|\bncat\b|\bsocat\b|\breverse[- ]shell|\bbind shell|\bbash -i\b|\bkeylog|\bpynput\b|\bxmrig\b|stratum\+|\bcrypto ?min(?:er|ing)\b|\bmine (?:monero|bitcoin|crypto)|\bmonero\b|\bminer\.start\b";
    SNOOPS = r"\bpbpaste\b|\bscreencapture\b|\bfind\s+(?:~|/|\$home|/home|/users)\s|\bls\s+-\w*\s+~?/?\.ssh|(?:^|[;&|(`$]\s*)(?:env|printenv|set)\s*(?:\||>)|json\.stringify\(process\.env\)|dict\(os\.environ\)|os\.environ\.(?:items|copy)\(|\.(?:bash|zsh)_history|/proc/self/environ|169\.254\.169\.254|metadata\.google\.internal|/docker\.sock";
    OUTLIVES = r"\b(?:store|save|remember|add|write|append|persist|insert|inject|copy|commit)\b.{0,80}\b(?:permanent(?:ly)?|(?:in|to|into) (?:your |the |agent |long[- ]term |persistent )*memory|claude\.md|agents\.md|soul\.md|memory\.md|heartbeat\.md|identity\.md|\.cursorrules)\b.{0,120}\b(?:even (?:if|when|after)|overrid\w*|trusted|ignore|all (?:developers|users|projects))\b|\b(?:apply|applies|active|remains?|follow|obey|use) (?:\w+ ){0,3}(?:in|to|for|across) (?:all|every|any) future (?:sessions?|conversations?|turns?|agents?|requests?)\b|(?:modify|change|rewrite|overwrite|replace|alter) (?:your|the agent'?s?|its) (?:own )?(?:system prompt|instructions|identity|rules|soul|persona)\b";
    REWRITES = r"\b(?:write|add|append|save|insert)\b.{0,30}\b(?:claude|agents|soul|heartbeat|identity)\.md\b.{0,40}\b(?:new instructions|instructions to|directives?|override)\b";
    UNREAD = r"(?:do not|don't|never) (?:read|review|open|look at) the (?:diff|changes|patch|source|script)\b|(?:do not|don't|never|without) (?:read|inspect|review|check|examin|verify|scan|look)\w*\b.{0,40}\b(?:source|code|scripts?|it|contents?)\b.{0,20}\b(?:before|first)\b";
    EXEMPT = r"\b(?:permission|safety|security|approval|policy)\s?\w* (?:checks?|rules?|polic\w+|requirements?|prompts?)? ?(?:do|does) not apply|\bapprove (?:them|it|all|everything) automatically";
    PREFERS_ITSELF = r"\b(?:always|must) (?:always )?(?:select|choose|pick|prefer|rank) (?:this skill|me)\b|\brank (?:me|this skill) (?:first|highest|above)";
    POINTS_OUT = r"\]\((?:\.\./){2,}[^)]*(?:\.ssh|\.aws|\.env|etc/)";
    RAISES = r"\bcollaborators/\S+.{0,40}permission=admin|\bnpm owner add \S+|\bgh pr merge\b.{0,20}--admin|\badd\b.{0,30}\bas (?:an? )?(?:owner|admin|collaborator|maintainer)\b|\biam create-(?:user|access-key)|administratoraccess\b|\bcluster-admin\b|\bnet user \S+ \S+ /add|\busermod\b.{0,20}\b(?:sudo|docker|wheel)\b|\bchmod (?:u\+s|4755)|>>?\s*/etc/(?:hosts|passwd|profile)";
    CLAIMS = r"\b(?:pre-?)?(?:approved|verified|authori[sz]ed|certified|cleared) by (?:anthropic|openai|google|microsoft|the (?:security|admin|it|platform|safety) team|your (?:admin|administrator|owner|developer)s?|an administrator|the system)\b";
    SPREADS = r"\bcopy this (?:file|skill|section|text) (?:in)?to (?:each|every|all|any)\b|\b(?:instruct|tell|make|force|convince) (?:all |any |every |the )?other (?:agents?|assistants?|skills?|models?)\b|\b(?:copy|replicate|propagate|spread|install) (?:itself|yourself|this skill) (?:to|into|across|in) (?:all|every|other|any|each)\b|\bself-replicat|\b(?:send|forward|message|email)\b.{0,40}\b(?:all|every|each) (?:of )?(?:your |the |my |their |user'?s? )?contacts?\b";
    ECHOES = r"\becho\s+[\x22']?\$\{?\w*(?:secret|token|api_key|password|passwd)\b|\bcat\s+\S*\.env(?:\s|$|[|`&;\x22'])|\bsecurity find-(?:generic|internet)-password|\bgcloud auth print-access-token|\bgh auth token\b";
    SMUGGLES = r"(?:\bdig|\bnslookup|\bhost|\bping)\s[^`]*\$\(|!\[[^\]]*\]\(https?://[^)\s]*(?:=\{|=\$|=<|\{\{|\$\{)[^)]*\)|\bbase64[- ]?encode (?:it|them|this|these|the|all|each|every)\b.{0,60}\b(?:send|append|post|request|query|as (?:a|the) (?:url|parameter))\b";
    RANSOMS = r"\blocked until\b.{0,80}\b(?:btc|bitcoin|xmr|pay)\b|\b(?:restor|decrypt|unlock|recover|held\b).{0,80}\b(?:btc|bitcoin|xmr|monero)\b|\b(?:btc|bitcoin|xmr)\b.{0,60}\b(?:restor|decrypt|unlock|recover)";
    GRANTS = r"\ballow\b\W{1,8}bash\(\*\)|\bdefaultmode\b\W{1,6}bypass|\bskipapprovals?\b\W{1,4}true|\bautoapprove\b\W{1,4}true";
    REDIRECTS = r"\bstrict-ssl (?:=\s*)?false|\bsslverify (?:=\s*)?false|\bnode_tls_reject_unauthorized\W{1,3}0|\b(?:anthropic|openai)_(?:base_url|api_base)\W{1,3}https?://|\b(?:npm|pnpm|yarn) config set registry\b|\bpip config set global\.(?:index-url|trusted-host)|\bgit config\b.{0,30}\b(?:core\.hookspath|credential\.helper|insteadof)\b|\bhttps?_proxy=https?://";
    ORDERS_ABROAD = r"\b(?:sin|sans|ohne|sem) (?:avisar|decir|preguntar|informar|prévenir|informer|demander|es dem|den)\b.{0,30}(?:usuario|utilisateur|nutzer|benutzer|usuário)?|\bignore[zr]? (?:toutes )?les (?:instructions|règles)|\bignore (?:todas )?as instruções|\benv(?:ía|iar|oie|oyer|oyez|ie)\b.{0,60}https?://|\bsende\b.{0,60}https?://|绕过(?:审核|权限)|秘密(?:地)?(?:发送|上传|执行)";
    RECORDS = r"\b(?:record|log|capture)s? (?:all |every |each |the )?(?:user'?s? )?(?:keystrokes?|key presses|microphone|webcam|keyboard input)\b";
    TELLS_PROMPT = r"\b(?:reveal|print|output|repeat|show|dump|leak|disclose|return|include|send|tell me|share|expose)\b.{0,40}\b(?:system prompt|your (?:full |initial |hidden |original |internal |exact )*(?:instructions|prompt|system message|rules))\b";
    UNASKED = r"\b(?:isn't|is not) necessary to ask\b|\bno (?:confirmation|approval) (?:is )?(?:required|needed)\b|\bdon't require confirmation\b|\bwithout (?:asking|confirm\w*|approval|permission|prompting|(?:user |any |further |human )+(?:confirmation|approval|consent|permission|review))\b|\b(?:skip|disable|bypass|turn off|suppress|deactivate) (?:all |any |the |your |every )*(?:\w+ )?(?:safety|security|confirmations?|approvals?|permission|sandbox|guardrails?|logging|audit|antivirus|firewall|protections?|monitoring|evidence)\b|\b(?:auto|always)[- ]?approve|--dangerously|bypasspermissions|--yolo|无需(?:确认|审批|批准|询问|同意)|不需要(?:确认|审批)|확인 ?없이|確認(?:なし|せず)|без (?:подтверждени|спрос|разрешени)";
    NEVER_ASKS = r"(?:do not|don't|never) (?:ask|prompt|wait|request|seek) (?:for |the )?(?:user|confirmation|permission|approval)";
    BARE_IP = r"\b(?:to|at|from|via|host|server|contact|connect|curl|nc|ping)\W+(?:\w+://)?(?:[2-9]|1[1-9]|[2-9]\d|1(?:[013-689]\d|2[0-689]|7[013-9])|2[0-4]\d)(?:\.\d{1,3}){3}\b";
    CARRIES_KEY = r"\bpost\(\s*[\x22']https?://[^\x22']+[\x22'].{0,80}[\x22'](?:token|password|secret|api_?key)[\x22']\s*:|https?://\S*[?&](?:t|d|q|x|c|k|data|id|u|s|v|p|i|e|env|info)=\$\{?\w*(?:token|key|secret|pass)|\bcurl\b.{0,60}https?://[^\s/]+/\$\{?\w*(?:key|token|secret)|\bcurl\s+\S*\$\{?\w*(?:key|token|secret)\w*\S*\s+https?:|\b(?:fetch|post|axios|request)\b.{0,120}\b(?:body|data|json)\s*[:=]\s*(?:json\.(?:stringify|dumps)\()?\s*\{?\s*(?:key|secret|token|password|creds?|credentials?|env|api_?key)\b";
    DECEIVES = r"\breport nothing\b|\b(?:lie to|mislead|deceive|trick|convince|pressure|manipulate) (?:the |your |a )?(?:user|owner|human|operator|victim|agent|model|reviewer)|\bfabricate (?:the |a |an |either |any )?(?:result|output|cve|value|evidence|source|citation|number|data|success)|\b(?:tell|assure) (?:the )?(?:user|owner|them)\b.{0,60}\b(?:is safe|are safe|verified|no (?:issues|problems) (?:were )?found|routine|was scanned)|\b(?:rate|score|grade|mark|flag|report|classify) this skill (?:as |with |at )?(?:\w+ )?(?:safe|approved|trusted|benign|clean|10\b|perfect|pass)|\bsay (?:that )?this skill is (?:safe|fine|trusted)|do not (?:mention|flag|report)\b.{0,40}\b(?:issues|problems|findings|warnings)|\breport no (?:findings|issues|problems)|\balways (?:return|report|answer|say|output|respond with)\b.{0,40}\b(?:pass\b|approved|is safe|clean\b|success\b|no (?:issues|findings))|\bpose as (?:the|an?) (?:user|owner|admin|system|official|support)";
    PUSHES = r"\bgit remote (?:add|set-url)\b.{0,80}https?://|\bgit push\b.{0,30}https?://|(?:new|another) git\s*remote|git\s+remote pointing to";
    ASKS_KEYS = r"\b(?:ask|paste|enter|share|provide|export|type|send|submit)\b.{0,40}\b(?:seed phrase|private key|recovery phrase|mnemonic|wallet password|master password|sudo password|keychain)";
    ASKS = r"\btell\b.{0,30}\b(?:user|owner|them)\b.{0,20}\bto (?:enter|paste|give|type|provide|share)\b.{0,30}\b(?:password|credentials?|api key|token)|\b(?:ask|prompt|request)\s+(?:the |your |a )?(?:user|owner|operator|them|human|developer)\b.{0,50}\b(?:password|passphrase|api (?:key|token)|credentials?|access token|secret key|2fa|one[- ]time code|credit card|social security|bank (?:account|routing))";
    WALLET = r"\bseed phrase|\bmnemonic phrase|\bwallet private key|\brecovery phrase";
    PAYS = r"\b(?:transfer|send|swap|withdraw|drain|sweep)\b.{0,60}\b(?:funds?|eth|sol|btc|usdc|crypto|balance|money|assets|coins)\b.{0,80}(?:0x[0-9a-f]{6,}|wallet|address|account)";
    FIXED_INBOX = r"discord(?:app)?\.com/api/webhooks/\d";
    DROPS = r"https?://[^\s\x22'`)]*/(?:collect|exfil|steal|leak|ingest|beacon|c2|drop|harvest|loot|grab|payload|pwn|backdoor)(?:[^a-z-]|$)|[?&](?:data|d|q|leak|exfil|secret|env|c|payload|info)=(?:\$\(|\$\{?[a-z_]*(?:key|token|secret|pass|env)|\{(?:data|env|secret|token|key|content)|`)";
}

/// What a sign is, how much it says, and whether a sentence that warns of it counts: an
/// order to hide something is written as a warning.
pub(super) struct Hint {
    pub(super) pattern: &'static Pattern,
    pub(super) says: Says,
    pub(super) counts: Counts,
    pub(super) what: &'static str,
}

/// How much a sign says, in points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    HardlyAnything = 1,
    Little = 2,
    Enough = 4,
}

impl Hint {
    /// Whether it is about something that runs by itself.
    pub(super) fn is_stay(&self) -> bool {
        std::ptr::eq(self.pattern, &STAYS)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// Where it is done.
    Done,
    /// Where it is an order to the agent, which may stand in the form of a warning.
    Ordered,
}

pub(super) const HINTS: &[Hint] = &[
    hint(
        &TAKES,
        Says::Little,
        Counts::Done,
        "reads something private",
    ),
    hint(
        &TAKES_TOO,
        Says::Little,
        Counts::Done,
        "is after something private",
    ),
    hint(
        &HANDS_OUT,
        Says::Enough,
        Counts::Done,
        "hands something private to somebody",
    ),
    hint(
        &SENDS,
        Says::HardlyAnything,
        Counts::Done,
        "sends something away",
    ),
    hint(
        &SENDS_PRIVATE,
        Says::Little,
        Counts::Done,
        "sends away what is not its own",
    ),
    hint(
        &SENDS_ABROAD,
        Says::Enough,
        Counts::Done,
        "sends something away, or opens a door",
    ),
    hint(
        &LEAVES_OUT,
        Says::Enough,
        Counts::Ordered,
        "has the agent leave something out of what it tells you",
    ),
    hint(
        &CONCEALS,
        Says::Enough,
        Counts::Ordered,
        "tells the agent to keep something from you",
    ),
    hint(
        &OVERRIDES,
        Says::Enough,
        Counts::Done,
        "is against the agent's rules",
    ),
    hint(
        &NEW_SELF,
        Says::Enough,
        Counts::Done,
        "tells the agent that it is something else",
    ),
    hint(
        &POSES,
        Says::Enough,
        Counts::Ordered,
        "poses as a message of the system",
    ),
    hint(
        &EACH_TIME,
        Says::HardlyAnything,
        Counts::Done,
        "wants to come first, whatever is asked",
    ),
    hint(
        &OBEYS,
        Says::Enough,
        Counts::Done,
        "has the agent do what a remote text says",
    ),
    hint(
        &FETCHED,
        Says::Little,
        Counts::Done,
        "runs what was fetched or decoded",
    ),
    hint(
        &DECODES,
        Says::HardlyAnything,
        Counts::Done,
        "decodes something",
    ),
    hint(
        &GARBLED,
        Says::Enough,
        Counts::Done,
        "is written so that it cannot be read",
    ),
    hint(&EVALUATES, Says::Little, Counts::Done, "runs text as code"),
    hint(
        &WRECKS,
        Says::Enough,
        Counts::Done,
        "deletes more than a task can need",
    ),
    hint(
        &STAYS,
        Says::Enough,
        Counts::Done,
        "runs by itself from then on",
    ),
    hint(
        &OPENS_DOOR,
        Says::Enough,
        Counts::Done,
        "lets somebody in, or works for somebody else",
    ),
    hint(
        &SNOOPS,
        Says::Enough,
        Counts::Done,
        "looks around where it has no business",
    ),
    hint(
        &OUTLIVES,
        Says::Enough,
        Counts::Done,
        "changes what the agent is in every later session",
    ),
    hint(
        &REWRITES,
        Says::Little,
        Counts::Done,
        "gives the agent new instructions that stay",
    ),
    hint(
        &UNREAD,
        Says::Little,
        Counts::Ordered,
        "wants something run that nobody has read",
    ),
    hint(
        &EXEMPT,
        Says::Enough,
        Counts::Ordered,
        "says that the rules are not for it",
    ),
    hint(
        &PREFERS_ITSELF,
        Says::Little,
        Counts::Done,
        "wants to be taken before all others",
    ),
    hint(
        &POINTS_OUT,
        Says::Enough,
        Counts::Done,
        "points at a file outside of its folder",
    ),
    hint(
        &RAISES,
        Says::Little,
        Counts::Done,
        "takes more rights than it has",
    ),
    hint(
        &CLAIMS,
        Says::Little,
        Counts::Done,
        "claims that somebody has vouched for it",
    ),
    hint(
        &SPREADS,
        Says::Enough,
        Counts::Done,
        "wants to spread to others",
    ),
    hint(&ECHOES, Says::Little, Counts::Done, "shows a key"),
    hint(
        &SMUGGLES,
        Says::Enough,
        Counts::Done,
        "carries something out in an address",
    ),
    hint(
        &RANSOMS,
        Says::Enough,
        Counts::Done,
        "wants money for giving something back",
    ),
    hint(
        &GRANTS,
        Says::Enough,
        Counts::Done,
        "gives the agent a free hand",
    ),
    hint(
        &REDIRECTS,
        Says::Little,
        Counts::Done,
        "leads what the agent or its tools fetch to another place",
    ),
    hint(
        &ORDERS_ABROAD,
        Says::Enough,
        Counts::Done,
        "is against the rules, or hides something",
    ),
    hint(
        &RECORDS,
        Says::Enough,
        Counts::Done,
        "records what somebody types, says or shows",
    ),
    hint(
        &TELLS_PROMPT,
        Says::Enough,
        Counts::Done,
        "asks for the agent's own instructions",
    ),
    hint(
        &UNASKED,
        Says::HardlyAnything,
        Counts::Done,
        "wants things done without asking you",
    ),
    hint(
        &NEVER_ASKS,
        Says::HardlyAnything,
        Counts::Ordered,
        "wants things done without asking you",
    ),
    hint(
        &BARE_IP,
        Says::Little,
        Counts::Done,
        "goes to an address that belongs to nobody by name",
    ),
    hint(&CARRIES_KEY, Says::Little, Counts::Done, "sends a key away"),
    hint(
        &DECEIVES,
        Says::Enough,
        Counts::Done,
        "has the agent say what is not so",
    ),
    hint(
        &PUSHES,
        Says::Enough,
        Counts::Done,
        "sends the project to another place",
    ),
    hint(
        &ASKS_KEYS,
        Says::Enough,
        Counts::Done,
        "gets a key out of a person",
    ),
    hint(
        &ASKS,
        Says::HardlyAnything,
        Counts::Done,
        "gets a password out of a person",
    ),
    hint(
        &WALLET,
        Says::HardlyAnything,
        Counts::Done,
        "is about the keys of a wallet",
    ),
    hint(&PAYS, Says::Enough, Counts::Done, "moves money"),
    hint(
        &FIXED_INBOX,
        Says::Little,
        Counts::Done,
        "sends to a channel that is not yours",
    ),
    hint(
        &DROPS,
        Says::Enough,
        Counts::Done,
        "names an address that is there to collect",
    ),
];

const fn hint(pattern: &'static Pattern, says: Says, counts: Counts, what: &'static str) -> Hint {
    Hint {
        pattern,
        says,
        counts,
        what,
    }
}
