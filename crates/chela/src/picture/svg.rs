//! A picture as SVG.

use std::fmt::Write as _;

use super::{FontWeight, Picture, PictureShape};

pub fn to_svg(picture: &Picture) -> String {
    let Picture {
        width,
        height,
        background,
        title,
        ..
    } = picture;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" \
         font-family=\"'DejaVu Sans', Verdana, system-ui, sans-serif\">\n\
         <title>{}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n",
        escape(title),
        background.hex()
    );
    for shape in &picture.shapes {
        push_shape(&mut svg, shape);
    }
    svg.push_str("</svg>\n");
    svg
}

fn push_shape(svg: &mut String, shape: &PictureShape) {
    // Writing to a string cannot fail.
    let _ = match shape {
        PictureShape::Box { area, fill, tip } => {
            let _ = write!(
                svg,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"3\" fill=\"{}\"",
                area.x,
                area.y,
                area.width,
                area.height,
                fill.hex()
            );
            match tip {
                Some(tip) => writeln!(svg, "><title>{}</title></rect>", escape(tip)),
                None => writeln!(svg, "/>"),
            }
        }
        PictureShape::Label {
            x,
            y,
            size,
            weight,
            ink,
            text,
        } => {
            let weight = match weight {
                FontWeight::Regular => "",
                FontWeight::Bold => " font-weight=\"bold\"",
            };
            writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\"{weight} fill=\"{}\" \
                 pointer-events=\"none\">{}</text>",
                ink.hex(),
                escape(text)
            )
        }
    };
}

/// Text that is safe inside markup: no value can open a tag, and control characters are gone.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' => safe.push('\n'),
            c if c.is_control() => {}
            c => safe.push(c),
        }
    }
    safe
}
