//! `deburr pack oci` as a user meets it. What is written is read by Python's library, which shares nothing with deburr.

mod base;

use crate::{deburr, stderr, stdout};
use deburr_test_support::Scratch;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

/// One function, which the program calls: compilers cannot know what it does.
const PROGRAM: &str = "
    #include <stdlib.h>
    __attribute__((noipa)) double sum(const double *a, int n) {
        double all = 0;
        for (int i = 0; i < n; i++) all += a[i] * a[i];
        return all;
    }
    int main(int count, char **arguments) { double a[64] = {1}; return (int)sum(a, 8 + 0 * count) + arguments[0][0] * 0; }";

fn compile(scratch: &Scratch, march: &str, to: &Path) {
    let input = scratch.file("program.c", PROGRAM.as_bytes());
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-O3", "-ffast-math", &format!("-march={march}"), "-o"]).arg(to);
    assert!(gcc.arg(input).status().unwrap().success());
}

/// A tree with one of everything.
fn tree(scratch: &Scratch, name: &str, march: &str) -> String {
    let root = scratch.join(name);
    compile(scratch, march, &root.join("usr/bin/prog"));
    symlink("prog", root.join("usr/bin/link")).unwrap();
    let deep = root.join("usr").join("a-folder-with-a-long-name-".repeat(5)).join("b".repeat(120));
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::write(deep.join("data"), b"data").unwrap();
    std::fs::hard_link(root.join("usr/bin/prog"), root.join("usr/hard")).unwrap();
    std::fs::write(root.join("usr/private"), b"").unwrap();
    std::fs::set_permissions(root.join("usr/private"), PermissionsExt::from_mode(0o4640)).unwrap();
    root.to_str().unwrap().to_owned()
}

fn oci(arguments: &[&str]) -> Output {
    deburr(&[&["pack", "oci"], arguments].concat())
}

