//! What is started, and what it is given.

use crate::tree::{Tree, complaints, fields, table};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::process::Command;

const X86_64: [&str; 4] = ["x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4"];

#[test]
fn each_cpu_gets_the_highest_level_that_it_runs() {
    let tree = Tree::new("qemu", &X86_64);
    for (cpu, level) in [("Nehalem", 1), ("IvyBridge", 1), ("Haswell", 2), ("qemu64", 0)] {
        let output = tree.on("qemu-x86_64", cpu, &[]);
        assert_eq!(fields(&output)[0], X86_64[level], "{cpu}");
        assert_eq!(complaints(&output), Vec::<String>::new(), "{cpu}");
    }
}

#[test]
fn each_arm_cpu_gets_the_highest_level_that_it_runs() {
    let tree = Tree::new("arm", &["armv8.0-a", "armv8.1-a", "armv8.2-a"]);
    for (cpu, level) in [("cortex-a53", "armv8.0-a"), ("neoverse-n1", "armv8.2-a"), ("max", "armv8.2-a")] {
        let output = tree.on("qemu-aarch64", cpu, &[("DEBURR_EXPLAIN", "exit")]);
        let lines = complaints(&output);
        assert_eq!(output.status.code(), Some(0), "{cpu}: {lines:?}");
        assert!(lines.last().unwrap().ends_with(&format!("bin/../bin-{level}/prog")), "{cpu}: {lines:?}");
        if cpu == "cortex-a53" {
            assert!(lines[0].contains("armv8.2-a does not run here: lacks") && lines[0].contains("FEAT_LSE"));
        }
    }
}

#[test]
fn the_order_given_does_not_matter() {
    let tree = Tree::new("order", &["x86-64-v1", "x86-64-v3", "x86-64-v2"]);
    assert_eq!(fields(&tree.on("qemu-x86_64", "Haswell", &[]))[0], "x86-64-v3");
    assert_eq!(fields(&tree.on("qemu-x86_64", "Nehalem", &[]))[0], "x86-64-v2");
}

#[test]
fn a_cpu_model_may_prefer_a_lower_level() {
    // Of qemu's Haswell: EAX of CPUID leaf 1 is 0x306c4, and the maker is GenuineIntel.
    let mut table = table(&X86_64);
    table.models = vec![deburr_launcher::Model {
        maker: u32::from_le_bytes(*b"Genu"),
        signature: 0x306c4 & 0x0fff_3ff0,
        levels: vec!["x86-64-v2".into(), "x86-64-v4".into()],
    }];
    let tree = Tree::with("model", &table);
    assert_eq!(fields(&tree.on("qemu-x86_64", "Haswell", &[]))[0], "x86-64-v2");
    // Another model, with AVX2 too.
    assert_eq!(fields(&tree.on("qemu-x86_64", "Broadwell", &[]))[0], "x86-64-v3");
    // What the model prefers is not there: the next one of the table.
    fs::remove_file(tree.variant("x86-64-v2")).unwrap();
    assert_eq!(fields(&tree.on("qemu-x86_64", "Haswell", &[]))[0], "x86-64-v3");
}

