//! One table of a profile, read key by key: types, bounds and origins are checked here, and what nobody asked for
//! is refused at the end.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::error::{alike, Lacking};
use super::origin;
use super::ProfileError;

/// Inclusive bounds of a number and what to say to one outside of them.
pub(super) struct Bounds {
    pub low: f64,
    pub high: f64,
    pub reason: &'static str,
}

/// A table under its full name, with the origins found so far.
pub(super) struct Section<'a> {
    name: String,
    table: &'a Table,
    asked: Vec<String>,
    origins: &'a mut BTreeMap<String, String>,
}

impl<'a> Section<'a> {
    pub fn new(name: &str, root: &'a Table, origins: &'a mut BTreeMap<String, String>) -> Result<Self, ProfileError> {
        let mut table = root;
        for part in name.split('.') {
            table = match table.get(part) {
                Some(Value::Table(inner)) => inner,
                Some(other) => return Err(ProfileError::value(name, other, "a table is expected here")),
                None => {
                    let reason = "every profile of this kind has this table";
                    return Err(ProfileError::missing(Lacking::Table, name, reason));
                }
            };
        }
        Ok(Self { name: name.to_owned(), table, asked: Vec::new(), origins })
    }

    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Whether a key that may be left out is there.
    pub fn optional(&mut self, key: &str) -> bool {
        if !self.asked.iter().any(|asked| asked == key) {
            self.asked.push(key.to_owned());
        }
        self.has(key)
    }

    /// Refuses a key that makes no sense beside the values of others.
    pub fn refuse(&self, key: &str, reason: &str) -> Result<(), ProfileError> {
        self.misplaced(&[key], reason)
    }

    /// Refuses keys and tables that only belong to other values of another key.
    pub fn misplaced(&self, keys: &[&str], reason: &str) -> Result<(), ProfileError> {
        match keys.iter().find(|key| self.has(key)) {
            Some(key) => Err(ProfileError::Misplaced { key: self.full(key), reason: reason.to_owned() }),
            None => Ok(()),
        }
    }

    /// A number that may be left out.
    pub fn float_or(&mut self, key: &str, bounds: &Bounds, otherwise: f64) -> Result<f64, ProfileError> {
        if self.optional(key) {
            self.float(key, bounds)
        } else {
            Ok(otherwise)
        }
    }

    /// A whole number that may be left out.
    pub fn whole_or(&mut self, key: &str, bounds: &Bounds, otherwise: u64) -> Result<u64, ProfileError> {
        if self.optional(key) {
            self.whole(key, bounds)
        } else {
            Ok(otherwise)
        }
    }

    /// True or false, which may be left out.
    pub fn flag_or(&mut self, key: &str, otherwise: bool) -> Result<bool, ProfileError> {
        if self.optional(key) {
            self.flag(key)
        } else {
            Ok(otherwise)
        }
    }

    /// One of a few words, which may be left out.
    pub fn word_or<T: Copy>(&mut self, key: &str, words: &[(&str, T)], otherwise: T) -> Result<T, ProfileError> {
        if self.optional(key) {
            self.word(key, words)
        } else {
            Ok(otherwise)
        }
    }

    /// A key that holds a table of its own.
    pub fn nested(&mut self, key: &str) {
        self.asked.push(key.to_owned());
    }

    pub fn float(&mut self, key: &str, bounds: &Bounds) -> Result<f64, ProfileError> {
        let full = self.full(key);
        let value = self.value(key)?;
        let number = number(&full, value)?;
        if !(bounds.low..=bounds.high).contains(&number) {
            return Err(ProfileError::value(&full, value, bounds.reason));
        }
        Ok(number)
    }

    pub fn whole(&mut self, key: &str, bounds: &Bounds) -> Result<u64, ProfileError> {
        let number = self.float(key, bounds)?;
        match self.value(key)? {
            Value::Integer(value) => Ok(*value as u64),
            // As it is written: 1000.0 is no whole number, and would be shown as one.
            _ => Err(ProfileError::value(&self.full(key), format!("{number:?}"), "a whole number is expected")),
        }
    }

