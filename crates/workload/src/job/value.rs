//! Numbers as fio writes them. Where fio would silently misread one (`1.5g` is 1 byte to it, `runtime=0x10` sixteen
//! microseconds), it is refused.

/// A size, absolute or relative to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    Bytes(u64),
    Percent(u64),
}

/// `4k`, `1M`, `0x1000`, `20%`. With `kb_base` 1024, fio's default, `k` is 1024 and `kib` is 1000; with 1000 the other
/// way round.
pub(crate) fn amount(text: &str, kb_base: u64) -> Result<Amount, String> {
    let (number, suffix) = number(text)?;
    let suffix = suffix.to_ascii_lowercase();
    if suffix == "%" {
        return Ok(Amount::Percent(number));
    }
    let (letter, base) = match suffix.strip_suffix("ib") {
        Some(letter) if !letter.is_empty() => (letter, if kb_base == 1024 { 1000 } else { 1024 }),
        _ => (suffix.strip_suffix('b').unwrap_or(&suffix), kb_base),
    };
    let power = match letter {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return Err(format!("`{text}` has no unit of size that fio knows (k, m, g, t, p)")),
    };
    let factor = u64::pow(base, power);
    number.checked_mul(factor).map(Amount::Bytes).ok_or_else(|| format!("`{text}` is too large"))
}

/// A size that cannot be a percentage.
pub(crate) fn bytes(text: &str, kb_base: u64) -> Result<u64, String> {
    match amount(text, kb_base)? {
        Amount::Bytes(bytes) => Ok(bytes),
        Amount::Percent(_) => Err(format!("`{text}`: a percentage means nothing here")),
    }
}

/// A size with fio's own `kb_base`; a percentage is one of `whole_bytes`.
///
/// # Errors
/// The reason, as a sentence.
pub fn bytes_of(text: &str, whole_bytes: u64) -> Result<u64, String> {
    match amount(text, 1024)? {
        Amount::Bytes(bytes) => Ok(bytes),
        Amount::Percent(percent) => u64::try_from(u128::from(whole_bytes) * u128::from(percent) / 100)
            .map_err(|_| format!("`{text}` is too large")),
    }
}

/// A plain whole number.
///
/// # Errors
/// The reason, as a sentence.
pub fn count(text: &str) -> Result<u64, String> {
    match amount(text, 1024)? {
        Amount::Bytes(number) => Ok(number),
        Amount::Percent(_) => Err(format!("`{text}` is not a whole number")),
    }
}

/// `30`, `30s`, `5m`, `9h`, `1d`, `250ms`, `10us` to nanoseconds; `unit_ns` is that of a bare number.
///
/// # Errors
/// The reason, as a sentence.
pub fn time_ns(text: &str, unit_ns: u64) -> Result<u64, String> {
    let (number, suffix) = match number(text) {
        Ok(read) if !is_hexadecimal(text) => read,
        _ => return Err(format!("`{text}` is not a time as fio reads it, like `90s`, `15m` or `2h`")),
    };
    let factor = match suffix.to_ascii_lowercase().as_str() {
        "" => unit_ns,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return Err(format!("`{text}` has no unit of time that fio knows (us, ms, s, m, h, d)")),
    };
    number.checked_mul(factor).ok_or_else(|| format!("`{text}` is too long"))
}

/// A number with a fraction.
pub(crate) fn fraction(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("`{text}` is not a number")),
    }
}

/// Values for reads, writes and trims: one is for all, of two the second is for trims too, an empty one is not set.
pub(crate) fn per_direction<T: Clone>(
    text: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<[Option<T>; 3], String> {
    let parts = text
        .split(',')
        .map(|part| if part.trim().is_empty() { Ok(None) } else { read(part.trim()).map(Some) })
        .collect::<Result<Vec<_>, _>>()?;
    match parts.as_slice() {
        [all] => Ok([all.clone(), all.clone(), all.clone()]),
        [reads, others] => Ok([reads.clone(), others.clone(), others.clone()]),
        [reads, writes, trims] => Ok([reads.clone(), writes.clone(), trims.clone()]),
        _ => Err("there are at most three values: for reads, writes and trims".to_owned()),
    }
}

fn is_hexadecimal(text: &str) -> bool {
    text.trim().get(..2).is_some_and(|start| start.eq_ignore_ascii_case("0x"))
}

fn number(text: &str) -> Result<(u64, &str), String> {
    let text = text.trim();
    let wrong = || format!("`{text}` is not a whole number");
    if is_hexadecimal(text) {
        let digits = &text[2..];
        let read = u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
        return read.map(|number| (number, "")).ok_or_else(wrong);
    }
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let whole = suffix.is_empty() || suffix == "%" || suffix.chars().all(|letter| letter.is_ascii_alphabetic());
    match digits.parse() {
        Ok(number) if whole => Ok((number, suffix)),
        Err(_) if whole && !digits.is_empty() => Err(format!("`{text}` is too large")),
        _ if text.strip_prefix('-').is_some_and(|rest| number(rest).is_ok()) => Err(format!("`{text}` is below 0")),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::{amount, bytes, bytes_of, per_direction, time_ns, Amount};

    #[test]
    fn sizes_follow_fio() {
        for (text, expected) in [
            ("512", 512),
            ("4k", 4096),
            ("4KB", 4096),
            ("4kib", 4000),
            ("1M", 1 << 20),
            ("2t", 2 << 40),
            ("0x1000", 4096),
        ] {
            assert_eq!(bytes(text, 1024), Ok(expected), "{text}");
        }
        assert_eq!((bytes("4k", 1000), bytes("4kib", 1000)), (Ok(4000), Ok(4096)));
        assert_eq!(amount("20%", 1024), Ok(Amount::Percent(20)));
        assert_eq!((bytes_of("50%", 1001), bytes_of("0x10", 1001)), (Ok(500), Ok(16)));
        for wrong in ["", "k", "1.5g", "-1", "4x", "4 k", "20%%", "99999999999t", "10ki", "0x+1", "50.5%"] {
            assert!(amount(wrong, 1024).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_follow_fio() {
        for (text, expected) in
            [("2", 2_000_000_000), ("2m", 120_000_000_000), ("3us", 3_000), ("1d", 86_400_000_000_000)]
        {
            assert_eq!(time_ns(text, 1_000_000_000), Ok(expected), "{text}");
        }
        assert_eq!(time_ns("7", 1_000), Ok(7_000));
        for wrong in ["30min", "1:30", "0x10", "5sec", "1.5s"] {
            assert!(time_ns(wrong, 1_000_000_000).is_err(), "{wrong}");
        }
    }

    #[test]
    fn commas_are_directions() {
        let read = |text: &str| bytes(text, 1024);
        assert_eq!(per_direction("8", read), Ok([Some(8); 3]));
        assert_eq!(per_direction("8,32", read), Ok([Some(8), Some(32), Some(32)]));
        assert_eq!(per_direction(",32", read), Ok([None, Some(32), Some(32)]));
        assert_eq!(per_direction("8,32,", read), Ok([Some(8), Some(32), None]));
        assert!(per_direction("1,2,3,4", read).is_err());
    }
}
