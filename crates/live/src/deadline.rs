//! When a job is wanted by, as people write it.

use evenhand_core::{Span, Time};

/// The time meant by `2h` or `2030-01-31T18:00:00Z`, for time that began at `epoch_ms` of the system clock.
pub(crate) fn parse(text: &str, now: Time, epoch_ms: u64) -> Result<Time, String> {
    let wrong = |what: &str| format!("deadline is {text:?}: {what}");
    if let Ok(span) = text.parse::<Span>() {
        let by = now.0.checked_add(span.0).filter(|by| i64::try_from(*by).is_ok());
        let by = by.ok_or_else(|| wrong("that is too far away"))?;
        return if span > Span::ZERO { Ok(Time(by)) } else { Err(wrong("that is now")) };
    }
    let ms = date_ms(text).ok_or_else(|| {
        wrong(
            "it is written 90m or 2h, counted from the submission, or as a date such as 2030-01-31T18:00:00Z",
        )
    })?;
    match u64::try_from(ms - i128::from(epoch_ms)) {
        Ok(by) if by > now.0 && i64::try_from(by).is_ok() => Ok(Time(by)),
        _ => Err(wrong("that has passed")),
    }
}

/// Milliseconds since 1970 of `2030-01-31T18:00:00Z`, or with `+01:00` for a zone; seconds may be left out.
fn date_ms(text: &str) -> Option<i128> {
    let (date, rest) = text.split_once(['T', ' '])?;
    let (time, zone_minutes) = match rest.strip_suffix(['Z', 'z']) {
        Some(time) => (time, 0),
        None => zone(rest)?,
    };
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':').or_else(|| {
        let [hour, minute] = numbers(time, ':')?;
        Some([hour, minute, 0])
    })?;
    let is_date = (1970..=9999).contains(&year) && (1..=12).contains(&month);
    let is_date = is_date && day >= 1 && day <= days_of(year, month);
    (is_date && hour < 24 && minute < 60 && second < 60).then_some(())?;
    let minutes =
        i128::from(days_until(year, month, day) * 24 + hour) * 60 + i128::from(minute - zone_minutes);
    Some((minutes * 60 + i128::from(second)) * 1000)
}

/// The time, and how many minutes its zone is ahead.
fn zone(rest: &str) -> Option<(&str, i64)> {
    let at = rest.rfind(['+', '-'])?;
    let [hours, minutes] = numbers(&rest[at + 1..], ':')?;
    (hours <= 14 && minutes < 60).then_some(())?;
    let sign = if rest[at..].starts_with('-') { -1 } else { 1 };
    Some((&rest[..at], sign * (hours * 60 + minutes)))
}

fn numbers<const N: usize>(text: &str, between: char) -> Option<[i64; N]> {
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?;
    let found: Option<Vec<i64>> = text.split(between).map(plain).collect();
    found?.try_into().ok()
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days between 1970 and a date.
fn days_until(year: i64, month: i64, day: i64) -> i64 {
    let years: i64 = (1970..year).map(|year| 365 + i64::from(is_leap(year))).sum();
    let months: i64 = (1..month).map(|month| days_of(year, month)).sum();
    years + months + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_dates_are_read_and_the_past_is_refused() {
        let epoch = 1_700_000_000_000; // 2023-11-14T22:13:20Z
        let read = |text: &str| parse(text, Time(5000), epoch);
        assert_eq!(read("2h"), Ok(Time(5000 + 7_200_000)));
        assert_eq!(read("2023-11-14T22:14:20Z"), Ok(Time(60_000)));
        assert_eq!(read("2023-11-14 23:14+01:00"), Ok(Time(40_000)));
        assert_eq!(read("2024-02-29T00:00:00Z").map(|by| by.0), Ok(1_709_164_800_000 - epoch));
        let wrongs = [
            "0s",
            "2023-11-14T22:13:21Z",
            "2023-02-29T00:00:00Z",
            "2030-01-31",
            "2030-01-31T25:00Z",
            "soon",
            "",
        ];
        for wrong in wrongs {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
