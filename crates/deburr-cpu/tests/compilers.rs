//! The table of CPUs against what the installed compilers print: gcc, gcc for AArch64, clang and rustc.
//!
//! Every CPU that one of them names is in the table or in `compilers.tsv` with the reason why not, and so is every feature of
//! which a compiler says something else.

#![cfg(feature = "names")]

use deburr_cpu::{Arch, Feature, FeatureSet, cpu_named, level_named};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use Feature::*;

/// What is known to differ: compiler, features with their signs, CPUs, reason.
const DIFFERENCES: &str = include_str!("compilers.tsv");

/// Predefined macros of gcc and clang (Arm C Language Extensions; gcc, "x86 Options").
const MACROS: &[(&str, &[Feature])] = &[
    ("__3dNOW_A__", &[D3NOWEXT]),
    ("__3dNOW__", &[D3NOW]),
    ("__ADX__", &[ADX]),
    ("__AES__", &[AES]),
    ("__AMX_BF16__", &[AMX_BF16]),
    ("__AMX_COMPLEX__", &[AMX_COMPLEX]),
    ("__AMX_FP16__", &[AMX_FP16]),
    ("__AMX_INT8__", &[AMX_INT8]),
    ("__AMX_TILE__", &[AMX_TILE]),
    ("__ARM_FEATURE_AES", &[FEAT_AES, FEAT_PMULL]),
    ("__ARM_FEATURE_ATOMICS", &[FEAT_LSE]),
    ("__ARM_FEATURE_BF16", &[FEAT_BF16]),
    ("__ARM_FEATURE_COMPLEX", &[FEAT_FCMA]),
    ("__ARM_FEATURE_CRC32", &[FEAT_CRC32]),
    ("__ARM_FEATURE_DOTPROD", &[FEAT_DotProd]),
    ("__ARM_FEATURE_FP16_FML", &[FEAT_FHM]),
    ("__ARM_FEATURE_FP16_VECTOR_ARITHMETIC", &[FEAT_FP16]),
    ("__ARM_FEATURE_FRINT", &[FEAT_FRINTTS]),
    ("__ARM_FEATURE_JCVT", &[FEAT_JSCVT]),
    ("__ARM_FEATURE_LS64", &[FEAT_LS64]),
    ("__ARM_FEATURE_MATMUL_INT8", &[FEAT_I8MM]),
    ("__ARM_FEATURE_MEMORY_TAGGING", &[FEAT_MTE]),
    ("__ARM_FEATURE_MOPS", &[FEAT_MOPS]),
    ("__ARM_FEATURE_PAUTH", &[FEAT_PAuth]),
    ("__ARM_FEATURE_QRDMX", &[FEAT_RDM]),
    ("__ARM_FEATURE_RCPC", &[FEAT_LRCPC]),
    ("__ARM_FEATURE_RNG", &[FEAT_RNG]),
    ("__ARM_FEATURE_SHA2", &[FEAT_SHA1, FEAT_SHA256]),
    ("__ARM_FEATURE_SHA3", &[FEAT_SHA3]),
    ("__ARM_FEATURE_SHA512", &[FEAT_SHA512]),
    ("__ARM_FEATURE_SM3", &[FEAT_SM3]),
    ("__ARM_FEATURE_SM4", &[FEAT_SM4]),
    ("__ARM_FEATURE_SME", &[FEAT_SME]),
    ("__ARM_FEATURE_SVE", &[FEAT_SVE]),
    ("__ARM_FEATURE_SVE2", &[FEAT_SVE2]),
    ("__ARM_FEATURE_SVE2_AES", &[FEAT_SVE_AES, FEAT_SVE_PMULL128]),
    ("__ARM_FEATURE_SVE2_BITPERM", &[FEAT_SVE_BitPerm]),
    ("__ARM_FEATURE_SVE2_SHA3", &[FEAT_SVE_SHA3]),
    ("__ARM_FEATURE_SVE2_SM4", &[FEAT_SVE_SM4]),
    ("__AVX2__", &[AVX2]),
    ("__AVX512BF16__", &[AVX512_BF16]),
    ("__AVX512BITALG__", &[AVX512_BITALG]),
    ("__AVX512BW__", &[AVX512BW]),
    ("__AVX512CD__", &[AVX512CD]),
    ("__AVX512DQ__", &[AVX512DQ]),
    ("__AVX512ER__", &[AVX512ER]),
    ("__AVX512FP16__", &[AVX512_FP16]),
    ("__AVX512F__", &[AVX512F]),
    ("__AVX512IFMA__", &[AVX512_IFMA]),
    ("__AVX512PF__", &[AVX512PF]),
    ("__AVX512VBMI2__", &[AVX512_VBMI2]),
    ("__AVX512VBMI__", &[AVX512_VBMI]),
    ("__AVX512VL__", &[AVX512VL]),
    ("__AVX512VNNI__", &[AVX512_VNNI]),
    ("__AVX512VP2INTERSECT__", &[AVX512_VP2INTERSECT]),
    ("__AVX512VPOPCNTDQ__", &[AVX512_VPOPCNTDQ]),
    ("__AVX5124FMAPS__", &[AVX512_4FMAPS]),
    ("__AVX5124VNNIW__", &[AVX512_4VNNIW]),
    ("__AVXIFMA__", &[AVX_IFMA]),
    ("__AVXNECONVERT__", &[AVX_NE_CONVERT]),
    ("__AVXVNNIINT16__", &[AVX_VNNI_INT16]),
    ("__AVXVNNIINT8__", &[AVX_VNNI_INT8]),
    ("__AVXVNNI__", &[AVX_VNNI]),
    ("__AVX__", &[AVX]),
    ("__BMI2__", &[BMI2]),
    ("__BMI__", &[BMI1]),
    ("__CLDEMOTE__", &[CLDEMOTE]),
    ("__CLFLUSHOPT__", &[CLFLUSHOPT]),
    ("__CLWB__", &[CLWB]),
    ("__CLZERO__", &[CLZERO]),
    ("__CMPCCXADD__", &[CMPCCXADD]),
    ("__ENQCMD__", &[ENQCMD]),
    ("__F16C__", &[F16C]),
    ("__FMA4__", &[FMA4]),
    ("__FMA__", &[FMA]),
    ("__FSGSBASE__", &[FSGSBASE]),
    ("__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16", &[CMPXCHG16B]),
    ("__GFNI__", &[GFNI]),
    ("__KL__", &[KL]),
    ("__LAHF_SAHF__", &[LAHF]),
    ("__LWP__", &[LWP]),
    ("__LZCNT__", &[LZCNT]),
    ("__MOVBE__", &[MOVBE]),
    ("__MOVDIR64B__", &[MOVDIR64B]),
    ("__MOVDIRI__", &[MOVDIRI]),
    ("__MWAITX__", &[MONITORX]),
    ("__PCLMUL__", &[PCLMULQDQ]),
    ("__PKU__", &[PKU]),
    ("__POPCNT__", &[POPCNT]),
    ("__PREFETCHI__", &[PREFETCHI]),
    ("__PRFCHW__", &[PREFETCHW]),
    ("__PTWRITE__", &[PTWRITE]),
    ("__RAOINT__", &[RAO_INT]),
    ("__RDPID__", &[RDPID]),
    ("__RDPRU__", &[RDPRU]),
    ("__RDRND__", &[RDRAND]),
    ("__RDSEED__", &[RDSEED]),
    ("__SERIALIZE__", &[SERIALIZE]),
    ("__SHA512__", &[SHA512]),
    ("__SHA__", &[SHA]),
    ("__SHSTK__", &[CET_SS]),
    ("__SM3__", &[SM3]),
    ("__SM4__", &[SM4]),
    ("__SSE3__", &[SSE3]),
    ("__SSE4A__", &[SSE4A]),
    ("__SSE4_1__", &[SSE4_1]),
    ("__SSE4_2__", &[SSE4_2]),
    ("__SSSE3__", &[SSSE3]),
    ("__TBM__", &[TBM]),
    ("__TSXLDTRK__", &[TSXLDTRK]),
    ("__UINTR__", &[UINTR]),
    ("__VAES__", &[VAES]),
    ("__VPCLMULQDQ__", &[VPCLMULQDQ]),
    ("__WAITPKG__", &[WAITPKG]),
    ("__WBNOINVD__", &[WBNOINVD]),
    ("__XOP__", &[XOP]),
    ("__XSAVEC__", &[XSAVEC]),
    ("__XSAVEOPT__", &[XSAVEOPT]),
    ("__XSAVES__", &[XSAVES]),
    ("__XSAVE__", &[XSAVE]),
];

