//! A plot: two axes and what is drawn between them, as inline SVG.
//!
//! Colours are classes `c0` to `c7`, so that the page's style sheet decides on light and dark.

use super::axis::Axis;
use super::bars::ROW;
use super::text::escape;
use crate::average::Average;
use crate::series::Step;
use std::fmt::Write;

const LEFT: f64 = 66.0;
const RIGHT: f64 = 14.0;
/// The width of a letter, at most.
const LETTER: f64 = 7.5;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 42.0;

/// How many colours there are.
pub const COLOURS: usize = 8;

/// How a curve is told from the others.
#[derive(Clone, Copy, Debug)]
pub struct Pen(usize);

impl Pen {
    /// The pen of the curve with this number: colours first, then dashes, so that curves differ without colour too.
    pub fn number(at: usize) -> Self {
        Self(at)
    }

    /// Its classes in the style sheet.
    pub fn class(self) -> String {
        format!("c{} d{}", self.0 % COLOURS, self.0 / COLOURS % 4)
    }
}

/// A plot in the making.
#[derive(Debug)]
pub struct Plot {
    width: f64,
    height: f64,
    /// Where the plot proper begins, after the words of the vertical axis.
    left: f64,
    x: Axis,
    y: Axis,
    body: String,
    /// Drawn last, so that no curve hides a word.
    marks: String,
}

impl Plot {
    /// An empty plot, half a page wide.
    pub fn new(x: Axis, y: Axis) -> Self {
        Self::sized(x, y, 520.0, 290.0)
    }

    /// An empty plot, a page wide.
    pub fn wide(x: Axis, y: Axis) -> Self {
        Self::sized(x, y, 1100.0, 400.0)
    }

    /// An empty plot, one of several small ones.
    pub fn small(x: Axis, y: Axis) -> Self {
        Self::sized(x, y, 340.0, 190.0)
    }

    /// An empty plot with room for so many bars below each other.
    pub fn rows(x: Axis, y: Axis, rows: usize) -> Self {
        Self { left: RIGHT, ..Self::sized(x, y, 520.0, TOP + BOTTOM + ROW * rows as f64) }
    }

    fn sized(x: Axis, y: Axis, width: f64, height: f64) -> Self {
        Self { width, height, left: LEFT, x, y, body: String::new(), marks: String::new() }
    }

