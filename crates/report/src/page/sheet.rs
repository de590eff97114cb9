//! The sheet that pictures of rows are drawn on: rows from the top, time from left to right.

use super::axis::Axis;
use super::text::escape;
use std::fmt::Write;

const WIDTH: f64 = 1160.0;
const LEFT: f64 = 116.0;
const LEFT_LONG: f64 = 150.0;
const RIGHT: f64 = 16.0;
const BOTTOM: f64 = 44.0;

/// A sheet in the making.
pub struct Sheet {
    time: Axis,
    height: f64,
    /// Where rows begin, after their names.
    left: f64,
    body: String,
}

impl Sheet {
    /// An empty sheet.
    pub fn new(time: Axis, height: f64) -> Self {
        Self { time, height, left: LEFT, body: String::new() }
    }

    /// The same with room for longer names.
    pub fn with_long_names(time: Axis, height: f64) -> Self {
        Self { left: LEFT_LONG, ..Self::new(time, height) }
    }

    /// Where a time lies.
    fn across(&self, seconds: f64) -> f64 {
        self.left + self.time.place(seconds) * (WIDTH - self.left - RIGHT)
    }

    /// The ground of a row, with its name before it if it has one.
    pub fn row(&mut self, top: f64, height: f64, name: Option<&str>) {
        let left = self.left;
        let (width, middle) = (WIDTH - left - RIGHT, top + height / 2.0 + 4.0);
        let _ = write!(
            self.body,
            r#"<rect class="row" x="{left}" y="{top:.1}" width="{width}" height="{height:.1}"/>"#
        );
        if let Some(name) = name {
            let (name, end) = (escape(name), left - 8.0);
            let _ = write!(self.body, r#"<text x="{end}" y="{middle:.1}" text-anchor="end">{name}</text>"#);
        }
    }

    /// A block in a row; `look` is markup, `title` is shown where it is pointed at.
    pub fn block(&mut self, (from_s, to_s): (f64, f64), (top, height): (f64, f64), look: &str, title: &str) {
        let x = self.across(from_s);
        // Never thinner than can be seen.
        let width = (self.across(to_s) - x).max(0.8);
        let _ = write!(
            self.body,
            r#"<rect {look} x="{x:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}"><title>{}</title></rect>"#,
            escape(title),
        );
    }

    /// The finished picture; `title` is read out where it cannot be seen.
    pub fn draw(&self, title: &str) -> String {
        let mut svg = format!(
            r#"<div class="scroll"><div class="wide"><svg viewBox="0 -6 {WIDTH} {}" role="img" aria-label="{}">{}"#,
            self.height + BOTTOM + 6.0,
            escape(title),
            self.body,
        );
        for (value, text) in &self.time.ticks {
            let (x, y) = (self.across(*value), self.height + 18.0);
            let _ = write!(svg, r#"<text x="{x:.1}" y="{y}" text-anchor="middle">{text}</text>"#);
        }
        let (middle, y) = (f64::midpoint(self.left, WIDTH - RIGHT), self.height + 38.0);
        let label = escape(&self.time.label);
        let _ = write!(svg, r#"<text class="axis" x="{middle}" y="{y}" text-anchor="middle">{label}</text>"#);
        svg + "</svg></div></div>"
    }
}
