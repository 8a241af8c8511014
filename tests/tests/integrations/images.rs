//! Archives of container images for two platforms, as `docker buildx build --output type=oci,dest=image.tar` and `docker save` write
//! them: by umoci and skopeo, and by buildah.

use crate::fixture::{V1, V3, check, library, ran, shown};
use deburr_test_support::Scratch;
use deburr_tests::toolchain::{require, run};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A layout by umoci with one image for each level, of one library.
fn layout(scratch: &Scratch) -> PathBuf {
    require("umoci");
    let layout = scratch.join("layout");
    run(Command::new("umoci").arg("init").arg("--layout").arg(&layout));
    for level in [V1, V3] {
        let (image, bundle) =
            (format!("{}:{level}", layout.display()), scratch.join(format!("bundle-{level}")));
        run(Command::new("umoci").args(["new", "--image", &image]));
        run(Command::new("umoci").args(["unpack", "--rootless", "--image", &image]).arg(&bundle));
        library(scratch, &format!("bundle-{level}/rootfs/usr/lib/scale.so"), level);
        run(Command::new("umoci").args(["repack", "--image", &image]).arg(&bundle));
        run(Command::new("umoci").args([
            "config",
            "--image",
            &image,
            "--architecture",
            "amd64",
            "--os",
            "linux",
        ]));
    }
    layout
}

/// Puts both images into one index, as buildx does, by the platforms named for each level. (umoci writes no index of its own.)
fn indexed(layout: &Path, platforms: &[(&str, Value)]) {
    let file = layout.join("index.json");
    let index: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let name = "org.opencontainers.image.ref.name";
    let manifest = |(level, platform): &(&str, Value)| {
        let all = index["manifests"].as_array().unwrap();
        let one = all.iter().find(|one| one["annotations"][name] == *level).unwrap();
        json!({"mediaType": one["mediaType"], "digest": one["digest"], "size": one["size"], "platform": platform})
    };
    let media = "application/vnd.oci.image.index.v1+json";
    let manifests: Vec<Value> = platforms.iter().map(manifest).collect();
    let both = json!({"schemaVersion": 2, "mediaType": media, "manifests": manifests}).to_string();
    let blob = layout.join("blobs/sha256/index");
    fs::write(&blob, &both).unwrap();
    let digest = run(Command::new("sha256sum").arg(&blob)).split_whitespace().next().unwrap().to_owned();
    fs::rename(&blob, blob.with_file_name(&digest)).unwrap();
    let (digest, size) = (format!("sha256:{digest}"), both.len());
    let one = json!({"mediaType": media, "digest": digest, "size": size, "annotations": {name: "app"}});
    fs::write(&file, json!({"schemaVersion": 2, "manifests": [one]}).to_string()).unwrap();
}

fn amd64() -> Value {
    json!({"architecture": "amd64", "os": "linux"})
}

fn amd64_v3() -> Value {
    json!({"architecture": "amd64", "os": "linux", "variant": "v3"})
}

/// Copies an image by skopeo, of several platforms where it has several.
fn skopeo(options: &[&str], from: &str, to: &str) {
    require("skopeo");
    let mut skopeo = Command::new("skopeo");
    run(skopeo.args(["--insecure-policy", "copy", "-q"]).args(options).args([from, to]));
}

/// What must be said of an archive whose two platforms hold each other's code.
fn assert_swapped(archive: &Path) {
    let (status, text) = check(archive, &["--fail-on", "error", "--format", "concise"]);
    assert_eq!(status, Some(1), "{text}");
    let one = |rule: &str| {
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(rule)).collect();
        assert_eq!(lines.len(), 1, "{rule}: {text}");
        lines[0].to_owned()
    };
    let exceeded = one(" error claim-exceeded: ");
    assert!(exceeded.contains("!app linux/amd64!layer 1/1!usr/lib/scale.so:0x"), "{exceeded}");
    assert!(exceeded.contains("claimed is x86-64-v1, architecture amd64 (the index): "), "{exceeded}");
    let unused = one(" note claim-unused: ");
    assert!(unused.contains("!app linux/amd64/v3!layer 1/1!usr/lib/scale.so:0x"), "{unused}");
    assert!(unused.contains("claimed is x86-64-v3, platform amd64/v3 (the index), and no code"), "{unused}");
}

