//! Treemaps: nested boxes whose areas are proportional to a weight.

use super::PictureArea;

/// Lays out boxes of the given weights (largest first is best) inside `area`, as square as
/// possible. The result has one box for each weight, in the same order.
pub fn squarify(weights: &[f32], area: PictureArea) -> Vec<PictureArea> {
    let total: f32 = weights.iter().copied().filter(|weight| *weight > 0.0).sum();
    if total <= 0.0 || area.width <= 0.0 || area.height <= 0.0 {
        return weights
            .iter()
            .map(|_| PictureArea {
                width: 0.0,
                height: 0.0,
                ..area
            })
            .collect();
    }
    let unit = area.width * area.height / total;
    let sizes: Vec<f32> = weights
        .iter()
        .map(|weight| weight.max(0.0) * unit)
        .collect();
    let mut boxes = Vec::with_capacity(sizes.len());
    let mut rest = area;
    let mut from = 0;
    while from < sizes.len() {
        let side = rest.width.min(rest.height);
        let mut to = from + 1;
        while to < sizes.len()
            && worst(sizes.get(from..=to).unwrap_or_default(), side)
                <= worst(sizes.get(from..to).unwrap_or_default(), side)
        {
            to += 1;
        }
        rest = lay_row(sizes.get(from..to).unwrap_or_default(), rest, &mut boxes);
        from = to;
    }
    boxes
}

/// How far the worst box of a row is from a square.
fn worst(row: &[f32], side: f32) -> f32 {
    let sum: f32 = row.iter().sum();
    if sum <= 0.0 || side <= 0.0 {
        return f32::INFINITY;
    }
    let thickness = sum / side;
    row.iter()
        .map(|size| {
            let length = size / thickness;
            if length > 0.0 {
                (length / thickness).max(thickness / length)
            } else {
                f32::INFINITY
            }
        })
        .fold(0.0, f32::max)
}

/// Places one row along the shorter side and returns what is left.
fn lay_row(row: &[f32], area: PictureArea, boxes: &mut Vec<PictureArea>) -> PictureArea {
    let sum: f32 = row.iter().sum();
    let upright = area.width >= area.height;
    let side = if upright { area.height } else { area.width };
    let thickness = if side > 0.0 {
        (sum / side).min(area.width.max(area.height))
    } else {
        0.0
    };
    let mut along = 0.0;
    for size in row {
        let length = if thickness > 0.0 {
            size / thickness
        } else {
            0.0
        };
        boxes.push(if upright {
            PictureArea {
                x: area.x,
                y: area.y + along,
                width: thickness,
                height: length,
            }
        } else {
            PictureArea {
                x: area.x + along,
                y: area.y,
                width: length,
                height: thickness,
            }
        });
        along += length;
    }
    if upright {
        PictureArea {
            x: area.x + thickness,
            width: (area.width - thickness).max(0.0),
            ..area
        }
    } else {
        PictureArea {
            y: area.y + thickness,
            height: (area.height - thickness).max(0.0),
            ..area
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PictureArea, squarify};

    const AREA: PictureArea = PictureArea {
        x: 10.0,
        y: 20.0,
        width: 600.0,
        height: 400.0,
    };

    #[test]
    fn areas_are_proportional_and_inside() {
        let weights = [60.0, 60.0, 40.0, 30.0, 20.0, 10.0, 0.0];
        let boxes = squarify(&weights, AREA);
        let unit = AREA.width * AREA.height / weights.iter().sum::<f32>();
        for (weight, area) in weights.iter().zip(&boxes) {
            assert!(
                (area.width * area.height - weight * unit).abs() < 1.0,
                "{weight} {area:?}"
            );
            assert!(area.x >= AREA.x - 0.1 && area.x + area.width <= AREA.x + AREA.width + 0.1);
            assert!(area.y >= AREA.y - 0.1 && area.y + area.height <= AREA.y + AREA.height + 0.1);
        }
    }

    #[test]
    fn nothing_to_show_is_no_problem() {
        assert!(squarify(&[], AREA).is_empty());
        assert_eq!(squarify(&[0.0, 0.0], AREA).len(), 2);
    }
}
