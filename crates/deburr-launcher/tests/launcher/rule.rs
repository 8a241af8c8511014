//! The rule in C, checked against the order of sets of features: tables and CPUs made at random.

use deburr_cpu::query::{CpuidRegister, cpuid_bit, hwcap_bit};
use deburr_cpu::{Arch, Feature, FeatureSet, system_features};
use deburr_launcher::{Build, Model, Table, Variant, WORDS, words_of};
use deburr_test_support::Scratch;
use std::io::Write;
use std::process::{Command, Stdio};

/// Reads a length, a table, and the words of a CPU, over and over; writes the order for each.
const HARNESS: &str = r#"
#define DEBURR_RULE_ONLY
#include "deburr_select.c"
#include <stdio.h>
int main(void) {
    static _Alignas(8) char table[65536];
    uint32_t size;
    struct deburr_cpu cpu;
    while (fread(&size, 4, 1, stdin) == 1) {
        uint8_t order[DEBURR_MOST_VARIANTS];
        if (size > sizeof table || fread(table, 1, size, stdin) != size || fread(&cpu, sizeof cpu, 1, stdin) != 1)
            return 1;
        const struct deburr_table *head = (const struct deburr_table *)(const void *)table;
        if (!deburr_is_table(head, size)) {
            puts("no table");
            continue;
        }
        unsigned count = deburr_choose(head, &cpu, order);
        for (unsigned place = 0; place < count; place++)
            printf("%s ", deburr_string(head, deburr_variants(head)[order[place]].level));
        puts("");
    }
    return 0;
}
"#;

/// A generator of pseudo-random numbers (Knuth, MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % limit as u64).unwrap()
    }
}