/// Names of rustc that are not the manual's without case and separators (rustc, `target_features.rs`).
const RUST: &[(Arch, &str, &[Feature])] = &[
    (Arch::X86_64, "bmi1", &[BMI1]),
    (Arch::X86_64, "cmpxchg16b", &[CMPXCHG16B]),
    (Arch::X86_64, "kl", &[KL]),
    (Arch::X86_64, "lahfsahf", &[LAHF]),
    (Arch::X86_64, "prfchw", &[PREFETCHW]),
    (Arch::Aarch64, "aes", &[FEAT_AES, FEAT_PMULL]),
    (Arch::Aarch64, "crc", &[FEAT_CRC32]),
    (Arch::Aarch64, "dpb", &[FEAT_DPB]),
    (Arch::Aarch64, "jsconv", &[FEAT_JSCVT]),
    (Arch::Aarch64, "neon", &[FEAT_ASIMD]),
    (Arch::Aarch64, "paca", &[FEAT_PAuth]),
    (Arch::Aarch64, "rand", &[FEAT_RNG]),
    (Arch::Aarch64, "rcpc", &[FEAT_LRCPC]),
    (Arch::Aarch64, "rcpc2", &[FEAT_LRCPC2]),
    (Arch::Aarch64, "sha2", &[FEAT_SHA1, FEAT_SHA256]),
    (Arch::Aarch64, "sha3", &[FEAT_SHA512, FEAT_SHA3]),
    (Arch::Aarch64, "sm4", &[FEAT_SM3, FEAT_SM4]),
    (Arch::Aarch64, "sve2-aes", &[FEAT_SVE_AES, FEAT_SVE_PMULL128]),
    (Arch::Aarch64, "sve2-bitperm", &[FEAT_SVE_BitPerm]),
    (Arch::Aarch64, "sve2-sha3", &[FEAT_SVE_SHA3]),
    (Arch::Aarch64, "sve2-sm4", &[FEAT_SVE_SM4]),
];

