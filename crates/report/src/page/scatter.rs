//! The scatter of fast against fair: each run a dot, its name beside it.

use super::axis::Axis;
use super::parts::figure;
use super::plot::{COLOURS, Plot};
use super::text::{amount, duration, escape};
use evenhand_fairness::UNFAIR_ABOVE;
use std::fmt::Write;

/// The room one letter of a name takes, and one line.
const LETTER: f64 = 7.4;
const LINE: f64 = 13.0;

/// A run: its name, mean completion time in seconds, worst ratio against fluid fair sharing.
pub type Dot = (String, f64, f64);

/// Mean completion time against the worst fairness ratio.
pub fn fast_against_fair(dots: &[Dot]) -> String {
    let seen: Vec<(usize, &Dot)> =
        dots.iter().enumerate().filter(|(_, dot)| dot.1.is_finite() && dot.2.is_finite()).collect();
    let range = |value: fn(&Dot) -> f64| {
        let all = || seen.iter().map(|(_, dot)| value(dot));
        (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max))
    };
    let (fast, slow) = range(|dot| dot.1);
    let (fair, unfair) = range(|dot| dot.2);
    if seen.is_empty() {
        return String::new();
    }
    let x = if slow < fast * 8.0 {
        let room = (slow - fast).max(fast * 0.1) * 0.15;
        Axis::time("mean completion time", (fast - room).max(0.0), slow + room, 8)
    } else {
        Axis::durations("mean completion time (logarithmic)", fast * 0.8, slow * 1.35)
    };
    let y =
        Axis::ratios("worst fairness ratio (logarithmic)", (fair * 0.8).min(0.9), (unfair * 1.3).max(1.3));
    let mut plot = Plot::wide(x, y);
    plot.level(UNFAIR_ABOVE, "unfair above 1.05");
    let places: Vec<(f64, f64)> = seen.iter().map(|(_, dot)| (plot.across(dot.1), plot.up(dot.2))).collect();
    let mut words: Vec<Word> = Vec::new();
    let mut names = String::new();
    for ((_, dot), (x, y)) in seen.iter().zip(&places) {
        let word = Word::beside((*x, *y), &dot.0, &plot, &words, &places);
        let name = escape(&dot.0);
        // A name ends where it was meant to even if its letters are wider than thought, or it would hide its dot.
        let (edge, anchor) =
            if word.left < *x { (word.left + word.width, "end") } else { (word.left, "start") };
        let _ = write!(
            names,
            r#"<text class="word" x="{edge:.1}" y="{:.1}" text-anchor="{anchor}">{name}</text>"#,
            word.base,
        );
        words.push(word);
    }
    // Dots last: where there is no room, a name may be hidden, but no dot.
    plot.raw(&names);
    for (at, (name, jct_s, worst)) in &seen {
        let title = format!("{name}: mean completion {}, worst ratio {}", duration(*jct_s), amount(*worst));
        // The colours of the curves, so that a run is found again.
        plot.dot((*jct_s, *worst), 5.0, &format!("c{}", at % COLOURS), &title);
    }
    let title = "Fast against fair";
    let reading = "Further left is faster on average, further down is fairer to the job treated worst (completion time over \
                   that under fluid fair sharing). The best corner is at the bottom left.";
    let inside = format!(r#"<div class="scroll"><div class="wide">{}</div></div>"#, plot.draw(title));
    figure(title, reading, &inside)
}

/// Where a name stands.
struct Word {
    left: f64,
    base: f64,
    width: f64,
}

impl Word {
    /// The first place around a dot where the name covers no dot and no other name; the right side if there is none.
    fn beside((x, y): (f64, f64), name: &str, plot: &Plot, words: &[Self], dots: &[(f64, f64)]) -> Self {
        let width = name.chars().count() as f64 * LETTER;
        let offsets = [4.0, -8.0, 16.0, -20.0, 28.0, -32.0, 40.0, -44.0];
        let (right, left) = (x + 9.0, x - 9.0 - width);
        let candidates = offsets.iter().flat_map(|down| [(right, y + down), (left, y + down)]);
        let mut places = candidates.map(|(left, base)| Self { left, base, width });
        let free = places.find(|place| {
            plot.holds(place.left, place.base, width)
                && !words.iter().any(|word| place.covers(word))
                && !dots.iter().any(|dot| place.hides(*dot))
        });
        let fallback = if plot.holds(right, y, width) { right } else { left };
        free.unwrap_or(Self { left: fallback, base: y + 4.0, width })
    }

    fn covers(&self, other: &Self) -> bool {
        self.left < other.left + other.width
            && other.left < self.left + self.width
            && (self.base - other.base).abs() < LINE
    }

    fn hides(&self, (x, y): (f64, f64)) -> bool {
        x + 5.0 > self.left
            && x - 5.0 < self.left + self.width
            && y + 4.0 > self.base - LINE + 2.0
            && y - 4.0 < self.base + 2.0
    }
}
