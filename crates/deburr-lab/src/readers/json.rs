//! JSON documents in a text, with what their fields are.
//!
//! A document begins at a line that begins with `{`. What is before and between them is passed over: programs
//! write notes there, and what a command prints to its standard error follows its standard output.

use super::error::{ReadError, ReportPlace};
use super::quantity::shortened;
use serde_json::{Deserializer, Value};

/// A value in a document, and where it is.
#[derive(Debug, Clone)]
pub(super) struct JsonField<'v> {
    value: &'v Value,
    line: usize,
    path: String,
}

/// A document and the line that it begins at.
#[derive(Debug)]
pub(super) struct JsonDocument {
    value: Value,
    line: usize,
}

impl JsonDocument {
    pub(super) fn root(&self) -> JsonField<'_> {
        JsonField { value: &self.value, line: self.line, path: String::new() }
    }
}

/// All documents, of which there is at least one.
pub(super) fn documents(text: &str) -> Result<Vec<JsonDocument>, ReadError> {
    let (mut documents, mut rest, mut line) = (Vec::new(), text, 1usize);
    loop {
        // Another document may follow in the same line.
        while !rest.trim_start_matches([' ', '\t', '\u{feff}']).starts_with('{') {
            match rest.split_once('\n') {
                Some((_, after)) => (rest, line) = (after, line + 1),
                None if documents.is_empty() => return Err(ReadError::whole("no JSON in it")),
                None => return Ok(documents),
            }
        }
        rest = rest.trim_start_matches([' ', '\t', '\u{feff}']);
        let mut values = Deserializer::from_str(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                documents.push(JsonDocument { value, line });
                let (document, after) = rest.split_at_checked(values.byte_offset()).unwrap_or((rest, ""));
                line += document.matches('\n').count();
                rest = after;
            }
            Some(Err(error)) => {
                let at = line + error.line().saturating_sub(1);
                let reason = error.to_string();
                let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason);
                return Err(ReadError::line(at, format!("{reason} (cut off, or no JSON)")));
            }
            None => return Err(ReadError::line(line, "no JSON in it")),
        }
    }
}

impl<'v> JsonField<'v> {
    pub(super) fn place(&self) -> ReportPlace {
        let path = if self.path.is_empty() { "the document" } else { &self.path };
        ReportPlace::Field(self.line, path.to_owned())
    }

    /// The line that the document begins at.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    fn wrong(&self, expected: &str) -> ReadError {
        let found = match self.value {
            Value::Null => "null".to_owned(),
            Value::Object(_) => "an object".to_owned(),
            Value::Array(_) => "an array".to_owned(),
            other => shortened(&other.to_string()),
        };
        ReadError::at(self.place(), format!("{found}, where {expected} is expected"))
    }

    /// A field, if there is one that is not null.
    pub(super) fn find(&self, name: &str) -> Option<JsonField<'v>> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(self.child(name, value))
    }

    fn child(&self, name: &str, value: &'v Value) -> JsonField<'v> {
        let dot = if self.path.is_empty() { "" } else { "." };
        JsonField { value, line: self.line, path: format!("{}{dot}{}", self.path, shortened(name)) }
    }

    pub(super) fn get(&self, name: &str) -> Result<JsonField<'v>, ReadError> {
        self.find(name).ok_or_else(|| ReadError::at(self.place(), format!("no field {name:?}")))
    }

    pub(super) fn items(&self) -> Result<Vec<JsonField<'v>>, ReadError> {
        let items = self.value.as_array().ok_or_else(|| self.wrong("an array"))?;
        let item =
            |(index, value)| JsonField { value, line: self.line, path: format!("{}[{index}]", self.path) };
        Ok(items.iter().enumerate().map(item).collect())
    }

    pub(super) fn fields(&self) -> Result<Vec<(&'v str, JsonField<'v>)>, ReadError> {
        let fields = self.value.as_object().ok_or_else(|| self.wrong("an object"))?;
        Ok(fields.iter().map(|(name, value)| (name.as_str(), self.child(name, value))).collect())
    }

    pub(super) fn number(&self) -> Result<f64, ReadError> {
        self.as_number().ok_or_else(|| self.wrong("a number"))
    }

    pub(super) fn as_number(&self) -> Option<f64> {
        self.value.as_f64().filter(|number| number.is_finite())
    }

    pub(super) fn text(&self) -> Result<&'v str, ReadError> {
        self.value.as_str().ok_or_else(|| self.wrong("a text"))
    }

    pub(super) fn is_true(&self) -> bool {
        self.value == &Value::Bool(true)
    }
}
