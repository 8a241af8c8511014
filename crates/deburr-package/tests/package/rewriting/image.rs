//! Container images with a file of a layer changed: as every tool writes them, with the same layer twice, in
//! several images, and with what is not made anew. Digests are compared here by reading the new archive from
//! the top, as an engine does that loads it.

use super::{changed, refusal, rewritten, taken, unpacked};
use crate::making::{gzip, objects, tar};
use deburr_package::{Limits, Object, read_every, rewrite};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

type Files = BTreeMap<String, Vec<u8>>;

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Adds a blob under its digest; gives its descriptor.
fn blob(files: &mut Files, bytes: Vec<u8>) -> Value {
    let digest = sha256(&bytes);
    let descriptor = json!({"mediaType": "x", "digest": format!("sha256:{digest}"), "size": bytes.len()});
    files.insert(format!("blobs/sha256/{digest}"), bytes);
    descriptor
}

fn archived(files: &Files) -> Vec<u8> {
    let members: Vec<_> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    tar(&members)
}

fn files(archive: &[u8]) -> Files {
    let mut archive = tar::Archive::new(archive);
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let (name, mut bytes) = (entry.path().unwrap().display().to_string(), Vec::new());
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        (name, bytes)
    });
    entries.collect()
}

fn text(value: &Value) -> Vec<u8> {
    serde_json::to_vec_pretty(value).unwrap()
}

/// The configuration of an image with these layers, unpacked.
fn config(layers: &[Vec<u8>]) -> Vec<u8> {
    let ids: Vec<String> = layers.iter().map(|layer| format!("sha256:{}", sha256(layer))).collect();
    text(&json!({"architecture": "arm64", "rootfs": {"type": "layers", "diff_ids": ids}, "os": "linux"}))
}

/// Three layers: the third hides a file of the first, and is there twice.
fn layers() -> Vec<Vec<u8>> {
    let [a, b] = objects();
    let top = tar(&[("usr/a.so", &b)]);
    vec![tar(&[("usr/a.so", &a), ("usr/text", b"text")]), top.clone(), tar(&[("usr/c.so", &a)]), top]
}

/// A manifest of an image layout, with its layers compressed or not.
fn manifest(files: &mut Files, layers: &[Vec<u8>], is_compressed: bool) -> Value {
    let config = blob(files, config(layers));
    let stored = |layer: &Vec<u8>| if is_compressed { gzip(layer) } else { layer.clone() };
    let layers: Vec<Value> = layers.iter().map(|layer| blob(files, stored(layer))).collect();
    blob(files, text(&json!({"schemaVersion": 2, "config": config, "layers": layers})))
}

