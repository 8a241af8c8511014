//! Pages as their script reads them, for tests.
//!
//! In: a page. Out: the data in it.

use serde_json::{Map, Value, json};

/// The texts of the page's `script` elements whose start tag holds something.
pub(crate) fn scripts<'p>(page: &'p str, mark: &str) -> Vec<&'p str> {
    let parts = page.split("<script").skip(1).filter_map(|part| part.split_once('>'));
    let marked = parts.filter(|(tag, _)| tag.contains(mark));
    marked.map(|(_, rest)| rest.split_once("</script>").unwrap().0).collect()
}

/// The same as JSON.
pub(crate) fn json_in(page: &str, mark: &str) -> Vec<Value> {
    scripts(page, mark).into_iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

/// The records of files.
pub(crate) fn files(page: &str) -> Vec<Value> {
    let chunks = json_in(page, "class=\"files\"");
    chunks.iter().flat_map(|chunk| chunk.as_array().unwrap().clone()).collect()
}

/// A row as the script reads it: by the names of its columns, numbers of texts replaced.
pub(crate) fn row(page: &str, kind: &str, row: &Value, texts: &Value, named: &[&str]) -> Map<String, Value> {
    let run = json_in(page, "id=\"run\"").remove(0);
    let columns = run["columns"][kind].as_array().unwrap().clone();
    let cell = |(at, column): (usize, &Value)| {
        let column = column.as_str().unwrap();
        let cell = row.get(at).cloned().unwrap_or(json!(0));
        let number = cell.as_u64().unwrap_or(0) as usize;
        let is_text = named.contains(&column);
        (column.to_owned(), if is_text { texts[number].clone() } else { cell })
    };
    columns.iter().enumerate().map(cell).collect()
}