/// A compiler that prints what a CPU has.
struct Compiler {
    /// As `compilers.tsv` calls it.
    name: &'static str,
    program: &'static str,
    package: &'static str,
    arch: Arch,
}

const COMPILERS: [Compiler; 6] = [
    Compiler { name: "gcc", program: "gcc", package: "gcc", arch: Arch::X86_64 },
    Compiler {
        name: "gcc",
        program: "aarch64-linux-gnu-gcc",
        package: "gcc-aarch64-linux-gnu",
        arch: Arch::Aarch64,
    },
    Compiler { name: "clang", program: "clang", package: "clang", arch: Arch::X86_64 },
    Compiler { name: "clang", program: "clang", package: "clang", arch: Arch::Aarch64 },
    Compiler { name: "rustc", program: "rustc", package: "rustc", arch: Arch::X86_64 },
    Compiler { name: "rustc", program: "rustc", package: "rustc", arch: Arch::Aarch64 },
];

impl Compiler {
    /// Standard output and standard error of a run, whatever its status.
    fn printed(&self, arguments: &[&str]) -> String {
        let output = Command::new(self.program).args(arguments).env("LC_ALL", "C").output();
        let output = output.unwrap_or_else(|error| {
            panic!(
                "{}: {error}: `scripts/install-tools test` installs it (Debian and Ubuntu: {})",
                self.program, self.package
            )
        });
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    }

