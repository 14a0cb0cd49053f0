//! The embedded label fonts.

use std::sync::OnceLock;

use ab_glyph::{Font, FontRef, PxScale, ScaleFont};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FontWeight {
    Regular,
    Bold,
}

static REGULAR: &[u8] = include_bytes!("../../data/label.ttf");
static BOLD: &[u8] = include_bytes!("../../data/label-bold.ttf");

/// The font of a weight; `None` only if the embedded file were broken, and then labels are left
/// out rather than the picture.
pub fn font(weight: FontWeight) -> Option<&'static FontRef<'static>> {
    static FONTS: OnceLock<[Option<FontRef<'static>>; 2]> = OnceLock::new();
    let fonts =
        FONTS.get_or_init(|| [REGULAR, BOLD].map(|bytes| FontRef::try_from_slice(bytes).ok()));
    match weight {
        FontWeight::Regular => fonts[0].as_ref(),
        FontWeight::Bold => fonts[1].as_ref(),
    }
}

pub fn scale(size: f32) -> PxScale {
    // The fonts' line height is about 1.164 of their nominal size; labels are given the latter.
    PxScale::from(size * 1.164)
}

/// Width of a label in pixels.
pub fn text_width(text: &str, size: f32, weight: FontWeight) -> f32 {
    let Some(font) = font(weight) else { return 0.0 };
    let scaled = font.as_scaled(scale(size));
    text.chars()
        .map(|c| scaled.h_advance(font.glyph_id(c)))
        .sum()
}
