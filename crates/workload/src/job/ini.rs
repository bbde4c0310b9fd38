//! The text of a job file, cut into sections.

use crate::error::JobError;

/// The name of a job that was given none.
pub const UNNAMED: &str = "job";

/// One `key=value` line, with the section it was written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub section: String,
    pub key: String,
    pub value: Option<String>,
}

/// A section's name and its settings, those of the `[global]` sections before it first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub name: String,
    pub settings: Vec<Setting>,
}

/// Cuts a job file. Text without any header is one section, [`UNNAMED`].
pub(crate) fn sections(text: &str) -> Result<Vec<Block>, JobError> {
    let mut global = Vec::new();
    let mut blocks: Vec<Block> = Vec::new();
    let mut name: Option<String> = None;
    for line in text.lines().map(content).filter(|line| !line.is_empty()) {
        if line.starts_with('[') {
            let header = header(line)?;
            if !is_global(&header) {
                blocks.push(Block { name: header.clone(), settings: global.clone() });
            }
            name = Some(header);
            continue;
        }
        let section = name.get_or_insert_with(|| {
            blocks.push(Block { name: UNNAMED.to_owned(), settings: Vec::new() });
            UNNAMED.to_owned()
        });
        let setting = setting(section, line)?;
        match blocks.last_mut() {
            Some(block) if !is_global(section) => block.settings.push(setting),
            _ => global.push(setting),
        }
    }
    if blocks.is_empty() {
        let reason = "the job is empty: nothing but comments and `[global]` stands in it";
        let hint = "a job says what it does, like `rw=randread`; behind `[global]` it begins with `[name]`";
        return Err(fault("", "", reason, hint));
    }
    Ok(blocks)
}

fn is_global(section: &str) -> bool {
    section.starts_with("global")
}

/// The line without comment and blanks. As in fio, `;` and `#` begin a comment anywhere.
fn content(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or_default().trim()
}

fn header(line: &str) -> Result<String, JobError> {
    match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).map(str::trim) {
        Some(name) if !name.is_empty() => Ok(name.to_owned()),
        _ => Err(fault(line, "", "this is not a section header", "write `[name]`")),
    }
}

fn setting(section: &str, line: &str) -> Result<Setting, JobError> {
    let (key, value) = match line.split_once('=') {
        Some((key, value)) => (key.trim(), Some(value.trim().to_owned())),
        None => (line, None),
    };
    let first = key.split_whitespace().next().unwrap_or_default();
    if first == "include" {
        return Err(fault(section, "include", "other files are not read", "put the included lines here"));
    }
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err(fault(section, line, "this is not an option", "write `option=value`, one a line"));
    }
    Ok(Setting { section: section.to_owned(), key: key.to_owned(), value })
}

fn fault(section: &str, option: &str, reason: &str, hint: &str) -> JobError {
    JobError {
        section: section.to_owned(),
        option: option.to_owned(),
        value: String::new(),
        reason: reason.to_owned(),
        hint: hint.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::sections;

    #[test]
    fn globals_are_inherited_by_what_follows() {
        let blocks =
            sections("[global]\nbs=4k ; four\n# note\n[a]\nrw=read\n[global]\niodepth=2\n[b]\nstonewall\n").unwrap();
        let keys: Vec<Vec<&str>> =
            blocks.iter().map(|block| block.settings.iter().map(|one| one.key.as_str()).collect()).collect();
        assert_eq!(keys, [vec!["bs", "rw"], vec!["bs", "iodepth", "stonewall"]]);
        assert_eq!(blocks[0].settings[0].section, "global");
        assert_eq!(blocks[1].settings[2].value, None);
    }

    #[test]
    fn text_without_header_is_one_job() {
        let blocks = sections("rw=write\n\n  bs = 1M").unwrap();
        assert_eq!((blocks.len(), blocks[0].name.as_str()), (1, "job"));
        assert_eq!(blocks[0].settings[1].value.as_deref(), Some("1M"));
    }

    #[test]
    fn wrong_lines_are_refused() {
        for (text, option) in [("[a]\ninclude other.fio", "include"), ("[a]\nrw read", "rw read"), ("[a\nrw=read", "")]
        {
            assert_eq!(sections(text).unwrap_err().option, option, "{text}");
        }
        assert!(sections("").is_err());
        assert!(sections("[global]\nbs=4k").is_err());
    }
}
