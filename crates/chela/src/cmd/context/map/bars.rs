//! The map in the terminal: one bar for each part.

use chela_core::Zone;
use chela_inspect::report::ContextReport;

use super::{MapItem, items, share};
use crate::cmd::CommandOutcome;
use crate::fail::CommandExit;
use crate::screen::{ColourMode, Screen, count_noun, grouped, shorten};

/// More rows than a screen holds help nobody.
const MOST_ROWS: usize = 24;

pub fn print_bars(screen: &mut Screen, report: &ContextReport) -> CommandOutcome {
    let paint = screen.paint;
    let total = report.total.tokens;
    screen.line(format!(
        "{}  {}",
        paint.bold(format!("Context of {}", report.agent)),
        paint.dim(format!(
            "{} · {} · {} tokens",
            report.session,
            report.mode,
            grouped(total)
        ))
    ))?;
    screen.blank()?;
    let width = screen.width.min(110);
    let stable = bar_length(report.stable.tokens, total, width - 4);
    let volatile = (width - 4).saturating_sub(stable);
    screen.line(format!(
        "  {}{}",
        stripe(paint, Zone::Stable, stable),
        stripe(paint, Zone::Volatile, volatile)
    ))?;
    screen.line(format!(
        "  {} {} ({})   {} {} ({})",
        stripe(paint, Zone::Stable, 2),
        paint.dim(format!("stable, cached: {}", grouped(report.stable.tokens))),
        share(report.stable.tokens, total),
        stripe(paint, Zone::Volatile, 2),
        paint.dim(format!(
            "volatile, new each turn: {}",
            grouped(report.volatile.tokens)
        )),
        share(report.volatile.tokens, total),
    ))?;
    screen.blank()?;
    rows(screen, &items(report), total, width)?;
    Ok(CommandExit::Fine)
}

fn rows(screen: &mut Screen, items: &[MapItem], total: usize, width: usize) -> std::io::Result<()> {
    let paint = screen.paint;
    let most = items.first().map_or(1, |item| item.tokens.max(1));
    let name_width = items
        .iter()
        .map(|item| item.label.chars().count())
        .max()
        .unwrap_or(0)
        .clamp(8, 24);
    // label, bar, tokens, share, kind
    let bar_room = width.saturating_sub(2 + name_width + 2 + 8 + 9 + 10).max(8);
    for item in items.iter().take(MOST_ROWS) {
        let length = bar_length(item.tokens, most, bar_room).max(1);
        let label = shorten(&item.label, name_width);
        screen.line(format!(
            "  {label}{}  {}{} {:>7} {:>8}  {}",
            " ".repeat(name_width.saturating_sub(label.chars().count())),
            stripe(paint, item.zone, length),
            " ".repeat(bar_room.saturating_sub(length)),
            grouped(item.tokens),
            share(item.tokens, total),
            paint.dim(item.group.word()),
        ))?;
    }
    let rest = items.get(MOST_ROWS..).unwrap_or_default();
    if !rest.is_empty() {
        let tokens: usize = rest.iter().map(|item| item.tokens).sum();
        let line = format!(
            "and {} with {} tokens in total",
            count_noun(rest.len(), "smaller part"),
            grouped(tokens)
        );
        screen.line(format!("  {}", paint.dim(line)))?;
    }
    Ok(())
}

fn bar_length(part: usize, whole: usize, room: usize) -> usize {
    (part * room + whole / 2) / whole.max(1)
}

/// Colour tells the zones apart; without colour the strokes do.
fn stripe(paint: ColourMode, zone: Zone, length: usize) -> String {
    match (paint, zone) {
        (ColourMode::Mono | ColourMode::Plain, Zone::Stable) => "#".repeat(length),
        (ColourMode::Mono | ColourMode::Plain, Zone::Volatile) => "~".repeat(length),
        (ColourMode::Colour | ColourMode::Light, Zone::Stable) => paint.accent("█".repeat(length)),
        (ColourMode::Colour | ColourMode::Light, Zone::Volatile) => paint.warn("█".repeat(length)),
    }
}

#[cfg(test)]
mod tests {
    use super::bar_length;

    #[test]
    fn bars_are_rounded_to_the_nearest() {
        assert_eq!(bar_length(1, 2, 9), 5);
        assert_eq!(bar_length(5, 5, 40), 40);
    }
}
