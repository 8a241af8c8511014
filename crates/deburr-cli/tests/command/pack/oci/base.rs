//! `deburr pack oci` on bases as registries have them: several architectures, attestations, other compressions; and hostile ones.
//!
//! No registry is asked: bases are made of folders, in the nightly test of Debian's packages. There the images are read by
//! skopeo and unpacked by umoci, and what they start is run.

use crate::{deburr, stderr, stdout};
use deburr_test_support::{Scratch, emulating};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Says which variant it is, and reads what only the base has.
const PROGRAM: &str = r#"#include <stdio.h>
int main(int argc, char **argv) {
    char line[100] = "";
    FILE *file = fopen("/etc/base", "r");
    if (file && fgets(line, sizeof line, file))
        printf("%s on %s", LEVEL, line);
    return argc;
}
"#;
/// Levels, the compiler of each, and its flag.
const LEVELS: [(&str, &str, &str); 4] = [
    ("x86-64-v1", "x86_64-linux-gnu-gcc", "-march=x86-64"),
    ("x86-64-v3", "x86_64-linux-gnu-gcc", "-march=x86-64-v3"),
    ("armv8.0-a", "aarch64-linux-gnu-gcc", "-march=armv8-a"),
    ("armv8.1-a", "aarch64-linux-gnu-gcc", "-march=armv8.1-a"),
];

fn succeeded(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", stderr(&output));
    stdout(&output)
}

/// A tree for each level with `usr/bin/prog`; the options that name them.
fn variants(scratch: &Scratch, flags: &[&str]) -> Vec<String> {
    let source = scratch.file("prog.c", PROGRAM.as_bytes());
    let made = LEVELS.iter().map(|(level, compiler, march)| {
        let tree = scratch.join(level);
        fs::create_dir_all(tree.join("usr/bin")).unwrap();
        let define = format!("-DLEVEL=\"{level}\"");
        let mut gcc = Command::new(compiler);
        gcc.args(["-O2", march, &define]).args(flags).arg("-o").arg(tree.join("usr/bin/prog")).arg(&source);
        succeeded(&mut gcc);
        format!("--variant={level}={}", tree.display())
    });
    made.collect()
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/pack/oci").join(name)
}

fn make_base(layout: &Path, images: &[String]) {
    succeeded(Command::new("python3").arg(script("make_base.py")).arg(layout).args(images));
}

fn read(layout: &Path) -> Value {
    let read = succeeded(Command::new("python3").arg(script("read_layout.py")).arg(layout));
    serde_json::from_str(&read).unwrap()
}

fn oci(variants: &[String], base: &Path, layout: &Path) -> Output {
    let variants: Vec<&str> = variants.iter().map(String::as_str).collect();
    let rest = ["--entrypoint", "/usr/bin/prog", "--tag", "1.2", "--base", base.to_str().unwrap(), "-o"];
    deburr(&[&["pack", "oci"], &variants[..], &rest, &[layout.to_str().unwrap()]].concat())
}

/// A folder with the file that the program reads, and a link as Debian has it.
fn ground(scratch: &Scratch, name: &str) -> String {
    scratch.file(&format!("{name}/etc/base"), format!("{name}\n").as_bytes());
    fs::create_dir_all(scratch.join(format!("{name}/usr/lib"))).unwrap();
    symlink("usr/lib", scratch.join(format!("{name}/lib"))).unwrap();
    scratch.join(name).display().to_string()
}

