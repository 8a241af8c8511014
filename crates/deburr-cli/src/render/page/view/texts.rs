//! Text of others for the page: made harmless to its layout, and each kept once.
//!
//! In: names, paths and messages, which may come out of hostile files. Out: text of bounded length without characters that
//! steer how others are laid out, and its number in a table.

use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;

/// Characters of a text at most: of a longer one the beginning and the end are kept.
pub(crate) const LONGEST: usize = 400;
/// Characters kept of its beginning, and of its end.
const KEPT: (usize, usize) = (240, 120);

/// Text that can be shown: what would act is spelt out, other than ends of lines and tabs, which HTML does not obey.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    let length = text.chars().count();
    if length <= LONGEST {
        return spelled(text);
    }
    let at = |count: usize| text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    let (first, last) = (at(KEPT.0), at(length - KEPT.1));
    let left_out = length - KEPT.0 - KEPT.1;
    let (before, after) = text.split_at(first);
    let after = after.get(last - first..).unwrap_or_default();
    Cow::Owned(format!("{} […{left_out} characters…] {}", spelled(before), spelled(after)))
}

fn is_hidden(character: char) -> bool {
    !matches!(character, '\n' | '\t') && deburr_text::is_active(character)
}

fn spelled(text: &str) -> Cow<'_, str> {
    deburr_text::spelt(text, is_hidden)
}

/// A value with all its texts so.
pub(crate) fn shown_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(shown(&text).into_owned()),
        Value::Array(values) => Value::Array(values.into_iter().map(shown_value).collect()),
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(name, value)| (shown(&name).into_owned(), shown_value(value)))
                .collect(),
        ),
        other => other,
    }
}

/// Whether a value says more than its absence.
pub(crate) fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(values) => !values.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Number(number) => number.as_u64() != Some(0),
        _ => true,
    }
}

/// A table of texts: each is written once, and referred to by its number. The empty text is number 0.
pub(crate) struct Texts {
    numbers: HashMap<String, usize>,
    all: Vec<Value>,
}

impl Default for Texts {
    fn default() -> Texts {
        Texts { numbers: HashMap::from([(String::new(), 0)]), all: vec![Value::from("")] }
    }
}

impl Texts {
    /// The number of a text.
    pub(crate) fn number(&mut self, text: &str) -> Value {
        let text = shown(text);
        if let Some(&number) = self.numbers.get(&*text) {
            return number.into();
        }
        let number = self.all.len();
        self.all.push(Value::from(&*text));
        self.numbers.insert(text.into_owned(), number);
        number.into()
    }

    /// The same of a text that may not be there.
    pub(crate) fn optional(&mut self, text: Option<&str>) -> Value {
        text.map_or(Value::Null, |text| self.number(text))
    }

    /// The table; null where nothing refers to it.
    pub(crate) fn finish(self) -> Value {
        if self.all.len() > 1 { Value::Array(self.all) } else { Value::Null }
    }
}

/// A row of a table. What it does not say is 0, and left out at its end.
pub(crate) fn row<const N: usize>(cells: [Value; N]) -> Value {
    let says_something = |cell: &Value| !cell.is_null() && cell.as_u64() != Some(0);
    let used = cells.iter().rposition(says_something).map_or(0, |last| last + 1);
    let said = cells.into_iter().take(used).map(|cell| if cell.is_null() { Value::from(0) } else { cell });
    Value::Array(said.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_steer_the_layout_is_spelled_out() {
        assert_eq!(shown("a\u{202e}b\u{1b}[31m\u{0}"), r"a\u{202e}b\x1b[31m\x00");
        for harmless in ["std::vector<int>::~vector()", "שלום", "关数", "a\nb\tc", ""] {
            assert!(matches!(shown(harmless), Cow::Borrowed(text) if text == harmless), "{harmless}");
        }
    }

    #[test]
    fn ten_megabytes_become_a_line() {
        let name = format!("begin{}end", "é".repeat(10 << 20));
        let text = shown(&name).into_owned();
        assert!(text.chars().count() <= LONGEST && text.starts_with("begin") && text.ends_with("éend"));
        assert!(text.contains(&format!("[…{} characters…]", (10 << 20) + 8 - 360)), "{text}");
        // Spelling a text out does not make it endless either.
        assert!(shown(&"\u{202e}".repeat(10 << 20)).chars().count() < 10 * LONGEST);
    }

    #[test]
    fn a_text_has_one_number_and_a_row_ends_where_it_says_nothing() {
        let mut texts = Texts::default();
        let numbers = ["a", "b", "a"].map(|text| texts.number(text));
        assert_eq!(numbers, [1, 2, 1].map(Value::from));
        assert_eq!(texts.optional(None), Value::Null);
        assert_eq!(texts.finish(), serde_json::json!(["", "a", "b"]));
        assert_eq!(
            row([1.into(), Value::Null, 2.into(), 0.into(), Value::Null]),
            serde_json::json!([1, 0, 2])
        );
    }
}
