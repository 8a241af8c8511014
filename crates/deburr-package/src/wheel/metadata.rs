//! `variant.json` in a wheel, and the index of a version's variants: PEP 825, "Variant metadata" and "Index-level metadata", and what
//! PEP 850 adds.
//!
//! In: labels with their levels. Out: the documents; or one document with the variants of another, which must agree with it.
//!
//! | `$schema` | what states how a machine's properties are found |
//! |---|---|
//! | `peps/825/v0.1.1.json` | nothing: the installer must know it |
//! | `peps/850/v0.2.0.json` | `providers`: the package that does, which an installer may have built in |
//!
//! Both namespaces are in every document, in one order: the wheels of a version agree even where each architecture is built on its
//! own. A namespace that no variant uses costs an installer nothing.

use super::error::WheelError;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The label of the variant that has no property (PEP 825, "Variant label").
pub const NULL_LABEL: &str = "null";

/// Namespaces in the order of their priority, and the package that provides each; uv 0.13.8 has these two built in, in the versions
/// 0.2.1 and 0.2.0.
const PROVIDERS: [(&str, &str); 2] =
    [("x86_64", "x86_64-variant-provider>=0.2,<0.3"), ("aarch64", "aarch64-variant-provider>=0.2,<0.3")];

/// The form of the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariantSchema {
    /// That of PEP 825, version 0.1.1.
    V0_1_1,
    /// That of PEP 850, version 0.2.0.
    V0_2_0,
}

impl VariantSchema {
    fn url(self) -> &'static str {
        match self {
            VariantSchema::V0_1_1 => "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json",
            VariantSchema::V0_2_0 => "https://variants-schema.wheelnext.dev/peps/850/v0.2.0.json",
        }
    }
}

/// A property of a variant: it is for machines of a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelProperty {
    /// `x86_64`, `aarch64`.
    pub namespace: &'static str,
    /// `level`, `version`.
    pub feature: &'static str,
    /// `v3`, `8.2a`.
    pub value: String,
}

impl LevelProperty {
    /// That of a level, by a name such as `x86-64-v3` or `armv8.2-a`; `None` of another name.
    pub fn from_level(level: &str) -> Option<LevelProperty> {
        if let Some(value) = level.strip_prefix("x86-64-") {
            return Some(LevelProperty { namespace: "x86_64", feature: "level", value: value.to_owned() });
        }
        let version = level.strip_prefix("armv")?.strip_suffix("-a")?;
        // The provider follows archspec, which has no `.0` in Armv8.
        let version = if version == "8.0" { "8" } else { version };
        Some(LevelProperty { namespace: "aarch64", feature: "version", value: format!("{version}a") })
    }

    /// The label of a variant that has this property alone: `x86_64_v3`, `aarch64_8.2a`.
    pub fn label(&self) -> String {
        format!("{}_{}", self.namespace, self.value)
    }
}

impl std::fmt::Display for LevelProperty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} :: {} :: {}", self.namespace, self.feature, self.value)
    }
}

/// The variants of a version, each with its property, or with none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantMetadata {
    schema: VariantSchema,
    variants: BTreeMap<String, Value>,
}

impl VariantMetadata {
    /// That of no variant.
    pub fn new(schema: VariantSchema) -> VariantMetadata {
        VariantMetadata { schema, variants: BTreeMap::new() }
    }

    /// Adds a variant, the null variant without a property; its label.
    pub fn add(&mut self, property: Option<&LevelProperty>) -> String {
        let Some(property) = property else {
            self.variants.insert(NULL_LABEL.to_owned(), json!({}));
            return NULL_LABEL.to_owned();
        };
        let LevelProperty { namespace, feature, value } = property;
        let label = property.label();
        self.variants.insert(label.clone(), json!({ *namespace: { *feature: [value] } }));
        label
    }

    /// Adds the variants of an index that was written before.
    ///
    /// # Errors
    /// It is no index, of another schema, or does not agree with this one.
    pub fn merge(&mut self, index: &[u8]) -> Result<(), WheelError> {
        let faulty = |what: &str| WheelError::new(format!("expected an index of variants: {what}"));
        let index: Value = serde_json::from_slice(index).map_err(|error| faulty(&error.to_string()))?;
        let own = self.document();
        if index.get("$schema") != own.get("$schema") {
            let url = self.schema.url();
            return Err(WheelError::new(format!("its $schema is not {url}, as that of these wheels is")));
        }
        for key in ["default-priorities", "providers"] {
            if index.get(key) != own.get(key) {
                return Err(WheelError::new(format!("its {key} are not those of these wheels")));
            }
        }
        let variants = index.get("variants").and_then(Value::as_object);
        for (label, properties) in variants.ok_or_else(|| faulty("it has no variants"))? {
            match self.variants.get(label) {
                Some(own) if own != properties => {
                    let label = crate::name::shown(label.as_bytes());
                    return Err(WheelError::new(format!("its variant {label} has other properties")));
                }
                _ => drop(self.variants.insert(label.clone(), properties.clone())),
            }
        }
        Ok(())
    }

