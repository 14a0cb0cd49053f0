//! The programs that only look, as data.

/// A program that only looks, as long as it has no other options than these.
pub(super) struct ReadOnlyRow {
    pub(super) program: &'static str,
    /// The first argument, of programs that have commands.
    pub(super) command: Option<&'static str>,
    /// Letters of options without a value; they may stand together.
    pub(super) letters: &'static str,
    /// Long options, with or without `=` and a value.
    pub(super) long: &'static [&'static str],
    /// Options that are followed by a value.
    pub(super) valued: &'static [&'static str],
    pub(super) operands: OperandRule,
}

/// What may follow the options.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OperandRule {
    None,
    /// Words and paths; a path that exists lies in the workspace.
    Inside,
    /// `+%F`.
    Format,
}

const fn row(
    program: &'static str,
    command: Option<&'static str>,
    letters: &'static str,
    long: &'static [&'static str],
    valued: &'static [&'static str],
    operands: OperandRule,
) -> ReadOnlyRow {
    ReadOnlyRow {
        program,
        command,
        letters,
        long,
        valued,
        operands,
    }
}

use OperandRule::{Format, Inside, None as NoOperands};

#[rustfmt::skip]
pub(super) const READ_ONLY: &[ReadOnlyRow] = &[
    row("ls", None, "1aAbBcCdFghiklmnNopqQrRsStTuUvxXZ", &["all", "almost-all", "human-readable",
        "recursive", "color", "reverse", "size", "time", "sort", "directory", "classify",
        "group-directories-first", "full-time"], &["-I", "--ignore", "-w"], Inside),
    row("cat", None, "AbeEnstTuv", &["number", "show-all", "number-nonblank", "squeeze-blank"], &[],
        Inside),
    row("tac", None, "br", &[], &["-s"], Inside),
    row("head", None, "qvz", &["quiet", "verbose", "lines", "bytes"], &["-n", "-c"], Inside),
    row("tail", None, "qvz", &["quiet", "verbose", "lines", "bytes"], &["-n", "-c"], Inside),
    row("wc", None, "clmLw", &["bytes", "chars", "lines", "words", "max-line-length"], &[], Inside),
    row("nl", None, "p", &[], &["-b", "-w", "-s", "-v"], Inside),
    row("cut", None, "nsz", &["complement", "only-delimited", "delimiter", "fields", "characters",
        "bytes", "output-delimiter"], &["-d", "-f", "-c", "-b"], Inside),
    row("tr", None, "cCdst", &["complement", "delete", "squeeze-repeats"], &[], Inside),
    row("grep", None, "abcEFGhHiIlLnoPqrsTUvVwxyzZ", &["extended-regexp", "fixed-strings",
        "ignore-case", "invert-match", "word-regexp", "line-regexp", "count", "color", "colour",
        "files-with-matches", "files-without-match", "only-matching", "quiet", "no-messages",
        "line-number", "with-filename", "no-filename", "recursive", "include", "exclude", "exclude-dir",
        "max-count", "after-context", "before-context", "context", "text"], &["-e", "-m", "-A", "-B",
        "-C", "--regexp"], Inside),
    row("rg", None, "aciFHhIlnNoPpqsSUuvVwx0", &["files", "hidden", "no-ignore", "glob", "iglob",
        "type", "type-not", "type-list", "files-with-matches", "files-without-match", "count",
        "count-matches", "ignore-case", "smart-case", "case-sensitive", "fixed-strings", "line-number",
        "no-line-number", "no-heading", "heading", "color", "colors", "column", "json", "multiline",
        "word-regexp", "only-matching", "max-count", "max-depth", "context", "after-context",
        "before-context", "sort", "stats", "vimgrep", "no-config", "no-messages", "pcre2", "quiet",
        "with-filename", "no-filename", "invert-match"], &["-e", "-g", "-t", "-T", "-m", "-d", "-A",
        "-B", "-C", "-r", "--regexp", "--replace"], Inside),
    row("find", None, "", &[], &["-name", "-iname", "-path", "-ipath", "-wholename", "-regex",
        "-iregex", "-type", "-size", "-mtime", "-mmin", "-atime", "-ctime", "-newer", "-maxdepth",
        "-mindepth", "-perm", "-user", "-group"], Inside),
    row("stat", None, "ft", &["file-system", "terse", "format", "printf"], &["-c"],
        Inside),
    row("file", None, "bikNrs0", &["brief", "mime", "mime-type", "mime-encoding"],
        &[], Inside),
    row("du", None, "0abchklmPsSx", &["all", "human-readable", "summarize", "total",
        "apparent-size", "max-depth", "exclude", "si", "bytes", "one-file-system"], &["-d"], Inside),
    row("df", None, "aBhHiklPT", &["all", "human-readable", "inodes", "local", "portability",
        "print-type", "total"], &["-t", "-x"], Inside),
    row("diff", None, "abBcdeEiNpqstTuwy", &["brief", "unified", "context", "side-by-side", "ignore-case", "ignore-all-space", "ignore-blank-lines", "color", "new-file",
        "exclude"], &["-U", "-C", "-x", "-W"], Inside),
    row("cmp", None, "bls", &[], &["-n", "-i"], Inside),
    row("md5sum", None, "bt", &[], &[], Inside),
    row("sha1sum", None, "bt", &[], &[], Inside),
    row("sha256sum", None, "bt", &[], &[], Inside),
    row("cksum", None, "", &[], &[], Inside),
    row("tree", None, "adfCDhiLpsugF", &["noreport", "dirsfirst", "gitignore", "prune"], &["-I",
        "-P"], Inside),
    row("realpath", None, "emLPqsz", &[], &[], Inside),
    row("readlink", None, "efmnqsvz", &[], &[], Inside),
    row("basename", None, "az", &[], &["-s"], Inside),
    row("dirname", None, "z", &[], &[], Inside),
    row("seq", None, "w", &[], &["-s", "-f"], Inside),
    row("date", None, "uR", &["utc", "iso-8601", "rfc-3339", "rfc-email"], &["-d", "--date"],
        Format),
    row("cal", None, "13jmy", &[], &[], NoOperands),
    row("pwd", None, "LP", &[], &[], NoOperands),
    row("whoami", None, "", &[], &[], NoOperands),
    row("id", None, "gGnruz", &[], &[], NoOperands),
    row("uname", None, "amnoprsv", &["all", "kernel-name", "machine"], &[], NoOperands),
    row("arch", None, "", &[], &[], NoOperands),
    row("nproc", None, "", &["all"], &[], NoOperands),
    row("uptime", None, "ps", &[], &[], NoOperands),
    row("free", None, "bgkhmt", &["human", "total"], &[], NoOperands),
    row("which", None, "a", &[], &[], Inside),
    row("git", Some("status"), "bsuvz", &["short", "branch", "porcelain", "untracked-files",
        "ignored", "long", "verbose", "show-stash", "ahead-behind"], &[], Inside),
    row("git", Some("log"), "piz", GIT_SHOWS, &["-n", "--max-count", "--since", "--until",
        "--after", "--before", "--author", "--grep", "-S", "-G", "-L", "-U"], Inside),
    row("git", Some("show"), "psz", GIT_SHOWS, &["-U"], Inside),
    row("git", Some("diff"), "bpqwz", GIT_SHOWS, &["-U", "-S", "-G"], Inside),
    row("git", Some("blame"), "bcefnstw", &["date", "porcelain", "line-porcelain", "root"], &["-L"],
        Inside),
    row("git", Some("shortlog"), "cens", &["numbered", "summary", "email", "no-merges"], &[],
        Inside),
    row("git", Some("branch"), "arv", &["all", "remotes", "verbose", "show-current", "list",
        "no-color", "color", "sort", "format"], &["--contains", "--merged", "--no-merged"], NoOperands),
    row("git", Some("remote"), "v", &["verbose"], &[], NoOperands),
    row("git", Some("rev-parse"), "q", &["show-toplevel", "abbrev-ref", "short",
        "is-inside-work-tree", "git-dir", "verify"], &[], Inside),
    row("git", Some("ls-files"), "cdmostuz", &["cached", "deleted", "modified", "others", "ignored",
        "stage", "exclude-standard", "full-name"], &[], Inside),
    row("git", Some("ls-tree"), "dlrtz", &["name-only", "name-status", "long", "full-name"], &[],
        Inside),
    row("git", Some("describe"), "", &["tags", "all", "always", "dirty", "long", "abbrev", "match"],
        &[], Inside),
    row("git", Some("merge-base"), "a", &["all", "is-ancestor", "fork-point"], &[], Inside),
    row("git", Some("rev-list"), "", &["count", "all", "max-count", "since", "until", "no-merges",
        "left-right", "reverse"], &["-n"], Inside),
    row("git", Some("reflog"), "", &["oneline", "all", "date"], &["-n"], NoOperands),
];

