//! A home folder with skills in it, for tests.

use std::fs;
use std::path::{Path, PathBuf};

use chela_core::Host;
use tempfile::TempDir;

use crate::library::SkillLibrary;
use crate::roots::SkillPlaces;
use crate::settings::SkillsSettings;

pub(crate) struct SkillsHome {
    _dir: TempDir,
    pub host: Host,
    pub settings: SkillsSettings,
    pub project: Option<PathBuf>,
}

impl SkillsHome {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let host = Host::fixed(dir.path().canonicalize().expect("a real path"));
        Self {
            _dir: dir,
            host,
            settings: SkillsSettings::default(),
            project: None,
        }
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.host.user_home.join(relative)
    }

    pub(crate) fn places(&self) -> SkillPlaces {
        SkillPlaces {
            state_dir: self.path(".chela"),
            workspace: self.path(".chela/workspace"),
            project: self.project.clone(),
        }
    }

    pub(crate) fn write(&self, relative: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(&path, content).expect("a file");
        path
    }

    /// A skill below a root, named like its folder.
    pub(crate) fn skill(&self, folder: &str, description: &str) -> PathBuf {
        let name = Path::new(folder)
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a name");
        self.write(
            &format!("{folder}/SKILL.md"),
            format!("---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n\nDo it.\n"),
        );
        self.path(folder)
    }

    pub(crate) fn open(&self) -> SkillLibrary {
        SkillLibrary::open(&self.host, self.places(), self.settings.clone())
    }

    /// Like [`SkillsHome::open`], without the bundled skills in the way.
    pub(crate) fn open_own(&mut self) -> SkillLibrary {
        self.settings.allow_bundled = Some(Vec::new());
        self.open()
    }
}

/// The names in a catalog that are not bundled, in order.
pub(crate) fn names(library: &SkillLibrary) -> Vec<String> {
    let entries = library.catalog().entries().iter();
    let own = entries.filter(|entry| entry.skill.source != crate::SkillSource::Bundled);
    own.map(|entry| entry.skill.name.clone()).collect()
}
