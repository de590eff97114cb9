//! Wall clocks as logs write them: `2017-10-09 07:01:55`, `2023-03-01T00:18:22+08:00`, or seconds since 1970.
//!
//! Without a zone the clock is taken as it stands: a trace that lives through a change to summer time then has an hour
//! too few or too many, which no reader can know.

/// A moment on the clock of a file, in milliseconds since the beginning of 1970: in UTC if the file names a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Clock(pub i64);

impl Clock {
    /// Reads one; `None` if it is not a moment.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(seconds) = text.parse::<u32>() {
            // Years alone are not moments; a log of 1970 is not a log.
            return (seconds > 100_000_000).then(|| Self(i64::from(seconds) * 1000));
        }
        let (date, rest) = text.split_at_checked(10)?;
        let rest = rest.strip_prefix([' ', 'T'])?;
        let zone_at =
            rest.find(|c: char| !(c.is_ascii_digit() || c == ':' || c == '.')).unwrap_or(rest.len());
        let (time, zone) = rest.split_at(zone_at);
        Some(Self(day(date)? * 86_400_000 + time_of_day(time)? - offset(zone.trim())?))
    }

    /// Seconds from an earlier moment to this one; negative if it is not earlier.
    pub(crate) fn seconds_since(self, earlier: Self) -> f64 {
        (self.0 - earlier.0) as f64 / 1e3
    }
}

fn part(text: &str, from: i64, to: i64) -> Option<i64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && (from..=to).contains(number))
}

/// Days since the beginning of 1970 of `2017-10-09`.
fn day(date: &str) -> Option<i64> {
    let mut parts = date.split(['-', '/']);
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let (year, month, day) = (part(year, 1900, 9999)?, part(month, 1, 12)?, part(day, 1, 31)?);
    // Howard Hinnant's days_from_civil: years begin in March, so that the odd day comes last.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468)
}

/// Milliseconds since midnight of `07:01:55.5`.
fn time_of_day(time: &str) -> Option<i64> {
    let mut parts = time.split(':');
    let (hours, minutes) = (part(parts.next()?, 0, 24)?, part(parts.next()?, 0, 59)?);
    let seconds = parts.next().unwrap_or("0");
    let (seconds, thousandths) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let thousandths = format!("{thousandths:0<3}");
    let thousandths = part(thousandths.get(..3)?, 0, 999)?;
    let whole = (hours * 60 + minutes) * 60 + part(seconds, 0, 60)?;
    parts.next().is_none().then_some(whole * 1000 + thousandths)
}

/// Milliseconds east of UTC of `+08:00`, `+0800`, `Z`, or nothing.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.bytes().next() {
        None | Some(b'Z') => return (zone.len() <= 1).then_some(0),
        Some(b'+') => 1,
        Some(b'-') => -1,
        // The names that Philly's files use.
        Some(_) => {
            return match zone {
                "UTC" | "GMT" => Some(0),
                "PDT" => Some(-7 * 3_600_000),
                "PST" => Some(-8 * 3_600_000),
                _ => None,
            };
        }
    };
    let digits = zone.get(1..)?.replace(':', "");
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = if minutes.is_empty() { 0 } else { part(minutes, 0, 59)? };
    Some(sign * (part(hours, 0, 18)? * 60 + minutes) * 60_000)
}

/// A moment as text, without a zone.
pub(crate) fn civil(milliseconds: i64) -> String {
    let (days, rest) = (milliseconds.div_euclid(86_400_000), milliseconds.rem_euclid(86_400_000) / 1000);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year_of_era + later;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_with_and_without_a_zone() {
        let at = |text: &str| Clock::parse(text).map(|clock| clock.0 / 1000);
        assert_eq!(at("1970-01-02 00:00:01"), Some(86_401));
        assert_eq!(at("2017-10-09 07:01:55"), Some(1_507_532_515));
        assert_eq!(at("2023-03-01 00:18:22+08:00"), at("2023-02-28T16:18:22Z"));
        assert_eq!(at("2023-03-01T00:18:22+0800"), at("2023-02-28 16:18:22"));
        assert_eq!(at("2017-10-03 00:08:00 PDT"), at("2017-10-03 07:08:00"));
        assert_eq!(at("1700000000"), Some(1_700_000_000));
        assert_eq!(Clock::parse("2020-02-29 12:00:00.25").map(|clock| clock.0 % 1000), Some(250));
    }

    #[test]
    fn what_is_no_moment_is_not_guessed() {
        for text in
            ["", "None", "2017", "2017-13-01 00:00:00", "2017-10-09", "2017-10-09 25:00:00", "Unknown"]
        {
            assert_eq!(Clock::parse(text), None, "{text}");
        }
        for text in
            ["2017-10-09 07:01:55 MOON", "2017-1é-09 07:01:55", "2017-10-09 07:01:+5", "------------- "]
        {
            assert_eq!(Clock::parse(text), None, "{text}");
        }
    }

    #[test]
    fn text_and_back() {
        for text in
            ["1970-01-01 00:00:00", "2000-02-29 23:59:59", "2017-12-31 12:34:56", "2100-03-01 00:00:00"]
        {
            assert_eq!(civil(Clock::parse(text).unwrap().0), text);
        }
    }
}
