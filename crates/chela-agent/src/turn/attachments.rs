//! What a reply may attach: files of the workspace and what tools laid aside for this session, or a
//! page. Whoever shows or sends an attachment opens it, so a path that leads elsewhere goes nowhere.

use std::path::{Path, PathBuf};

/// The folders whose files may be attached, and where relative paths start.
pub(super) struct AttachableFolders {
    pub workspace: PathBuf,
    pub spool: PathBuf,
    /// For `~`.
    pub home: PathBuf,
}

/// An attachment that does not go out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LeftAttachment {
    pub named: String,
    pub why: &'static str,
}

impl AttachableFolders {
    /// The place to hand on: an address as it is, a file by its real path.
    pub fn place(&self, named: &str) -> Result<String, LeftAttachment> {
        let left = |why| LeftAttachment {
            named: named.to_owned(),
            why,
        };
        let lower = named.to_ascii_lowercase();
        if lower.starts_with("http://") || lower.starts_with("https://") {
            return Ok(named.to_owned());
        }
        if lower.starts_with("data:") {
            return Err(left("only files and pages can be attached"));
        }
        let path = match (lower.starts_with("file://"), named.strip_prefix("~/")) {
            (true, _) => PathBuf::from(named.get("file://".len()..).unwrap_or_default()),
            (false, Some(rest)) => self.home.join(rest),
            (false, None) => self.workspace.join(named),
        };
        let Ok(real) = path.canonicalize() else {
            return Err(left("there is no such file"));
        };
        let folders = [&self.workspace, &self.spool];
        let inside = |folder: &&PathBuf| is_below(&real, folder);
        match folders.iter().any(inside) && real.is_file() {
            true => Ok(real.display().to_string()),
            false => Err(left("it is not a file of the workspace")),
        }
    }
}

fn is_below(real: &Path, folder: &Path) -> bool {
    folder
        .canonicalize()
        .is_ok_and(|folder| real.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::AttachableFolders;

    #[test]
    fn only_files_of_the_workspace_and_pages_are_attached() {
        let dir = tempfile::tempdir().expect("a folder");
        let workspace = dir.path().join("workspace");
        std::fs::create_dir_all(&workspace).expect("a workspace");
        for path in ["workspace/chart.png", "secret.txt"] {
            std::fs::write(dir.path().join(path), "x").expect("a file");
        }
        let folders = AttachableFolders {
            workspace: workspace.clone(),
            spool: dir.path().join("spool"),
            home: dir.path().to_owned(),
        };
        let real = workspace.canonicalize().expect("there").join("chart.png");
        let shown = real.display().to_string();
        for named in ["chart.png", "./chart.png", "~/workspace/chart.png", &shown] {
            assert_eq!(folders.place(named), Ok(shown.clone()), "{named}");
        }
        assert!(folders.place("https://example.com/a.png").is_ok());
        for named in [
            "/etc/passwd",
            "file:///etc/passwd",
            "../secret.txt",
            "~/secret.txt",
            "data:text/plain,x",
            "none.png",
            ".",
        ] {
            assert!(folders.place(named).is_err(), "{named}");
        }
    }
}
