//! Level bars, each under its name, with a mark across it.

use super::axis::Axis;
use super::plot::Plot;
use super::text::escape;
use std::fmt::Write;

/// The height of a name with its bar.
pub const ROW: f64 = 36.0;

/// One bar.
pub struct Bar {
    /// Its name, above it on the left.
    pub name: String,
    /// What is worth saying of it, above it on the right.
    pub remark: String,
    /// How long it is.
    pub value: f64,
    /// Where the mark is, if there is one.
    pub mark: Option<f64>,
    /// Its class in the style sheet.
    pub class: String,
    /// What is told to those who point at it.
    pub title: String,
}

/// A plot of bars from top to bottom.
pub fn bars(label: &str, title: &str, bars: &[Bar]) -> String {
    let longest = bars.iter().flat_map(|bar| [Some(bar.value), bar.mark]).flatten().fold(0.0, f64::max);
    let mut y = Axis::even("", 0.0, bars.len() as f64, 1);
    y.ticks.clear();
    let mut plot = Plot::rows(Axis::from_zero(label, longest, 5), y, bars.len());
    let (left, right) = (plot.across(0.0), plot.across(f64::INFINITY));
    let mut markup = String::new();
    for (at, bar) in bars.iter().enumerate() {
        let top = plot.up((bars.len() - at) as f64);
        let (words, bar_top) = (top + 14.0, top + 18.0);
        let width = (plot.across(bar.value) - left).max(0.0);
        let _ = write!(
            markup,
            r#"<text class="word" x="{left:.1}" y="{words:.1}">{}</text><text x="{right:.1}" y="{words:.1}" text-anchor="end">{}</text><rect class="bar {}" x="{left:.1}" y="{bar_top:.1}" width="{width:.1}" height="13"><title>{}</title></rect>"#,
            escape(&bar.name),
            escape(&bar.remark),
            bar.class,
            escape(&bar.title),
        );
        if let Some(mark) = bar.mark {
            let x = plot.across(mark);
            let _ = write!(
                markup,
                r#"<path class="line ink" d="M{x:.1} {:.1}V{:.1}"/>"#,
                bar_top - 1.0,
                bar_top + 14.0
            );
        }
    }
    plot.raw(&markup);
    plot.draw(title)
}