#[test]
fn each_variant_gets_the_base_of_its_architecture() {
    let scratch = Scratch::new("oci-base");
    let variants = variants(&scratch, &["-static"]);
    let (amd64, arm64) = (ground(&scratch, "intel"), ground(&scratch, "arm"));
    let better = ground(&scratch, "better");
    let base = scratch.join("base");
    // The second layer takes the link away, so that a folder may be there.
    scratch.file("second/.wh.lib", b"");
    let second = scratch.join("second").display().to_string();
    make_base(
        &base,
        &[
            format!("arm64/v8=docker={arm64},{second}"),
            format!("amd64=gzip={amd64},{second}"),
            format!("amd64/v2=tar={better},{second}"),
            format!("s390x=tar={amd64}"),
        ],
    );
    fs::create_dir_all(scratch.join("armv8.1-a/lib")).unwrap();
    let layout = scratch.join("layout");
    let output = oci(&variants, &base, &layout);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let found = read(&layout);
    let images = found["images"].as_array().unwrap();
    let expected = [
        ("amd64", None, "intel"),
        ("amd64", Some("v3"), "better"),
        ("arm64", None, "arm"),
        ("arm64", Some("v8.1"), "arm"),
    ];
    assert_eq!(images.len(), expected.len(), "attestations are no images");
    for (image, (architecture, variant, ground)) in images.iter().zip(expected) {
        assert_eq!(image["platform"]["architecture"], architecture);
        assert_eq!(image["platform"].get("variant").and_then(Value::as_str), variant);
        let bytes = format!("{ground}\n");
        let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(image["layers"][0]["files"]["./etc/base"], hash, "{image:#}");
        assert_eq!(image["layers"].as_array().unwrap().len(), 3);
        assert_eq!(image["config"], json!({"Env": ["PATH=/usr/bin:/bin"], "Entrypoint": ["/usr/bin/prog"]}));
        assert_eq!(image["history"].as_array().unwrap().len(), 4);
    }
    // Without the second layer the folder would hide the link.
    let single = scratch.join("single");
    make_base(&single, &[format!("arm64=gzip={arm64}"), format!("amd64=tar={amd64}")]);
    let refused = oci(&variants, &single, &scratch.join("none"));
    assert!(stderr(&refused).contains("lib: it is a link in the base"), "{}", stderr(&refused));
    let one = scratch.join("one");
    make_base(&one, &[format!("arm64=gzip={arm64}")]);
    let refused = oci(&variants, &one, &scratch.join("none"));
    let expected = "for linux/amd64: no image of the layout runs there; it has images for linux/arm64\n";
    assert!(stderr(&refused).contains(expected), "{}", stderr(&refused));
}

/// A layout whose one manifest the caller writes.
struct Forged {
    folder: PathBuf,
}

