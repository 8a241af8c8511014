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
        assert_eq!(output.status.code(), Some(125), "{cpu}: {lines:?}");
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
    // Whoever trusts a program's exit status must not take what did not run for a success.
    assert_eq!((only.status.code(), only.stdout.len()), (Some(125), 0));
}

#[test]
fn a_stripped_launcher_still_has_its_table() {
    let tree = Tree::new("stripped", &["x86-64-v1"]);
    let strip = Command::new("strip").arg(tree.launcher()).output().unwrap();
    assert!(strip.status.success(), "{strip:?}");
    assert_eq!(fields(&tree.run(&[]))[0], "x86-64-v1");
    assert!(deburr_launcher::is_launcher(&fs::read(tree.launcher()).unwrap()));
}

/// The instructions that qemu-user translates of the launcher, those that it executes among them, by their names.
fn translated(tree: &Tree, name: &str) -> usize {
    let log = tree.folder.join("translated");
    let mut command = Command::new("qemu-x86_64");
    command.args(["-cpu", "max", "-d", "in_asm", "-D"]).arg(&log).arg(tree.launcher());
    let output = command.env("DEBURR_EXPLAIN", "exit").output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    let text = fs::read_to_string(log).unwrap();
    text.lines().filter(|line| line.split_whitespace().any(|word| word == name)).count()
}

#[test]
fn a_level_takes_three_cpuids_and_what_few_cpus_have_takes_more() {
    let tree = Tree::new("cpuids", &X86_64);
    assert_eq!((translated(&tree, "cpuid"), translated(&tree, "xgetbv")), (3, 1));
    let mut table = table(&X86_64);
    table.variants[3].features = table.variants[3].features.with(deburr_cpu::Feature::AVX_VNNI);
    let tree = Tree::with("more-cpuids", &table);
    assert!((4..=8).contains(&translated(&tree, "cpuid")));
}

#[test]
fn in_a_tree_of_its_own_a_program_is_called_by_the_path_of_its_variant() {
    let mut table = table(&["x86-64-v1", "x86-64-v2"]);
    table.is_own_tree = true;
    table.variants[1].marker = Some("../x86-64-v2_whole".into());
    let tree = Tree::with("own-tree", &table);
    fs::create_dir_all(tree.folder.join("else")).unwrap();
    symlink("../bin/prog", tree.folder.join("else/other")).unwrap();
    let called = |name: &str, program: &str| {
        let output = Command::new(tree.folder.join(program)).arg0(name).output().unwrap();
        fields(&output)[..2].to_vec()
    };
    // The tree of the higher one is not whole.
    let low = tree.folder.join("bin-x86-64-v1/prog").display().to_string();
    assert_eq!(called("prog", "bin/prog"), ["x86-64-v1", &low]);
    fs::write(tree.folder.join("x86-64-v2_whole"), "").unwrap();
    let high = tree.folder.join("bin-x86-64-v2").display().to_string();
    assert_eq!(called("prog", "bin/prog"), ["x86-64-v2", &format!("{high}/prog")]);
    assert_eq!(called("./some/where/name", "bin/prog")[1], format!("{high}/name"));
    let through_a_link = format!("{}/../bin-x86-64-v2/other", tree.folder.join("else").display());
    assert_eq!(called("other", "else/other")[1], through_a_link);
    // A login shell knows itself by the hyphen; a caller may give no name, and a folder is none.
    for name in ["-sh", "", "x/"] {
        assert_eq!(called(name, "bin/prog")[1], name);
    }
}
