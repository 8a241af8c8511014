//! What figures are drawn with: a frame with two axes, and SVG 1.1 inside of it. Colours are the style
//! sheet's, by class.
//!
//! In: shapes and texts with places from the axes. Out: one SVG element. All figures share one size and one
//! frame.

use super::axis::Axis;
use super::markup::Escaped;
use deburr_lab::side::Side;
use std::fmt::Write;

/// The size of every figure, in its own units: the figures are scaled to the page together.
pub(crate) const WIDTH: f64 = 440.0;
pub(crate) const HEIGHT: f64 = 260.0;
/// How many colours the style sheet has for curves.
const HUES: usize = 8;
/// How wide a digit of an axis is.
const DIGIT: f64 = 6.6;

/// How far apart two values at an edge are, so that neither is over the other.
const APART: f64 = 64.0;

/// The margins below and to the left of what is drawn.
const BELOW: f64 = 40.0;
const ABOVE: f64 = 22.0;
const RIGHT: f64 = 12.0;

/// A figure that is being drawn.
pub(crate) struct Canvas {
    body: String,
    /// The left end of what is drawn.
    left: f64,
    /// Its right end.
    right: f64,
    /// How large marks are; 1 is as large as they get.
    size: f64,
    /// Where the value of a mark at the edge is written, and whether that is the upper one.
    labelled: Vec<(f64, bool)>,
}

impl Canvas {
    /// A canvas with an axis upwards, `label` above it.
    pub(crate) fn new(upwards: &Axis, count: u32, label: &str) -> Canvas {
        let (ticks, after) = upwards.ticks(count, 0.0);
        let ticks: Vec<(f64, String)> =
            ticks.iter().map(|tick| (upwards.place(*tick), number(*tick, after))).collect();
        Canvas::ticked(&ticks, 0.0, label)
    }

    /// The same with names at given places, and so much free at the right for what is written there.
    pub(crate) fn ticked(ticks: &[(f64, String)], free: f64, label: &str) -> Canvas {
        let longest = ticks.iter().map(|(_, name)| name.chars().count()).max().unwrap_or(0);
        let bare = Canvas::bare();
        let mut canvas =
            Canvas { left: 14.0 + DIGIT * longest.max(3) as f64, right: bare.right - free, ..bare };
        for (y, name) in ticks {
            canvas.line("grid", (canvas.left, *y), (canvas.right, *y));
            canvas.text("tick end", (canvas.left - 6.0, y + 4.0), name);
        }
        canvas.text("label", (4.0, 13.0), label);
        canvas
    }

    /// A canvas whose axis upwards has no numbers.
    pub(crate) fn bare() -> Canvas {
        Canvas { body: String::new(), left: RIGHT, right: WIDTH - RIGHT, size: 1.0, labelled: Vec::new() }
    }

    /// The same for so many marks: many are smaller, so that they do not cover each other.
    pub(crate) fn of_marks(self, count: usize) -> Canvas {
        Canvas { size: (100.0 / count.max(100) as f64).sqrt().max(0.35), ..self }
    }

    /// The ends of an axis upwards.
    pub(crate) const fn upwards() -> (f64, f64) {
        (HEIGHT - BELOW, ABOVE)
    }

    /// The ends of an axis to the right.
    pub(crate) fn rightwards(&self) -> (f64, f64) {
        (self.left, self.right)
    }

    /// The axis to the right, `label` below it.
    pub(crate) fn below(&mut self, rightwards: &Axis, least: f64, label: &str) {
        let (ticks, after) = rightwards.ticks(6, least);
        // What is counted is counted from one.
        let ticks = ticks.into_iter().filter(|tick| *tick >= 1.0 || least < 1.0);
        self.named(ticks.map(|tick| (rightwards.place(tick), number(tick, after))), label);
    }

    /// The same with names at given places.
    pub(crate) fn named(&mut self, names: impl Iterator<Item = (f64, String)>, label: &str) {
        let base = HEIGHT - BELOW;
        self.line("axis", (self.left, base), (self.right, base));
        for (x, name) in names {
            self.line("axis", (x, base), (x, base + 4.0));
            self.text("tick middle", (x, base + 17.0), &name);
        }
        self.text("label middle", ((self.left + self.right) / 2.0, HEIGHT - 6.0), label);
    }

