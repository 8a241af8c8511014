//! Build stage: a target → the flags with which each family of compilers builds for it.
//!
//! In: a [`Target`]. Out: options of GCC and Clang ("x86 Options", "AArch64 Options"), of rustc ("Codegen Options"), and
//! Go's `GOAMD64` or `GOARM64` (cmd/go, "Environment variables"). Whether a compiler knows them is tried by the caller.

use deburr_cpu::{Arch, Target, cpu_named, level_named, levels};

/// The names by which compilers may know the level or CPU, the likeliest first: a compiler may be older than a name, or have another
/// one than this program (`zen4` is GCC's and Clang's `znver4`, `bulldozer` their `bdver1`).
pub(super) fn spellings(target: &Target) -> Vec<String> {
    let (base, _) = parts(target);
    let of_compilers = |name: &str| match target.arch {
        Arch::X86_64 => x86_name(name),
        Arch::Aarch64 => name.to_owned(),
    };
    let mut names = vec![of_compilers(base)];
    for name in
        cpu_named(base).into_iter().flat_map(|cpu| [cpu.name].into_iter().chain(cpu.aliases.iter().copied()))
    {
        let name = of_compilers(name);
        if level_named(base).is_none() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The features that a driver of GCC or Clang compiles for, as the names of `-m` options, by what it prints for `-dM -E`.
pub(super) fn features_of_driver(macros: &str) -> impl Iterator<Item = String> {
    macros.lines().filter_map(|line| {
        let name = line.strip_prefix("#define __")?.strip_suffix("__ 1")?;
        (!name.contains('_')).then(|| name.to_ascii_lowercase())
    })
}

/// The features that rustc compiles for, by what it prints for `--print cfg`.
pub(super) fn features_of_rustc(configuration: &str) -> impl Iterator<Item = String> {
    let features = configuration.lines();
    features.filter_map(|line| Some(line.strip_prefix("target_feature=\"")?.strip_suffix('"')?.to_owned()))
}

/// Which features of a compiler's own model of a CPU are beyond the target's. Some of a CPU's makes lack a feature that a compiler
/// takes for granted, and code within `#ifdef __AES__` would need it.
pub(super) fn beyond(target: &Target, features: impl Iterator<Item = String>) -> Vec<String> {
    let is_cpu = target.arch == Arch::X86_64 && target.cpu().is_some();
    let Some(first) = levels(target.arch).first().map(|level| level.name).filter(|_| is_cpu) else {
        return Vec::new();
    };
    let is_beyond = |name: &String| {
        Target::parse(&format!("{first}+{name}")).is_ok_and(|with| !with.features.is_subset(target.features))
    };
    features.filter(is_beyond).collect()
}

/// The options of GCC and Clang, which know the level or CPU by this name.
pub(super) fn c_family(target: &Target, name: &str) -> Vec<String> {
    let (base, suffixes) = parts(target);
    match target.arch {
        Arch::X86_64 => {
            let mut flags = vec![format!("-march={name}")];
            flags.extend(suffixes.map(|suffix| match removed(target.arch, suffix) {
                Some(name) => format!("-mno-{name}"),
                None => format!("-m{suffix}"),
            }));
            flags
        }
        Arch::Aarch64 => {
            let option = if level_named(base).is_some() { "-march" } else { "-mcpu" };
            let mut flag = format!("{option}={}", name.replace(".0-a", "-a"));
            suffixes.for_each(|suffix| {
                flag.push('+');
                flag.push_str(suffix);
            });
            vec![flag]
        }
    }
}

/// The options of rustc, which knows the level or CPU by this name.
pub(super) fn rustc(target: &Target, name: &str) -> Vec<String> {
    let (base, suffixes) = parts(target);
    let mut flags = Vec::new();
    match (target.arch, base.strip_prefix("armv").filter(|_| level_named(base).is_some())) {
        (Arch::X86_64, _) => flags.push(format!("-Ctarget-cpu={name}")),
        (Arch::Aarch64, Some("8.0-a")) => {}
        (Arch::Aarch64, Some(version)) => {
            let version = version.replace(".0-a", "a").replace("-a", "a");
            flags.push(format!("-Ctarget-feature=+v{version}"));
        }
        (Arch::Aarch64, None) => flags.push(format!("-Ctarget-cpu={name}")),
    }
    flags.extend(suffixes.map(|suffix| match removed(target.arch, suffix) {
        Some(name) => format!("-Ctarget-feature=-{name}"),
        None => format!("-Ctarget-feature=+{suffix}"),
    }));
    flags
}

/// How Go gets its level.
pub(super) struct GoLevel {
    /// The variable.
    pub(super) variable: &'static str,
    /// Its value.
    pub(super) value: String,
    /// The value that a Go has that does not know the variable.
    pub(super) default: &'static str,
    /// The minor version of Go 1 that is the first to know it (Go 1.18 and Go 1.23 Release Notes, "Ports").
    pub(super) since: u32,
}

/// Go's variable and value: the largest level within the target, and LSE where Go can have it alone.
pub(super) fn go(target: &Target) -> GoLevel {
    let within = levels(target.arch).iter().rfind(|level| level.features.is_subset(target.features));
    let name = within.map_or("", |level| level.name);
    match target.arch {
        Arch::X86_64 => {
            let value = name.strip_prefix("x86-64-").unwrap_or("v1").to_owned();
            GoLevel { variable: "GOAMD64", value, default: "v1", since: 18 }
        }
        Arch::Aarch64 => {
            let version = name.strip_prefix("arm").and_then(|rest| rest.strip_suffix("-a")).unwrap_or("v8.0");
            let has_lse = version == "v8.0" && target.features.contains(deburr_cpu::Feature::FEAT_LSE);
            let value = format!("{version}{}", if has_lse { ",lse" } else { "" });
            GoLevel { variable: "GOARM64", value, default: "v8.0", since: 23 }
        }
    }
}

/// What the linker is to state of the result in its property note; psABI levels only.
pub(super) fn stated_level(target: &Target) -> Option<String> {
    let level = level_named(&target.name).filter(|level| level.arch == Arch::X86_64)?;
    // Every CPU has the first one, and ld 2.40 aborts when it is to state that (`-z x86-64-baseline`).
    (level.name != "x86-64-v1").then(|| format!("-Wl,-z,{}", level.name))
}

/// The level or core, and the suffixes without their plus signs. Compilers know a machine by its core.
fn parts(target: &Target) -> (&str, impl Iterator<Item = &str>) {
    let mut parts = target.name.split('+');
    let base = parts.next().unwrap_or_default();
    (target.cpu().unwrap_or(base), parts)
}

/// The feature that a suffix takes away. A feature may begin with "no" itself, so the whole suffix is read first.
fn removed(arch: Arch, suffix: &str) -> Option<&str> {
    let level = levels(arch).first()?.name;
    let added = Target::parse(&format!("{level}+{suffix}")).ok()?;
    let first = Target::parse(level).ok()?;
    let rest = suffix.strip_prefix("no")?;
    (added.features.is_subset(first.features)).then_some(rest)
}

/// The compilers' name of a level or CPU.
fn x86_name(name: &str) -> String {
    match name {
        "x86-64-v1" => String::from("x86-64"),
        zen if zen.starts_with("zen") => {
            format!("znver{}", if zen.len() == 3 { "1" } else { zen.get(3..).unwrap_or("1") })
        }
        name => name.replace('_', "-"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(name: &str) -> Target {
        Target::parse(name).unwrap()
    }

    #[test]
    fn levels_and_suffixes_become_the_flags_of_each_family() {
        for (name, c, rust, go_value) in [
            ("x86-64-v1", vec!["-march=x86-64"], vec!["-Ctarget-cpu=x86-64"], "v1"),
            ("x86-64-v3", vec!["-march=x86-64-v3"], vec!["-Ctarget-cpu=x86-64-v3"], "v3"),
            ("haswell", vec!["-march=haswell"], vec!["-Ctarget-cpu=haswell"], "v3"),
            (
                "x86-64-v2+avx",
                vec!["-march=x86-64-v2", "-mavx"],
                vec!["-Ctarget-cpu=x86-64-v2", "-Ctarget-feature=+avx"],
                "v2",
            ),
            (
                "x86-64-v3+nofma",
                vec!["-march=x86-64-v3", "-mno-fma"],
                vec!["-Ctarget-cpu=x86-64-v3", "-Ctarget-feature=-fma"],
                "v2",
            ),
            ("armv8-a", vec!["-march=armv8-a"], vec![], "v8.0"),
            ("armv8-a+lse", vec!["-march=armv8-a+lse"], vec!["-Ctarget-feature=+lse"], "v8.0,lse"),
            ("armv8.1-a", vec!["-march=armv8.1-a"], vec!["-Ctarget-feature=+v8.1a"], "v8.1"),
            ("armv9-a", vec!["-march=armv9-a"], vec!["-Ctarget-feature=+v9a"], "v9.0"),
            ("neoverse-n1", vec!["-mcpu=neoverse-n1"], vec!["-Ctarget-cpu=neoverse-n1"], "v8.2"),
            ("graviton2", vec!["-mcpu=neoverse-n1"], vec!["-Ctarget-cpu=neoverse-n1"], "v8.2"),
        ] {
            let target = target(name);
            let called = &spellings(&target)[0];
            assert_eq!(c_family(&target, called), c, "{name}");
            assert_eq!(rustc(&target, called), rust, "{name}");
            assert_eq!(go(&target).value, go_value, "{name}");
        }
    }

    #[test]
    fn a_cpu_has_the_names_of_all_compilers_and_a_level_has_one() {
        for (name, expected) in [("zen4", "znver4"), ("bulldozer", "bdver1"), ("graviton2", "neoverse-n1")] {
            assert!(
                spellings(&target(name)).iter().any(|it| it == expected),
                "{:?}",
                spellings(&target(name))
            );
        }
        assert_eq!(spellings(&target("x86-64-v3")), ["x86-64-v3"]);
        assert_eq!(spellings(&target("armv8.1-a")), ["armv8.1-a"]);
    }

    #[test]
    fn what_a_compiler_s_model_has_beyond_the_target_is_named() {
        let macros = "#define __AES__ 1\n#define __AVX2__ 1\n#define __SSE4_1__ 1\n#define __linux__ 1\n#define __SHA__ 1\n";
        let found = |name: &str| beyond(&target(name), features_of_driver(macros));
        assert_eq!(found("haswell"), ["aes", "sha"]);
        assert_eq!(found("haswell+aes"), ["sha"]);
        assert_eq!(found("zen"), Vec::<String>::new());
        // The flag of a level says what the level is.
        assert_eq!(found("x86-64-v2"), Vec::<String>::new());
        let configuration =
            "target_arch=\"x86_64\"\ntarget_feature=\"aes\"\ntarget_feature=\"sse4.1\"\nunix\n";
        assert_eq!(beyond(&target("haswell"), features_of_rustc(configuration)), ["aes"]);
    }

    #[test]
    fn only_levels_of_the_psabi_are_stated_to_the_linker() {
        assert_eq!(stated_level(&target("x86-64-v1")), None);
        assert_eq!(stated_level(&target("x86-64-v3")).as_deref(), Some("-Wl,-z,x86-64-v3"));
        assert_eq!(stated_level(&target("haswell")), None);
        assert_eq!(stated_level(&target("armv8.1-a")), None);
    }
}