impl Forged {
    fn new(scratch: &Scratch, name: &str) -> Forged {
        let folder = scratch.join(name);
        fs::create_dir_all(folder.join("blobs/sha256")).unwrap();
        fs::write(folder.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
        Forged { folder }
    }

    fn blob(&self, bytes: &[u8]) -> Value {
        let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(self.folder.join("blobs/sha256").join(&hash), bytes).unwrap();
        json!({"digest": format!("sha256:{hash}"), "size": bytes.len(), "mediaType": "application/vnd.oci.image.layer.v1.tar"})
    }

    fn index(&self, manifests: &Value) {
        fs::write(self.folder.join("index.json"), json!({"manifests": manifests}).to_string()).unwrap();
    }

    /// An index with one image of these layers.
    fn image(&self, layers: &[Value]) -> Value {
        let diff_ids: Vec<String> = layers.iter().map(|_| format!("sha256:{}", "0".repeat(64))).collect();
        let config = json!({"os": "linux", "architecture": "amd64", "rootfs": {"diff_ids": diff_ids}});
        let config = self.blob(config.to_string().as_bytes());
        let manifest = self.blob(json!({"config": config, "layers": layers}).to_string().as_bytes());
        self.index(&json!([manifest]));
        manifest
    }
}

#[test]
fn hostile_bases_are_refused_and_nothing_outside_is_touched() {
    let scratch = Scratch::new("oci-hostile");
    // Each run checks the variant first: a small one.
    let variants = &variants(&scratch, &[])[..1];
    let layout = scratch.join("layout");
    let refused = |base: &Forged, expected: &str| {
        let before = scratch.names();
        let output = oci(variants, &base.folder, &layout);
        assert_eq!(output.status.code(), Some(2), "{expected}: {}", stdout(&output));
        let said = stderr(&output);
        assert!(said.contains(expected), "{expected}: {said}");
        assert!(said.len() < 3000 && !said.contains('\x1b'), "{expected}: {}", said.len());
        assert_eq!(scratch.names(), before, "{expected}");
    };
    scratch.file("outside", b"outside");
    let layer = |digest: &str| json!({"digest": digest, "size": 7, "mediaType": "application/vnd.oci.image.layer.v1.tar"});
    for digest in [
        "sha256:../../../outside",
        "sha256:../../oci-layout",
        "sha256:..",
        "md5:00",
        "",
        "sha256:/etc/passwd",
        "sha256:\u{1b}[2J",
    ] {
        let forged = Forged::new(&scratch, "digest");
        forged.image(&[layer(digest)]);
        refused(&forged, "expected sha256: and 64 hexadecimal digits");
        forged.index(&json!([layer(digest)]));
        refused(
            &forged,
            if digest.contains(':') && !digest.contains(['.', '/', '[']) {
                "lacks this blob"
            } else {
                "expected a digest"
            },
        );
    }
    // The same layer twice, the second time with another size.
    let forged = Forged::new(&scratch, "sizes");
    let mut own = forged.blob(&[0; 1024]);
    let whole = own.clone();
    own["size"] = json!(7);
    forged.image(&[whole.clone(), own]);
    refused(&forged, "the blob is not what its digest and size say");
    // A blob that is a link out of the layout, to what its digest does not name; one that is a fifo, and one that is a folder.
    let forged = Forged::new(&scratch, "links");
    forged.image(std::slice::from_ref(&whole));
    let place = forged.folder.join("blobs").join(whole["digest"].as_str().unwrap().replace(':', "/"));
    symlink("/etc/passwd", &place).unwrap();
    refused(&forged, "the blob is not what its digest and size say");
    fs::remove_file(&place).unwrap();
    succeeded(Command::new("mkfifo").arg(&place));
    refused(&forged, "the base lacks this blob");
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    refused(&forged, "the base lacks this blob");
    // No archive, and one that unpacks without end.
    let forged = Forged::new(&scratch, "archive");
    let noise = forged.blob(&[7; 4096]);
    forged.image(&[noise]);
    refused(&forged, "sha256:");
    // Indexes: one in the other, many entries, a large document, no JSON, deep JSON.
    let forged = Forged::new(&scratch, "deep");
    let mut inner = forged.image(std::slice::from_ref(&whole));
    for _ in 0..8 {
        inner = forged.blob(json!({"manifests": [inner]}).to_string().as_bytes());
    }
    forged.index(&json!([inner]));
    refused(&forged, "missing field");
    let many: Vec<Value> = (0..100_000)
        .map(|at| json!({"digest": format!("sha256:{at:064x}"), "size": 1, "platform": {"os": "linux", "architecture": format!("cpu{at}")}}))
        .collect();
    forged.index(&json!(many));
    refused(&forged, "more than 1024 entries");
    let named: Vec<Value> = many[..1000].to_vec();
    forged.index(&json!(named));
    refused(&forged, " and 990 more");
    let large = forged.blob(&vec![b' '; 5 << 20]);
    forged.index(&json!([large]));
    refused(&forged, "a document of more than 4 MiB");
    let mut lost = forged.blob(b"{}");
    forged.index(&json!([lost]));
    refused(&forged, "missing field");
    lost["digest"] = json!(format!("sha256:{}", "1".repeat(64)));
    forged.index(&json!([lost]));
    refused(&forged, "the layout lacks this blob");
    for text in ["", "{", "[]", "null", &"[".repeat(100_000)] {
        fs::write(forged.folder.join("index.json"), text).unwrap();
        refused(&forged, "index.json: ");
    }
}

/// A package of Debian for an architecture, unpacked.
fn fetched(architecture: &str, name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
    let printed =
        succeeded(Command::new(root.join("scripts/fetch-package")).arg(into).args([architecture, name]));
    PathBuf::from(printed.lines().last().unwrap())
}

/// A root of Debian's busybox and C library, in merged folders as Debian has them.
fn debian(scratch: &Scratch, architecture: &str) -> String {
    let root = scratch.join(format!("debian-{architecture}"));
    let source = scratch.join(format!("source-{architecture}"));
    fs::create_dir_all(&source).unwrap();
    for package in ["busybox-static", "libc6"] {
        succeeded(Command::new("cp").arg("-a").arg(fetched(architecture, package).join(".")).arg(&source));
    }
    fs::create_dir_all(root.join("usr/bin")).unwrap();
    for folder in ["bin", "lib", "lib64"] {
        if source.join(folder).is_dir() {
            fs::create_dir_all(root.join("usr").join(folder)).unwrap();
            let from = source.join(folder).join(".");
            succeeded(Command::new("cp").arg("-a").arg(from).arg(root.join("usr").join(folder)));
        }
        symlink(format!("usr/{folder}"), root.join(folder)).unwrap();
    }
    succeeded(
        Command::new("cp")
            .arg("-a")
            .arg(source.join("usr/lib/."))
            .arg(root.join("usr/lib"))
            .env("LC_ALL", "C"),
    );
    for name in ["sh", "cat", "ls"] {
        symlink("busybox", root.join("usr/bin").join(name)).unwrap();
    }
    fs::create_dir_all(root.join("etc")).unwrap();
    fs::write(root.join("etc/base"), format!("Debian for {architecture}\n")).unwrap();
    root.display().to_string()
}

/// Runs what a bundle of umoci starts, in its root.
fn run_bundle(bundle: &Path, emulator: Option<&Path>) -> Output {
    let config: Value = serde_json::from_slice(&fs::read(bundle.join("config.json")).unwrap()).unwrap();
    let words = config["process"]["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let mut command = match emulator {
        None => {
            let mut command = Command::new("unshare");
            command.args(["--user", "--map-root-user"]);
            command
        }
        Some(emulator) => emulating("max", Some(emulator.to_owned())).unwrap(),
    };
    command.arg("chroot").arg(bundle.join("rootfs")).args(words).output().unwrap()
}

#[test]
#[ignore = "fetches Debian's packages, and needs skopeo, umoci and zstd; `cargo xtask nightly` runs it"]
fn images_on_debian_are_copied_by_skopeo_unpacked_by_umoci_and_run() {
    let scratch = Scratch::new("oci-debian");
    // Linked with the base's C library.
    let variants = variants(&scratch, &["-Wl,--hash-style=gnu"]);
    let (amd64, arm64) = (debian(&scratch, "amd64"), debian(&scratch, "arm64"));
    let base = scratch.join("base");
    make_base(
        &base,
        &[
            format!("amd64=gzip={amd64}"),
            format!("amd64/v2=zstd={amd64}"),
            format!("arm64/v8=docker={arm64}"),
        ],
    );
    let layout = scratch.join("layout");
    let output = oci(&variants, &base, &layout);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let emulator = fetched("amd64", "qemu-user-static").join("usr/bin/qemu-aarch64-static");
    let of_layout = |name: &str| format!("oci:{}", scratch.join(name).display());
    for (architecture, variant, level, debian) in [
        ("amd64", "", "x86-64-v1", "amd64"),
        ("amd64", "v3", "x86-64-v3", "amd64"),
        ("arm64", "", "armv8.0-a", "arm64"),
        ("arm64", "v8.1", "armv8.1-a", "arm64"),
    ] {
        let platform = [
            "--override-os=linux",
            &format!("--override-arch={architecture}"),
            &format!("--override-variant={variant}"),
        ]
        .map(str::to_owned);
        let image = of_layout("layout") + ":1.2";
        let inspected = succeeded(Command::new("skopeo").args(&platform).args(["inspect", &image]));
        let inspected: Value = serde_json::from_str(&inspected).unwrap();
        assert_eq!(inspected["Architecture"], architecture, "{level}");
        assert_eq!(inspected["Layers"].as_array().unwrap().len(), 2);
        let name = format!("one-{architecture}-{variant}");
        let one = of_layout(&name) + ":1.2";
        succeeded(Command::new("skopeo").args(&platform).args(["copy", "-q", &image, &one]));
        let bundle = scratch.join(format!("bundle-{name}"));
        if level == "x86-64-v3" {
            // Debian's umoci knows no zstd.
            unpacked_by_hand(&scratch.join(&name), &bundle);
        } else {
            let image = format!("{}:1.2", scratch.join(&name).display());
            succeeded(Command::new("umoci").args(["unpack", "--rootless", "--image", &image]).arg(&bundle));
        }
        let ran = run_bundle(&bundle, (architecture == "arm64").then_some(emulator.as_path()));
        assert_eq!(stdout(&ran), format!("{level} on Debian for {debian}\n"), "{}", stderr(&ran));
        assert_eq!(ran.status.code(), Some(1));
    }
    // All of them at once, as they would go to a registry, keep their digests.
    let all = of_layout("all") + ":1.2";
    succeeded(Command::new("skopeo").args(["copy", "-q", "--all", &(of_layout("layout") + ":1.2"), &all]));
    assert_eq!(read_without_zstd(&scratch.join("all")), read_without_zstd(&layout));

    // Docker's archive is no layout; what the message says makes one of it.
    let old = scratch.join("old.tar");
    let archive = format!("docker-archive:{}:prog:1.2", old.display());
    succeeded(Command::new("skopeo").args(["copy", "-q", &(of_layout("one-amd64-") + ":1.2"), &archive]));
    let refused = oci(&variants[..2], &old, &scratch.join("none"));
    assert!(
        stderr(&refused).contains("skopeo copy docker-archive:image.tar oci:layout"),
        "{}",
        stderr(&refused)
    );
    let converted = of_layout("converted") + ":1.2";
    succeeded(Command::new("skopeo").args([
        "copy",
        "-q",
        &format!("docker-archive:{}", old.display()),
        &converted,
    ]));
    let again = oci(&variants[..2], &scratch.join("converted"), &scratch.join("again"));
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
}

/// What umoci makes, by tar and zstd: the layers of a layout's one image over one another, and what it starts.
fn unpacked_by_hand(layout: &Path, bundle: &Path) {
    let document = |path: PathBuf| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    let blob = |described: &Value| {
        layout.join("blobs").join(described["digest"].as_str().unwrap().replace(':', "/"))
    };
    let outer = document(layout.join("index.json"));
    let manifest = document(blob(&outer["manifests"][0]));
    let root = bundle.join("rootfs");
    fs::create_dir_all(&root).unwrap();
    for layer in manifest["layers"].as_array().unwrap() {
        let is_zstd = layer["mediaType"].as_str().unwrap().ends_with("+zstd");
        let mut tar = Command::new("tar");
        tar.arg(if is_zstd { "--zstd" } else { "--gzip" }).arg("--no-same-owner");
        // A folder of the layer that is a link in the base would show here.
        succeeded(tar.arg("-xf").arg(blob(layer)).arg("-C").arg(&root));
    }
    let config = document(blob(&manifest["config"]));
    let process = json!({"process": {"args": config["config"]["Entrypoint"]}});
    fs::write(bundle.join("config.json"), process.to_string()).unwrap();
}

/// The digests of the manifests by platform, with each digest and size on the way checked; Python's library knows no zstd.
fn read_without_zstd(layout: &Path) -> Vec<(Value, Value)> {
    let blob = |described: &Value| -> Vec<u8> {
        let hash = described["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap().to_owned();
        let bytes = fs::read(layout.join("blobs/sha256").join(&hash)).unwrap();
        let own: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!((own, bytes.len() as u64), (hash, described["size"].as_u64().unwrap()));
        bytes
    };
    let document = |bytes: &[u8]| -> Value { serde_json::from_slice(bytes).unwrap() };
    let outer = document(&fs::read(layout.join("index.json")).unwrap());
    let index = document(&blob(&outer["manifests"][0]));
    let images = index["manifests"].as_array().unwrap().iter().map(|described| {
        let manifest = document(&blob(described));
        blob(&manifest["config"]);
        manifest["layers"].as_array().unwrap().iter().for_each(|layer| drop(blob(layer)));
        (described["platform"].clone(), described["digest"].clone())
    });
    images.collect()
}