    /// A rectangle between two corners.
    pub(crate) fn rectangle(&mut self, class: &str, one: (f64, f64), other: (f64, f64)) {
        let (x, y) = (one.0.min(other.0), one.1.min(other.1));
        let (width, height) = ((one.0 - other.0).abs(), (one.1 - other.1).abs());
        let _ = writeln!(
            self.body,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
        );
    }

    /// A straight line.
    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let _ = writeln!(
            self.body,
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            from.0, from.1, to.0, to.1
        );
    }

    /// A line through points, or the area inside of it.
    pub(crate) fn polygon(
        &mut self,
        class: &str,
        points: impl IntoIterator<Item = (f64, f64)>,
        is_area: bool,
    ) {
        let points: Vec<String> = points.into_iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let shape = if is_area { "polygon" } else { "polyline" };
        let _ = writeln!(self.body, "<{shape} class=\"{class}\" points=\"{}\"/>", points.join(" "));
    }

    /// The mark of a run: its side's shape, hollow if it is to be doubted. `title` is shown to who points at
    /// it.
    pub(crate) fn mark(&mut self, side: Side, is_hollow: bool, (x, y): (f64, f64), title: &str) {
        let size = self.size;
        let (class, shape) = match side {
            Side::A => ("a", format!("circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\"", 3.4 * size)),
            Side::B => ("b", path((x, y), &[(0.0, -4.2), (4.2, 3.2), (-4.2, 3.2)], size)),
        };
        self.shape(class, is_hollow, &shape, title);
    }

    /// The mark of a pair, likewise.
    pub(crate) fn diamond(&mut self, is_hollow: bool, at: (f64, f64), title: &str) {
        let corners = [(0.0, -4.4), (4.4, 0.0), (0.0, 4.4), (-4.4, 0.0)];
        self.shape("pair", is_hollow, &path(at, &corners, self.size), title);
    }

    /// The mark of a change, which is beyond the figure where the axis upwards does not reach it.
    pub(crate) fn change(
        &mut self,
        is_hollow: bool,
        (x, upwards, value): (f64, &Axis, f64),
        title: &str,
        label: &str,
    ) {
        match upwards.holds(value) {
            true => self.diamond(is_hollow, (x, upwards.place(value)), title),
            false => self.beyond("pair", is_hollow, (x, upwards.place(value)), title, label),
        }
    }

    /// A mark at the edge of what is beyond it: an arrow, with the value next to it where there is room.
    pub(crate) fn beyond(
        &mut self,
        class: &str,
        is_hollow: bool,
        (x, y): (f64, f64),
        title: &str,
        label: &str,
    ) {
        let (bottom, top) = Canvas::upwards();
        let is_above = y < (bottom + top) / 2.0;
        let corners = match is_above {
            true => [(0.0, -1.0), (4.6, 7.0), (-4.6, 7.0)],
            false => [(0.0, 1.0), (4.6, -7.0), (-4.6, -7.0)],
        };
        self.shape(&format!("{class} beyond"), is_hollow, &path((x, y), &corners, 1.0), title);
        let near =
            |(other, is_other_above): &(f64, bool)| *is_other_above == is_above && (other - x).abs() < APART;
        if self.labelled.iter().any(near) {
            return;
        }
        self.labelled.push((x, is_above));
        // Above the figure nothing is in its way, except at the left, where the axis has its name.
        if is_above && x > self.left + 1.5 * APART {
            let is_at_end = x > self.right - APART / 2.0;
            let (class, x) = if is_at_end { ("tick end", self.right) } else { ("tick middle", x) };
            self.text(class, (x, y - 4.0), label);
            return;
        }
        let is_right = x > (self.left + self.right) / 2.0;
        let (class, x) = if is_right { ("tick end", x - 7.0) } else { ("tick", x + 7.0) };
        self.text(class, (x, if is_above { y + 8.0 } else { y - 1.0 }), label);
    }

    /// The mark of one of several curves: colour and shape follow from its number.
    pub(crate) fn numbered(&mut self, number: usize, at: (f64, f64), title: &str) {
        let (x, y) = at;
        let shape = match number % 5 {
            0 => format!("circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\"", 3.4 * self.size),
            1 => path(at, &[(0.0, -4.2), (4.2, 3.2), (-4.2, 3.2)], self.size),
            2 => path(at, &[(-3.1, -3.1), (3.1, -3.1), (3.1, 3.1), (-3.1, 3.1)], self.size),
            3 => path(at, &[(0.0, -4.4), (4.4, 0.0), (0.0, 4.4), (-4.4, 0.0)], self.size),
            _ => path(at, &[(0.0, 4.2), (4.2, -3.2), (-4.2, -3.2)], self.size),
        };
        self.shape(&hue(number), false, &shape, title);
    }

    fn shape(&mut self, class: &str, is_hollow: bool, shape: &str, title: &str) {
        let name = shape.split(' ').next().unwrap_or_default();
        let hollow = if is_hollow { " hollow" } else { "" };
        let attributes = shape.get(name.len()..).unwrap_or_default();
        let _ = writeln!(
            self.body,
            "<{name} class=\"mark {class}{hollow}\"{attributes}><title>{}</title></{name}>",
            Escaped(title)
        );
    }

    /// Text; its class says which end of it is at the place.
    pub(crate) fn text(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        let _ =
            writeln!(self.body, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", Escaped(text));
    }

    /// The figure, with what it is for those who do not see it.
    pub(crate) fn finish(self, title: &str) -> String {
        let title = Escaped(title);
        let body = self.body;
        format!(
            "<svg role=\"img\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" aria-label=\"{title}\"><title>{title}</title>\n{body}</svg>"
        )
    }
}