#[test]
fn each_platform_of_an_archive_is_held_to_its_own_code() {
    let scratch = Scratch::new("images");
    let layout = layout(&scratch);
    let [from, pristine] = [layout, scratch.join("pristine")];
    run(Command::new("cp").arg("-r").arg(&from).arg(&pristine));
    for (name, platforms, swapped) in [
        ("right", [(V1, amd64()), (V3, amd64_v3())], false),
        ("swapped", [(V3, amd64()), (V1, amd64_v3())], true),
    ] {
        fs::copy(pristine.join("index.json"), from.join("index.json")).unwrap();
        indexed(&from, &platforms);
        let archive = scratch.join(format!("{name}.tar"));
        let source = format!("oci:{}:app", from.display());
        skopeo(&["--all"], &source, &format!("oci-archive:{}:app", archive.display()));
        // As containers are started on a machine of the third level.
        let mut inspect = Command::new("skopeo");
        let image = format!("oci-archive:{}:app", archive.display());
        inspect.args([
            "--insecure-policy",
            "--override-os=linux",
            "--override-arch=amd64",
            "--override-variant=v3",
        ]);
        let seen: Value = serde_json::from_str(&run(inspect.args(["inspect", "--raw", &image]))).unwrap();
        assert_eq!(seen["manifests"][1]["platform"]["variant"], "v3", "{seen}");
        if swapped {
            assert_swapped(&archive);
        } else {
            let (status, text) = check(&archive, &["--fail-on", "note", "--ignore", "isa-note-missing"]);
            assert_eq!(status, Some(0), "{text}");
            assert!(text.contains("2 files checked: no findings"), "{text}");
        }
    }
}

#[test]
fn an_archive_of_docker_save_is_held_to_its_configuration() {
    let scratch = Scratch::new("docker-archive");
    let layout = layout(&scratch);
    for (level, status) in [(V1, Some(0)), (V3, Some(1))] {
        let archive = scratch.join(format!("{level}.tar"));
        let source = format!("oci:{}:{level}", layout.display());
        skopeo(&[], &source, &format!("docker-archive:{}:app:1.0", archive.display()));
        let (ended, text) = check(&archive, &["--fail-on", "error"]);
        assert_eq!(ended, status, "{text}");
        assert!(text.contains("  claims x86-64-v1: architecture amd64 ("), "{text}");
    }
}

#[test]
#[ignore = "needs buildah; `cargo xtask nightly` runs it"]
fn a_manifest_list_of_buildah_is_held_to_its_platforms() {
    require("buildah");
    let scratch = Scratch::new("buildah");
    let buildah = |arguments: &[&str]| {
        let mut buildah = Command::new("buildah");
        buildah.arg("--root").arg(scratch.join("root")).arg("--runroot").arg(scratch.join("run"));
        let output = ran(buildah.args(["--storage-driver", "vfs"]).args(arguments));
        assert!(output.status.success(), "{arguments:?}: {}", shown(&output));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    buildah(&["manifest", "create", "app"]);
    for (level, platform) in [(V1, &["--variant", "v3"][..]), (V3, &[])] {
        let library = library(&scratch, &format!("{level}.so"), level);
        let container = buildah(&["from", "scratch"]);
        buildah(&["copy", "-q", &container, library.to_str().unwrap(), "/usr/lib/scale.so"]);
        buildah(&["config", "--arch", "amd64", "--os", "linux", &container]);
        buildah(&["commit", "-q", &container, level]);
        let add = ["manifest", "add", "--arch", "amd64", "--os", "linux"];
        let image = format!("containers-storage:localhost/{level}");
        buildah(&[&add[..], platform, &["app", &image]].concat());
    }
    let archive = scratch.join("image.tar");
    buildah(&["manifest", "push", "-q", "--all", "app", &format!("oci-archive:{}:app", archive.display())]);
    assert_swapped(&archive);
}