/// The harness, compiled for an architecture, with what runs it.
fn harness(scratch: &Scratch, arch: Arch) -> Command {
    let source = scratch.join("harness.c");
    std::fs::write(&source, HARNESS).unwrap();
    let (compiler, runner) = match arch {
        Arch::X86_64 => ("x86_64-linux-gnu-gcc", "env"),
        Arch::Aarch64 => ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
    };
    let program = scratch.join(format!("harness-{arch:?}"));
    let status = Command::new(compiler)
        .args(["-static", "-O1", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/c"))
        .args(["-o".as_ref(), program.as_os_str(), source.as_os_str()])
        .status()
        .unwrap();
    assert!(status.success());
    let mut command = Command::new(runner);
    command.arg(program);
    command
}

/// Feeds the harness; one line for each input.
fn answers(mut harness: Command, input: Vec<u8>) -> Vec<String> {
    let mut child = harness.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim_end().to_owned()).collect()
}

/// The words of a CPU with these features: bit by bit from the tables that name what each bit is, not from those that
/// name where each feature is. The operating system has switched on all state.
fn words_of_cpu(arch: Arch, features: FeatureSet) -> [u32; WORDS] {
    use CpuidRegister::{Eax, Ebx, Ecx, Edx};
    let mut words = [0; WORDS];
    for (word, value) in words.iter_mut().enumerate() {
        for bit in 0..32 {
            let number = u8::try_from(word / 2 + 1).unwrap();
            let half = 32 * u32::try_from(word % 2).unwrap();
            let stated = match (arch, word) {
                (Arch::X86_64, 0) => cpuid_bit(1, 0, Ecx, bit),
                (Arch::X86_64, 1) => cpuid_bit(1, 0, Edx, bit),
                (Arch::X86_64, 2) => cpuid_bit(7, 0, Ebx, bit),
                (Arch::X86_64, 3) => cpuid_bit(7, 0, Ecx, bit),
                (Arch::X86_64, 4) => cpuid_bit(7, 0, Edx, bit),
                (Arch::X86_64, 5) => cpuid_bit(0x8000_0001, 0, Ecx, bit),
                (Arch::X86_64, 6) => cpuid_bit(0x8000_0001, 0, Edx, bit),
                (Arch::X86_64, 8) => cpuid_bit(7, 1, Eax, bit),
                (Arch::X86_64, 9) => cpuid_bit(7, 1, Edx, bit),
                (Arch::X86_64, 10) => cpuid_bit(0xd, 1, Eax, bit),
                (Arch::X86_64, 11) => cpuid_bit(0x8000_0008, 0, Ebx, bit),
                (Arch::X86_64, _) => None,
                (Arch::Aarch64, 4..) => None,
                (Arch::Aarch64, _) => hwcap_bit(number, bit + half),
            };
            if stated.is_some_and(|feature| features.contains(feature)) {
                *value |= 1 << bit;
            }
        }
    }
    if arch == Arch::X86_64 {
        words[7] = u32::MAX;
    }
    words
}

fn check(arch: Arch) {
    let testable: Vec<Feature> = Feature::all()
        .filter(|feature| feature.arch() == arch && !system_features(arch).contains(*feature))
        // What needs AVX's state needs it, too, so sets with and without it are the same words.
        .filter(|feature| *feature != Feature::OSXSAVE)
        .filter(|feature| words_of(arch, FeatureSet::of(&[*feature])).1 == FeatureSet::EMPTY)
        .collect();
    assert!(testable.len() > 40, "{arch:?}: {}", testable.len());
    let mut random = Random(20_231_123);
    let (mut input, mut cases) = (Vec::new(), Vec::new());
    for _ in 0..5000 {
        // Few features, so that variants often compare and CPUs often run some.
        let pool: Vec<Feature> = (0..6).map(|_| testable[random.below(testable.len())]).collect();
        let mut some = |least: usize| -> FeatureSet {
            let chance = 2 + least;
            pool.iter().filter(|_| random.below(chance) > 0).copied().collect()
        };
        let cpu = some(2).union(if arch == Arch::X86_64 {
            FeatureSet::of(&[Feature::OSXSAVE])
        } else {
            FeatureSet::EMPTY
        });
        let sets: Vec<FeatureSet> = (0..4).map(|_| some(0)).collect();
        let variants: Vec<Variant> = sets
            .iter()
            .enumerate()
            .map(|(index, features)| Variant {
                level: format!("L{index}"),
                features: *features,
                path: "p".into(),
                payload: None,
                build: Build::default(),
                marker: None,
            })
            .collect();
        let preferred = format!("L{}", random.below(4));
        let models = vec![
            Model { maker: 1, signature: 9, levels: vec!["L0".into()] },
            Model { maker: 1, signature: 2, levels: vec![preferred.clone()] },
        ];
        let signature = u32::from(random.below(2) == 0) * 2;
        let table = Table { arch, variants, models, prefix: None, is_own_tree: false }.encode().unwrap();
        input.extend(u32::try_from(table.len()).unwrap().to_le_bytes());
        input.extend(&table);
        words_of_cpu(arch, cpu)
            .iter()
            .chain(&[1, signature])
            .for_each(|word| input.extend(word.to_le_bytes()));
        cases.push((sets, cpu, preferred, signature == 2));
    }
    let scratch = Scratch::new(&format!("launcher-rule-{arch:?}"));
    let orders = answers(harness(&scratch, arch), input);
    assert_eq!(orders.len(), cases.len());
    let (mut some_run, mut preferences) = (0, 0);
    for (order, (sets, cpu, preferred, is_model)) in orders.iter().zip(&cases) {
        let mut levels: Vec<&str> = order.split_whitespace().collect();
        let set_of = |level: &str| sets[level[1..].parse::<usize>().unwrap()];
        let mut running: Vec<String> =
            (0..4).filter(|index| sets[*index].is_subset(*cpu)).map(|index| format!("L{index}")).collect();
        some_run += usize::from(!running.is_empty());
        if *is_model && running.contains(preferred) {
            preferences += 1;
            assert_eq!(levels.remove(0), preferred, "{sets:?} {cpu:?}");
            running.retain(|level| level != preferred);
        }
        for (place, level) in levels.iter().enumerate() {
            let needs_more =
                |later: &&str| set_of(level).is_subset(set_of(later)) && set_of(level) != set_of(later);
            assert_eq!(levels[place..].iter().find(|later| needs_more(later)), None, "{order}: {sets:?}");
        }
        levels.sort_unstable();
        assert_eq!(levels, running, "{sets:?} {cpu:?}");
    }
    assert!(some_run > 2000 && preferences > 500, "{some_run} {preferences}");
}

#[test]
fn the_rule_agrees_with_the_order_of_feature_sets() {
    check(Arch::X86_64);
    check(Arch::Aarch64);
}

#[test]
fn state_that_is_not_switched_on_excludes_what_needs_it() {
    let variant = |level: &str, feature: Feature| Variant {
        level: level.into(),
        features: FeatureSet::of(&[feature]),
        path: "p".into(),
        payload: None,
        build: Build::default(),
        marker: None,
    };
    let variants =
        vec![variant("zmm", Feature::AVX512F), variant("ymm", Feature::AVX2), variant("xmm", Feature::SSE3)];
    let table = Table { arch: Arch::X86_64, variants, models: Vec::new(), prefix: None, is_own_tree: false }
        .encode()
        .unwrap();
    let mut input = Vec::new();
    for (xcr0, osxsave) in [(0xe7, true), (0x07, true), (0x03, true), (0xe7, false)] {
        let mut words = [u32::MAX; WORDS + 2];
        words[7] = xcr0;
        if !osxsave {
            words[0] &= !(1 << 27);
        }
        input.extend(u32::try_from(table.len()).unwrap().to_le_bytes());
        input.extend(&table);
        words.iter().for_each(|word| input.extend(word.to_le_bytes()));
    }
    let scratch = Scratch::new("launcher-rule-state");
    let mut orders = answers(harness(&scratch, Arch::X86_64), input);
    for order in &mut orders {
        let mut levels: Vec<&str> = order.split_whitespace().collect();
        levels.sort_unstable();
        *order = levels.join(" ");
    }
    assert_eq!(orders, ["xmm ymm zmm", "xmm ymm", "xmm", "xmm"]);
}

#[test]
fn damaged_tables_are_refused_and_never_read_beyond_their_end() {
    let variants = ["a", "b"].map(|level| Variant {
        level: level.into(),
        features: FeatureSet::of(&[Feature::AVX2]),
        path: "p".into(),
        payload: None,
        build: Build::default(),
        marker: None,
    });
    let table = Table {
        arch: Arch::X86_64,
        variants: variants.into(),
        models: Vec::new(),
        prefix: Some("/p".into()),
        is_own_tree: false,
    };
    let whole = table.encode().unwrap();
    let mut random = Random(7);
    let mut input = Vec::new();
    let mut add = |bytes: &[u8]| {
        input.extend(u32::try_from(bytes.len()).unwrap().to_le_bytes());
        input.extend(bytes);
        input.extend([0xff; 4 * WORDS + 8]);
    };
    (0..whole.len()).for_each(|length| add(&whole[..length]));
    let cut = whole.len();
    for _ in 0..3000 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            bytes[at] = u8::try_from(random.below(256)).unwrap();
        }
        add(&bytes);
    }
    let scratch = Scratch::new("launcher-rule-damaged");
    let answered = answers(harness(&scratch, Arch::X86_64), input);
    assert_eq!(answered.len(), cut + 3000);
    assert!(answered[..cut].iter().all(|line| line == "no table"));
    let refused = answered[cut..].iter().filter(|line| *line == "no table").count();
    assert!((300..2900).contains(&refused), "{refused}");
}
