//! Numbers as people read them.

/// What stands where there is no number.
const NOTHING: &str = "-";

/// Units of time, the largest last: its seconds, its name, and from how many seconds on it is used.
const UNITS: &[(f64, &str, f64)] =
    &[(1.0, "s", 0.0), (60.0, "min", 120.0), (3600.0, "h", 7200.0), (86_400.0, "d", 259_200.0)];

/// A length of time in a unit that suits `scale` seconds, so that a column can share one unit.
pub fn span(seconds: f64, scale: f64) -> String {
    let unit = UNITS.iter().rev().find(|(_, _, from)| scale.abs() >= *from).unwrap_or(&UNITS[0]);
    if seconds.is_finite() { format!("{} {}", plain(seconds / unit.0), unit.1) } else { NOTHING.into() }
}

/// A short length of time, from nanoseconds to seconds.
pub fn moment(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => NOTHING.into(),
        s if s < 1e-6 => format!("{} ns", plain(s * 1e9)),
        s if s < 1e-3 => format!("{} us", plain(s * 1e6)),
        s if s < 1.0 => format!("{} ms", plain(s * 1e3)),
        s => format!("{} s", plain(s)),
    }
}

/// About three digits.
pub fn plain(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => NOTHING.into(),
        0.0 => "0".into(),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A fraction of 1.
pub fn percent(fraction: f64) -> String {
    match fraction * 100.0 {
        value if !value.is_finite() => NOTHING.into(),
        value if value > 0.0 && value < 0.05 => "< 0.1 %".into(),
        value if value > 0.0 && value < 9.95 => format!("{value:.1} %"),
        value => format!("{value:.0} %"),
    }
}

/// A whole number, with thousands set apart.
pub fn count(value: f64) -> String {
    if !value.is_finite() {
        return NOTHING.into();
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_have_their_unit() {
        assert_eq!(span(12_240.0, 12_240.0), "3.40 h");
        assert_eq!(span(90.0, 90.0), "90.0 s");
        assert_eq!(span(90.0, 10_000.0), "0.03 h");
        assert_eq!(span(f64::NAN, 1.0), "-");
        assert_eq!(percent(0.9234), "92 %");
        assert_eq!(percent(0.031), "3.1 %");
        assert_eq!((percent(0.0001), percent(0.0)), ("< 0.1 %".into(), "0 %".into()));
        assert_eq!(count(1_234_567.0), "1,234,567");
        assert_eq!(count(999.0), "999");
        assert_eq!(moment(0.000_012), "12.0 us");
    }
}
