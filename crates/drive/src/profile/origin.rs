//! Where a value comes from.

use super::error::short;

/// Why `text` is no origin; `None` when it is one.
///
/// An origin is `data sheet NAME`, `published R088[, R089...]`, `fitted R011[, ...]` (more words may follow the
/// rows, and `R109 to R149` is all from one to the other), `measured: WHAT`, or `assumed: WHY`.
pub(super) fn fault(text: &str) -> Option<String> {
    let kinds = "`data sheet NAME`, `published Rnnn`, `fitted Rnnn`, `measured: what` or `assumed: why`";
    for (kind, must) in [("assumed:", "`assumed:` must say why"), ("measured:", "`measured:` must say what was found")]
    {
        if let Some(rest) = text.strip_prefix(kind) {
            return rest.trim().is_empty().then(|| must.to_owned());
        }
    }
    if let Some(sheet) = text.strip_prefix("data sheet") {
        return sheet.trim().is_empty().then(|| "`data sheet` must name the sheet".to_owned());
    }
    for kind in ["published ", "fitted "] {
        if let Some(rows) = text.strip_prefix(kind) {
            let first = rows.split([',', ' ', ':', ';']).next().unwrap_or_default();
            if !is_row(first) {
                return Some(format!("`{}` names no row of the published measurements, such as R088", short(text)));
            }
            return backwards(rows)
                .map(|(first, last)| format!("`{first} to {last}` is no range of rows: from the lower one"));
        }
    }
    Some(format!("`{}` is none of {kinds}", short(text)))
}

/// The ends of the first range that goes from no lower row to a higher one.
fn backwards(rows: &str) -> Option<(&str, &str)> {
    let words: Vec<_> = rows.split([',', ' ', ':', ';']).collect();
    words.windows(3).find_map(|three| match three {
        [first, "to", last] if is_row(first) && is_row(last) && first >= last => Some((*first, *last)),
        _ => None,
    })
}

fn is_row(text: &str) -> bool {
    text.strip_prefix('R').is_some_and(|digits| digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn the_kinds_are_known() {
        for good in [
            "data sheet ST12000VN0007",
            "published R088",
            "published R088, R089",
            "fitted R011 with R106",
            "published R105 to R109, R012",
            "fitted R011 with R109 to R149",
            "assumed: usual",
            "measured: 5399.8..5400.3 by characterize",
        ] {
            assert_eq!(fault(good), None, "{good}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in [
            "",
            "assumed",
            "assumed: ",
            "data sheet",
            "published",
            "published 88",
            "fitted R1",
            "published R109 to R105",
            "published R109 to R109",
            "fitted R011, R109 to R105; mean",
            "measured R011",
            "measured:",
        ] {
            assert!(fault(bad).is_some(), "{bad}");
        }
    }
}
