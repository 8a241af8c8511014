//! Models of CPUs: what `cpuid` and `xgetbv` answer, or what Linux and the identification registers show of an Arm CPU ([`aarch64`]).
//!
//! In: which features are absent, or all that a known CPU has. Out: values for the four registers of a leaf. A bit that stands
//! for a feature whose presence the model leaves open is unknown, as is what stands for nothing known. M⁻(g), the model for a
//! feature g, has g and every feature that implies g absent and leaves all others open, so that it allows every CPU without g.
//! (A model with all but g would be a CPU that cannot exist, and would hide an `else` branch behind the arm before it.)
//! Sources: Intel SDM volume 2, CPUID and XGETBV; the tables are `deburr-cpu`'s.

mod aarch64;

use crate::reach::value::pool::{Bits, Pool, Shape, Value};
use deburr_cpu::query::{CpuidRegister, GLIBC_LEAVES, cpuid_bit, cpuid_place, is_feature_leaf};
use deburr_cpu::{Arch, Feature, FeatureSet};

/// A set of CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Model {
    /// Features that all of them have.
    present: FeatureSet,
    /// Features that none of them has.
    absent: FeatureSet,
    /// Whether the program runs as it comes: no variable of the environment forces anything.
    is_calm: bool,
    /// Whether it is one known CPU.
    is_known: bool,
    /// Whether the operating system leaves the identification registers of AArch64 to itself.
    hides_registers: bool,
}

/// The highest leaf of any CPU so far, and of any with 64-bit mode at least.
const HIGHEST_LEAF: (u64, u64) = (1, 0x24);
const HIGHEST_EXTENDED_LEAF: (u64, u64) = (0x8000_0004, 0x8000_0026);

/// The registers of an answer, in the order `eax`, `ebx`, `ecx`, `edx`.
const REGISTERS: [CpuidRegister; 4] =
    [CpuidRegister::Eax, CpuidRegister::Ebx, CpuidRegister::Ecx, CpuidRegister::Edx];

impl Model {
    /// All CPUs of an architecture.
    pub(crate) fn any(arch: Arch) -> Model {
        let (present, absent) = (deburr_cpu::first_level(arch), FeatureSet::EMPTY);
        Model { present, absent, is_calm: false, is_known: false, hides_registers: false }
    }

    /// M⁻(g): all CPUs without a feature.
    pub(crate) fn without(feature: Feature) -> Model {
        let absent = FeatureSet::of(&[feature]).with_dependents();
        let any = Model::any(feature.arch());
        Model { present: any.present.minus(absent), absent, ..any }
    }

    /// The same CPUs, where no variable of the environment forces anything.
    pub(crate) const fn calm(self) -> Model {
        Model { is_calm: true, ..self }
    }

    /// A CPU that has these features and no others.
    pub(crate) fn exact(arch: Arch, features: FeatureSet) -> Model {
        let present = features.union(Model::any(arch).present).with_implied();
        let absent = FeatureSet::ALL.minus(present);
        Model { present, absent, is_calm: true, is_known: true, ..Model::any(arch) }
    }

    /// All CPUs of AArch64 under a kernel that lets no program read an identification register, and says so.
    pub(crate) fn hiding_registers() -> Model {
        Model { hides_registers: true, ..Model::any(Arch::Aarch64) }
    }

    /// Whether the environment is taken to be empty: a user who forces what the CPU lacks knows it.
    pub(crate) const fn has_no_environment(&self) -> bool {
        self.is_calm
    }

    /// Whether no feature of a set is absent.
    pub(crate) fn may_have(&self, features: FeatureSet) -> bool {
        features.intersection(self.absent).is_empty()
    }

    /// What is known of the bits of one register.
    fn register(&self, pool: &mut Pool, leaf: u32, subleaf: u32, register: CpuidRegister) -> Value {
        let (mut known, mut value) = (0, 0);
        for bit in 0..32 {
            let Some(feature) = cpuid_bit(leaf, subleaf, register, bit) else { continue };
            if self.present.contains(feature) {
                value |= 1 << bit;
            } else if !self.absent.contains(feature) {
                continue;
            }
            known |= 1 << bit;
        }
        pool.fitted(Bits { known, value, ..Bits::ANY }, 4, true)
    }

    /// What `cpuid` leaves in `eax`, `ebx`, `ecx` and `edx`.
    pub(crate) fn cpuid(&self, pool: &mut Pool, leaf: Value, subleaf: Value) -> [Value; 4] {
        if leaf.is_bottom() {
            return [Value::BOTTOM; 4];
        }
        let Shape::Numbers(leaves) = pool.shape(leaf).clone() else {
            return [pool.fitted(Bits::ANY, 4, true); 4];
        };
        let subleaf = pool.as_constant(subleaf).and_then(|subleaf| u32::try_from(subleaf).ok());
        let mut all = [Value::BOTTOM; 4];
        for leaf in leaves {
            let answer = self.leaf(pool, leaf as u32, subleaf);
            for (sum, value) in all.iter_mut().zip(answer) {
                *sum = pool.join(*sum, value, false);
            }
        }
        all
    }