    fn triple(&self) -> &'static str {
        match (self.name, self.arch) {
            ("rustc", Arch::X86_64) => "x86_64-unknown-linux-gnu",
            ("rustc", Arch::Aarch64) => "aarch64-unknown-linux-gnu",
            (_, Arch::X86_64) => "x86_64-linux-gnu",
            (_, Arch::Aarch64) => "aarch64-linux-gnu",
        }
    }

    /// The option that names a CPU.
    fn option(&self) -> &'static str {
        if self.arch == Arch::X86_64 { "-march=" } else { "-mcpu=" }
    }

    /// The CPUs that it lists.
    fn cpus(&self) -> Vec<String> {
        let text = match self.name {
            "rustc" => self.printed(&["--print", "target-cpus", "--target", self.triple()]),
            "clang" => self.printed(&[&format!("--target={}", self.triple()), "--print-supported-cpus"]),
            _ => self.printed(&[&format!("{}none-such", self.option()), "-E", "-x", "c", "/dev/null"]),
        };
        let is_name =
            |word: &str| word.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit());
        let words: Vec<&str> = if self.name == "gcc" {
            let list = text.lines().find_map(|line| line.split_once("valid arguments").map(|(_, rest)| rest));
            list.and_then(|rest| rest.split_once(':'))
                .map_or("", |(_, names)| names)
                .split_whitespace()
                .collect()
        } else {
            let lines = text.lines().filter(|line| line.starts_with(|first: char| first.is_whitespace()));
            lines.filter_map(|line| line.split_whitespace().next()).collect()
        };
        let names = words.into_iter().map(|word| word.trim_end_matches(';')).filter(|word| is_name(word));
        names.map(str::to_owned).collect()
    }

    /// The features that it gives a CPU; `None` if it lists the name and does not take it.
    fn features(&self, cpu: &str) -> Option<FeatureSet> {
        if self.name == "rustc" {
            let option = format!("target-cpu={cpu}");
            let text = self.printed(&["--print", "cfg", "--target", self.triple(), "-C", &option]);
            let names = text.lines().filter_map(|line| {
                line.strip_prefix("target_feature=\"").and_then(|rest| rest.strip_suffix('"'))
            });
            return Some(names.flat_map(|name| rust_features(self.arch, name)).collect());
        }
        let target = format!("--target={}", self.triple());
        let option = format!("{}{cpu}", self.option());
        let mut arguments = vec![&*option, "-E", "-dM", "-x", "c", "/dev/null"];
        if self.name == "clang" {
            arguments.push(&target);
        }
        let text = self.printed(&arguments);
        let defined: BTreeSet<&str> =
            text.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
        if !defined.contains("__LP64__") {
            return None;
        }
        let macros = MACROS.iter().filter(|(name, features)| {
            features.iter().all(|feature| feature.arch() == self.arch) && defined.contains(name)
        });
        Some(macros.flat_map(|(_, features)| features.iter().copied()).collect())
    }
}

fn rust_features(arch: Arch, name: &str) -> Vec<Feature> {
    if let Some((_, _, features)) = RUST.iter().find(|(of, rust, _)| *of == arch && *rust == name) {
        return features.to_vec();
    }
    let letters = |text: &str| {
        text.bytes()
            .filter(u8::is_ascii_alphanumeric)
            .map(|byte| byte.to_ascii_lowercase())
            .collect::<Vec<_>>()
    };
    let of_arch = Feature::all().filter(|feature| feature.arch() == arch);
    of_arch
        .filter(|feature| {
            let manual = feature.name().strip_prefix("FEAT_").unwrap_or(feature.name());
            letters(manual) == letters(name)
        })
        .collect()
}

/// A line of `compilers.tsv`.
struct Line {
    compilers: Vec<&'static str>,
    /// `+AES`, `-AES`, `absent` of the table, or `refused` by the compiler that lists the name.
    what: Vec<&'static str>,
    cpus: Vec<&'static str>,
}

