//! What the TOML reader refuses, in one line: a line quoted whole may be a screenful.

use toml::de::DeTable;

/// Why a text is not read, and where.
#[derive(Debug)]
pub struct TomlFault {
    /// A whole number of more than 63 bits, of which the reader speaks in types of ours.
    pub is_too_large: bool,
    /// What is wrong after where.
    pub told: String,
}

impl TomlFault {
    /// What the reader says of a text, of its first fault: it looks at all brackets and keys before any value, and stops at the first
    /// that is wrong.
    pub fn new(text: &str, error: &toml::de::Error) -> Self {
        let (_, found) = DeTable::parse_recoverable(text);
        let first = found.iter().filter(|one| one.span().is_some()).min_by_key(|one| one.span().map(|span| span.start));
        Self::of(text, first.unwrap_or(error))
    }

    fn of(text: &str, error: &toml::de::Error) -> Self {
        let reason = error.message().lines().collect::<Vec<_>>().join(", ");
        let is_too_large = ["invalid type: integer", "u64 value was too large", "integer number overflowed"]
            .iter()
            .any(|words| reason.starts_with(words));
        let reason = if is_too_large { "a whole number of more than 63 bits".to_owned() } else { reason };
        let Some(before) = error.span().and_then(|span| text.get(..span.start)) else {
            return Self { is_too_large, told: reason };
        };
        let (line, column) =
            (before.matches('\n').count() + 1, before.chars().rev().take_while(|one| *one != '\n').count());
        Self { is_too_large, told: format!("{reason} (at line {line}, column {})", column + 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::TomlFault;

    fn told(text: &str) -> String {
        TomlFault::new(text, &text.parse::<toml::Table>().expect_err("it is no TOML")).told
    }

    #[test]
    fn the_first_fault_is_told_though_the_reader_meets_another_first() {
        let job = "; a job\n[global]\nrw=randrw\n[one job]\nsize=100%\n";
        for (text, line, column) in [
            (job, 1, 1),
            (&job[8..], 2, 4),
            ("a = 1\nb = [\nc = 2\n", 3, 1),
            ("a = 1\na = 2\n[x y]\n", 2, 1),
            ("[x]\nb = c\n[x y]\n", 2, 5),
        ] {
            assert!(told(text).ends_with(&format!("(at line {line}, column {column})")), "{text}: {}", told(text));
        }
    }

    #[test]
    fn a_number_that_is_too_large_is_told_where_it_stands() {
        let text = "a = 1\nb = 99999999999999999999\n";
        let fault = TomlFault::new(text, &text.parse::<toml::Table>().expect_err("it is too large"));
        assert!(fault.is_too_large);
        assert!(fault.told.contains("line 2"), "{}", fault.told);
    }
}
