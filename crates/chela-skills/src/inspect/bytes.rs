//! What some bytes are: text, a picture, an archive, or something nobody can look into.

/// What a file holds, judged by its bytes and not by its name alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileContent {
    Text(String),
    /// A picture, sound, font or table of numbers: nothing runs it and no model reads it as text.
    Media,
    Zip,
    Gzip,
    Tar,
    /// A document that only its own program can read.
    Document,
    Unreadable(UnreadableReason),
}

/// Why a file cannot be looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnreadableReason {
    Archive,
    Bytecode,
    Program,
    Undecodable,
    Disguised,
}

impl UnreadableReason {
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Archive => "unreadable-archive",
            Self::Bytecode => "bytecode",
            Self::Program => "native-program",
            Self::Undecodable => "undecodable",
            Self::Disguised => "disguised-file",
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Archive => {
                "is an archive that cannot be opened here, so nobody sees what is inside"
            }
            Self::Bytecode => "is compiled code that may differ from the source shown beside it",
            Self::Program => "is a finished program, so nobody sees what it does",
            Self::Undecodable => "is neither text nor a picture, so nobody sees what it does",
            Self::Disguised => "is not what its name says",
        }
    }
}

pub(super) fn holds(path: &str, bytes: &[u8]) -> FileContent {
    let name = path.to_ascii_lowercase();
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    if ends(&[".pyc", ".pyo", ".class", ".luac", ".beam"])
        || bytes.starts_with(&[0xca, 0xfe, 0xba, 0xbe])
    {
        return FileContent::Unreadable(UnreadableReason::Bytecode);
    }
    if is_finder_facts(&name, bytes) && !carries_archive(bytes) {
        return FileContent::Media;
    }
    if let Some(media) = media(bytes) {
        // A photo that is called .png is still only a picture.
        let fits = ends(media) || ends(&PICTURES) || ends(&[".bin", ".asset"]);
        return if fits && !carries_archive(bytes) {
            FileContent::Media
        } else {
            FileContent::Unreadable(UnreadableReason::Disguised)
        };
    }
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        return FileContent::Zip;
    }
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return FileContent::Gzip;
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return FileContent::Tar;
    }
    if bytes.starts_with(b"%PDF-") {
        return FileContent::Document;
    }
    if is_archive(bytes) {
        return FileContent::Unreadable(UnreadableReason::Archive);
    }
    if is_program(bytes) {
        return FileContent::Unreadable(UnreadableReason::Program);
    }
    match text(bytes) {
        Some(text) => FileContent::Text(text),
        None => FileContent::Unreadable(UnreadableReason::Undecodable),
    }
}

const PICTURES: [&str; 12] = [
    ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".ico", ".tif", ".tiff", ".heic", ".avif",
    ".jfif",
];

/// What macOS keeps beside a file: its icon, its tags.
fn is_finder_facts(name: &str, bytes: &[u8]) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.starts_with("._") && bytes.starts_with(&[0, 5, 0x16, 7])
}

