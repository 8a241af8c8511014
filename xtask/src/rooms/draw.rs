//! The drawing as a text: boxes, lines with arrowheads, and numbers.
//!
//! In: a crate's rooms. Out: an SVG 1.1 document. Lines to one room join above it; the number of imports is at the start of each
//! line, its two rooms in the line's title. A knot is red.

use super::layout::{BOX_HEIGHT, Layout, Line, Place, Spot, lay_out};
use crate::imports::Rooms;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Around a drawing.
const MARGIN: f64 = 24.0;
/// Of a folder's heading.
const HEADING: f64 = 40.0;
/// Of the title and the legend.
const TOP: f64 = 88.0;
/// The legend's width.
const LEAST_WIDTH: f64 = 720.0;
const LEGEND: [&str; 2] = [
    "An arrow leads to a room that is imported. Its number counts pairs of files, one of which imports the other.",
    "Blue boxes are folders, white boxes are files. Rooms of a knot are red: each reaches every other.",
];

/// Of an arrowhead.
const ARROW: f64 = 7.0;

const STYLE: &str = "\
text { font: 13px monospace; text-anchor: middle; fill: #1a1a1a }
.title { font: bold 18px sans-serif; text-anchor: start }
.legend { font: 12px sans-serif; text-anchor: start; fill: #555 }
.heading { font: bold 14px monospace; text-anchor: start }
.number { font: 10px sans-serif; stroke: #fff; stroke-width: 3px; paint-order: stroke }
rect { fill: #eef3fa; stroke: #4a6a94 }
.file { fill: #fff }
path { fill: none; stroke: #7a8aa0 }
.arrow { fill: #4a6a94; stroke: none }
.knot { stroke: #c62828; stroke-width: 2 }
";

/// The drawing of a crate: `src/`, then each folder that has folders or a knot.
pub(super) fn document(name: &str, folders: &[Rooms]) -> String {
    let is_drawn = |rooms: &&Rooms| {
        let has_folders = rooms.is_folder.len() > 1 && rooms.is_folder.values().any(|is| *is);
        rooms.folder.is_empty() || has_folders || !rooms.knots().is_empty()
    };
    let layouts: Vec<(&Rooms, Layout)> =
        folders.iter().filter(is_drawn).map(|rooms| (rooms, lay_out(rooms))).collect();
    let width = layouts.iter().map(|(_, layout)| layout.width).fold(LEAST_WIDTH, f64::max) + 2.0 * MARGIN;
    let (mut body, mut y) = (String::new(), TOP);
    for (rooms, layout) in &layouts {
        let heading =
            if rooms.folder.is_empty() { "src/".to_owned() } else { format!("src/{}/", rooms.folder) };
        let _ = writeln!(
            body,
            "<text class=\"heading\" x=\"{MARGIN}\" y=\"{}\">{}</text>",
            y + 20.0,
            escaped(&heading)
        );
        let _ = writeln!(body, "<g transform=\"translate({MARGIN} {})\">", y + HEADING);
        folder(rooms, layout, &mut body);
        body += "</g>\n";
        y += HEADING + layout.height;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{y}\" viewBox=\"0 0 {width} {y}\">\n\
         <style>\n{STYLE}</style>\n<rect width=\"{width}\" height=\"{y}\" style=\"fill: #fff; stroke: none\"/>\n\
         <text class=\"title\" x=\"{MARGIN}\" y=\"34\">{}</text>\n\
         {}{body}</svg>\n",
        escaped(name),
        legend()
    )
}

fn legend() -> String {
    let line = |(at, text): (usize, &&str)| {
        let y = 56 + 17 * at;
        format!("<text class=\"legend\" x=\"{MARGIN}\" y=\"{y}\">{text}</text>\n")
    };
    LEGEND.iter().enumerate().map(line).collect()
}

fn folder(rooms: &Rooms, layout: &Layout, out: &mut String) {
    let knotted: BTreeSet<String> = rooms.knots().into_iter().flat_map(|knot| knot.rooms).collect();
    for (from, to) in &layout.passing {
        let (from, to) = (layout.places[from], layout.places[to]);
        let _ = writeln!(out, "<path d=\"{}\"/>", curve((from.x, from.y + BOX_HEIGHT), (to.x, to.y)));
        // The layer itself is passed upright.
        let _ = writeln!(out, "<path d=\"M{} {}V{}\"/>", from.x, from.y, from.y + BOX_HEIGHT);
    }
    layout.lines.iter().for_each(|line| path(line, layout, out));
    let imported: BTreeSet<&str> = layout.lines.iter().map(|line| line.to.as_str()).collect();
    for (spot, place) in &layout.places {
        let Spot::Room(room) = spot else { continue };
        let is_folder = rooms.is_folder[room];
        let kind = match (is_folder, knotted.contains(room)) {
            (true, false) => "",
            (false, false) => " class=\"file\"",
            (true, true) => " class=\"knot\"",
            (false, true) => " class=\"file knot\"",
        };
        let Place { x, y, width } = *place;
        let _ = writeln!(
            out,
            "<rect{kind} x=\"{}\" y=\"{y}\" width=\"{width}\" height=\"{BOX_HEIGHT}\" rx=\"4\"/>",
            x - width / 2.0
        );
        let slash = if is_folder { "/" } else { "" };
        let _ = writeln!(out, "<text x=\"{x}\" y=\"{}\">{}{slash}</text>", y + 18.0, escaped(room));
        if imported.contains(room.as_str()) {
            let (left, right, top) = (x - ARROW / 2.0, x + ARROW / 2.0, y - ARROW);
            let _ = writeln!(out, "<path class=\"arrow\" d=\"M{left} {top}H{right}L{x} {y}Z\"/>");
        }
    }
    // Numbers are above lines and boxes.
    for line in &layout.lines {
        let y = layout.places[&Spot::Room(line.from.clone())].y + BOX_HEIGHT + 13.0;
        let _ = writeln!(out, "<text class=\"number\" x=\"{}\" y=\"{y}\">{}</text>", line.x, line.imports);
    }
}

/// One line of a room.
fn path(line: &Line, layout: &Layout, out: &mut String) {
    let bottom = layout.places[&Spot::Room(line.from.clone())].y + BOX_HEIGHT;
    let (kind, curve) = match &line.next {
        Some(next) => {
            let to = layout.places[next];
            ("", curve((line.x, bottom), (to.x, to.y)))
        }
        None => {
            let to = layout.places[&Spot::Room(line.to.clone())];
            let (below, above) = (bottom + 48.0, to.y - 48.0);
            (
                " class=\"knot\"",
                format!("M{} {bottom}C{} {below} {} {above} {} {}", line.x, line.x, to.x, to.x, to.y),
            )
        }
    };
    let title = format!("{} to {}: {}", escaped(&line.from), escaped(&line.to), line.imports);
    let _ = writeln!(out, "<path{kind} d=\"{curve}\"><title>{title}</title></path>");
}

/// From one point down to another, upright at both ends.
fn curve((x, y): (f64, f64), (to_x, to_y): (f64, f64)) -> String {
    let middle = (y + to_y) / 2.0;
    format!("M{x} {y}C{x} {middle} {to_x} {middle} {to_x} {to_y}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
