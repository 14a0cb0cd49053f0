//! Parts that belong to other programs: read, kept, not interpreted.

use super::*;

/// Settings Chela keeps without reading them.
pub type ForeignSettings = OpenMap;

section! {
    /// How things look: the chat in the terminal, the page in the browser.
    struct Ui {
        /// Colours of the chat: those of the terminal, for a light background, or none.
        theme: ChatTheme,
        /// Colour of the seams.
        [later]
        seam_color: Option<HexColor>,
        /// The agent on the page.
        [later]
        assistant: UiAssistant,
        /// Appearance settings that may change or disappear.
        [later]
        prefs: ForeignSettings,
    }

    /// The agent on the page.
    struct UiAssistant {
        /// Name.
        [max_len 50]
        name: Option<String>,
        /// Image.
        [later]
        avatar: Option<String>,
    }

    /// Speech to text, in the older form.
    struct Audio {
        /// Program that does it. Read as `tools.media.audio`.
        transcription: ForeignSettings,
    }
}

words! {
    /// Colours of the chat in the terminal.
    enum ChatTheme { Terminal = "terminal", Light = "light", Mono = "mono" }
}
