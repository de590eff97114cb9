//! Numbers and names as people read them.

/// What is written where there is nothing to measure.
const NOTHING: &str = "–";

/// Text that cannot be mistaken for markup.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Control characters have no business in a name, and some are not allowed in a page at all.
            control if control.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

/// `1,234,567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with as many decimals as its size calls for: `0.97`, `12.3`, `1,234`.
pub fn amount(value: f64) -> String {
    match value {
        v if !v.is_finite() => NOTHING.into(),
        v if v.abs() >= 99.95 => count(v.round().abs() as u64),
        v if v.abs() >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeUnit {
    seconds: f64,
    name: &'static str,
}

impl TimeUnit {
    /// The unit in which a length of time is easiest to read.
    pub fn of(seconds: f64) -> Self {
        let (seconds, name) = match seconds {
            s if s < 119.5 => (1.0, "s"),
            s if s < 7170.0 => (60.0, "min"),
            s if s < 345_000.0 => (3600.0, "h"),
            _ => (86_400.0, "d"),
        };
        Self { seconds, name }
    }

    /// A length of time in this unit: `45 s`, `3.4 min`.
    pub fn write(self, seconds: f64) -> String {
        let value = seconds / self.seconds;
        match value {
            v if !v.is_finite() => NOTHING.into(),
            v if v >= 99.95 || v.fract() < 1e-9 => format!("{} {}", count(v.round() as u64), self.name),
            v if v < 0.095 => format!("{v:.2} {}", self.name),
            v => format!("{v:.1} {}", self.name),
        }
    }
}

/// A length of time in its own unit: `45 s`, `3.4 min`, `6.2 h`, `12 d`.
pub fn duration(seconds: f64) -> String {
    TimeUnit::of(seconds).write(seconds)
}

/// A fraction as a percentage: `97.3 %`.
pub fn percent(fraction: f64) -> String {
    if fraction.is_finite() { format!("{:.1} %", fraction * 100.0) } else { NOTHING.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(12), "12");
        assert_eq!(amount(0.973), "0.97");
        assert_eq!(amount(12_345.6), "12,346");
        assert_eq!(amount(f64::NAN), "–");
        assert_eq!(duration(12_240.0), "3.4 h");
        assert_eq!(duration(60.0), "60 s");
        assert_eq!(duration(600.0), "10 min");
        assert_eq!(TimeUnit::of(40_000.0).write(600.0), "0.2 h");
        assert_eq!(percent(0.05), "5.0 %");
    }

    #[test]
    fn markup_in_names_is_harmless() {
        assert_eq!(escape("<b a='x'>&\"\n"), "&lt;b a=&#39;x&#39;&gt;&amp;&quot; ");
    }
}
