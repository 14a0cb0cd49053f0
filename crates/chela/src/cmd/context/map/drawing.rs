//! The map as a picture: a treemap, coloured by cache zone.

use std::path::Path;

use chela_core::Zone;
use chela_inspect::report::ContextReport;

use super::{MapGroup, MapItem, items, share};
use crate::cmd::CommandOutcome;
use crate::fail::{CommandError, CommandExit};
use crate::file_trouble::unwritable;
use crate::picture::{
    FontWeight, Picture, PictureArea, PictureShape, Rgb, text_width, to_html, to_png, to_svg,
    treemap,
};
use crate::screen::{Screen, grouped, shorten};

pub fn write(screen: &mut Screen, report: &ContextReport, path: &Path) -> CommandOutcome {
    let items = items(report);
    let picture = draw(report, &items);
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default();
    let bytes = match extension.to_ascii_lowercase().as_str() {
        "svg" => to_svg(&picture).into_bytes(),
        "html" | "htm" => to_html(&picture, &table(report, &items)).into_bytes(),
        "png" => to_png(&picture)
            .map_err(|error| CommandError::new(format!("cannot draw the image: {error}")))?,
        _ => {
            return Err(CommandError::usage(format!(
                "`{}` is not a supported image type",
                path.display()
            ))
            .hint("end the name in .svg, .png or .html"));
        }
    };
    std::fs::write(path, bytes).map_err(|error| unwritable(path.display(), &error))?;
    screen.line(format!("Wrote {}", path.display()))?;
    Ok(CommandExit::Fine)
}

fn table(report: &ContextReport, items: &[MapItem]) -> Vec<[String; 5]> {
    let row = |item: &MapItem| {
        [
            item.label.clone(),
            item.origin.clone(),
            item.zone.as_str().to_owned(),
            grouped(item.tokens),
            share(item.tokens, report.total.tokens),
        ]
    };
    items.iter().map(row).collect()
}

const WIDTH: f32 = 1200.0;
const HEIGHT: f32 = 780.0;
const MARGIN: f32 = 24.0;
const HEAD: f32 = 84.0;
const FOOT: f32 = 52.0;
const PAPER: Rgb = Rgb(247, 248, 250);
const INK: Rgb = Rgb(29, 39, 51);
const FAINT: Rgb = Rgb(96, 108, 122);
const WHITE: Rgb = Rgb(255, 255, 255);
const FRAME: Rgb = Rgb(226, 231, 238);

/// One hue for each zone; within a zone the groups differ in depth.
fn colour(zone: Zone, group: MapGroup) -> Rgb {
    let base = match zone {
        Zone::Stable => Rgb(36, 99, 158),
        Zone::Volatile => Rgb(201, 106, 20),
    };
    let lighter = match group {
        MapGroup::Files => 0.0,
        MapGroup::Sections => 0.16,
        MapGroup::Skills => 0.30,
        MapGroup::Tools => 0.42,
    };
    base.mix(WHITE, lighter)
}

fn draw(report: &ContextReport, items: &[MapItem]) -> Picture {
    let total = report.total.tokens;
    let title = format!("What {} reads before your first word", report.agent);
    let mut shapes = Vec::new();
    let mut label = |x: f32, y: f32, size: f32, weight, ink, text: String| {
        shapes.push(PictureShape::Label {
            x,
            y,
            size,
            weight,
            ink,
            text,
        });
    };
    label(MARGIN, 40.0, 22.0, FontWeight::Bold, INK, title.clone());
    let session = format!(
        "{} tokens · session {} · {} prompt · {} of it cached from turn to turn",
        grouped(total),
        report.session,
        report.mode,
        share(report.stable.tokens, total)
    );
    label(MARGIN, 64.0, 13.0, FontWeight::Regular, FAINT, session);
    let area = PictureArea {
        x: MARGIN,
        y: HEAD,
        width: WIDTH - 2.0 * MARGIN,
        height: HEIGHT - HEAD - FOOT,
    };
    draw_groups(&mut shapes, items, area, total);
    draw_legend(&mut shapes, report);
    Picture {
        title,
        width: WIDTH,
        height: HEIGHT,
        background: PAPER,
        shapes,
    }
}

