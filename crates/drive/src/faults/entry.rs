//! One entry of a list of faults, read key by key; what nobody asked for is refused at the end.

use toml::{Table, Value};

use super::error::FaultsError;
use crate::profile::{alike, short};

/// Three centuries; nanoseconds of more do not fit into 64 bits.
const LONGEST_S: f64 = 9e9;

/// Those of all kinds: `for_s` is no misspelt `from_s`.
const KEYS: [&str; 9] =
    ["kind", "sectors", "from_s", "retry_s", "for_s", "every_s", "one_in", "answer_after_s", "unplugged"];

/// A table under its name, such as `faults[0]`.
pub(super) struct Entry<'a> {
    name: String,
    table: &'a Table,
    asked: Vec<&'static str>,
}

impl<'a> Entry<'a> {
    pub fn new(index: usize, value: &'a Value) -> Result<Self, FaultsError> {
        let name = format!("faults[{index}]");
        match value {
            Value::Table(table) => Ok(Self { name, table, asked: Vec::new() }),
            other => Err(FaultsError::value(&name, other, "a table is expected")),
        }
    }

    /// A length or a point of time.
    pub fn seconds(&mut self, key: &'static str, least: f64) -> Result<f64, FaultsError> {
        let value = self.needed(key)?;
        let wrong = |reason: &str| self.wrong(key, value, reason);
        let number = match value {
            Value::Integer(number) => *number as f64,
            Value::Float(number) => *number,
            _ => return Err(wrong("a number of seconds is expected")),
        };
        match (least..=LONGEST_S).contains(&number) {
            true => Ok(number),
            false if least > 0.0 => Err(wrong("more than 0 and up to 9e9 s are possible")),
            false => Err(wrong("0..9e9 s are possible")),
        }
    }

    /// The same, which may be left out.
    pub fn optional_seconds(&mut self, key: &'static str, least: f64) -> Result<Option<f64>, FaultsError> {
        self.optional(key).map(|_| self.seconds(key, least)).transpose()
    }

    /// A whole number of at least 1, which may be left out.
    pub fn optional_count(&mut self, key: &'static str, reason: &str) -> Result<Option<u64>, FaultsError> {
        match self.optional(key) {
            None => Ok(None),
            Some(Value::Integer(number)) if *number >= 1 => Ok(Some(*number as u64)),
            Some(other) => Err(self.wrong(key, other, reason)),
        }
    }

    /// True or false, or left out, which is false.
    pub fn flag(&mut self, key: &'static str) -> Result<bool, FaultsError> {
        match self.optional(key) {
            None => Ok(false),
            Some(Value::Boolean(flag)) => Ok(*flag),
            Some(other) => Err(self.wrong(key, other, "true or false is expected")),
        }
    }

    /// Pairs of the first of some things and how many.
    pub fn ranges(&mut self, key: &'static str) -> Result<Vec<[u64; 2]>, FaultsError> {
        let list = self.needed(key)?;
        let expected = "pairs of the first sector and how many, at least 1, are expected";
        let Value::Array(pairs) = list else {
            return Err(self.wrong(key, list, expected));
        };
        if pairs.is_empty() {
            return Err(self.wrong(key, list, &format!("no {key} named: {expected}")));
        }
        let range = |pair: &Value| {
            let [first, count] = pair.as_array()?.as_slice() else { return None };
            let (first, count) = (u64::try_from(first.as_integer()?).ok()?, u64::try_from(count.as_integer()?).ok()?);
            (count > 0).then_some([first, count])
        };
        pairs.iter().map(|pair| range(pair).ok_or_else(|| self.wrong(key, pair, expected))).collect()
    }

    pub fn text(&mut self, key: &'static str) -> Result<&'a str, FaultsError> {
        let value = self.needed(key)?;
        value.as_str().ok_or_else(|| self.wrong(key, value, "a text is expected"))
    }

    /// A value of a key, and why it cannot be.
    pub fn wrong(&self, key: &str, value: impl ToString, reason: &str) -> FaultsError {
        FaultsError::Value { key: format!("{}.{key}", self.name), value: short(value), reason: reason.to_owned() }
    }

    pub fn finish(self) -> Result<(), FaultsError> {
        match self.table.keys().find(|key| !self.asked.contains(&key.as_str())) {
            Some(key) => {
                let known = self.asked.iter().map(ToString::to_string).collect();
                Err(FaultsError::Unknown { key: format!("{}.{key}", self.name), known })
            }
            None => Ok(()),
        }
    }

    fn optional(&mut self, key: &'static str) -> Option<&'a Value> {
        if !self.asked.contains(&key) {
            self.asked.push(key);
        }
        self.table.get(key)
    }

    fn needed(&mut self, key: &'static str) -> Result<&'a Value, FaultsError> {
        self.optional(key).ok_or_else(|| self.missing(key))
    }

    /// A key that is not there: perhaps only misspelt.
    fn missing(&self, key: &str) -> FaultsError {
        let full = |key: &str| format!("{}.{key}", self.name);
        match self.table.keys().find(|found| !KEYS.contains(&found.as_str()) && alike(found, key)) {
            Some(found) => FaultsError::Unknown { key: full(found), known: vec![key.to_owned()] },
            None => FaultsError::Missing { key: full(key) },
        }
    }
}
