//! A moment as documents write it (RFC 3339).

use std::time::{Duration, SystemTime};

/// The moment that a text in RFC 3339 means; none of a text in another form, or of a moment before 1970.
pub fn moment(text: &str) -> Option<SystemTime> {
    if let Ok(time) = humantime::parse_rfc3339(text) {
        return Some(time);
    }
    // Local time, and how far it is ahead of UTC: 2026-11-01T18:30:00+01:00.
    let (local, offset) = text.split_at_checked(text.len().checked_sub("+00:00".len())?)?;
    let time = humantime::parse_rfc3339(&format!("{local}Z")).ok()?;
    let two_digits = |range: std::ops::Range<usize>| {
        let digits = offset.get(range)?;
        digits.bytes().all(|it| it.is_ascii_digit()).then(|| digits.parse::<u64>().ok())?
    };
    let (hours, minutes) = (two_digits(1..3)?, two_digits(4..6)?);
    if hours > 23 || minutes > 59 || offset.as_bytes()[3] != b':' {
        return None;
    }
    let offset_s = Duration::from_secs((hours * 60 + minutes) * 60);
    let utc = match offset.as_bytes()[0] {
        b'+' => time.checked_sub(offset_s),
        b'-' => time.checked_add(offset_s),
        _ => None,
    };
    utc.filter(|it| *it >= SystemTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_an_offset_from_utc() {
        let said = |text| moment(text).map(|it| humantime::format_rfc3339(it).to_string());
        for (text, utc) in [
            ("2026-11-01T18:30:00Z", "2026-11-01T18:30:00Z"),
            ("2026-11-01T18:30:00.5Z", "2026-11-01T18:30:00.500000000Z"),
            ("2026-11-01T00:30:00+01:00", "2026-10-31T23:30:00Z"),
            ("2026-11-01T18:30:00-05:30", "2026-11-02T00:00:00Z"),
        ] {
            assert_eq!(said(text).as_deref(), Some(utc), "{text}");
        }
        for wrong in [
            "",
            "yesterday",
            "01.11.2026",
            "2026-11-01",
            "2026-11-01 18:30:00",
            "2026-13-01T18:30:00Z",
            "2026-11-01T18:30:00",
            "2026-11-01T18:30:00+1:000",
            "2026-11-01T18:30:00+24:00",
            "2026-11-01T18:30:00*01:00",
            "1970-01-01T00:00:00+01:00",
            "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
        ] {
            assert_eq!(said(wrong), None, "{wrong}");
        }
    }
}