    fn document(&self) -> Value {
        let namespaces = PROVIDERS.map(|(namespace, _)| namespace);
        let mut document = Map::new();
        document.insert("$schema".to_owned(), json!(self.schema.url()));
        document.insert("default-priorities".to_owned(), json!({ "namespace": namespaces }));
        if self.schema == VariantSchema::V0_2_0 {
            let provider = |(namespace, package)| (namespace, json!({ "requires": [package] }));
            let providers: BTreeMap<&str, Value> = PROVIDERS.into_iter().map(provider).collect();
            document.insert("providers".to_owned(), json!(providers));
        }
        document.insert("variants".to_owned(), json!(self.variants));
        Value::Object(document)
    }

    /// The document as a file has it.
    pub fn to_bytes(&self) -> Vec<u8> {
        format!("{:#}\n", self.document()).into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn property(level: &str) -> LevelProperty {
        LevelProperty::from_level(level).unwrap()
    }

    fn parsed(metadata: &VariantMetadata) -> Value {
        serde_json::from_slice(&metadata.to_bytes()).unwrap()
    }

    #[test]
    fn levels_are_named_as_the_providers_name_them() {
        for (level, text, label) in [
            ("x86-64-v3", "x86_64 :: level :: v3", "x86_64_v3"),
            ("armv8.0-a", "aarch64 :: version :: 8a", "aarch64_8a"),
            ("armv8.2-a", "aarch64 :: version :: 8.2a", "aarch64_8.2a"),
            ("armv9.0-a", "aarch64 :: version :: 9.0a", "aarch64_9.0a"),
        ] {
            let property = property(level);
            assert_eq!((property.to_string().as_str(), property.label().as_str()), (text, label));
        }
        assert_eq!(LevelProperty::from_level("haswell"), None);
    }

    #[test]
    fn the_document_of_a_wheel_has_its_one_variant() {
        let mut metadata = VariantMetadata::new(VariantSchema::V0_1_1);
        assert_eq!(metadata.add(Some(&property("x86-64-v3"))), "x86_64_v3");
        let expected = json!({
            "$schema": "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json",
            "default-priorities": { "namespace": ["x86_64", "aarch64"] },
            "variants": { "x86_64_v3": { "x86_64": { "level": ["v3"] } } },
        });
        assert_eq!(parsed(&metadata), expected);
    }

    #[test]
    fn the_second_schema_names_a_provider_for_each_namespace() {
        let mut metadata = VariantMetadata::new(VariantSchema::V0_2_0);
        assert_eq!(metadata.add(None), "null");
        let document = parsed(&metadata);
        assert_eq!(document["variants"], json!({ "null": {} }));
        let expected = json!({
            "x86_64": { "requires": ["x86_64-variant-provider>=0.2,<0.3"] },
            "aarch64": { "requires": ["aarch64-variant-provider>=0.2,<0.3"] },
        });
        assert_eq!(document["providers"], expected);
    }

    #[test]
    fn variants_of_an_index_that_agrees_are_added() {
        let mut before = VariantMetadata::new(VariantSchema::V0_2_0);
        before.add(None);
        before.add(Some(&property("armv8.2-a")));
        let mut metadata = VariantMetadata::new(VariantSchema::V0_2_0);
        metadata.add(None);
        metadata.add(Some(&property("x86-64-v3")));
        metadata.merge(&before.to_bytes()).unwrap();
        let labels: Vec<_> = metadata.variants.keys().collect();
        assert_eq!(labels, ["aarch64_8.2a", "null", "x86_64_v3"]);
    }

    #[test]
    fn an_index_that_does_not_agree_is_refused() {
        let mut metadata = VariantMetadata::new(VariantSchema::V0_2_0);
        metadata.add(Some(&property("x86-64-v3")));
        let of_first = VariantMetadata::new(VariantSchema::V0_1_1).to_bytes();
        let mut other = parsed(&metadata);
        other["variants"]["x86_64_v3"] = json!({});
        let mut foreign = parsed(&metadata);
        foreign["providers"]["x86_64"] = json!({});
        for (index, complaint) in [
            (b"[".to_vec(), "expected an index of variants: "),
            (b"{}".to_vec(), "$schema is not"),
            (of_first, "$schema is not"),
            (other.to_string().into_bytes(), "its variant x86_64_v3 has other properties"),
            (foreign.to_string().into_bytes(), "its providers are not those"),
        ] {
            let error = metadata.clone().merge(&index).unwrap_err().to_string();
            assert!(error.contains(complaint), "{error}");
        }
    }
}