/// Reads a layout with Python.
fn read(layout: &str) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/pack/oci/read_layout.py");
    let output = Command::new("python3").arg(script).arg(layout).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn sha256(path: &str) -> String {
    Sha256::digest(std::fs::read(path).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn assert_refused(output: &Output, layout: &str, reason: &str) {
    assert_eq!(output.status.code(), Some(2), "{}", stdout(output));
    assert!(stderr(output).contains(reason), "{}", stderr(output));
    let layout = Path::new(layout);
    let folder = layout.parent().unwrap();
    let left: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let is_part = |name: &std::ffi::OsString| name.to_string_lossy().ends_with(".new");
    assert!(!left.iter().any(is_part), "{left:?}");
}

#[test]
fn image_of_several_levels_is_read_by_another_program() {
    let scratch = Scratch::new("pack-oci");
    let (low, high) = (tree(&scratch, "low", "x86-64"), tree(&scratch, "high", "x86-64-v3"));
    let layout = scratch.join("layout").to_str().unwrap().to_owned();
    let variants = [format!("--variant=x86-64-v3={high}"), format!("--variant=x86-64-v1={low}")];
    let settings = ["--tag", "1.2", "--entrypoint", "/usr/bin/prog", "--entrypoint=-x", "--env", "A=b=c"];
    let arguments = [&[variants[0].as_str(), &variants[1]], &settings[..]].concat();
    let output = oci(&[&arguments[..], &["-o", &layout, "--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["images"][1]["platform"], &report["notes"]), (&json!("linux/amd64/v3"), &json!([])));

    let found = read(&layout);
    assert_eq!(found["name"], "1.2");
    let platforms: Vec<_> =
        found["images"].as_array().unwrap().iter().map(|image| image["platform"].clone()).collect();
    assert_eq!(
        platforms,
        [
            json!({ "architecture": "amd64", "os": "linux" }),
            json!({ "architecture": "amd64", "os": "linux", "variant": "v3" })
        ]
    );
    for (image, tree) in found["images"].as_array().unwrap().iter().zip([&low, &high]) {
        assert_eq!(image["config"], json!({ "Entrypoint": ["/usr/bin/prog", "-x"], "Env": ["A=b=c"] }));
        let layer = &image["layers"][0];
        assert_eq!(layer["files"]["usr/bin/prog"], sha256(&format!("{tree}/usr/bin/prog")));
        assert_eq!(
            layer["entries"]["usr/hard"],
            json!({ "type": "1", "mode": 0o755, "owner": [0, 0], "time": 0, "link": "usr/bin/prog" })
        );
        assert_eq!(
            layer["entries"]["usr/bin/link"],
            json!({ "type": "2", "mode": 0o777, "owner": [0, 0], "time": 0, "link": "prog" })
        );
        assert_eq!(
            layer["entries"]["usr/private"],
            json!({ "type": "0", "mode": 0o4640, "owner": [0, 0], "time": 0 })
        );
        let deep = format!("usr/{}/{}/data", "a-folder-with-a-long-name-".repeat(5), "b".repeat(120));
        assert_eq!(
            layer["files"][deep],
            Sha256::digest(b"data").iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        );
        assert_eq!(layer["names"].as_array().unwrap().len(), 9);
    }
    let check = deburr(&["check", "--format", "json", &layout]);
    let check: Value = serde_json::from_slice(&check.stdout).unwrap();
    let levels: Vec<_> =
        check["files"].as_array().unwrap().iter().map(|file| file["level"].clone()).collect();
    assert_eq!(levels, ["x86-64-v1", "x86-64-v3"]);

    // The same trees at another place and time, in another order.
    let copy = scratch.join("copy").to_str().unwrap().to_owned();
    assert!(
        Command::new("cp").args(["-r", "--preserve=mode,links", &high, &copy]).status().unwrap().success()
    );
    let variants = [format!("--variant=x86-64-v1={low}"), format!("--variant=x86-64-v3={copy}")];
    let again = scratch.join("again").to_str().unwrap().to_owned();
    let arguments = [&[variants[0].as_str(), &variants[1]], &settings[..], &["-o", &again]].concat();
    assert_eq!(oci(&arguments).status.code(), Some(0));
    assert!(Command::new("diff").args(["-r", &layout, &again]).status().unwrap().success());
    assert_refused(&oci(&arguments), &again, "expected a folder that is empty or does not exist");
}

#[test]
fn base_is_below_the_layer_of_each_level() {
    let scratch = Scratch::new("pack-oci-base");
    let (low, high) = (tree(&scratch, "low", "x86-64"), tree(&scratch, "high", "x86-64-v3"));
    let ground = scratch.join("ground");
    std::fs::create_dir_all(ground.join("usr/lib")).unwrap();
    symlink("usr/lib", ground.join("lib")).unwrap();
    let base = scratch.join("base").to_str().unwrap().to_owned();
    let ground = format!("--variant=x86-64-v1={}", ground.display());
    let made = oci(&[&ground, "--env", "A=1", "--env", "B=2", "--entrypoint", "/bin/sh", "-o", &base]);
    assert!(stdout(&made).contains("holds no program"), "{}", stderr(&made));
    let archive = scratch.join("base.tar").to_str().unwrap().to_owned();
    let tar = ["-C", &base, "-cf", &archive, "oci-layout", "index.json", "blobs"];
    assert!(Command::new("tar").args(tar).status().unwrap().success());

    let variants = [format!("--variant=x86-64-v3={high}"), format!("--variant=x86-64-v1={low}")];
    let mut digests = Vec::new();
    for from in [&base, &archive] {
        let layout = scratch.join("layout").to_str().unwrap().to_owned();
        let arguments = [&variants[0], &variants[1], "--base", from, "--env", "A=3", "-o", &layout];
        let output = oci(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let found = read(&layout);
        for image in found["images"].as_array().unwrap() {
            assert_eq!(image["layers"].as_array().unwrap().len(), 2);
            assert_eq!(image["layers"][0]["entries"]["lib"]["link"], "usr/lib");
            assert_eq!(image["config"], json!({ "Entrypoint": ["/bin/sh"], "Env": ["B=2", "A=3"] }));
            assert_eq!(image["history"].as_array().unwrap().len(), 2);
        }
        digests.push(stdout(&output));
        std::fs::remove_dir_all(&layout).unwrap();
    }
    assert_eq!(digests[0], digests[1]);

    let layout = scratch.join("none").to_str().unwrap().to_owned();
    let refused = |base: &str, reason: &str| {
        assert_refused(&oci(&[&variants[0], "--base", base, "-o", &layout]), &layout, reason);
    };
    std::fs::create_dir(Path::new(&high).join("lib")).unwrap();
    refused(&base, "lib: it is a link in the base");
    std::fs::remove_dir(Path::new(&high).join("lib")).unwrap();
    refused(&low, "expected an OCI image layout");
    refused(&scratch.file("no.tar", b"none"), "expected an OCI image layout");
    refused("/nonexistent/base", "/nonexistent/base: No such file");
    // A base of a level above the variant's runs on no machine that the variant promises to run on.
    let above = scratch.join("above").to_str().unwrap().to_owned();
    assert_eq!(oci(&[&format!("--variant=x86-64-v4={high}"), "-o", &above]).status.code(), Some(0));
    refused(&above, "it has images for linux/amd64/v4");
    let blobs = Path::new(&base).join("blobs/sha256");
    for blob in std::fs::read_dir(blobs).unwrap() {
        std::fs::write(blob.unwrap().path(), b"{}").unwrap();
    }
    refused(&base, "the blob is not what its digest and size say");
}

#[test]
fn variant_that_is_not_what_its_level_says_is_refused() {
    let scratch = Scratch::new("pack-oci-refused");
    let high = tree(&scratch, "high", "x86-64-v3");
    let layout = scratch.join("layout").to_str().unwrap().to_owned();
    let refused = |level: &str, reason: &str| {
        assert_refused(&oci(&[&format!("--variant={level}={high}"), "-o", &layout]), &layout, reason);
        assert!(!Path::new(&layout).exists());
    };
    refused("x86-64-v1", "usr/bin/prog: sum at 0x");
    refused("armv8.1-a", "is for x86_64, not for armv8.1-a");
    refused("x86-64-v3+avx512f", "expected a level, such as x86-64-v1");
    refused("x86-64-v9", "`deburr cpu` lists the names");
    std::fs::write(Path::new(&high).join("usr/.wh.data"), b"").unwrap();
    refused("x86-64-v3", "a name that begins with .wh. deletes files");
    let twice = [format!("--variant=x86-64-v3={high}"), format!("--variant=x86-64-v3={high}/usr/bin")];
    assert_refused(&oci(&[&twice[0], "-o", &layout]), &layout, ".wh.");
    std::fs::remove_file(Path::new(&high).join("usr/.wh.data")).unwrap();
    assert_refused(&oci(&[&twice[0], &twice[1], "-o", &layout]), &layout, "are the same platform");
    let one = format!("--variant=x86-64-v4={high}");
    assert_refused(&oci(&[&twice[0], &one, "-o", &layout]), &layout, "expected a tree for each level");
    assert_refused(
        &oci(&["--variant=x86-64-v3=/nonexistent/tree", "-o", &layout]),
        &layout,
        "/nonexistent/tree",
    );
    assert_refused(&oci(&["--variant=x86-64-v3", "-o", &layout]), &layout, "expected LEVEL=TREE");
    assert_refused(&oci(&[&twice[0], "--env", "=1", "-o", &layout]), &layout, "expected NAME=VALUE");
    assert_refused(&oci(&[&twice[0], "--tag", "a b", "-o", &layout]), &layout, "expected letters and digits");
    assert_eq!(oci(&["-o", &layout]).status.code(), Some(2));
    let dated = |time: &str, to: &str| {
        let mut command = Command::new(crate::program());
        command.args(["pack", "oci", &twice[0], "-o", to]).env("SOURCE_DATE_EPOCH", time).output().unwrap()
    };
    assert_refused(&dated("today", &layout), &layout, "expected a number of seconds");
    let output = dated("1700000000", &layout);
    assert!(stdout(&output).contains("no image is for plain linux/amd64"), "{}", stderr(&output));
    assert_eq!(read(&layout)["images"][0]["layers"][0]["entries"]["usr"]["time"], 1_700_000_000);
}

#[test]
fn layout_that_cannot_be_written_whole_is_not_there() {
    let scratch = Scratch::new("pack-oci-full");
    let low = tree(&scratch, "low", "x86-64");
    let layout = scratch.join("layout").to_str().unwrap().to_owned();
    // A file may have 1 KiB: the layer has more.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$@\"";
    let variant = format!("--variant=x86-64-v1={low}");
    let output = Command::new("bash")
        .args(["-c", script, "bash", crate::program(), "pack", "oci", &variant, "-o", &layout])
        .output()
        .unwrap();
    assert_refused(&output, &layout, "File too large");
    assert!(!Path::new(&layout).exists());
}
