//! Where in a TOML text a key stands.

use toml::de::{DeTable, DeValue};

/// The line, from 1, of a key such as `geometry.rpm` or `faults[1].for_s`; of one that is not there, that of the table where it
/// is missing. `None` where there is no such table either, or the text is not TOML.
pub fn line_of(text: &str, key: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let (mut table, mut start) = (root.get_ref(), None);
    for part in key.split('.') {
        let (name, index) = part.split_once('[').unwrap_or((part, ""));
        let Some((found, value)) = table.iter().find(|(key, _)| key.get_ref() == name) else {
            break;
        };
        start = Some(found.span().start);
        let mut value = value.get_ref();
        if let (Ok(index), DeValue::Array(list)) = (index.trim_end_matches(']').parse::<usize>(), value) {
            let one = list.get(index)?;
            start = Some(one.span().start);
            value = one.get_ref();
        }
        let DeValue::Table(inner) = value else {
            break;
        };
        table = inner;
    }
    start.map(|start| text[..start].matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::line_of;

    #[test]
    fn a_key_has_a_line_and_a_missing_one_that_of_its_table() {
        let text = "a = 1\n[geometry]\nrpm = { value = 3 }\n\n[[faults]]\nkind = \"gone\"\n[[faults]]\nfor_s = 2\n";
        let keys =
            ["a", "geometry", "geometry.rpm", "geometry.heads", "faults[0].kind", "faults[0].for_s", "faults[1].for_s"];
        assert_eq!(keys.map(|key| line_of(text, key)), [1, 2, 3, 2, 6, 5, 8].map(Some));
        assert_eq!((line_of(text, "queue"), line_of("a = [", "a")), (None, None));
    }
}
