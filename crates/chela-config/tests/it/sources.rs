//! Putting the config together: files, includes, environment.

use std::path::{Path, PathBuf};

use chela_config::sources::{GatheredConfig, MainFile, gather, gather_text};
use chela_config::{KeyPath, Severity};
use chela_core::{Host, vars};
use serde_json::{Value, json};

/// A home folder of its own, with files in `.chela`.
struct Home {
    folder: tempfile::TempDir,
    host: Host,
}

impl Home {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut host = Host::fixed(folder.path().canonicalize().unwrap());
        host.cwd = host.user_home.join("project");
        let home = Self { folder, host };
        std::fs::create_dir_all(home.path("../project")).unwrap();
        for (name, content) in files {
            home.write(name, content);
        }
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        let path = self.host.state_dir().join(name);
        std::fs::create_dir_all(self.host.state_dir()).unwrap();
        path
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn gather(&self) -> GatheredConfig {
        gather(&self.host)
    }

    fn value(&self) -> Value {
        let gathered = self.gather();
        assert_eq!(self.said(&gathered), "");
        gathered.root.to_json()
    }

    /// The findings, with the home folder taken out.
    fn said(&self, gathered: &GatheredConfig) -> String {
        let home = self.folder.path().canonicalize().unwrap();
        let lines: Vec<_> = gathered
            .diagnostics
            .iter()
            .map(ToString::to_string)
            .collect();
        lines.join("\n").replace(home.to_str().unwrap(), "~")
    }
}

fn path(text: &str) -> KeyPath {
    KeyPath::parse(text).unwrap()
}

#[test]
fn no_file_is_an_empty_config() {
    let home = Home::new(&[]);
    let gathered = home.gather();
    assert_eq!(
        (gathered.root.to_json(), gathered.main),
        (json!({}), MainFile::Missing)
    );
    assert_eq!(gathered.diagnostics, []);
}

