//! Pictures made of rectangles and labels, written as SVG, HTML or PNG.
//!
//! One description, three forms: what is drawn is decided once, in [`treemap`], and no form
//! needs a font or a renderer on the machine.

mod font;
mod html;
mod png;
mod svg;
pub mod treemap;

pub use font::{FontWeight, text_width};
pub use html::to_html;
pub use png::to_png;
pub use svg::to_svg;

/// A colour, as on screens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    pub fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }

    /// The colour between this one and `other`; `share` 0 is this one, 1 the other.
    pub fn mix(self, other: Self, share: f32) -> Self {
        let blend =
            |a: u8, b: u8| (f32::from(a) + (f32::from(b) - f32::from(a)) * share).round() as u8;
        Self(
            blend(self.0, other.0),
            blend(self.1, other.1),
            blend(self.2, other.2),
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PictureArea {
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub height: f32,
}

impl PictureArea {
    pub fn inset(self, by: f32) -> Self {
        Self {
            x: self.x + by,
            y: self.y + by,
            width: (self.width - 2.0 * by).max(0.0),
            height: (self.height - 2.0 * by).max(0.0),
        }
    }

    pub fn below(self, height: f32) -> Self {
        Self {
            y: self.y + height,
            height: (self.height - height).max(0.0),
            ..self
        }
    }
}

#[derive(Debug, Clone)]
pub enum PictureShape {
    Box {
        area: PictureArea,
        fill: Rgb,
        /// Shown when pointed at, where the form can do that.
        tip: Option<String>,
    },
    Label {
        x: f32,
        /// Of the base line.
        y: f32,
        size: f32,
        weight: FontWeight,
        ink: Rgb,
        text: String,
    },
}

#[derive(Debug, Clone)]
pub struct Picture {
    pub title: String,
    pub width: f32,
    pub height: f32,
    pub background: Rgb,
    pub shapes: Vec<PictureShape>,
}
