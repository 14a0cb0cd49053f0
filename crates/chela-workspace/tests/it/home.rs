//! A home folder with a workspace in it, and a machine that stands still.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chela_core::{AgentId, Audience, ContentHash, Host};
use chela_workspace::{
    BootstrapSettings, ContextFile, FileStatus, LoadRequest, LoadedContext, SessionScope,
    TurnPosition, Workspace, WorkspaceAge, load_context,
};

pub struct Home {
    pub temp: tempfile::TempDir,
    pub host: Host,
    pub dir: PathBuf,
}

impl Home {
    pub fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let home = std::fs::canonicalize(temp.path()).unwrap();
        let host = Host::fixed(&home);
        let dir = home.join(".chela").join("workspace");
        std::fs::create_dir_all(&dir).unwrap();
        Self { temp, host, dir }
    }

    pub fn with(files: &[(&str, &str)]) -> Self {
        let home = Self::new();
        for (path, text) in files {
            home.write(path, text);
        }
        home
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.dir.join(path)).unwrap()
    }

    pub fn remove(&self, path: &str) {
        std::fs::remove_file(self.dir.join(path)).unwrap();
    }

    pub fn workspace(&self) -> Workspace {
        Workspace::open(&self.host, &self.dir).unwrap()
    }

    /// Loads with everything plain but what `adjust` changes.
    pub fn load(&self, adjust: impl FnOnce(&mut Plain)) -> LoadedContext {
        let mut plain = Plain::default();
        adjust(&mut plain);
        plain.load(&self.workspace())
    }
}

/// A main session in private, with default settings.
pub struct Plain {
    pub session: SessionScope,
    pub audience: Audience,
    pub turn: TurnPosition,
    pub age: WorkspaceAge,
    pub settings: BootstrapSettings,
    pub seen: BTreeSet<ContentHash>,
}

impl Default for Plain {
    fn default() -> Self {
        Self {
            session: SessionScope::Main,
            audience: Audience::Private,
            turn: TurnPosition::Full,
            age: WorkspaceAge::Settled,
            settings: BootstrapSettings::default(),
            seen: BTreeSet::new(),
        }
    }
}

impl Plain {
    pub fn load(&self, workspace: &Workspace) -> LoadedContext {
        load_context(workspace, &self.request())
    }

    pub fn request(&self) -> LoadRequest<'_> {
        static MAIN: std::sync::LazyLock<AgentId> = std::sync::LazyLock::new(AgentId::main);
        LoadRequest {
            agent: &MAIN,
            session: self.session,
            audience: self.audience,
            turn: self.turn,
            age: self.age,
            settings: &self.settings,
            execution: None,
            extensions: &[],
            notices_seen: &self.seen,
            custody: None,
        }
    }
}

pub fn names(loaded: &LoadedContext) -> Vec<&str> {
    loaded
        .files
        .iter()
        .map(|file| file.shown_path.as_str())
        .collect()
}

#[track_caller]
pub fn file<'a>(loaded: &'a LoadedContext, shown_path: &str) -> &'a ContextFile {
    loaded
        .files
        .iter()
        .find(|file| file.shown_path == shown_path)
        .expect(shown_path)
}

#[track_caller]
pub fn status<'a>(loaded: &'a LoadedContext, shown_path: &str) -> &'a FileStatus {
    let row = loaded
        .report
        .iter()
        .find(|row| row.shown_path == shown_path);
    &row.expect(shown_path).status
}

/// Report rows of files that want the owner's attention, as sentences.
pub fn complaints(loaded: &LoadedContext) -> Vec<String> {
    let rows = loaded.report.iter().filter(|row| row.wants_attention());
    rows.flat_map(|row| {
        let status = (!matches!(row.status, FileStatus::Injected)).then(|| row.status.to_string());
        let remarks = row.remarks.iter().map(ToString::to_string);
        let name = row.shown_path.clone();
        status
            .into_iter()
            .chain(remarks)
            .map(move |text| format!("{name} {text}"))
    })
    .collect()
}

pub const COMPLETE: [(&str, &str); 4] = [
    ("AGENTS.md", "rules"),
    ("SOUL.md", "soul"),
    ("IDENTITY.md", "me"),
    ("TOOLS.md", "tools"),
];

pub fn is_root() -> bool {
    let probe = tempfile::tempdir().unwrap();
    let path = probe.path().join("x");
    std::fs::write(&path, "x").unwrap();
    set_mode(&path, 0o000);
    std::fs::read(&path).is_ok()
}

pub fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