/// The endings that fit bytes which are a picture, a sound, a font or data.
fn media(bytes: &[u8]) -> Option<&'static [&'static str]> {
    let at = |from: usize, magic: &[u8]| bytes.get(from..from + magic.len()) == Some(magic);
    let endings: &[&str] = if at(0, b"\x89PNG\r\n") {
        &[".png", ".apng", ".ico"]
    } else if at(0, &[0xff, 0xd8, 0xff]) {
        &[".jpg", ".jpeg", ".jfif"]
    } else if at(0, b"GIF8") {
        &[".gif"]
    } else if at(0, b"RIFF") && (at(8, b"WEBP") || at(8, b"WAVE") || at(8, b"AVI ")) {
        &[".webp", ".wav", ".avi"]
    } else if at(0, &[0, 0, 1, 0]) {
        &[".ico"]
    } else if at(0, b"wOFF")
        || at(0, b"wOF2")
        || at(0, b"OTTO")
        || at(0, &[0, 1, 0, 0, 0])
        || at(0, b"ttcf")
    {
        &[".woff", ".woff2", ".otf", ".ttf", ".ttc"]
    } else if at(4, b"ftyp") {
        &[".mp4", ".m4a", ".m4v", ".mov", ".heic", ".avif"]
    } else if at(0, b"ID3") || at(0, &[0xff, 0xfb]) || at(0, &[0xff, 0xf3]) {
        &[".mp3"]
    } else if at(0, b"OggS") || at(0, b"fLaC") {
        &[".ogg", ".oga", ".opus", ".flac"]
    } else if at(0, b"BM") && bytes.contains(&0) {
        &[".bmp"]
    } else if at(0, b"II*\0") || at(0, b"MM\0*") {
        &[".tif", ".tiff"]
    } else if at(0, b"icns") {
        &[".icns"]
    } else if at(0, b"SQLite format 3\0") {
        &[".db", ".db3", ".sqlite", ".sqlite3", ".coverage"]
    } else if at(0, b"\x93NUMPY") {
        &[".npy"]
    } else if at(0, b"\x89HDF\r\n") {
        &[".h5", ".hdf5", ".h5ad"]
    } else if at(0, b"PAR1") {
        &[".parquet"]
    } else if at(0, &[0x1a, 0x45, 0xdf, 0xa3]) {
        &[".webm", ".mkv"]
    } else {
        return None;
    };
    Some(endings)
}

/// Whether an archive hangs behind something else: unpackers look at the end of a file first.
fn carries_archive(bytes: &[u8]) -> bool {
    const REACH: usize = 22 + 0xffff;
    let has = |bytes: &[u8], magic: &[u8]| bytes.windows(magic.len()).any(|part| part == magic);
    let tail = bytes
        .get(bytes.len().saturating_sub(REACH)..)
        .unwrap_or_default();
    has(tail, b"PK\x05\x06") && has(bytes, b"PK\x03\x04")
}

fn is_archive(bytes: &[u8]) -> bool {
    let magics: [&[u8]; 8] = [
        b"7z\xbc\xaf\x27\x1c",
        b"Rar!\x1a\x07",
        b"\xfd7zXZ\0",
        b"BZh",
        &[0x28, 0xb5, 0x2f, 0xfd],
        b"!<arch>\n",
        b"xar!",
        b"MSCF",
    ];
    magics.iter().any(|magic| bytes.starts_with(magic)) && bytes.contains(&0)
        || bytes.get(0x8001..0x8006) == Some(b"CD001")
}

fn is_program(bytes: &[u8]) -> bool {
    let magics: [&[u8]; 8] = [
        b"\x7fELF",
        &[0xfe, 0xed, 0xfa, 0xce],
        &[0xfe, 0xed, 0xfa, 0xcf],
        &[0xce, 0xfa, 0xed, 0xfe],
        &[0xcf, 0xfa, 0xed, 0xfe],
        b"\0asm",
        b"dex\n",
        &[0xca, 0xfe, 0xba, 0xbf],
    ];
    magics.iter().any(|magic| bytes.starts_with(magic))
        || (bytes.starts_with(b"MZ") && bytes.contains(&0))
}

/// Text in UTF-8, or in UTF-16 when it says so; anything else is not guessed at.
fn text(bytes: &[u8]) -> Option<String> {
    let wide = |order: fn([u8; 2]) -> u16| {
        if !bytes.len().is_multiple_of(2) {
            return None;
        }
        let (pairs, _) = bytes.get(2..)?.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| order(*pair)).collect();
        String::from_utf16(&units).ok()
    };
    let text = match bytes {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes)?,
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes)?,
        bytes => std::str::from_utf8(bytes).ok()?.to_owned(),
    };
    let control = text
        .chars()
        .filter(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{c}' | '\u{1b}'))
        .count();
    (control * 200 <= text.len() && !text.contains('\0')).then_some(text)
}
