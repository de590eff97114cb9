//! The wall clock at time 0, as far as a trace says.

/// Seconds from midnight before a Monday to an instant written `2017-10-09 07:01:55` or `2017-10-09T07:01:55`, with
/// whatever behind it.
pub(super) fn week_second(text: &str) -> Option<u64> {
    let text = text.trim();
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let marks = [(4, '-'), (7, '-'), (13, ':')];
    if marks.iter().any(|(at, mark)| text.as_bytes().get(*at) != Some(&(*mark as u8))) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19).unwrap_or(0));
    // 1970-01-01 was a Thursday: three days after a Monday.
    let weekday = (days_since_1970(year, month, day) + 3).rem_euclid(7);
    u64::try_from(((weekday * 24 + hour) * 60 + minute) * 60 + second).ok()
}

/// Days of the Gregorian calendar; years begin in March, so that the leap day comes last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let century = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    century * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weekdays_are_right() {
        assert_eq!(week_second("2020-03-18 04:01:40"), Some(2 * 86_400 + 4 * 3600 + 100));
        assert_eq!(week_second("2017-10-09T00:00:00+08:00"), Some(0));
        assert_eq!(week_second("2000-02-29 00:00:01"), Some(86_401));
        assert_eq!(week_second("some Monday"), None);
        assert_eq!(week_second(""), None);
    }
}
