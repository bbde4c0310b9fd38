//! What the TOML reader refuses, in one line: a line quoted whole may be a screenful.

/// Why a text is not read, and where.
#[derive(Debug)]
pub struct TomlFault {
    /// A whole number of more than 63 bits, of which the reader speaks in types of ours.
    pub is_too_large: bool,
    /// What is wrong after where.
    pub told: String,
}

impl TomlFault {
    /// What the reader says of a text.
    pub fn new(text: &str, error: &toml::de::Error) -> Self {
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