fn lines() -> Vec<Line> {
    let rows = DIFFERENCES.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        let [compilers, what, cpus, reason] = columns[..] else { panic!("four columns: {line}") };
        assert!(!reason.is_empty(), "{line}");
        let words = |column: &'static str| column.split_whitespace().collect();
        Line { compilers: words(compilers), what: words(what), cpus: words(cpus) }
    })
    .collect()
}

/// Whether a difference is among those that are known. A pattern ends with `*`.
fn is_known(lines: &[Line], compiler: &str, what: &str, cpu: &str) -> bool {
    let fits = |pattern: &&str, text: &str| match pattern.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => *pattern == text,
    };
    lines.iter().any(|line| {
        line.compilers.iter().any(|pattern| fits(pattern, compiler))
            && line.what.contains(&what)
            && line.cpus.iter().any(|pattern| fits(pattern, cpu))
    })
}

/// What a compiler says otherwise than the table and is not listed: what differs → the CPUs.
fn unlisted(compiler: &Compiler, lines: &[Line]) -> BTreeMap<String, Vec<String>> {
    let names = compiler.cpus();
    assert!(names.len() > 20, "{} lists {names:?}", compiler.program);
    let mut unlisted: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut stated: Vec<(String, FeatureSet)> = Vec::new();
    for name in names.iter().filter(|name| level_named(name).is_none()) {
        let row = cpu_named(name).filter(|cpu| cpu.arch == compiler.arch);
        let what = match row.map(|_| compiler.features(name)) {
            Some(Some(features)) => {
                stated.push((name.clone(), features));
                continue;
            }
            Some(None) => "refused",
            None => "absent",
        };
        if !is_known(lines, compiler.name, what, name) {
            unlisted.entry(what.to_owned()).or_default().push(name.clone());
        }
    }
    // A feature that it says of no CPU is one that it does not know.
    let told = stated.iter().fold(FeatureSet::EMPTY, |all, (_, features)| all.union(*features));
    for (name, features) in stated {
        let ours = cpu_named(&name).map_or(FeatureSet::EMPTY, |cpu| cpu.features).intersection(told);
        let more = features.minus(ours).iter().map(|feature| format!("+{feature}"));
        let less = ours.minus(features).iter().map(|feature| format!("-{feature}"));
        for what in more.chain(less).filter(|what| !is_known(lines, compiler.name, what, &name)) {
            unlisted.entry(what).or_default().push(name.clone());
        }
    }
    unlisted
}

#[test]
fn compilers_and_the_table_agree_but_for_what_is_listed() {
    let lines = &lines();
    let found: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = COMPILERS
            .iter()
            .map(|compiler| (compiler.name, scope.spawn(move || unlisted(compiler, lines))))
            .collect();
        threads.into_iter().map(|(name, thread)| (name, thread.join().unwrap())).collect()
    });
    let list: Vec<String> = found
        .iter()
        .flat_map(|(compiler, unlisted)| {
            unlisted.iter().map(move |(what, cpus)| format!("{compiler}\t{what}\t{}\t?", cpus.join(" ")))
        })
        .collect();
    assert!(list.is_empty(), "not in crates/deburr-cpu/tests/compilers.tsv:\n{}", list.join("\n"));
}

#[test]
fn every_name_in_the_list_of_differences_is_in_the_table_or_absent() {
    for line in lines() {
        let is_absent = line.what == ["absent"];
        for cpu in line.cpus.iter().filter(|cpu| !cpu.ends_with('*')) {
            assert_eq!(cpu_named(cpu).is_none(), is_absent, "{cpu}");
        }
        for what in line.what.iter().filter(|what| !["absent", "refused"].contains(what)) {
            let name = what.trim_start_matches(['+', '-']);
            assert!(
                name.len() < what.len() && Feature::all().any(|feature| feature.name() == name),
                "{what}"
            );
        }
        assert!(line.compilers.iter().all(|name| ["gcc", "clang", "rustc", "*"].contains(name)));
    }
}
