//! `deburr pack wheel` as a user meets it. What is written is read by Python's library, which shares nothing with deburr.

mod elsewhere;
mod refused;

use crate::{deburr, stderr, stdout};
use deburr_test_support::{Scratch, schema_faults};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A loop that each level compiles in its own way, and with `NEEDS_AVX2` a function that needs more than the first.
const KERNEL: &str = "
    float dot(const float *a, const float *b, int n) {
        float s = 0;
        for (int i = 0; i < n; i++) s += a[i] * b[i];
        return s;
    }
    #ifdef NEEDS_AVX2
    typedef int wide __attribute__((vector_size(32)));
    __attribute__((target(\"avx2\"))) void add(wide *a, const wide *b) { *a += *b; }
    #endif";
const SCALAR: &str = "int one(void) { return 1; }";

fn own(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/pack/wheel").join(name);
    path.to_str().unwrap().to_owned()
}

/// A folder with the kernel.
fn sources(scratch: &Scratch, kernel: &str) -> PathBuf {
    scratch.file("src/kernel.c", kernel.as_bytes());
    scratch.join("src")
}

/// `deburr pack wheel` in a folder, with the wheels next to it.
fn command(folder: &Path, options: &[&str], build: &[&str]) -> Command {
    let mut command = Command::new(crate::program());
    command.current_dir(folder).args(["pack", "wheel", "-o", "../wheelhouse"]).args(options);
    command.arg("--").args(build).env_remove("CC").env_remove("CXX").env_remove("SOURCE_DATE_EPOCH");
    command.stdin(Stdio::null());
    command
}

/// Builds with the script of these tests, which puts its wheel into `{out}`.
fn pack(folder: &Path, options: &[&str], build: &[&str]) -> Output {
    let script = own("make_wheel.py");
    command(folder, options, &[&["python3", &script, "{out}"], build].concat()).output().unwrap()
}

const LEVELS: [&str; 2] = ["--levels", "x86-64-v1,x86-64-v3"];

/// What is in a wheel, by Python.
fn read(wheel: &Path) -> Value {
    let output = Command::new("python3").arg(own("read_wheel.py")).arg(wheel).output().unwrap();
    assert!(output.status.success(), "{}: {}", wheel.display(), stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The names in the folder of the wheels, each with its bytes.
fn written(scratch: &Scratch) -> BTreeMap<String, Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(scratch.join("wheelhouse")) else { return BTreeMap::new() };
    let entries = entries.map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect()
}

fn names(scratch: &Scratch) -> Vec<String> {
    written(scratch).into_keys().collect()
}

fn index(scratch: &Scratch) -> Value {
    let path = scratch.join("wheelhouse/kernels-1.0-variants.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The form of both documents as PEP 825 states it, and PEP 850 what it adds.
fn metadata_schema(version: &str) -> Value {
    let list = |item: &str| json!({"type": "array", "minItems": 1, "uniqueItems": true, "items": {"type": "string", "pattern": item}});
    let named = |name: &str, inner: Value| json!({"type": "object", "patternProperties": {name: inner}, "additionalProperties": false});
    let features = named("^[a-z0-9_]+$", list("^[a-z0-9_.]+$"));
    let variants = named("^[a-z0-9_.]+$", named("^[a-z0-9_]+$", features));
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "$schema": {"const": format!("https://variants-schema.wheelnext.dev/peps/{version}.json")},
            "default-priorities": {
                "type": "object",
                "properties": {"namespace": list("^[a-z0-9_]+$")},
                "additionalProperties": false,
                "required": ["namespace"],
            },
            "variants": variants,
        },
        "required": ["$schema", "default-priorities", "variants"],
        "additionalProperties": false,
    });
    if version.starts_with("850/") {
        let mut provider = json!({"type": "object", "required": ["requires"], "additionalProperties": false});
        provider["properties"] = json!({"requires": {"type": "array", "minItems": 1}});
        schema["properties"]["providers"] = named("^[A-Za-z0-9_]+$", provider);
        schema["required"].as_array_mut().unwrap().push(json!("providers"));
    }
    schema
}

/// A Python with setuptools that makes wheels, as `scripts/install-tools` installs them.
fn setuptools() -> &'static str {
    let has = |python: &&str| {
        let script = "import setuptools, wheel";
        Command::new(python).args(["-c", script]).stderr(Stdio::null()).status().is_ok_and(|it| it.success())
    };
    let python = ["python3", "/usr/bin/python3"].into_iter().find(has);
    python.expect("a Python with setuptools and wheel: scripts/install-tools test")
}

#[test]
fn extension_module_of_setuptools_becomes_a_wheel_for_each_level() {
    let scratch = Scratch::new("pack-wheel");
    let module = format!(
        "#include <Python.h>\n{KERNEL}\nstatic struct PyModuleDef m = {{PyModuleDef_HEAD_INIT, \"kernel\", 0, -1, 0}};\n\
         PyMODINIT_FUNC PyInit_kernel(void) {{ return PyModule_Create(&m); }}\n"
    );
    let folder = sources(&scratch, &module);
    let setup = "from setuptools import Extension, setup\nflags = ['-O3', '-ffast-math']\n\
        setup(name='kernels', version='1.0', ext_modules=[Extension('kernel', ['kernel.c'], extra_compile_args=flags)])\n";
    scratch.file("src/setup.py", setup.as_bytes());
    let build = [setuptools(), "setup.py", "-q", "bdist_wheel", "-d", "{out}"];
    let options = [&LEVELS[..], &["--format", "json"]].concat();
    let output = command(&folder, &options, &build).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema: Value = serde_json::from_slice(&deburr(&["schema", "pack-wheel"]).stdout).unwrap();
    assert_eq!(schema_faults(&schema, &report), Vec::<String>::new());
    let of = |at: usize, key: &str| report["wheels"][at][key].clone();
    assert_eq!([0, 1, 2].map(|at| of(at, "label")), [json!("null"), Value::Null, json!("x86_64_v3")]);
    assert_eq!(of(2, "property"), "x86_64 :: level :: v3");

    let base = of(1, "file").as_str().unwrap().strip_suffix(".whl").unwrap().to_owned();
    let expected = [
        format!("{base}-null.whl"),
        format!("{base}-x86_64_v3.whl"),
        format!("{base}.whl"),
        "kernels-1.0-variants.json".to_owned(),
    ];
    assert_eq!(names(&scratch), expected);
    assert!(base.starts_with("kernels-1.0-cp3") && base.ends_with("-linux_x86_64"), "{base}");
    for (file, wide) in [(&expected[0], false), (&expected[1], true), (&expected[2], false)] {
        let wheel = scratch.join("wheelhouse").join(file);
        let inside = read(&wheel);
        let module =
            inside["names"].as_array().unwrap().iter().find(|name| name.as_str().unwrap().ends_with(".so"));
        let module = module.unwrap().as_str().unwrap();
        let unpacked = scratch.join(format!("unpacked-{file}"));
        let unzip = Command::new("python3").args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&unpacked).status();
        assert!(unzip.unwrap().success());
        let code = Command::new("objdump").arg("-d").arg(unpacked.join(module)).output().unwrap();
        assert_eq!(stdout(&code).contains("%ymm"), wide, "{file}");
    }
    // Each says of itself what its code needs.
    let wheels: Vec<String> =
        expected[..3].iter().map(|file| format!("{}/wheelhouse/{file}", scratch.as_str())).collect();
    let wheels: Vec<&str> = wheels.iter().map(String::as_str).collect();
    let checked = deburr(&[&["check", "--baseline", "claim"][..], &wheels].concat());
    assert_eq!(checked.status.code(), Some(0), "{}", stdout(&checked));
    assert!(stdout(&checked).contains("3 files run on the machines that they claim"), "{}", stdout(&checked));

    let before = written(&scratch);
    let again = command(&folder, &LEVELS, &build).output().unwrap();
    assert!(stderr(&again).contains("x86-64-v3: unchanged since it was built"), "{}", stderr(&again));
    assert_eq!(written(&scratch), before);
}

#[test]
fn metadata_follow_the_schema_that_they_name() {
    let scratch = Scratch::new("pack-wheel-schema");
    let folder = sources(&scratch, KERNEL);
    for (version, options) in [
        ("850/v0.2.0", &[][..]),
        ("825/v0.1.1", &["--schema", "0.1.1"]),
        ("850/v0.2.0", &["--schema", "0.2.0"]),
    ] {
        let _ = std::fs::remove_dir_all(scratch.join("wheelhouse"));
        let output = pack(&folder, &[&LEVELS, options].concat(), &[]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let schema = metadata_schema(version);
        let index = index(&scratch);
        assert_eq!(schema_faults(&schema, &index), Vec::<String>::new());
        let v3 = json!({"x86_64": {"level": ["v3"]}});
        assert_eq!(index["variants"], json!({"null": {}, "x86_64_v3": v3.clone()}));
        // The label of the name is the only one, and all else is as in the index.
        for (label, properties) in [("null", json!({})), ("x86_64_v3", v3)] {
            let file = format!("wheelhouse/kernels-1.0-cp311-cp311-linux_x86_64-{label}.whl");
            let mut expected = index.clone();
            expected["variants"] = json!({label: properties});
            assert_eq!(read(&scratch.join(file))["variant"], expected, "{label}");
        }
        let plain = read(&scratch.join("wheelhouse/kernels-1.0-cp311-cp311-linux_x86_64.whl"));
        assert_eq!(plain["variant"], Value::Null);
    }
}

#[test]
fn the_same_code_gives_the_same_bytes_whatever_the_order_and_time_of_the_build() {
    let scratch = Scratch::new("pack-wheel-same-bytes");
    let folder = sources(&scratch, KERNEL);
    let run = |options: &[&str]| {
        let output = pack(&folder, &[&LEVELS[..], options].concat(), &["script"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        written(&scratch)
    };
    let first = run(&[]);
    let wheel = read(&scratch.join("wheelhouse/kernels-1.0-cp311-cp311-linux_x86_64-x86_64_v3.whl"));
    assert_eq!(wheel["modes"]["kernels/run.sh"], 0o100_755);
    assert_eq!(wheel["modes"]["kernels/__init__.py"], 0o100_644);
    assert_eq!(wheel["times"], json!([[1980, 1, 1, 0, 0, 0]]));
    assert_eq!(wheel["descriptors"], false);
    assert_eq!(wheel["names"].as_array().unwrap().last().unwrap(), "kernels-1.0.dist-info/RECORD");
    assert_eq!(run(&["--fresh"]), first);

    let script = own("make_wheel.py");
    let build = ["python3", &script, "{out}", "script"];
    let dated = command(&folder, &LEVELS, &build).env("SOURCE_DATE_EPOCH", "1000000000").output().unwrap();
    assert_eq!(dated.status.code(), Some(0), "{}", stderr(&dated));
    let wheel = read(&scratch.join("wheelhouse/kernels-1.0-cp311-cp311-linux_x86_64.whl"));
    assert_eq!(wheel["times"], json!([[2001, 9, 9, 1, 46, 40]]));
}

#[test]
fn a_wheel_is_also_found_where_the_command_made_it() {
    let scratch = Scratch::new("pack-wheel-dist");
    let folder = sources(&scratch, KERNEL);
    // One that was there before is none that the command made.
    scratch.file("src/dist/old-1.0-py3-none-any.whl", b"old");
    let output = command(&folder, &LEVELS, &["python3", &own("make_wheel.py"), "dist"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(names(&scratch).len(), 4);
}

#[test]
fn a_level_with_the_code_of_one_below_is_left_out_unless_it_is_kept() {
    let scratch = Scratch::new("pack-wheel-same");
    let folder = sources(&scratch, SCALAR);
    let output = pack(&folder, &LEVELS, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(
        said.contains("x86-64-v3        left out: the same code as x86-64-v1; --keep keeps it"),
        "{said}"
    );
    assert_eq!(index(&scratch)["variants"], json!({"null": {}}));
    let kept = pack(&folder, &[&LEVELS[..], &["--keep"]].concat(), &[]);
    assert_eq!(kept.status.code(), Some(0), "{}", stderr(&kept));
    assert_eq!(names(&scratch).len(), 4);
}

#[test]
fn the_first_level_becomes_what_the_user_wants() {
    let scratch = Scratch::new("pack-wheel-fallback");
    let folder = sources(&scratch, KERNEL);
    let base = "kernels-1.0-cp311-cp311-linux_x86_64";
    for (kind, first) in [("null", format!("{base}-null.whl")), ("plain", format!("{base}.whl"))] {
        let _ = std::fs::remove_dir_all(scratch.join("wheelhouse"));
        let output = pack(&folder, &[&LEVELS[..], &["--fallback", kind]].concat(), &[]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let mut expected = [first, format!("{base}-x86_64_v3.whl"), "kernels-1.0-variants.json".to_owned()];
        expected.sort();
        assert_eq!(names(&scratch), expected, "{kind}");
        assert_eq!(index(&scratch)["variants"].get("null").is_some(), kind == "null");
    }
}

#[test]
fn wheels_for_aarch64_are_named_by_its_versions() {
    let scratch = Scratch::new("pack-wheel-arm64");
    let source = "#include <stdatomic.h>\nint cas(_Atomic int *p, int e) { return atomic_compare_exchange_strong(p, &e, 1); }\n";
    let folder = sources(&scratch, source);
    let options = ["--levels", "armv8-a,armv8.1-a"];
    let output = pack(&folder, &options, &["cc=aarch64-linux-gnu-gcc"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let base = "kernels-1.0-cp311-cp311-linux_aarch64";
    let expected = [
        format!("{base}-aarch64_8.1a.whl"),
        format!("{base}-null.whl"),
        format!("{base}.whl"),
        "kernels-1.0-variants.json".to_owned(),
    ];
    assert_eq!(names(&scratch), expected);
    assert_eq!(index(&scratch)["variants"]["aarch64_8.1a"], json!({"aarch64": {"version": ["8.1a"]}}));
}