#[rustfmt::skip]
const GIT_SHOWS: &[&str] = &[
    "oneline", "graph", "all", "branches", "tags", "remotes", "decorate", "no-decorate", "stat",
    "shortstat", "numstat", "summary", "name-only", "name-status", "no-merges", "merges",
    "max-count", "since", "until", "after", "before", "author", "committer", "grep", "pretty",
    "patch", "no-patch", "abbrev-commit", "first-parent", "follow", "reverse", "date", "color",
    "no-color", "cached", "staged", "unified", "word-diff", "check", "no-ext-diff",
    "no-textconv", "ignore-all-space", "ignore-space-change", "ignore-blank-lines",
    "diff-filter", "merge-base", "find-renames", "find-copies", "no-renames", "relative",
    "minimal", "quiet", "exit-code", "raw", "left-right", "cherry-pick", "topo-order",
    "date-order",
];

/// What only puts on record, in the repository of the workspace, what already lies there.
#[rustfmt::skip]
pub(super) const RECORDING: &[ReadOnlyRow] = &[
    row("git", Some("add"), "Afnuv", &["all", "no-all", "update", "verbose", "dry-run", "force",
        "intent-to-add", "ignore-removal", "ignore-errors"], &[], Inside),
    row("git", Some("commit"), "anqs", &["all", "quiet", "signoff", "no-verify", "allow-empty",
        "no-gpg-sign", "no-edit"], &["-m", "--message", "--author", "--date"], Inside),
];
