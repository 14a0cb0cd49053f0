//! Taking elements out of an object or a list.

use super::TextSplice;
use super::container::{ContainerLayout, tail};
use super::diff::ElementRemoval;
use crate::span::{after, before, between, blank_length};
use crate::text::scan::ends_line;

pub fn removals(text: &str, all: &[ElementRemoval<'_>]) -> Vec<TextSplice> {
    let mut ranges: Vec<(usize, usize)> = all
        .iter()
        .flat_map(|removal| ranges(text, removal))
        .collect();
    ranges.sort_unstable();
    ranges
        .into_iter()
        .map(|(start, end)| TextSplice {
            start,
            end,
            text: String::new(),
        })
        .collect()
}

fn ranges(text: &str, removal: &ElementRemoval<'_>) -> Vec<(usize, usize)> {
    let container = ContainerLayout::of(text, removal.container);
    let mut pieces = Vec::new();
    for index in &removal.indices {
        let Some(element) = container.elements.get(*index) else {
            continue;
        };
        pieces.push((element.start, element.end));
        pieces.extend(element.comma.map(|comma| (comma, comma + 1)));
        pieces.extend(tail(text, element.end).comments);
    }
    if !container.has_trailing_comma() {
        pieces.extend(comma_left_over(&container, &removal.indices));
    }
    pieces.sort_unstable();
    let ranges: Vec<_> = joined(text, pieces)
        .into_iter()
        .map(|range| tidy(text, range))
        .collect();
    if is_blank_without(text, &container, &ranges) {
        return vec![(container.open + 1, container.close)];
    }
    ranges
}

/// When the last elements go, the comma before them would become a trailing one.
fn comma_left_over(container: &ContainerLayout, indices: &[usize]) -> Option<(usize, usize)> {
    let last = container.elements.len().checked_sub(1)?;
    if !indices.contains(&last) {
        return None;
    }
    let stays = (0..last).rev().find(|index| !indices.contains(index))?;
    let comma = container.elements.get(stays)?.comma?;
    Some((comma, comma + 1))
}

/// Ranges with only blanks between them become one.
fn joined(text: &str, pieces: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (start, end) in pieces {
        match ranges.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            Some(last) if is_blank(between(text, last.1, start)) => last.1 = end,
            _ => ranges.push((start, end)),
        }
    }
    ranges
}

/// Takes the white space along that would be left over: the whole line where nothing else
/// stands on it, else the gap on one side.
fn tidy(text: &str, (start, end): (usize, usize)) -> (usize, usize) {
    let left = before(text, start).trim_end_matches([' ', '\t']).len();
    let right = end + blank_length(after(text, end));
    let (left_of, right_of) = (before(text, left), after(text, right));
    let (last, next) = (left_of.chars().next_back(), right_of.chars().next());
    let starts_line = last.is_none_or(ends_line);
    let ends_here = next.is_none_or(ends_line);
    match (starts_line, ends_here) {
        (true, true) => {
            let next = right + newline_length(right_of);
            (left, next + blank_line_too_many(text, left, next))
        }
        (false, true) => (left, right),
        (true, false) => (start, right),
        (false, false) if matches!(next, Some('}' | ']')) => {
            let alone = matches!(last, Some('{' | '['));
            (left, if alone { right } else { end })
        }
        (false, false) => (start, right),
    }
}

/// Where lines go from between two blank ones, one blank line is enough.
fn blank_line_too_many(text: &str, start: usize, end: usize) -> usize {
    let above = before(text, start);
    let newlines_above = after(above, above.trim_end_matches(['\n', '\r']).len())
        .matches('\n')
        .count();
    let indent = blank_length(after(text, end));
    let below = after(text, end + indent);
    let blank_below = below.starts_with(ends_line);
    match newlines_above >= 2 && blank_below {
        true => indent + newline_length(below),
        false => 0,
    }
}

fn newline_length(text: &str) -> usize {
    match text.chars().next() {
        Some('\r') if text.starts_with("\r\n") => 2,
        Some(c) => c.len_utf8(),
        None => 0,
    }
}

fn is_blank_without(text: &str, container: &ContainerLayout, ranges: &[(usize, usize)]) -> bool {
    let mut pos = container.open + 1;
    for (start, end) in ranges {
        if text
            .get(pos..*start)
            .is_some_and(|between| !between.trim().is_empty())
        {
            return false;
        }
        pos = pos.max(*end);
    }
    text.get(pos..container.close)
        .is_none_or(|rest| rest.trim().is_empty())
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}