fn draw_groups(shapes: &mut Vec<PictureShape>, items: &[MapItem], area: PictureArea, total: usize) {
    let mut groups: Vec<(MapGroup, Vec<&MapItem>, usize)> = MapGroup::ALL
        .into_iter()
        .map(|group| {
            let own: Vec<&MapItem> = items.iter().filter(|item| item.group == group).collect();
            let tokens = own.iter().map(|item| item.tokens).sum();
            (group, own, tokens)
        })
        .filter(|(_, _, tokens)| *tokens > 0)
        .collect();
    groups.sort_by_key(|(_, _, tokens)| std::cmp::Reverse(*tokens));
    let weights: Vec<f32> = groups.iter().map(|(_, _, tokens)| *tokens as f32).collect();
    for ((group, own, tokens), area) in groups.iter().zip(treemap::squarify(&weights, area)) {
        let frame = area.inset(3.0);
        shapes.push(PictureShape::Box {
            area: frame,
            fill: FRAME,
            tip: None,
        });
        let caption = format!(
            "{}  {} · {}",
            group.name(),
            grouped(*tokens),
            share(*tokens, total)
        );
        if let Some(text) = fitting(&caption, 12.0, FontWeight::Bold, frame.width - 12.0) {
            shapes.push(PictureShape::Label {
                x: frame.x + 7.0,
                y: frame.y + 16.0,
                size: 12.0,
                weight: FontWeight::Bold,
                ink: INK,
                text,
            });
        }
        let inner = frame.below(22.0).inset(2.0);
        let weights: Vec<f32> = own.iter().map(|item| item.tokens as f32).collect();
        for (item, area) in own.iter().zip(treemap::squarify(&weights, inner)) {
            draw_item(shapes, item, area.inset(1.5), total);
        }
    }
}

fn draw_item(shapes: &mut Vec<PictureShape>, item: &MapItem, area: PictureArea, total: usize) {
    let tip = format!(
        "{} ({})\n{} tokens, {} of the prompt\n{}, from {}",
        item.label,
        item.group.word(),
        grouped(item.tokens),
        share(item.tokens, total),
        item.zone.as_str(),
        item.origin
    );
    shapes.push(PictureShape::Box {
        area,
        fill: colour(item.zone, item.group),
        tip: Some(tip),
    });
    let room = area.width - 12.0;
    if area.height < 18.0 {
        return;
    }
    let size = if area.width > 180.0 && area.height > 60.0 {
        15.0
    } else {
        11.0
    };
    let Some(name) = fitting(&item.label, size, FontWeight::Bold, room) else {
        return;
    };
    let first = area.y + size + 5.0;
    shapes.push(PictureShape::Label {
        x: area.x + 6.0,
        y: first,
        size,
        weight: FontWeight::Bold,
        ink: WHITE,
        text: name,
    });
    let figures = format!(
        "{} tokens · {}",
        grouped(item.tokens),
        share(item.tokens, total)
    );
    let figures = [figures, grouped(item.tokens)]
        .into_iter()
        .find(|text| text_width(text, 11.0, FontWeight::Regular) <= room);
    if let Some(text) = figures.filter(|_| area.height > size + 24.0) {
        shapes.push(PictureShape::Label {
            x: area.x + 6.0,
            y: first + 16.0,
            size: 11.0,
            weight: FontWeight::Regular,
            ink: WHITE,
            text,
        });
    }
}

/// The text, shortened until it fits; nothing when not even a few letters do.
fn fitting(text: &str, size: f32, weight: FontWeight, room: f32) -> Option<String> {
    if text_width(text, size, weight) <= room {
        return Some(text.to_owned());
    }
    let length = text.chars().count();
    (4..length)
        .rev()
        .map(|most| shorten(text, most))
        .find(|short| text_width(short, size, weight) <= room)
}

fn draw_legend(shapes: &mut Vec<PictureShape>, report: &ContextReport) {
    let y = HEIGHT - FOOT + 14.0;
    let mut x = MARGIN + 3.0;
    let zones = [
        (
            Zone::Stable,
            format!(
                "stable: the same every turn, so providers cache it ({} tokens)",
                grouped(report.stable.tokens)
            ),
        ),
        (
            Zone::Volatile,
            format!(
                "volatile: may change every turn ({} tokens)",
                grouped(report.volatile.tokens)
            ),
        ),
    ];
    for (zone, text) in zones {
        let area = PictureArea {
            x,
            y,
            width: 14.0,
            height: 14.0,
        };
        shapes.push(PictureShape::Box {
            area,
            fill: colour(zone, MapGroup::Files),
            tip: None,
        });
        let width = text_width(&text, 12.0, FontWeight::Regular);
        shapes.push(PictureShape::Label {
            x: x + 20.0,
            y: y + 11.5,
            size: 12.0,
            weight: FontWeight::Regular,
            ink: INK,
            text,
        });
        x += 20.0 + width + 32.0;
    }
    let note = "lighter shades: base prompt, skills, tools".to_owned();
    shapes.push(PictureShape::Label {
        x,
        y: y + 11.5,
        size: 12.0,
        weight: FontWeight::Regular,
        ink: FAINT,
        text: note,
    });
}
