//! What refers to a layer: image-spec, "Image Configuration", "Image Manifest", "Image Index", "Image Layout".
//!
//! In: layers, platforms and settings. Out: JSON documents. Keys are in alphabetical order, so that the same input is the
//! same bytes, and no document has a time.

use super::base::Base;
use super::descriptor::Descriptor;
use super::digest;
use super::layer::Layer;
use super::platform::Platform;
use serde_json::{Map, Value, json};

const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// A document, and where it is once written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its text.
    pub bytes: Vec<u8>,
    /// Its descriptor.
    pub descriptor: Descriptor,
}

impl Document {
    fn of(media_type: &str, value: &Value) -> Document {
        let bytes = value.to_string().into_bytes();
        let (digest, size) = (digest(&bytes), bytes.len() as u64);
        Document { bytes, descriptor: Descriptor { media_type: media_type.to_owned(), digest, size } }
    }
}

/// What a container of the image runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The program and its first arguments; empty: as the base has it.
    pub entrypoint: Vec<String>,
    /// `NAME=VALUE`; each replaces the base's of that name.
    pub env: Vec<String>,
}

/// The configuration of an image of one layer on top of its base.
#[must_use]
pub fn config(base: Option<&Base>, layer: &Layer, platform: &Platform, settings: &Settings) -> Document {
    let mut document = base.map_or_else(Map::new, |base| base.config.clone());
    // The base's time is not the image's.
    document.remove("created");
    document.remove("variant");
    if let Value::Object(named) = platform.value() {
        document.extend(named);
    }
    let mut diff_ids = base.map_or_else(Vec::new, |base| base.diff_ids.clone());
    diff_ids.push(layer.diff_id.clone());
    document.insert("rootfs".to_owned(), json!({ "type": "layers", "diff_ids": diff_ids }));
    let mut history = match document.remove("history") {
        Some(Value::Array(history)) => history,
        _ => Vec::new(),
    };
    // Either each layer has its entry or none has (image-spec, "history").
    let is_told = history.iter().filter(|entry| entry.get("empty_layer") != Some(&json!(true))).count();
    if is_told + 1 == diff_ids.len() {
        history.push(json!({ "created_by": "deburr pack oci" }));
        document.insert("history".to_owned(), Value::Array(history));
    }
    let mut run = match document.remove("config") {
        Some(Value::Object(run)) => run,
        _ => Map::new(),
    };
    if !settings.entrypoint.is_empty() {
        // Arguments of another program.
        run.remove("Cmd");
        run.insert("Entrypoint".to_owned(), json!(settings.entrypoint));
    }
    if !settings.env.is_empty() {
        let mut env: Vec<String> =
            run.remove("Env").and_then(|env| serde_json::from_value(env).ok()).unwrap_or_default();
        for setting in &settings.env {
            let name = |text: &str| text.split('=').next().unwrap_or_default().to_owned();
            env.retain(|other| name(other) != name(setting));
            env.push(setting.clone());
        }
        run.insert("Env".to_owned(), json!(env));
    }
    document.insert("config".to_owned(), Value::Object(run));
    Document::of(CONFIG, &Value::Object(document))
}

/// The manifest of an image of one layer on top of its base.
#[must_use]
pub fn manifest(base: Option<&Base>, layer: &Layer, config: &Descriptor) -> Document {
    let own = Descriptor { media_type: LAYER.to_owned(), digest: layer.digest.clone(), size: layer.size };
    let below = base.map_or(&[][..], |base| &base.layers);
    let layers: Vec<Value> = below.iter().chain([&own]).map(Descriptor::value).collect();
    let value =
        json!({ "schemaVersion": 2, "mediaType": MANIFEST, "config": config.value(), "layers": layers });
    Document::of(MANIFEST, &value)
}

/// The index of the manifests of one image for several platforms. Clients that go by the architecture alone take the first.
#[must_use]
pub fn index(manifests: &[(Descriptor, Platform)]) -> Document {
    let manifests: Vec<Value> = manifests
        .iter()
        .map(|(descriptor, platform)| {
            let mut value = descriptor.value();
            if let Value::Object(fields) = &mut value {
                fields.insert("platform".to_owned(), platform.value());
            }
            value
        })
        .collect();
    Document::of(INDEX, &json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests }))
}

/// `index.json` of a layout that holds one image, of several platforms: tools take what has one entry without a name.
#[must_use]
pub fn outer_index(index: &Descriptor, tag: Option<&str>) -> Vec<u8> {
    let mut value = index.value();
    if let (Some(tag), Value::Object(fields)) = (tag, &mut value) {
        fields.insert("annotations".to_owned(), json!({ "org.opencontainers.image.ref.name": tag }));
    }
    json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [value] }).to_string().into_bytes()
}

/// `oci-layout`.
#[must_use]
pub fn image_layout() -> Vec<u8> {
    json!({ "imageLayoutVersion": "1.0.0" }).to_string().into_bytes()
}
