//! A picture as PNG, drawn with twice as many pixels so that it is sharp everywhere.

use ab_glyph::{Font, ScaleFont, point};

use super::font::{font, scale};
use super::{FontWeight, Picture, PictureArea, PictureShape, Rgb};

const DENSITY: f32 = 2.0;
/// Of the rounded corners, as in the SVG.
const RADIUS: f32 = 3.0;

pub fn to_png(picture: &Picture) -> Result<Vec<u8>, png::EncodingError> {
    let mut canvas = Canvas::new(picture);
    for shape in &picture.shapes {
        match shape {
            PictureShape::Box { area, fill, .. } => canvas.fill(*area, *fill),
            PictureShape::Label {
                x,
                y,
                size,
                weight,
                ink,
                text,
            } => {
                canvas.write(
                    Pen {
                        x: *x,
                        y: *y,
                        size: *size,
                        weight: *weight,
                        ink: *ink,
                    },
                    text,
                );
            }
        }
    }
    canvas.encode()
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

struct Pen {
    x: f32,
    y: f32,
    size: f32,
    weight: FontWeight,
    ink: Rgb,
}

impl Canvas {
    fn new(picture: &Picture) -> Self {
        let width = (picture.width * DENSITY) as usize;
        let height = (picture.height * DENSITY) as usize;
        let Rgb(r, g, b) = picture.background;
        let pixels = [r, g, b].repeat(width * height);
        Self {
            width,
            height,
            pixels,
        }
    }

    fn fill(&mut self, area: PictureArea, colour: Rgb) {
        let left = area.x * DENSITY;
        let top = area.y * DENSITY;
        let right = (area.x + area.width) * DENSITY;
        let bottom = (area.y + area.height) * DENSITY;
        let radius = (RADIUS * DENSITY)
            .min((right - left) / 2.0)
            .min((bottom - top) / 2.0);
        for y in (top.max(0.0) as usize)..(bottom.ceil().max(0.0) as usize).min(self.height) {
            for x in (left.max(0.0) as usize)..(right.ceil().max(0.0) as usize).min(self.width) {
                // Distance of the pixel's centre to the rounded box, smoothed over one pixel.
                let (px, py) = (x as f32 + 0.5, y as f32 + 0.5);
                let dx = (left + radius - px).max(px - (right - radius)).max(0.0);
                let dy = (top + radius - py).max(py - (bottom - radius)).max(0.0);
                let cover = (radius - dx.hypot(dy) + 0.5).clamp(0.0, 1.0);
                self.blend(x, y, colour, cover);
            }
        }
    }

    fn write(&mut self, pen: Pen, text: &str) {
        let Some(font) = font(pen.weight) else { return };
        let scaled = font.as_scaled(scale(pen.size * DENSITY));
        let mut x = pen.x * DENSITY;
        for c in text.chars() {
            let glyph = font
                .glyph_id(c)
                .with_scale_and_position(scaled.scale(), point(x, pen.y * DENSITY));
            x += scaled.h_advance(glyph.id);
            let Some(outline) = font.outline_glyph(glyph) else {
                continue;
            };
            let bounds = outline.px_bounds();
            outline.draw(|dx, dy, cover| {
                let px = bounds.min.x + dx as f32;
                let py = bounds.min.y + dy as f32;
                if px >= 0.0 && py >= 0.0 {
                    self.blend(px as usize, py as usize, pen.ink, cover);
                }
            });
        }
    }

    fn blend(&mut self, x: usize, y: usize, colour: Rgb, cover: f32) {
        if x >= self.width || y >= self.height {
            return;
        }
        let at = (y * self.width + x) * 3;
        if let Some([r, g, b]) = self.pixels.get_mut(at..at + 3) {
            let Rgb(nr, ng, nb) = Rgb(*r, *g, *b).mix(colour, cover);
            (*r, *g, *b) = (nr, ng, nb);
        }
    }

    fn encode(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut file = Vec::new();
        let width = u32::try_from(self.width).unwrap_or(u32::MAX);
        let height = u32::try_from(self.height).unwrap_or(u32::MAX);
        let mut encoder = png::Encoder::new(&mut file, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels)?;
        writer.finish()?;
        Ok(file)
    }
}
