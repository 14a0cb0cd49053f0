//! Opening a file of ours where anything may lie by now: a pipe, a device, a link.

use std::fs::{File, FileType, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a plain file and nothing else: no link is followed, no pipe is waited for, no device is
/// read without end. The error says what lies there.
pub fn open_plain(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let opened = never_elsewhere(options).open(path).and_then(|file| {
        let kind = file.metadata()?.file_type();
        match kind.is_file() {
            true => Ok(file),
            false => Err(not_plain(kind)),
        }
    });
    // A link or a pipe nobody reads is refused by the system, in words that do not say so.
    opened.map_err(|error| match path.symlink_metadata() {
        Ok(found) if !found.is_file() => not_plain(found.file_type()),
        _ => error,
    })
}

/// Opens what a path leads to for reading, without waiting for whoever writes to a pipe.
pub fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = i32::try_from(flags.bits()).unwrap_or(0);
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
    }
    options.open(path)
}

/// The text of a file; `None` where there is none.
pub fn read_if_there(path: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Follows no link and waits for nobody.
#[cfg(unix)]
fn never_elsewhere(options: &mut OpenOptions) -> &mut OpenOptions {
    use rustix::fs::OFlags;
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags)
}

/// Opens a link itself, which is no plain file.
#[cfg(windows)]
fn never_elsewhere(options: &mut OpenOptions) -> &mut OpenOptions {
    let flags = crate::facts::OPEN_REPARSE_POINT;
    std::os::windows::fs::OpenOptionsExt::custom_flags(options, flags)
}

/// What a thing that is no plain file is called.
pub fn name_of_kind(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
    }
    match kind {
        kind if kind.is_dir() => "a folder",
        kind if kind.is_symlink() => "a link",
        _ => "a device",
    }
}

fn not_plain(kind: FileType) -> io::Error {
    let what = name_of_kind(kind);
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("it is {what}, not a plain file"),
    )
}

#[cfg(test)]
mod tests {
    use super::open_plain;
    use std::fs::OpenOptions;

    #[test]
    fn nothing_but_a_plain_file_is_opened() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        std::fs::write(path("file"), "x").unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path("zero")).unwrap();
        std::fs::create_dir(path("folder")).unwrap();
        let made = rustix::fs::mknodat(
            rustix::fs::CWD,
            path("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        );
        made.unwrap();
        assert!(open_plain(&path("file"), OpenOptions::new().read(true)).is_ok());
        for (name, what) in [
            ("link", "a link"),
            ("zero", "a link"),
            ("folder", "a folder"),
            ("pipe", "a pipe"),
        ] {
            for mut options in [
                OpenOptions::new().read(true).clone(),
                OpenOptions::new().append(true).clone(),
            ] {
                let error = open_plain(&path(name), &mut options).unwrap_err();
                assert!(error.to_string().contains(what), "{name}: {error}");
            }
        }
        let error = open_plain(&path("none"), OpenOptions::new().read(true)).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    }
}
