//! Container images: as archives, as folders, with several platforms, and with what is missing.

use super::{Taken, taken};
use crate::making::{gzip, objects, tar};
use deburr_package::{Blobs, Limits, read_layout};
use std::collections::BTreeMap;

type Files = BTreeMap<String, Vec<u8>>;

/// A layout in memory.
struct Folder(Files);

impl Blobs for Folder {
    fn open<'a>(&'a self, name: &str) -> Option<Box<dyn AsRef<[u8]> + 'a>> {
        Some(Box::new(self.0.get(name)?.as_slice()))
    }
}

/// Adds a blob under a digest that need not be true: nothing checks it.
fn blob(files: &mut Files, bytes: Vec<u8>) -> String {
    let digest = format!("{:064x}", files.len());
    files.insert(format!("blobs/sha256/{digest}"), bytes);
    format!("sha256:{digest}")
}

/// Two layers: the second overrides a file, and removes a folder.
fn layers() -> [Vec<u8>; 2] {
    let [a, b] = objects();
    [
        tar(&[("usr/a", &a), ("usr/b", &b), ("opt/d/x", &a)]),
        tar(&[("./usr/a", &b), ("./opt/.wh.d", b""), ("./usr/c", &a)]),
    ]
}

fn manifest(files: &mut Files, layers: &[Vec<u8>]) -> String {
    let layers = layers.iter().map(|layer| format!(r#"{{"digest":"{}"}}"#, blob(files, gzip(layer))));
    let layers = layers.collect::<Vec<_>>().join(",");
    blob(files, format!(r#"{{"schemaVersion":2,"layers":[{layers}]}}"#).into_bytes())
}

fn with_index(mut files: Files, manifests: &str) -> Files {
    files.insert("oci-layout".to_owned(), br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec());
    files.insert("index.json".to_owned(), format!(r#"{{"manifests":[{manifests}]}}"#).into_bytes());
    files
}

fn archived(files: &Files) -> Vec<u8> {
    let members: Vec<_> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    tar(&members)
}

fn of_folder(files: Files) -> Taken {
    let mut taken = Taken::default();
    assert_eq!(read_layout("p", &Folder(files), &Limits::default(), &mut taken), Ok(()));
    taken
}

const SHOWN: [&str; 3] = ["p!layer 2/2!usr/a", "p!layer 2/2!usr/c", "p!layer 1/2!usr/b"];

#[test]
fn file_of_an_image_shows_once_from_the_layer_that_wins() {
    let mut files = Files::new();
    let manifest = manifest(&mut files, &layers());
    let files = with_index(files, &format!(r#"{{"digest":"{manifest}"}}"#));
    for taken in [taken(&archived(&files)), of_folder(files)] {
        assert_eq!(taken.skipped, []);
        assert_eq!(taken.paths(), SHOWN);
        assert_eq!(taken.objects[0].bytes, objects()[1]);
    }
}

#[test]
fn docker_save_is_read_layer_by_layer() {
    let [first, second] = layers();
    let manifest = br#"[{"Config":"c.json","RepoTags":["x:1"],"Layers":["aa/layer.tar","bb/layer.tar"]}]"#;
    let saved = tar(&[
        ("aa/layer.tar", &first),
        ("bb/layer.tar", &second),
        ("c.json", b"{}"),
        ("manifest.json", manifest),
    ]);
    assert_eq!(taken(&saved).paths(), SHOWN);
    // Where blobs cannot be gone to, each layer shows what it has.
    let streamed = taken(&gzip(&saved));
    assert_eq!(streamed.paths().len(), 5);
    assert_eq!(streamed.paths()[0], "p!aa/layer.tar!usr/a");
}

#[test]
fn platforms_are_distinguished_and_attestations_left_out() {
    let mut files = Files::new();
    let [first, second] = layers();
    let (arm, intel) = (manifest(&mut files, &[first]), manifest(&mut files, &[second]));
    let attestation = manifest(&mut files, &[b"{}".to_vec()]);
    let platform = |digest: &str, os: &str, arch: &str| {
        format!(r#"{{"digest":"{digest}","platform":{{"os":"{os}","architecture":"{arch}"}}}}"#)
    };
    let index = [
        platform(&arm, "linux", "arm64"),
        platform(&intel, "linux", "amd64"),
        platform(&attestation, "unknown", "unknown"),
        platform("sha256:ffff", "linux", "s390x"),
    ];
    let index = blob(&mut files, format!(r#"{{"manifests":[{}]}}"#, index.join(",")).into_bytes());
    let taken = taken(&archived(&with_index(files, &format!(r#"{{"digest":"{index}"}}"#))));
    assert_eq!(taken.skipped, []);
    assert_eq!(taken.paths()[0], "p!linux/arm64!layer 1/1!usr/a");
    assert_eq!(taken.paths()[3], "p!linux/amd64!layer 1/1!usr/a");
    assert_eq!(taken.objects.len(), 5);
}

#[test]
fn missing_layer_and_damaged_layer_are_reported_and_the_others_read() {
    let mut files = Files::new();
    let [first, second] = layers();
    let mut layers = vec![gzip(&first), gzip(&second)];
    layers[1].truncate(200);
    let digests: Vec<String> = layers.into_iter().map(|layer| blob(&mut files, layer)).collect();
    let list = format!(
        r#"{{"layers":[{{"digest":"{}"}},{{"digest":"{}"}},{{"digest":"sha256:abcd"}},{{"digest":"sha256:../x"}}]}}"#,
        digests[0], digests[1]
    );
    let manifest = blob(&mut files, list.into_bytes());
    let taken = of_folder(with_index(files, &format!(r#"{{"digest":"{manifest}"}}"#)));
    assert!(taken.skipped.iter().all(|skip| skip.2));
    let at = |start: &str| taken.skipped.iter().any(|(path, ..)| path.starts_with(start));
    assert!(at("p!layer 4/4") && at("p!layer 3/4") && at("p!layer 2/4"), "{:?}", taken.skipped);
    assert!(taken.paths().contains(&"p!layer 1/4!usr/b"));
    assert!(of_folder(with_index(Files::new(), "")).complaint().contains("leads to no image"));
}
