use serde_json::json;

use crate::toolbox::tests::ToolboxFixture;

fn project() -> ToolboxFixture {
    let bench = ToolboxFixture::new();
    bench.put(".gitignore", "*.log\n/build/\n!keep.log\n");
    bench.put("src/main.rs", "fn main() {\n    say(\"hi\");\n}\n");
    bench.put(
        "src/say.rs",
        "pub fn say(what: &str) {\n    // Say it.\n    print(what);\n}\n",
    );
    bench.put("src/.gitignore", "generated.rs\n");
    bench.put("src/generated.rs", "fn say() {}\n");
    bench.put("debug.log", "say what\n");
    bench.put("keep.log", "say more\n");
    bench.put("build/out.txt", "say out\n");
    bench.put(".git/config", "say git\n");
    bench.put("data.bin", b"say\0\x01\x02\x7f");
    std::os::unix::fs::symlink("/", bench.path("root")).unwrap();
    bench
}

#[test]
fn listing() {
    let bench = project();
    insta::assert_snapshot!(bench.said("ls", json!({})), @r#"
    .git/
    .gitignore  24 B
    build/
    data.bin  7 B
    debug.log  9 B
    keep.log  9 B
    root (link)
    src/
    "#);
    insta::assert_snapshot!(bench.said("ls", json!({"path": "src", "limit": 2})), @r#"
    .gitignore  13 B
    generated.rs  12 B
    [2 of 4 entries. Ask for more with limit, or use find.]
    "#);
    insta::assert_snapshot!(bench.refused("ls", json!({"path": "scr"})), @r#"scr does not exist. Did you mean `src`?"#);
    insta::assert_snapshot!(bench.refused("ls", json!({"path": "debug.log"})), @r#"debug.log is not a folder."#);
}

#[test]
fn finding() {
    let bench = project();
    insta::assert_snapshot!(bench.said("find", json!({"pattern": "*"})), @r#"
    .gitignore
    data.bin
    keep.log
    root
    src/
    src/.gitignore
    src/main.rs
    src/say.rs
    "#);
    insta::assert_snapshot!(bench.said("find", json!({"pattern": "src/**/*.rs"})), @r#"
    src/main.rs
    src/say.rs
    "#);
    insta::assert_snapshot!(bench.said("find", json!({"pattern": "*.rs", "path": "src", "includeIgnored": true, "limit": 2})), @r#"
    src/generated.rs
    src/main.rs
    [The first 2 results. Narrow the pattern or raise limit.]
    "#);
    insta::assert_snapshot!(bench.said("find", json!({"pattern": "*.py"})), @r#"Nothing in the workspace matches `*.py`."#);
    insta::assert_snapshot!(bench.refused("find", json!({"pattern": "["})), @r#"find: argument `pattern` is not a glob: error parsing glob '[': unclosed character class; missing ']'. Example: {"pattern":"*.md"}"#);
}

#[test]
fn searching() {
    let bench = project();
    insta::assert_snapshot!(bench.said("grep", json!({"pattern": r"\bsay\b"})), @r#"
    keep.log:1: say more
    src/main.rs:2:     say("hi");
    src/say.rs:1: pub fn say(what: &str) {
    "#);
    insta::assert_snapshot!(bench.said("grep", json!({"pattern": "SAY(", "literal": true, "ignoreCase": true, "context": 1})), @r#"
    src/main.rs-1- fn main() {
    src/main.rs:2:     say("hi");
    src/main.rs-3- }
    src/say.rs:1: pub fn say(what: &str) {
    src/say.rs-2-     // Say it.
    "#);
    insta::assert_snapshot!(bench.said("grep", json!({"pattern": "say", "glob": "*.rs", "limit": 1})), @r#"
    src/main.rs:2:     say("hi");
    [Stopped after 1 match. Narrow the pattern, the path or the glob, or raise limit.]
    "#);
    // Rules of the folders above hold too; a file that is named is searched.
    bench.put("src/trace.log", "say it\n");
    let below = bench.said("grep", json!({"pattern": "say", "path": "src"}));
    assert!(below.contains("src/main.rs:2") && !below.contains("trace"));
    insta::assert_snapshot!(bench.said("grep", json!({"pattern": "say", "path": "src/generated.rs"})), @r#"src/generated.rs:1: fn say() {}"#);
    insta::assert_snapshot!(bench.said("grep", json!({"pattern": "nothing like it"})), @r#"No match for `nothing like it` in the workspace."#);
    insta::assert_snapshot!(bench.refused("grep", json!({"pattern": "("})), @r#"grep: argument `pattern` is not a regular expression: unclosed group. For plain text set literal to true."#);
    insta::assert_snapshot!(bench.refused("grep", json!({"pattern": "x", "path": "root/etc"})), @r#"root/etc leaves the workspace, through `..` or a link. Use a path inside it."#);
}

#[test]
fn a_name_is_one_line() {
    let bench = ToolboxFixture::new();
    bench.put("a\nb\u{202e}c.txt", "x");
    for (tool, arguments) in [
        ("ls", json!({})),
        ("find", json!({"pattern": "*"})),
        ("grep", json!({"pattern": "x"})),
        ("read", json!({"path": "a\nb\u{202e}c.txt", "offset": 2})),
    ] {
        let text = bench.run(tool, arguments).text();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(!text.contains('\u{202e}'));
    }
}

#[test]
fn long_results_go_to_a_file_that_can_be_read() {
    let bench = ToolboxFixture::new();
    let line = format!("needle {}\n", "x".repeat(100));
    bench.put("hay.txt", line.repeat(1_500));
    let output = bench.run("grep", json!({"pattern": "needle", "limit": 2000}));
    assert!(output.text().chars().count() < 17_000);
    let text = output.text();
    let path = output.details["spooled"].as_str().unwrap();
    assert!(text.contains(path));
    let again = bench.run("read", json!({"path": path, "offset": 500, "limit": 1}));
    assert!(
        again.text().starts_with("hay.txt:500: needle"),
        "{}",
        again.text()
    );
    assert_eq!(
        bench
            .refused("write", json!({"path": path, "content": ""}))
            .split(' ')
            .nth(1),
        Some("can")
    );
}
