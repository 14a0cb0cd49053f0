//! `chela context map`: where the tokens go, as bars in the terminal or as a treemap in a file.

mod bars;
mod drawing;

use chela_core::Zone;
use chela_inspect::report::ContextReport;

pub use bars::print_bars;
pub use drawing::write;

/// One box or bar.
#[derive(Debug, Clone)]
struct MapItem {
    group: MapGroup,
    label: String,
    origin: String,
    tokens: usize,
    zone: Zone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MapGroup {
    Files,
    Sections,
    Skills,
    Tools,
}

impl MapGroup {
    const ALL: [Self; 4] = [Self::Files, Self::Sections, Self::Skills, Self::Tools];

    fn name(self) -> &'static str {
        match self {
            Self::Files => "Workspace files",
            Self::Sections => "Base prompt",
            Self::Skills => "Skills",
            Self::Tools => "Tools",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Files => "file",
            Self::Sections => "section",
            Self::Skills => "skill",
            Self::Tools => "tool",
        }
    }
}

/// Largest first within each group.
fn items(report: &ContextReport) -> Vec<MapItem> {
    let section_zone = |id: &str| {
        report
            .sections
            .iter()
            .find(|section| section.id == id)
            .map_or(Zone::Stable, |section| section.zone)
    };
    let mut items = Vec::new();
    for file in report.files.iter().filter(|file| file.injected.tokens > 0) {
        items.push(MapItem {
            group: MapGroup::Files,
            label: file.name.clone(),
            origin: format!("file:{}", file.path.display()),
            tokens: file.injected.tokens,
            zone: file.zone,
        });
    }
    for section in report
        .sections
        .iter()
        .filter(|section| section.own.tokens > 0)
    {
        items.push(MapItem {
            group: MapGroup::Sections,
            label: section.id.to_owned(),
            origin: section.origin.clone(),
            tokens: section.own.tokens,
            zone: section.zone,
        });
    }
    for (group, listing, zone) in [
        (MapGroup::Skills, &report.skills, section_zone("skills")),
        (MapGroup::Tools, &report.tools, Zone::Stable),
    ] {
        items.extend(listing.entries.iter().map(|entry| MapItem {
            group,
            label: entry.name.clone(),
            origin: entry.origin.clone(),
            tokens: entry.size.tokens,
            zone,
        }));
    }
    if let Some(form) = report.answer_form.filter(|form| form.in_total) {
        items.push(MapItem {
            group: MapGroup::Tools,
            label: "answer form".to_owned(),
            origin: "runtime".to_owned(),
            tokens: form.size.tokens,
            zone: Zone::Stable,
        });
    }
    let frame = report.frame_tokens();
    if frame > 0 {
        items.push(MapItem {
            group: MapGroup::Sections,
            label: "frame".to_owned(),
            origin: "runtime".to_owned(),
            tokens: frame,
            zone: Zone::Volatile,
        });
    }
    items.sort_by(|a, b| b.tokens.cmp(&a.tokens).then_with(|| a.label.cmp(&b.label)));
    items
}

fn share(part: usize, whole: usize) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_are_rounded_to_a_tenth() {
        assert_eq!(share(1, 3), "33.3 %");
        assert_eq!(share(0, 0), "0.0 %");
    }
}