#[test]
fn unusable_files_are_named_and_nothing_else_happens() {
    let home = Home::new(&[]);
    let mut report = Vec::new();
    let mut check = |make: &dyn Fn(&Path)| {
        let file = home.path("chela.json");
        make(&file);
        let gathered = home.gather();
        assert_eq!(
            (gathered.root.to_json(), gathered.main),
            (json!({}), MainFile::Unusable)
        );
        report.push(home.said(&gathered));
        let _ = std::fs::remove_dir(&file).or_else(|_| std::fs::remove_file(&file));
    };
    check(&|file| std::fs::create_dir(file).unwrap());
    check(&|file| std::fs::write(file, b"{\n a: \"\xff\" }").unwrap());
    check(&|file| std::fs::write(file, b"\xff\xfe{\0}\0").unwrap());
    check(&|file| std::fs::write(file, "{ a: 1").unwrap());
    check(&|file| std::fs::write(file, "").unwrap());
    check(&|file| std::fs::write(file, "[1]").unwrap());
    check(&|file| std::fs::write(file, " ".repeat((16 << 20) + 1)).unwrap());
    check(&|file| std::os::unix::fs::symlink("chela.json", file).unwrap());
    check(&|file| {
        let status = std::process::Command::new("mkfifo")
            .arg(file)
            .status()
            .unwrap();
        assert!(status.success());
    });
    check(&|file| std::os::unix::fs::symlink("/dev/zero", file).unwrap());
    insta::assert_snapshot!(report.join("\n"), @r#"
    ~/.chela/chela.json:1:1: the config file is a folder (a file is needed here: move the folder away, or correct the path)
    ~/.chela/chela.json:2:6: the config file is not UTF-8 text (line 2, column 6) (save the file as UTF-8)
    ~/.chela/chela.json:1:1: the config file is UTF-16 text (save the file as UTF-8)
    ~/.chela/chela.json:1:1: the object that this `{` opens never ends: the file stops first (a `}` is missing, or the file was cut off)
    ~/.chela/chela.json:1:1: the file is empty (write `{}` for a config without settings)
    ~/.chela/chela.json:1:1: the config is a list; it must be an object (the whole config is one `{ … }`)
    ~/.chela/chela.json:1:1: the config file is larger than 16 MiB (no config is that large; check that it is the right file)
    ~/.chela/chela.json:1:1: the config file is a symlink that leads back to itself (correct the link)
    ~/.chela/chela.json:1:1: the config file is a pipe, a socket or a device (a regular file is needed here)
    ~/.chela/chela.json:1:1: the config file is a pipe, a socket or a device (a regular file is needed here)
    "#);
}

#[test]
fn includes_are_put_in_place_and_merged() {
    let home = Home::new(&[
        (
            "chela.json",
            "{ $include: ['./base.json5', 'more/extra.json5'],\n  agents: { $include: 'agents.json5', list: [{ id: 'last' }] },\n  port: 3,\n  whole: { $include: 'list.json5' } }",
        ),
        (
            "base.json5",
            "{ port: 1, host: 'a', deep: { x: 1, y: [1] } }",
        ),
        (
            "more/extra.json5",
            "{ port: 2, deep: { y: [2], z: { $include: '../agents.json5' } } }",
        ),
        ("agents.json5", "{ list: [{ id: 'first' }], defaults: {} }"),
        ("list.json5", "[1, 2]"),
    ]);
    let agents = json!({ "list": [{ "id": "first" }], "defaults": {} });
    assert_eq!(
        home.value(),
        json!({
            "port": 3, "host": "a",
            "deep": { "x": 1, "y": [1, 2], "z": agents },
            "agents": { "list": [{ "id": "first" }, { "id": "last" }], "defaults": {} },
            "whole": [1, 2],
        })
    );
    let gathered = home.gather();
    let written_in = |key: &str| {
        let place = gathered.place(gathered.root.at_path(&path(key)).unwrap().at);
        place.unwrap().file.file_name().unwrap().to_owned()
    };
    assert_eq!(written_in("deep.z.list[0].id"), "agents.json5");
    assert_eq!(written_in("host"), "base.json5");
    assert_eq!(written_in("agents.defaults"), "agents.json5");
    assert_eq!(gathered.files.len(), 5);
    let place = gathered
        .place(gathered.root.at_path(&path("deep.x")).unwrap().at)
        .unwrap();
    assert_eq!((place.line, place.column), (1, 34));
    assert!(place.file.ends_with("base.json5"));
}

#[test]
fn ten_levels_of_includes_are_enough() {
    let level = |n: usize| {
        (
            format!("l{n}.json5"),
            format!("{{ a: {{ $include: 'l{}.json5' }} }}", n + 1),
        )
    };
    let home = Home::new(&[
        ("chela.json", "{ $include: 'l1.json5' }"),
        ("l10.json5", "{ end: true }"),
    ]);
    for (name, content) in (1..10).map(level) {
        home.write(&name, &content);
    }
    let deepest = path("a.a.a.a.a.a.a.a.a.end");
    assert_eq!(
        home.gather().root.at_path(&deepest).unwrap().to_json(),
        json!(true)
    );
    let (name, content) = level(10);
    home.write(&name, &content);
    home.write("l11.json5", "{}");
    insta::assert_snapshot!(home.said(&home.gather()), @"~/.chela/l10.json5:1:18: a.a.a.a.a.a.a.a.a.a: `$include` goes more than 10 levels deep (include the file from further up)");
}

#[test]
fn bad_includes_say_where_and_why() {
    let home = Home::new(&[
        (
            "chela.json",
            "{\n  a: { $include: 'gone.json5' },\n  b: { $include: '/etc/passwd' },\n  c: { $include: '../outside.json5' },\n  d: { $include: 'loop.json5' },\n  e: { $include: 'folder' },\n  f: { $include: 'link.json5' },\n  g: { $include: 7 },\n  h: { $include: ['', 3] },\n  i: { $include: 'latin.json5' },\n  j: { $include: 'pipe' },\n  k: { $include: 'list.json5', l: 1 },\n  m: { $include: 'broken.json5' },\n  n: { $include: 'chela.json' },\n  ok: 1,\n}",
        ),
        ("../outside.json5", "{}"),
        ("loop.json5", "{ x: { $include: 'pool.json5' } }"),
        ("pool.json5", "{ y: { $include: './loop.json5' } }"),
        ("folder/x", ""),
        ("list.json5", "[]"),
        ("broken.json5", "{\n  a: }"),
    ]);
    std::os::unix::fs::symlink("../outside.json5", home.path("link.json5")).unwrap();
    std::fs::write(home.path("latin.json5"), b"{ a: '\xe9' }").unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(home.path("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    let gathered = home.gather();
    assert_eq!(gathered.root.get("ok").unwrap().to_json(), json!(1));
    assert!(
        gathered
            .diagnostics
            .iter()
            .all(|found| found.severity == Severity::Error)
    );
    insta::assert_snapshot!(home.said(&gathered), @r"
    ~/.chela/chela.json:2:18: a: the included file ~/.chela/gone.json5 does not exist (create it, or correct the path)
    ~/.chela/chela.json:3:18: b: /etc/passwd is outside the folders that may be included (keep included files beside the config file, or add their folder to CHELA_INCLUDE_ROOTS)
    ~/.chela/chela.json:4:18: c: ~/.chela/../outside.json5 is outside the folders that may be included (keep included files beside the config file, or add their folder to CHELA_INCLUDE_ROOTS)
    ~/.chela/pool.json5:1:18: d.x.y: `$include` goes round in a circle: chela.json → loop.json5 → pool.json5 → loop.json5 (remove one of these includes)
    ~/.chela/chela.json:6:18: e: the included file ~/.chela/folder is a folder (a file is needed here: move the folder away, or correct the path)
    ~/.chela/chela.json:7:18: f: ~/.chela/link.json5 is outside the folders that may be included (keep included files beside the config file, or add their folder to CHELA_INCLUDE_ROOTS)
    ~/.chela/chela.json:8:18: g: `$include` is a number (write a file name, or a list of file names)
    ~/.chela/chela.json:9:18: h: `$include` lists something that is not a file name (write a file name, or a list of file names)
    ~/.chela/chela.json:9:19: h: the name of the included file is empty, malformed or longer than 4096 bytes (write the path of a file)
    ~/.chela/chela.json:10:18: i: the included file ~/.chela/latin.json5 is not UTF-8 text (line 1, column 7) (save the file as UTF-8)
    ~/.chela/chela.json:11:18: j: the included file ~/.chela/pipe is a pipe, a socket or a device (a regular file is needed here)
    ~/.chela/chela.json:12:6: k: the included file is a list, so it cannot be merged with the keys beside `$include` (include an object, or remove the other keys)
    ~/.chela/broken.json5:2:6: expected a value for `a`, found `}`
    ~/.chela/chela.json:14:18: n: `$include` goes round in a circle: chela.json → chela.json (remove one of these includes)
    ");

    let long = format!("{{ $include: '{}' }}", "x/".repeat(2100));
    assert!(
        home.said(&gather_text(&home.host, &long))
            .contains("longer than 4096 bytes")
    );
}

#[test]
fn more_folders_can_be_allowed_but_not_by_an_env_file() {
    let mut home = Home::new(&[
        ("chela.json", "{ $include: '../shared/a.json5' }"),
        ("../shared/a.json5", "{ a: 1 }"),
    ]);
    home.write(".env", "CHELA_INCLUDE_ROOTS=/\n");
    assert!(home.gather().has_errors());
    home.host
        .env
        .insert(vars::INCLUDE_ROOTS.into(), "/nowhere:~/shared".into());
    assert_eq!(home.value(), json!({ "a": 1 }));
}

#[test]
fn a_bomb_of_includes_is_defused() {
    let home = Home::new(&[
        ("chela.json", "{ $include: 'l1.json5' }"),
        ("l9.json5", "{ end: true }"),
    ]);
    for n in 1..9 {
        let twice = format!("'l{0}.json5', 'l{0}.json5'", n + 1);
        home.write(
            &format!("l{n}.json5"),
            &format!("{{ a: {{ $include: [{twice}, {twice}] }} }}"),
        );
    }
    let gathered = home.gather();
    assert_eq!(
        home.said(&gathered).matches("too much is included").count(),
        1
    );
}

#[test]
fn variables_come_from_the_environment_then_the_state_folder() {
    let mut home = Home::new(&[
        (
            "chela.json",
            "{ a: '${A}', b: 'x${B}', c: '${C}', d: ['$${A}', '${GONE}'], e: '${EMPTY}', '${A}': 1 }",
        ),
        (
            ".env",
            "A=state\nexport B=state\nC=state\nEMPTY=\nnonsense secret\n",
        ),
    ]);
    home.host.env.insert("A".into(), "real".into());
    let gathered = home.gather();
    assert_eq!(
        gathered.root.to_json(),
        json!({ "a": "real", "b": "xstate", "c": "state", "d": ["${A}", "${GONE}"], "e": "${EMPTY}", "${A}": 1 })
    );
    assert_eq!(gathered.root.get("b").unwrap().vars, ["B"]);
    assert_eq!(gathered.env.get("B").unwrap(), "state");
    assert!(!gathered.has_errors());
    insta::assert_snapshot!(home.said(&gathered), @r"
    ~/.chela/.env:5:1: this line is skipped: it has no `=` (write NAME=value)
    ~/.chela/chela.json:1:50: d[1]: the variable GONE is not set, so `${GONE}` stays as it is (set GONE in the environment or in .env of the state folder, or write `$${GONE}` to mean the text itself)
    ~/.chela/chela.json:1:65: e: the variable EMPTY is not set, so `${EMPTY}` stays as it is (set EMPTY in the environment or in .env of the state folder, or write `$${EMPTY}` to mean the text itself)
    ");
    // What is kept on disk has the variables as written.
    assert_eq!(
        gathered.unsubstituted(),
        json!({ "a": "${A}", "b": "x${B}", "c": "${C}", "d": ["$${A}", "${GONE}"], "e": "${EMPTY}", "${A}": 1 })
    );
}

#[test]
fn the_current_folder_gives_credentials_and_nothing_else() {
    let mut home = Home::new(&[
        (
            "chela.json",
            "{ env: { fromFolder: ['MY_TOKEN'] }, p: { apiKey: '${OPENAI_API_KEY}', \
             baseUrl: '${OPENAI_API_KEY}', proxy: '${MY_TOKEN}', token: '${MY_TOKEN}' }, \
             q: { apiKey: '${HOST_KEY}' }, r: { apiKey: '${GROQ_API_KEY}' } }",
        ),
        (".env", "GROQ_API_KEY=state\n"),
        (
            "../project/.env",
            "OPENAI_API_KEY=o\nMY_TOKEN=m\nHOST_KEY=h\nGROQ_API_KEY=stolen\nLD_PRELOAD=x\n\
             HTTPS_PROXY=http://evil\nSSL_CERT_FILE=ca.pem\nGIT_CONFIG_PARAMETERS=y\n",
        ),
    ]);
    let gathered = home.gather();
    assert_eq!(
        gathered.root.to_json(),
        json!({
            "env": { "fromFolder": ["MY_TOKEN"] },
            "p": {
                "apiKey": "o", "baseUrl": "${OPENAI_API_KEY}",
                "proxy": "${MY_TOKEN}", "token": "m",
            },
            "q": { "apiKey": "${HOST_KEY}" },
            "r": { "apiKey": "state" },
        })
    );
    assert_eq!(gathered.env.len(), 1, "nothing of it is environment");
    let said = home.said(&gathered);
    assert_eq!(said.matches("project/.env").count(), 1, "{said}");
    for name in ["HOST_KEY", "LD_PRELOAD", "HTTPS_PROXY", "SSL_CERT_FILE"] {
        assert!(said.contains(name), "{said}");
    }
    // Names nobody asks for are no reason to warn.
    home.write("../project/.env", "PORT=3000\nDEBUG=1\n");
    home.host.env.insert("HOST_KEY".into(), "real".into());
    home.host.env.insert("OPENAI_API_KEY".into(), "real".into());
    home.host.env.insert("MY_TOKEN".into(), "real".into());
    let gathered = home.gather();
    let worst = gathered
        .diagnostics
        .iter()
        .map(|found| found.severity)
        .max();
    assert_eq!(worst, Some(Severity::Note), "{}", home.said(&gathered));
}
