//! Words of memory, registers and functions whose meaning is laid down: by the CPU's manual, by the kernel, by the C
//! library and the compilers' run-time libraries. `Tainted` is ⊤ that carries taint.
//!
//! Sources: Intel SDM (CPUID), Linux `uapi/asm/hwcap.h`, GCC's `common/config/i386/cpuinfo.h` and `i386-cpuinfo.h`
//! (`__cpu_model`), glibc's `sysdeps/x86/include/cpu-features.h`, the Arm C Language Extensions' function
//! multiversioning.

use crate::address::{CodeOffset, Svma};
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::domain::state::State;
use crate::function::reach::domain::subject::Subject;
use crate::function::reach::domain::value::Value;
use crate::function::reach::file::abi;
use crate::function::reach::file::foreign::foreign;
use crate::function::reach::file::knowledge;
use crate::function::reach::file::names;
use crate::function::reach::file::view::View;
use crate::insn::{Insn, Reg};
use deburr_cpu::query::{self, AT_HWCAP, AT_HWCAP2, CpuidRegister};
use deburr_cpu::{Arch, Feature, FeatureSet};
use std::collections::BTreeMap;
use std::sync::LazyLock;

pub(crate) fn proof(feature: Feature) -> Proof {
    Proof::of(FeatureSet::EMPTY.with(feature))
}

/// The registers that CPUID answers in, by number, in the order in which structures keep them.
const REGISTERS: [(u8, CpuidRegister); 4] =
    [(0, CpuidRegister::Eax), (3, CpuidRegister::Ebx), (1, CpuidRegister::Ecx), (2, CpuidRegister::Edx)];

/// What CPUID answers to a leaf, in the order of [`REGISTERS`].
type Answer = [Value; 4];

fn make_answer(leaf: u32, subleaf: u32) -> Answer {
    REGISTERS.map(|(_, register)| {
        let feature = |bit: u8| query::cpuid_bit(leaf, subleaf, register, u32::from(bit));
        Value::word((0..32).filter_map(|bit| Some((bit, proof(feature(bit)?)))), 4)
    })
}

/// The answers of frequent queries: what a feature implies takes a while to compute.
static ANSWERS: LazyLock<BTreeMap<(u32, u32), Answer>> = LazyLock::new(|| {
    let leaves = query::FEATURE_LEAVES.into_iter();
    let places = leaves.flat_map(|leaf| [0, 1].map(|subleaf| (leaf, subleaf)));
    places.map(|(leaf, subleaf)| ((leaf, subleaf), make_answer(leaf, subleaf))).collect()
});

pub(crate) fn cpuid_answer(leaf: u32, subleaf: u32) -> Answer {
    match ANSWERS.get(&(leaf, subleaf)) {
        Some(answer) => answer.clone(),
        // Highest leaves, vendor, caches: nothing that proves a feature.
        None if !query::is_feature_leaf(leaf) => [0; 4].map(|_| Value::word([], 4)),
        None => make_answer(leaf, subleaf),
    }
}

/// Runs `cpuid`.
pub(crate) fn cpuid(state: &mut State) {
    let leaf =
        state.read(Reg::general(0)).truncate(4).as_constant().and_then(|leaf| u32::try_from(leaf).ok());
    let subleaf =
        state.read(Reg::general(1)).truncate(4).as_constant().and_then(|leaf| u32::try_from(leaf).ok());
    // Without a subleaf programs mean the first.
    let answer = leaf.map(|leaf| cpuid_answer(leaf, subleaf.unwrap_or(0)));
    let answer = answer.unwrap_or_else(|| [0; 4].map(|_| Value::Tainted));
    for ((number, _), value) in REGISTERS.into_iter().zip(answer) {
        state.write(Reg::general(number), value);
    }
}