#[test]
fn name_arguments_environment_and_descriptors_are_kept() {
    let tree = Tree::new("kept", &["x86-64-v1"]);
    let output = Command::new(tree.launcher())
        .arg0("another name")
        .args(["one", ""])
        .env_clear()
        .env("SEEN", "x=y")
        .output()
        .unwrap();
    let file = fs::canonicalize(tree.variant("x86-64-v1")).unwrap();
    assert_eq!(fields(&output), ["x86-64-v1", "another name", file.to_str().unwrap(), "3", "x=y"]);
    // The standard streams, the folder that ls reads, and the one that is open here and inherited.
    let listed = |program: &std::path::Path| {
        let list = format!("exec 9</; exec {} /proc/self/fd", program.display());
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", &list]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    fs::copy("/bin/ls", tree.variant("x86-64-v1")).unwrap();
    assert_eq!(listed(&tree.launcher()), listed("/bin/ls".as_ref()));
    assert!(listed(&tree.launcher()).contains('9'));
}

#[test]
fn links_and_relative_names_lead_to_the_tree() {
    let tree = Tree::new("links", &["x86-64-v1"]);
    fs::create_dir_all(tree.folder.join("else/where")).unwrap();
    symlink("../../bin/prog", tree.folder.join("else/where/first")).unwrap();
    symlink("where/first", tree.folder.join("else/second")).unwrap();
    for (folder, name) in
        [("else", "./second"), ("else/where", "./first"), ("bin", "./prog"), (".", "bin/prog")]
    {
        let output = Command::new(name).current_dir(tree.folder.join(folder)).output().unwrap();
        assert_eq!(fields(&output)[..2], ["x86-64-v1".to_owned(), name.to_owned()]);
    }
}

#[test]
fn folders_that_are_links_and_long_links_lead_to_the_tree() {
    let tree = Tree::new("folder-links", &["x86-64-v1"]);
    symlink("bin", tree.folder.join("programs")).unwrap();
    // Longer than what the launcher reads of a link at once.
    let detour = "./".repeat(700);
    symlink(format!("{detour}bin/prog"), tree.folder.join("long")).unwrap();
    for name in ["./programs/prog", "./long"] {
        let output = Command::new(name).current_dir(tree.folder.join(".")).output().unwrap();
        assert_eq!(fields(&output)[0], "x86-64-v1", "{name}");
    }
}

#[test]
fn a_launcher_that_is_executed_by_its_descriptor_finds_the_tree() {
    let tree = Tree::new("descriptor", &["x86-64-v1"]);
    // Python opens with O_CLOEXEC: /dev/fd/N, by which the file was executed, is then gone.
    for is_inherited in ["True", "False"] {
        let script = format!(
            "import os, sys; file = os.open(sys.argv[1], os.O_RDONLY); os.set_inheritable(file, {is_inherited}); \
             os.execve(file, ['prog'], os.environ)"
        );
        let output = Command::new("python3").args(["-c", &script]).arg(tree.launcher()).output().unwrap();
        assert_eq!(fields(&output)[..2], ["x86-64-v1".to_owned(), "prog".to_owned()], "{is_inherited}");
    }
}

#[test]
fn the_tree_moves_as_a_whole() {
    let tree = Tree::new("moves", &["x86-64-v1"]);
    let moved = tree.folder.join("new place/with 'quotes'");
    fs::create_dir_all(&moved).unwrap();
    for folder in ["bin", "bin-x86-64-v1"] {
        fs::rename(tree.folder.join(folder), moved.join(folder)).unwrap();
    }
    assert_eq!(fields(&Command::new(moved.join("bin/prog")).output().unwrap())[0], "x86-64-v1");
}

#[test]
fn the_environment_overrides_and_explains() {
    let tree = Tree::new("override", &X86_64);
    assert_eq!(fields(&tree.run(&[("DEBURR_LEVEL", "x86-64-v2")]))[0], "x86-64-v2");
    assert_eq!(fields(&tree.on("qemu-x86_64", "Haswell", &[("DEBURR_LEVEL", "")]))[0], "x86-64-v3");
    let explained = tree.on("qemu-x86_64", "Haswell", &[("DEBURR_EXPLAIN", "1")]);
    assert_eq!(fields(&explained)[0], "x86-64-v3");
    let name = tree.launcher().display().to_string();
    assert_eq!(
        complaints(&explained),
        [
            format!(
                "{name}: x86-64-v4 does not run here: lacks AVX512F, AVX512DQ, AVX512CD, AVX512BW, AVX512VL, register \
                 state that the operating system has not switched on"
            ),
            format!("{name}: x86-64-v3 runs here"),
            format!("{name}: x86-64-v2 runs here"),
            format!("{name}: x86-64-v1 runs here"),
            format!("{name}: starts {}/../bin-x86-64-v3/prog", tree.launcher().parent().unwrap().display()),
        ]
    );
    assert_eq!(complaints(&tree.run(&[("DEBURR_EXPLAIN", "0")])), Vec::<String>::new());
    let only = tree.run(&[("DEBURR_EXPLAIN", "exit")]);
    assert_eq!((only.status.code(), only.stdout.len()), (Some(0), 0));
}

#[test]
fn a_stripped_launcher_still_has_its_table() {
    let tree = Tree::new("stripped", &["x86-64-v1"]);
    let strip = Command::new("strip").arg(tree.launcher()).output().unwrap();
    assert!(strip.status.success(), "{strip:?}");
    assert_eq!(fields(&tree.run(&[]))[0], "x86-64-v1");
    assert!(deburr_launcher::is_launcher(&fs::read(tree.launcher()).unwrap()));
}

#[test]
fn exactly_four_cpuids_are_executed() {
    let tree = Tree::new("cpuids", &["x86-64-v1"]);
    let output = Command::new("objdump").arg("-d").arg(tree.launcher()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches("\tcpuid").count(), 4);
    assert_eq!(text.matches("\txgetbv").count(), 1);
}