    /// A line through these points.
    pub fn line(&mut self, points: &[(f64, f64)], pen: Pen, name: &str) {
        let mut path = String::new();
        for (at, (x, y)) in points.iter().enumerate() {
            let letter = if at == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.1} {:.1}", self.across(*x), self.up(*y));
        }
        if !path.is_empty() {
            let (class, name) = (pen.class(), escape(name));
            let _ = write!(
                self.body,
                r#"<path class="line {class}" data-run="{}" d="{path}"><title>{name}</title></path>"#,
                pen.0,
            );
        }
    }

    /// A dot at a mean, with an upright line over its interval if it has one.
    pub fn whisker(&mut self, x: f64, average: Average, pen: Pen) {
        let (x, class) = (self.across(x), pen.class());
        let (top, floor, y) = (self.up(average.high()), self.up(average.low()), self.up(average.mean));
        if average.half > 0.0 {
            let (left, right) = (x - 3.0, x + 3.0);
            let _ = write!(
                self.body,
                r#"<path class="line thin {class}" data-run="{}" d="M{x:.1} {top:.1}V{floor:.1}M{left:.1} {top:.1}H{right:.1}M{left:.1} {floor:.1}H{right:.1}"/>"#,
                pen.0,
            );
        }
        let _ = write!(
            self.body,
            r#"<circle class="dot thin {class}" data-run="{}" cx="{x:.1}" cy="{y:.1}" r="4"/>"#,
            pen.0
        );
    }

    /// A dot; `title` is shown where it is pointed at.
    pub fn dot(&mut self, (x, y): (f64, f64), radius: f64, class: &str, title: &str) {
        let (x, y, title) = (self.across(x), self.up(y), escape(title));
        let _ = write!(
            self.body,
            r#"<circle class="dot {class}" cx="{x:.1}" cy="{y:.1}" r="{radius}"><title>{title}</title></circle>"#
        );
    }

    /// A dashed line from corner to corner, from where both axes have their least value on.
    pub fn diagonal(&mut self) {
        let (left, end, top, floor) = (self.left, self.width - RIGHT, TOP, self.height - BOTTOM);
        let _ = write!(self.marks, r#"<line class="mark" x1="{left}" x2="{end}" y1="{floor}" y2="{top}"/>"#);
    }

    /// A line that keeps each value for its stretch of time.
    pub fn steps(&mut self, steps: &[Step], class: &str, name: &str) {
        self.path("line", &self.stairs(steps), class, name);
    }

    /// The same, filled down to zero.
    pub fn area(&mut self, steps: &[Step], class: &str, name: &str) {
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return };
        let (begin, end, floor) = (self.across(first.from_s), self.across(last.to_s), self.up(0.0));
        let path = format!("M{begin:.1} {floor:.1}L{}L{end:.1} {floor:.1}Z", &self.stairs(steps)[1..]);
        self.path("area", &path, class, name);
    }

    /// A dashed upright line with a word beside it; `before` puts the word on its left and at the top,
    /// otherwise it is on the right and at the bottom: where a distribution leaves room.
    pub fn upright(&mut self, x: f64, word: &str, before: bool) {
        let (x, top, floor) = (self.across(x), TOP, self.height - BOTTOM);
        let (anchor, beside) = if before { ("end", x - 5.0) } else { ("start", x + 5.0) };
        let _ = write!(
            self.marks,
            r#"<line class="mark" x1="{x:.1}" x2="{x:.1}" y1="{top}" y2="{floor}"/><text class="word" x="{beside:.1}" y="{}" text-anchor="{anchor}">{}</text>"#,
            if before { top + 14.0 } else { floor - 8.0 },
            escape(word),
        );
    }

    /// A dashed level line with a word on it.
    pub fn level(&mut self, y: f64, word: &str) {
        let (y, left, end) = (self.up(y), self.left, self.width - RIGHT);
        let _ = write!(
            self.marks,
            r#"<line class="mark" x1="{left}" x2="{end}" y1="{y:.1}" y2="{y:.1}"/><text class="word" x="{end}" y="{:.1}" text-anchor="end">{}</text>"#,
            y - 5.0,
            escape(word),
        );
    }

    /// Something drawn elsewhere, in the coordinates of [`Plot::across`] and [`Plot::up`].
    pub fn raw(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    /// Where a value of the horizontal axis lies.
    pub fn across(&self, value: f64) -> f64 {
        self.left + self.x.place(value) * (self.width - self.left - RIGHT)
    }

    /// Where a value of the vertical axis lies.
    pub fn up(&self, value: f64) -> f64 {
        self.height - BOTTOM - self.y.place(value) * (self.height - TOP - BOTTOM)
    }

    /// Whether something this wide, standing on this base line, lies between the axes.
    pub fn holds(&self, left: f64, base: f64, width: f64) -> bool {
        left > self.left + 2.0
            && left + width < self.width - RIGHT
            && base > TOP + 10.0
            && base < self.height - BOTTOM - 4.0
    }

    /// The finished plot; `title` is read out where it cannot be seen.
    pub fn draw(&self, title: &str) -> String {
        let (width, height) = (self.width, self.height);
        let (left, end, floor) = (self.left, width - RIGHT, height - BOTTOM);
        let mut svg =
            format!(r#"<svg viewBox="0 0 {width} {height}" role="img" aria-label="{}">"#, escape(title));
        for (value, text) in &self.y.ticks {
            let y = self.up(*value);
            let _ = write!(
                svg,
                r#"<line class="grid" x1="{left}" x2="{end}" y1="{y:.1}" y2="{y:.1}"/><text x="{}" y="{:.1}" text-anchor="end">{text}</text>"#,
                left - 6.0,
                y + 4.0,
            );
        }
        for (value, text) in &self.x.ticks {
            let x = self.across(*value);
            // A time of day at the very edge would be cut off.
            let reaches = x + LETTER / 2.0 * text.chars().count() as f64;
            let middle = x - (reaches - self.width).max(0.0);
            let _ = write!(
                svg,
                r#"<line class="grid" x1="{x:.1}" x2="{x:.1}" y1="{floor}" y2="{}"/><text x="{middle:.1}" y="{}" text-anchor="middle">{text}</text>"#,
                floor + 4.0,
                floor + 17.0,
            );
        }
        let middle = f64::midpoint(TOP, floor);
        let _ = write!(
            svg,
            r#"<text class="axis" x="{:.1}" y="{}" text-anchor="middle">{}</text><text class="axis" transform="translate(12 {middle:.1}) rotate(-90)" text-anchor="middle">{}</text>{}{}</svg>"#,
            f64::midpoint(left, end),
            height - 5.0,
            escape(&self.x.label),
            escape(&self.y.label),
            self.body,
            self.marks,
        );
        svg
    }

    fn stairs(&self, steps: &[Step]) -> String {
        let mut path = String::new();
        for step in steps {
            let (y, to) = (self.up(step.mean), self.across(step.to_s));
            if path.is_empty() {
                let _ = write!(path, "M{:.1} {y:.1}H{to:.1}", self.across(step.from_s));
            } else {
                let _ = write!(path, "V{y:.1}H{to:.1}");
            }
        }
        path
    }

    fn path(&mut self, kind: &str, path: &str, class: &str, name: &str) {
        if !path.is_empty() {
            let name = escape(name);
            let _ =
                write!(self.body, r#"<path class="{kind} {class}" d="{path}"><title>{name}</title></path>"#);
        }
    }
}