/// What `mrs` of an ID register gives. A bit of a field proves what all values with that bit set or clear mean.
pub(crate) fn id_register(subject: Subject, insn: &Insn) -> Value {
    if subject != Subject::Features {
        return Value::Unknown;
    }
    let number = insn.imm.and_then(|imm| u16::try_from(imm).ok()).unwrap_or(0);
    let mut bits: Vec<(u8, Proof)> = Vec::new();
    for field in query::id_register_bits(number) {
        for bit in 0..4u8 {
            let values =
                (0..16u16).filter(|value| value >> bit & 1 != 0).fold(0, |values, value| values | 1 << value);
            bits.push((field.low + bit, Proof::of(field.proven(values))));
        }
    }
    Value::word(bits, 8)
}

/// What a function known by name returns.
pub(crate) fn answer(file: &View<'_, '_>, name: &str, state: &State) -> Option<Value> {
    let argument = || state.read(*abi::arguments(file.image.arch).first()?).as_constant();
    match name {
        "getauxval" | "__getauxval" if file.image.arch == Arch::Aarch64 => Some(match argument() {
            Some(AT_HWCAP) => file.subject.hwcap(1),
            Some(AT_HWCAP2) => file.subject.hwcap(2),
            Some(_) => Value::Unknown,
            None => Value::Tainted,
        }),
        "__x86_get_cpuid_feature_leaf"
        | "__x86_get_cpu_features"
        | "_dl_x86_get_cpu_features"
        | "__get_cpu_features" => {
            let import = file.linkage.imports.iter().position(|import| import.name == name)?;
            let leaf = if name == "__x86_get_cpuid_feature_leaf" { argument()?.checked_mul(32)? } else { 0 };
            Some(Value::constant(foreign(import) + leaf))
        }
        // These only read what their callers then test.
        "__cpu_indicator_init" | "__init_cpu_features_resolver" | "__init_cpu_features" => {
            Some(Value::Unknown)
        }
        _ => {
            let returned = knowledge::returned(file.foreign, name).cloned();
            returned.or_else(|| file.answerers.contains(name).then_some(Value::Tainted))
        }
    }
}

/// What a call that reads the environment, or that makes a number of what was read there, says of the register that it
/// returns in (getenv(3), strtoul(3)).
pub(crate) fn environment(file: &View<'_, '_>, name: &str, state: &State) -> Option<fn(&mut State, Reg)> {
    let text = *abi::arguments(file.image.arch).first()?;
    match () {
        () if names::reads_environment(name) => Some(State::set_text),
        () if names::parses_number(name) && state.is_text(text) => Some(State::set_stated),
        () => None,
    }
}

/// What a comparison of a text with the name of an extension says: the text may be of a list of what the CPU has.
pub(crate) fn comparison(file: &View<'_, '_>, name: &str, state: &State) -> Option<Value> {
    let compared = names::compares_texts(name).then(|| abi::arguments(file.image.arch).iter().take(2))?;
    let mut texts = compared.filter_map(|&reg| text_at(file, Svma(state.read(reg).as_constant()?)));
    texts.any(names::is_extension).then_some(Value::Tainted)
}

/// A short text in constant data, up to its zero.
fn text_at<'a>(file: &View<'_, 'a>, at: Svma) -> Option<&'a [u8]> {
    /// Maximum of bytes of a name.
    const SHORT: usize = 16;
    let data = file.linkage.data_at(at).filter(|data| data.is_constant)?;
    let from = usize::try_from(at.0.checked_sub(data.extent.start.0)?).ok()?;
    let text = data.bytes.get(from..)?;
    let end = text.iter().take(SHORT).position(|byte| *byte == 0)?;
    text.get(..end)
}

/// What is known where a function begins: a resolver of AArch64 is given the kernel's words.
pub(crate) fn entry_state(file: &View<'_, '_>, entry: CodeOffset) -> State {
    let mut state = State::entry(file.image.arch);
    if file.image.arch == Arch::Aarch64 && file.is_resolver(entry) {
        state.write(Reg::general(0), file.subject.hwcap(1));
        state.write(Reg::general(1), Value::constant(foreign(file.linkage.imports.len())));
    }
    state
}
