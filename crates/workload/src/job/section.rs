//! The settings of one section, read by name; whatever is wrong with one becomes a [`JobError`] that names it.

use super::ini::{Block, Setting};
use super::known::{closest, treatment, Treatment};
use super::value;
use crate::error::JobError;

/// A section of which every setting is known to be honoured or without effect.
pub(crate) struct Section {
    pub name: String,
    pub kb_base: u64,
    settings: Vec<(&'static str, Setting)>,
}

impl Section {
    /// Refuses unknown options and those that are not honoured.
    pub fn new(block: Block) -> Result<Self, JobError> {
        let mut settings = Vec::with_capacity(block.settings.len());
        for setting in block.settings {
            match treatment(&setting.key) {
                Some(Treatment::Honoured(name)) => settings.push((name, setting)),
                Some(Treatment::Inert) => {}
                Some(Treatment::Refused(reason)) => {
                    return Err(error(&setting, reason, "leave it out"));
                }
                None => {
                    let hint = closest(&setting.key)
                        .map_or("docs/fio-options.md lists the options".to_owned(), |name| {
                            format!("did you mean `{name}`?")
                        });
                    return Err(error(&setting, "there is no such option", &hint));
                }
            }
        }
        let mut section = Self { name: block.name, kb_base: 1024, settings };
        section.kb_base = section.chosen("kb_base", &[("1024", 1024), ("1000", 1000)])?.unwrap_or(1024);
        Ok(section)
    }

    /// Has the option been set?
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Reads an option's text; the reader's message becomes the reason.
    pub fn read<T>(&self, name: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, JobError> {
        let Some(setting) = self.find(name) else {
            return Ok(None);
        };
        match setting.value.as_deref() {
            None | Some("") => Err(error(setting, "it needs a value", "")),
            Some(text) => read(text).map(Some).map_err(|reason| error(setting, &reason, "")),
        }
    }

    /// A size that cannot be a percentage.
    pub fn bytes(&self, name: &str) -> Result<Option<u64>, JobError> {
        self.read(name, |text| value::bytes(text, self.kb_base))
    }

    /// A whole number of at least `least`.
    pub fn count(&self, name: &str, least: u64) -> Result<Option<u64>, JobError> {
        self.read(name, |text| match value::count(text)? {
            number if number < least => Err(format!("it must be at least {least}")),
            number => Ok(number),
        })
    }

    /// A percentage of 0 to 100, the sign `%` left out.
    pub fn percent(&self, name: &str) -> Result<Option<u8>, JobError> {
        self.read(name, percent)
    }

    /// A duration in nanoseconds; `unit_ns` is that of a bare number.
    pub fn time_ns(&self, name: &str, unit_ns: u64) -> Result<Option<u64>, JobError> {
        self.read(name, |text| value::time_ns(text, unit_ns))
    }

    /// A switch: the bare name is on, `=0` and `=1` say which.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, JobError> {
        match self.find(name) {
            None => Ok(None),
            Some(Setting { value: None, .. }) => Ok(Some(true)),
            Some(_) => self.chosen(name, &[("0", false), ("1", true), ("false", false), ("true", true)]),
        }
    }

    /// One of several words.
    pub fn chosen<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, JobError> {
        self.read(name, |text| {
            words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning).ok_or_else(|| {
                let list: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                format!("it must be one of {}", list.join(", "))
            })
        })
    }

    /// An error about an option, whether it was set or not.
    pub fn error(&self, name: &str, reason: &str, hint: &str) -> JobError {
        match self.find(name) {
            Some(setting) => error(setting, reason, hint),
            None => {
                let unset = Setting { section: self.name.clone(), key: name.to_owned(), value: None };
                error(&unset, reason, hint)
            }
        }
    }

    /// The last setting of an option counts.
    fn find(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().rev().find(|(known, _)| *known == name).map(|(_, setting)| setting)
    }
}

/// 0 to 100.
pub(crate) fn percent(text: &str) -> Result<u8, String> {
    match value::count(text) {
        Ok(number @ 0..=100) => Ok(number as u8),
        _ => Err(format!("`{text}` is not a percentage of 0 to 100")),
    }
}

fn error(setting: &Setting, reason: &str, hint: &str) -> JobError {
    JobError {
        section: setting.section.clone(),
        option: setting.key.clone(),
        value: setting.value.clone().unwrap_or_default(),
        reason: reason.to_owned(),
        hint: hint.to_owned(),
    }
}
