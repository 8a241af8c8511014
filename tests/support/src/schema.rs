//! JSON documents and their schemas.

use boon::{Compiler, Schemas, ValidationError};
use serde_json::Value;

/// What is wrong with a document by its schema, formats such as `uri` included: `place: fault`, empty if nothing is.
///
/// # Panics
/// If the schema itself is invalid.
pub fn schema_faults(schema: &Value, document: &Value) -> Vec<String> {
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    compiler.enable_format_assertions();
    let added = compiler.add_resource("schema.json", schema.clone());
    added.unwrap_or_else(|error| panic!("the schema is invalid: {error}"));
    let compiled = compiler.compile("schema.json", &mut schemas);
    let compiled = compiled.unwrap_or_else(|error| panic!("the schema is invalid: {error:#}"));
    let mut faults = Vec::new();
    if let Err(error) = schemas.validate(document, compiled) {
        collect(&error, &mut faults);
    }
    faults
}

/// The innermost faults: what contains them says only that something within is wrong.
fn collect(error: &ValidationError, faults: &mut Vec<String>) {
    if error.causes.is_empty() {
        faults.push(format!("{}: {}", error.instance_location, error.kind));
    }
    for cause in &error.causes {
        collect(cause, faults);
    }
}

#[cfg(test)]
mod tests {
    use super::schema_faults;
    use serde_json::json;

    #[test]
    fn the_place_of_a_fault_is_named() {
        let schema = json!({"type": "array", "items": {"type": "integer"}});
        assert_eq!(schema_faults(&schema, &json!([1, 2])), Vec::<String>::new());
        let faults = schema_faults(&schema, &json!([1, "two"]));
        assert!(faults.len() == 1 && faults[0].starts_with("/1: "), "{faults:?}");
    }

    #[test]
    #[should_panic(expected = "the schema is invalid")]
    fn a_schema_that_is_none_is_refused() {
        schema_faults(&json!({"type": 7}), &json!(null));
    }
}