/// The class that gives one of several curves its colour.
pub(crate) fn hue(number: usize) -> String {
    format!("hue-{}", number % HUES)
}

/// A polygon around a place.
fn path((x, y): (f64, f64), corners: &[(f64, f64)], size: f64) -> String {
    let corners =
        corners.iter().map(|(right, down)| format!("{:.1},{:.1}", x + right * size, y + down * size));
    format!("polygon points=\"{}\"", corners.collect::<Vec<String>>().join(" "))
}

/// A number on an axis.
pub(crate) fn number(value: f64, after: usize) -> String {
    // A tick that is 0 except for rounding has no sign.
    let value = if value.abs() < 0.5 * 10f64.powi(-(after as i32)) { 0.0 } else { value };
    if value.abs() >= 1e9 { format!("{value:.2e}") } else { format!("{value:.after$}") }.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_on_an_axis_have_the_digits_that_the_axis_needs() {
        let shown =
            [(-0.5, 1), (1e-17, 1), (12.0, 0), (2.5e12, 0)].map(|(value, after)| number(value, after));
        assert_eq!(shown, ["−0.5", "0.0", "12", "2.50e12"]);
    }

    #[test]
    fn every_curve_has_a_colour_of_the_style_sheet_and_no_two_of_forty_look_alike() {
        let style = include_str!("page.css");
        let drawn = |number| {
            let mut canvas = Canvas::bare();
            canvas.numbered(number, (1.0, 2.0), "");
            canvas.finish("")
        };
        let marks: std::collections::BTreeSet<String> = (0..40).map(drawn).collect();
        assert_eq!(marks.len(), 40);
        for number in 0..HUES {
            assert!(style.contains(&format!(".{} {{", hue(number))), "{number}");
            assert_eq!(
                style.matches(&format!("--{}: #", hue(number))).count(),
                2,
                "{number}: light and dark"
            );
        }
    }

    #[test]
    fn ticks_are_at_their_values_and_text_is_escaped() {
        let upwards = Axis::over([0.0, 10.0], 0.0, Canvas::upwards());
        let mut canvas = Canvas::new(&upwards, 5, "a<b");
        let rightwards = Axis::over([0.0, 4.0], 0.0, canvas.rightwards());
        canvas.below(&rightwards, 1.0, "pair");
        canvas.mark(Side::A, true, (rightwards.place(4.0), upwards.place(10.0)), "x & y");
        let figure = canvas.finish("\"t\"");
        for expected in [
            "y=\"224.0\">0</text>",
            "y=\"26.0\">10</text>",
            "a&lt;b",
            "x=\"428.0\" y=\"237.0\">4</text>",
            "<circle class=\"mark a hollow\" cx=\"428.0\" cy=\"22.0\" r=\"3.4\"><title>x &amp; y</title>",
            "aria-label=\"&quot;t&quot;\"",
        ] {
            assert!(figure.contains(expected), "{expected} in {figure}");
        }
    }
}
