//! Rows inside longer texts, in a few words: of `Row { id: row 1, … }` what matters to a reader is left.

/// What the core calls a row, and a row as a request saw it.
const STRUCTS: [&str; 2] = ["Row { ", "View { "];

/// The text with every row in it as `row 1 g0 reserved a1`. It went through the short names already.
pub(super) fn condense(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inside, behind)) = first_struct(rest) {
        out.push_str(before);
        match words(inside) {
            Some(words) => out.push_str(&words),
            None => out.push_str(&rest[before.len()..rest.len() - behind.len()]),
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// What stands before the first such structure, in it, and behind it.
fn first_struct(text: &str) -> Option<(&str, &str, &str)> {
    let starts = STRUCTS.iter().filter_map(|name| Some((text.find(name)?, name.len())));
    let (start, length) = starts.min()?;
    let inside = text.get(start + length..)?;
    let mut depth = 1;
    let end = inside.char_indices().find_map(|(at, c)| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        (depth == 0).then_some(at)
    })?;
    Some((text.get(..start)?, inside.get(..end)?, inside.get(end + 1..)?))
}

/// The fields that say which row it is and where it leads.
fn words(fields: &str) -> Option<String> {
    let field = |name: &str| {
        let (_, value) = fields.split_once(&format!("{name}: "))?;
        value.split([',', '}']).next().map(str::trim)
    };
    let (id, generation, account) = (field("id")?, field("generation")?, field("account")?);
    let state = field("state")?.to_lowercase();
    let pending = field("pending").and_then(|p| p.strip_prefix("Some(")?.strip_suffix(')'));
    let pending = pending.map(|a| format!(" pending {a}")).unwrap_or_default();
    let ends = field("expires").map(|at| format!(" ends {at}")).unwrap_or_default();
    Some(format!("{id} {generation} {state} {account}{pending}{ends}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_in_a_text_becomes_a_few_words() {
        let view = "r1 was told Lost(Some(View { fence: Fence { id: row 1, generation: g0 }, account: a1, state: Bound, pending: Some(a2), seq: change 2 })), which";
        assert_eq!(condense(view), "r1 was told Lost(Some(row 1 g0 bound a1 pending a2)), which");
        let row = "made Row { id: row 7, tenant: t1, pool: None, generation: g2, account: a3, state: Reserved, pending: None, expires: +60s, keys: RowKeys { first: Key { digest: b9… }, more: [] } } and Row { id: row 8 }";
        assert_eq!(condense(row), "made row 7 g2 reserved a3 ends +60s and Row { id: row 8 }");
        assert_eq!(condense("Row { never closed"), "Row { never closed");
    }
}
