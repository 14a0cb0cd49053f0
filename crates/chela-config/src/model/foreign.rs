//! Parts that belong to other programs: read, kept, not interpreted.

use super::*;

/// Settings Chela keeps without reading them.
pub type Foreign = OpenMap;

section! {
    /// The page in the browser.
    struct Ui {
        /// Colour of the seams.
        [later]
        seam_color: Option<HexColor>,
        /// The agent on the page.
        assistant: UiAssistant,
        /// Looks that may change or go.
        [later]
        prefs: Foreign,
    }

    /// The agent on the page.
    struct UiAssistant {
        /// Name.
        [max_len 50]
        name: Option<String>,
        /// Picture.
        [later]
        avatar: Option<String>,
    }

    /// Speech to text, in the older form.
    struct Audio {
        /// Program that does it. Read as `tools.media.audio`.
        transcription: Foreign,
    }
}