    pub fn flag(&mut self, key: &str) -> Result<bool, ProfileError> {
        match self.value(key)? {
            Value::Boolean(flag) => Ok(*flag),
            other => Err(ProfileError::value(&self.full(key), other, "true or false is expected")),
        }
    }

    pub fn text(&mut self, key: &str) -> Result<String, ProfileError> {
        match self.value(key)? {
            Value::String(text) if !text.is_empty() => Ok(text.clone()),
            other => Err(ProfileError::value(&self.full(key), other, "a text that is not empty is expected")),
        }
    }

    /// One of a few words.
    pub fn word<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Result<T, ProfileError> {
        let found = self.text(key)?;
        words.iter().find(|(word, _)| *word == found).map(|(_, meaning)| *meaning).ok_or_else(|| {
            let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            ProfileError::value(
                &self.full(key),
                format!("\"{found}\""),
                format!("one of {} is expected", known.join(", ")),
            )
        })
    }

    /// A list of pairs of numbers.
    pub fn pairs(&mut self, key: &str) -> Result<Vec<[f64; 2]>, ProfileError> {
        let full = self.full(key);
        let value = self.value(key)?;
        let wrong = || ProfileError::value(&full, value, "a list of pairs of numbers is expected");
        value
            .as_array()
            .ok_or_else(wrong)?
            .iter()
            .map(|pair| match pair.as_array().map(Vec::as_slice) {
                Some([first, second]) => Ok([number(&full, first)?, number(&full, second)?]),
                _ => Err(wrong()),
            })
            .collect()
    }

    /// Refuses what nobody asked for.
    pub fn finish(self) -> Result<(), ProfileError> {
        match self.table.keys().find(|key| !self.asked.contains(key)) {
            Some(key) => Err(ProfileError::Unknown { key: self.full(key), known: self.asked }),
            None => Ok(()),
        }
    }

    /// A key that is not there: perhaps only misspelt.
    fn missing(&self, key: &str) -> ProfileError {
        match self.table.keys().find(|found| !self.asked.contains(found) && alike(found, key)) {
            Some(found) => ProfileError::Unknown { key: self.full(found), known: vec![key.to_owned()] },
            None => {
                let reason = "write it as { value = ..., origin = \"...\" }";
                ProfileError::missing(Lacking::Value, &self.full(key), reason)
            }
        }
    }

    fn full(&self, key: &str) -> String {
        format!("{}.{key}", self.name)
    }

    /// The value under `key`, once its origin is known to be sound.
    fn value(&mut self, key: &str) -> Result<&'a Value, ProfileError> {
        let full = self.full(key);
        self.optional(key);
        let found = self.table.get(key).ok_or_else(|| self.missing(key))?;
        let no_origin = |reason: &str| ProfileError::Origin { key: full.clone(), reason: reason.to_owned() };
        let entry = found.as_table().ok_or_else(|| no_origin("write it as { value = ..., origin = \"...\" }"))?;
        if let Some(extra) = entry.keys().find(|name| !matches!(name.as_str(), "value" | "origin")) {
            let known = vec!["value".to_owned(), "origin".to_owned()];
            return Err(ProfileError::Unknown { key: format!("{full}.{extra}"), known });
        }
        let origin = entry.get("origin").and_then(Value::as_str).ok_or_else(|| no_origin("there is none"))?;
        if let Some(reason) = origin::fault(origin) {
            return Err(no_origin(&reason));
        }
        self.origins.insert(full.clone(), origin.to_owned());
        entry.get("value").ok_or_else(|| {
            ProfileError::missing(Lacking::Value, &format!("{full}.value"), "there is an origin but no value")
        })
    }
}

fn number(key: &str, value: &Value) -> Result<f64, ProfileError> {
    let number = match value {
        Value::Integer(whole) => *whole as f64,
        Value::Float(number) => *number,
        other => return Err(ProfileError::value(key, other, "a number is expected")),
    };
    if number.is_finite() {
        Ok(number)
    } else {
        Err(ProfileError::value(key, number, "a finite number is expected"))
    }
}
