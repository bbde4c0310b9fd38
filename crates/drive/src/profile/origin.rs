//! Where a value comes from.

/// Why `text` is no origin; `None` when it is one.
///
/// An origin is `data sheet NAME`, `published R088[, R089...]`, `fitted R011[, ...]` (more words may follow the
/// rows), `measured: WHAT`, or `assumed: WHY`.
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
            return (!is_row(first))
                .then(|| format!("`{text}` names no row of the published measurements, such as R088"));
        }
    }
    Some(format!("`{text}` is none of {kinds}"))
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
            "measured R011",
            "measured:",
        ] {
            assert!(fault(bad).is_some(), "{bad}");
        }
    }
}