    fn leaf(&self, pool: &mut Pool, leaf: u32, subleaf: Option<u32>) -> [Value; 4] {
        // What stands for no feature says nothing of one: the vendor, caches, topology.
        let other = pool.fitted(Bits::ANY, 4, false);
        let highest =
            |pool: &mut Pool, (low, high): (u64, u64)| pool.intern(Shape::Bits(Bits::between(low, high)));
        match leaf {
            0 => [highest(pool, HIGHEST_LEAF), other, other, other],
            0x8000_0000 => [highest(pool, HIGHEST_EXTENDED_LEAF), other, other, other],
            // Family and model stand for all that a CPU has.
            1 => {
                let [_, _, ecx, edx] = REGISTERS.map(|register| self.register(pool, 1, 0, register));
                [other.opened(true), other, ecx, edx]
            }
            _ if !is_feature_leaf(leaf) => [other; 4],
            _ => match (
                subleaf,
                cpuid_bit(leaf, 0, CpuidRegister::Ecx, 1).is_some() || leaf == 7 || leaf == 0xd,
            ) {
                (Some(subleaf), _) => REGISTERS.map(|register| self.register(pool, leaf, subleaf, register)),
                (None, false) => REGISTERS.map(|register| self.register(pool, leaf, 0, register)),
                (None, true) => [other.opened(true); 4],
            },
        }
    }

    /// What `xgetbv` leaves in `eax` and `edx`: states that only what is absent needs are never switched on.
    pub(crate) fn xgetbv(&self, pool: &mut Pool) -> [Value; 2] {
        let state = |feature: Feature| cpuid_place(feature).map_or(0, |place| place.xcr0);
        let states = [Feature::AVX, Feature::AVX512F, Feature::AMX_TILE];
        // XMM's state is in each of them, and every program has it.
        let always = 0b11;
        let (mut known, mut value) = (always, always);
        let mut below = always;
        for feature in states {
            let own = state(feature) & !below;
            below |= own;
            if self.absent.contains(feature) {
                known |= own;
            } else if self.present.contains(feature) {
                known |= own;
                value |= own;
            }
        }
        let low = pool.fitted(Bits { known, value, ..Bits::ANY }, 4, true);
        [low, pool.fitted(Bits::ANY, 4, false)]
    }

    /// The words that glibc keeps of a leaf, and what it shows of them: four that the CPU says and four that can be used.
    pub(crate) fn glibc_leaf(&self, pool: &mut Pool, index: u64) -> [Value; 4] {
        let place = GLIBC_LEAVES.get(usize::try_from(index).unwrap_or(usize::MAX));
        match place {
            Some(&(leaf, subleaf)) => REGISTERS.map(|register| self.register(pool, leaf, subleaf, register)),
            None => [pool.fitted(Bits::ANY, 4, true); 4],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn::operations::Arithmetic;
    use crate::reach::value::pool::Places;

    /// The bit of an answer that a test takes out.
    fn bit(pool: &mut Pool, register: Value, bit: u64) -> Option<u64> {
        let place = pool.constant(bit);
        let shifted = pool.compute(Arithmetic::ShiftRight, register, place, 4);
        let one = pool.constant(1);
        let value = pool.compute(Arithmetic::And, shifted, one, 4);
        pool.as_constant(value)
    }

    #[test]
    fn a_cpu_without_avx_has_nothing_that_implies_it_and_may_have_the_rest() {
        let mut pool = Pool::new(Places::default());
        let model = Model::without(Feature::AVX);
        let (one, seven, zero) = (pool.constant(1), pool.constant(7), pool.constant(0));
        let [_, _, ecx, edx] = model.cpuid(&mut pool, one, zero);
        assert_eq!(bit(&mut pool, ecx, 28), Some(0), "AVX");
        assert_eq!(bit(&mut pool, ecx, 20), None, "SSE4.2");
        assert_eq!(bit(&mut pool, edx, 26), Some(1), "SSE2");
        let [_, ebx, ..] = model.cpuid(&mut pool, seven, zero);
        assert_eq!(bit(&mut pool, ebx, 5), Some(0), "AVX2");
        let [xcr0, _] = model.xgetbv(&mut pool);
        assert_eq!(bit(&mut pool, xcr0, 2), Some(0), "YMM");
    }

    #[test]
    fn a_known_cpu_answers_every_bit_that_stands_for_a_feature() {
        let mut pool = Pool::new(Places::default());
        let model = Model::exact(Arch::X86_64, FeatureSet::of(&[Feature::AVX]));
        let (one, zero) = (pool.constant(1), pool.constant(0));
        let [_, _, ecx, _] = model.cpuid(&mut pool, one, zero);
        assert_eq!(bit(&mut pool, ecx, 28), Some(1), "AVX");
        assert_eq!(bit(&mut pool, ecx, 12), Some(0), "FMA");
        assert!(
            !model.may_have(FeatureSet::of(&[Feature::AVX2]))
                && model.may_have(FeatureSet::of(&[Feature::AVX]))
        );
    }

    #[test]
    fn an_unknown_leaf_says_nothing() {
        let mut pool = Pool::new(Places::default());
        let zero = pool.constant(0);
        let answer = Model::any(Arch::X86_64).cpuid(&mut pool, Value::TOP, zero);
        assert!(answer.iter().all(|value| value.is_doubt()));
    }
}