fn layout(mut files: Files, manifests: &[Value]) -> Files {
    files.insert("oci-layout".to_owned(), br#"{"imageLayoutVersion": "1.0.0"}"#.to_vec());
    files.insert("index.json".to_owned(), text(&json!({"schemaVersion": 2, "manifests": manifests})));
    files
}

/// What docker save writes today: an image layout, and the older manifest next to it.
fn saved_layout() -> Files {
    let mut files = Files::new();
    let layers = layers();
    let manifest = manifest(&mut files, &layers, false);
    let names: Vec<String> = layers.iter().map(|layer| format!("blobs/sha256/{}", sha256(layer))).collect();
    let sources: BTreeMap<String, Value> = layers
        .iter()
        .map(|layer| (format!("sha256:{}", sha256(layer)), layer.len()))
        .map(|(digest, size)| (digest.clone(), json!({"mediaType": "x", "size": size, "digest": digest})))
        .collect();
    let config = format!("blobs/sha256/{}", sha256(&config(&layers)));
    let saved = json!([{"Config": config, "RepoTags": ["x:1"], "Layers": names, "LayerSources": sources}]);
    let mut files = layout(files, &[manifest]);
    files.insert("manifest.json".to_owned(), text(&saved));
    files
}

/// What it wrote before.
fn saved() -> Files {
    let layers = layers();
    let config = config(&layers);
    let name = format!("{}.json", sha256(&config));
    let mut files = Files::from([(name.clone(), config)]);
    let names: Vec<String> = (0..layers.len()).map(|at| format!("{at:064x}/layer.tar")).collect();
    files.extend(names.iter().cloned().zip(layers));
    files.insert("repositories".to_owned(), br#"{"x":{"1":"0"}}"#.to_vec());
    files.insert(
        "manifest.json".to_owned(),
        text(&json!([{"Config": name, "RepoTags": null, "Layers": names}])),
    );
    files
}

/// The paths of all binaries.
fn every(bytes: &[u8]) -> Vec<String> {
    let mut found = super::Taken::default();
    assert_eq!(read_every("p", bytes, &Limits::default(), &mut found), Ok(()));
    found.objects.into_iter().map(|object| object.path).collect()
}

/// What an engine would say against an image: the first digest that is not right.
fn fault(files: &Files) -> Option<String> {
    let file = |digest: &Value| {
        format!("blobs/sha256/{}", digest.as_str().unwrap_or_default().trim_start_matches("sha256:"))
    };
    let parsed = |name: &str| serde_json::from_slice::<Value>(files.get(name)?).ok();
    for (name, bytes) in files.iter().filter(|(name, _)| name.starts_with("blobs/")) {
        if *name != format!("blobs/sha256/{}", sha256(bytes)) {
            return Some(name.clone());
        }
    }
    let layers_fit = |config: &str, layers: Vec<String>| {
        let ids = parsed(config)?["rootfs"]["diff_ids"].clone();
        let found: Vec<String> = layers
            .iter()
            .map(|layer| files.get(layer).map(Vec::as_slice).unwrap_or_default())
            .map(
                |layer| if layer.starts_with(&[0x1f, 0x8b]) { unpacked("gz", layer) } else { layer.to_vec() },
            )
            .map(|layer| format!("sha256:{}", sha256(&layer)))
            .collect();
        // What is no file system states none.
        (json!(found) == ids || ids.is_null()).then_some(())
    };
    for image in parsed("manifest.json").iter().flat_map(|saved| saved.as_array().unwrap()) {
        let layers = image["Layers"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned());
        let config = image["Config"].as_str().unwrap();
        if layers_fit(config, layers.collect()).is_none() {
            return Some(format!("manifest.json: {config}"));
        }
    }
    let mut waiting: Vec<Value> =
        parsed("index.json").iter().flat_map(|it| it["manifests"].as_array().unwrap().clone()).collect();
    while let Some(descriptor) = waiting.pop() {
        let name = file(&descriptor["digest"]);
        let Some(bytes) = files.get(&name) else { return Some(format!("{name} is not there")) };
        if descriptor["size"] != bytes.len() {
            return Some(format!("{name}: size"));
        }
        let document = parsed(&name).unwrap_or_default();
        waiting.extend(document["manifests"].as_array().cloned().unwrap_or_default());
        waiting.extend(document["layers"].as_array().cloned().unwrap_or_default());
        if let (Some(layers), true) = (document["layers"].as_array(), document["config"].is_object()) {
            waiting.push(document["config"].clone());
            let layers = layers.iter().map(|layer| file(&layer["digest"])).collect();
            if layers_fit(&file(&document["config"]["digest"]), layers).is_none() {
                return Some(format!("{name}: layers"));
            }
        }
    }
    None
}

/// The new files, which an engine loads.
fn made(files: &Files) -> (Files, Vec<String>, Vec<String>) {
    assert_eq!(fault(files), None);
    let old = archived(files);
    let made = rewritten(&old, "a.so").unwrap();
    let new = self::files(&made.bytes);
    assert_eq!(fault(&new), None);
    assert!(new != *files);
    (new, made.changed, made.signatures)
}

#[test]
fn images_of_every_layout_load_with_the_changed_layers() {
    let with = |is_compressed: bool| {
        let mut files = Files::new();
        let manifest = manifest(&mut files, &layers(), is_compressed);
        layout(files, &[manifest])
    };
    for files in [saved(), saved_layout(), with(false), with(true)] {
        let (new, changed, signatures) = made(&files);
        // Also the file that the layer above hides, and the layer that is there twice once.
        let expected: &[&str] = match files.contains_key("repositories") {
            true => &["p!layer 4/4!usr/a.so", "p!layer 2/4!usr/a.so", "p!layer 1/4!usr/a.so"],
            false => &["p!layer 4/4!usr/a.so", "p!layer 1/4!usr/a.so"],
        };
        assert_eq!((changed.as_slice(), signatures.as_slice()), (&expected.map_to_owned()[..], &[][..]));
        assert_eq!(new.len(), files.len());
        // What is not in a changed layer is as it was, to the byte.
        let same = new.iter().filter(|(name, bytes)| files.get(*name) == Some(bytes)).count();
        assert!(same >= 2, "{same}");
    }
}

#[test]
fn image_that_is_rewritten_and_rewritten_back_is_the_image_byte_for_byte() {
    for files in [saved(), saved_layout()] {
        let old = archived(&files);
        let originals = objects();
        let new = rewritten(&old, "a.so").unwrap().bytes.into_owned();
        let mut back = |object: &Object| originals.iter().find(|old| changed(old) == object.bytes).cloned();
        let again = rewrite("p", &new, &Limits::default(), &mut back).unwrap();
        assert!(*again.bytes == *old);
    }
}

#[test]
fn compressed_archive_of_an_image_is_one_again() {
    for image in [saved(), saved_layout()] {
        let plain = archived(&image);
        let old = gzip(&plain);
        let new = rewritten(&old, "a.so").unwrap();
        assert!(unpacked("gz", &new.bytes) == *rewritten(&plain, "a.so").unwrap().bytes);
        assert_eq!(every(&new.bytes), every(&rewritten(&plain, "a.so").unwrap().bytes));
        assert!(new.changed.iter().all(|path| every(&new.bytes).contains(path)));
        assert_eq!(taken(&new.bytes).skipped, []);
    }
}

#[test]
fn digest_in_several_manifests_indexes_and_annotations_changes_in_all() {
    let mut files = Files::new();
    let [first, second] = [&layers()[..2], &layers()[..]].map(|layers| manifest(&mut files, layers, true));
    let digest = first["digest"].clone();
    let statement = blob(&mut files, br#"{"predicateType": "slsa"}"#.to_vec());
    let empty = blob(&mut files, b"{}".to_vec());
    let mut attestation = blob(&mut files, text(&json!({"config": empty, "layers": [statement]})));
    attestation["platform"] = json!({"os": "unknown", "architecture": "unknown"});
    attestation["annotations"] =
        json!({"vnd.docker.reference.digest": digest, "vnd.docker.reference.type": "attestation-manifest"});
    let index = blob(&mut files, text(&json!({"manifests": [first, second, attestation]})));
    let (new, changed, signatures) = made(&layout(files, &[index, first]));
    // Each layer once, whatever the number of images that have it.
    assert_eq!(changed.len(), 2, "{changed:?}");
    assert!(signatures[0].contains("attestations"), "{signatures:?}");
    let leftover = digest.as_str().unwrap().trim_start_matches("sha256:");
    assert!(new.values().all(|bytes| !bytes.windows(64).any(|part| part == leftover.as_bytes())));
}

#[test]
fn signature_by_digest_is_named_and_stays_what_it_was() {
    let mut files = Files::new();
    let manifest = manifest(&mut files, &layers(), true);
    let digest = manifest["digest"].as_str().unwrap().replace(':', "-");
    let payload = blob(&mut files, b"{}".to_vec());
    let mut signature = blob(&mut files, text(&json!({"layers": [payload]})));
    signature["annotations"] = json!({"org.opencontainers.image.ref.name": format!("{digest}.sig")});
    let (_, _, signatures) = made(&layout(files, &[manifest, signature]));
    assert!(signatures[0].starts_with(&digest), "{signatures:?}");
}

#[test]
fn what_is_not_made_anew_is_refused_only_where_it_would_have_to_be() {
    let [a, _] = objects();
    let of = |layer: Vec<u8>, plain: Vec<u8>| {
        let mut files = Files::new();
        let config = blob(&mut files, config(&[plain]));
        let layer = blob(&mut files, layer);
        let manifest = blob(&mut files, text(&json!({"config": config, "layers": [layer]})));
        layout(files, &[manifest])
    };
    let fixture = crate::making::fixture("members.tar.zst");
    let zstd = of(fixture.clone(), unpacked("zst", &fixture));
    let stargz = tar(&[("usr/a.so", &a), ("stargz.index.json", b"{}")]);
    let stargz = of(gzip(&stargz), stargz);
    let sealed = of(b"\x9dsealed".to_vec(), b"x".to_vec());
    for (files, reason) in [(&zstd, "zstd, which is read"), (&stargz, "eStargz"), (&sealed, "encrypted?")] {
        let said = refusal(&archived(files));
        assert!(said.contains(reason), "{said}");
    }
    for files in [&zstd, &stargz] {
        assert!(rewritten(&archived(files), "nothing").unwrap().changed.is_empty());
    }
}

#[test]
fn image_that_is_not_what_its_digests_say_gets_no_new_ones() {
    let old = saved_layout();
    let a = format!("blobs/sha256/{}", sha256(&layers()[0]));
    let mut swapped = old.clone();
    swapped.insert(a.clone(), layers()[2].clone().into_iter().chain([0; 512]).collect());
    let lying = {
        let mut files = saved();
        files.insert(format!("{:064x}/layer.tar", 0), tar(&[("usr/other/a.so", &objects()[1])]));
        files
    };
    let twice = {
        let [x, _] = objects();
        let members: Vec<_> = old.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        let other = tar(&[("usr/a.so", &x)]);
        tar(&[&members[..], &[(a.as_str(), other.as_slice())]].concat())
    };
    let mut change = |object: &Object| Some(changed(&object.bytes));
    for bytes in [archived(&swapped), archived(&lying), twice] {
        let error = rewrite("p", &bytes, &Limits::default(), &mut change).unwrap_err().to_string();
        assert!(error.contains("image: "), "{error}");
    }
}

#[test]
fn names_that_lead_out_of_the_archive_lead_nowhere() {
    let mut files = saved();
    let saved = String::from_utf8(files["manifest.json"].clone()).unwrap();
    let config = saved.split('"').find(|part| part.ends_with(".json")).unwrap().to_owned();
    for config_name in ["../../etc/passwd", "/etc/passwd", ""] {
        files.insert("manifest.json".to_owned(), saved.replace(&config, config_name).into_bytes());
        let new = rewritten(&archived(&files), "a.so").map(|made| made.changed.len());
        assert!(new.is_err() || new == Ok(3), "{new:?}");
    }
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in &files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.as_old_mut().name[..9].copy_from_slice(b"../../x/a");
        header.set_cksum();
        builder.append(&header, bytes.as_slice()).unwrap();
        let _ = name;
    }
    assert!(rewritten(&builder.into_inner().unwrap(), "a.so").unwrap().changed.is_empty());
}

#[test]
fn everything_that_is_rewritten_is_read_again_by_whoever_reads_every_file() {
    let old = archived(&saved_layout());
    let made = rewritten(&old, "a.so").unwrap();
    let paths = every(&made.bytes);
    assert!(made.changed.iter().all(|path| paths.contains(path)), "{paths:?}");
    // Three layers, one of which is there twice.
    assert_eq!(paths.len(), 3);
}

/// Owned texts.
trait MapToOwned {
    fn map_to_owned(&self) -> Vec<String>;
}

impl MapToOwned for &[&str] {
    fn map_to_owned(&self) -> Vec<String> {
        self.iter().map(|text| (*text).to_owned()).collect()
    }
}
