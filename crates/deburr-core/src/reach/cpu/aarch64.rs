//! What Linux shows of an Arm CPU (`Documentation/arch/arm64/elf_hwcaps.rst`), and the identification registers (DDI 0487, D24.2), which
//! it lets programs read (`Documentation/arch/arm64/cpu-feature-registers.rst`).

use super::Model;
use crate::reach::knowledge::is_of_the_cpu as is_entry_of_the_cpu;
use crate::reach::value::pool::{Bits, Pool, Value};
use deburr_cpu::query::{AT_HWCAP, AT_HWCAP2, IdField, hwcap_bit, id_register_bits};

/// The bit of `AT_HWCAP` that says that programs may read the identification registers: Linux 4.11 and later set it.
const CPUID: u32 = 11;

/// The bit that glibc adds for a resolver: there is a second argument (`_IFUNC_ARG_HWCAP`, glibc's `sys/ifunc.h`).
const HAS_MORE: u32 = 62;

/// Whether a register of the system may say what the CPU is: those that programs have without the operating system do not
/// (op0 = 3, op1 = 3).
const fn is_of_the_cpu(register: u16) -> bool {
    register >> 11 != 0b11_011
}

impl Model {
    /// An entry of the auxiliary vector, or any.
    pub(crate) fn auxiliary(&self, pool: &mut Pool, entry: Option<u64>) -> Value {
        match entry {
            Some(AT_HWCAP) => self.hwcap(pool, 1, 0),
            Some(AT_HWCAP2) => self.hwcap(pool, 2, 0),
            None => Value::TOP.opened(true),
            Some(entry) => Value::TOP.opened(!self.hides_registers && is_entry_of_the_cpu(entry)),
        }
    }

    /// The word that the loader hands to a resolver.
    pub(crate) fn resolver_word(&self, pool: &mut Pool) -> Value {
        self.hwcap(pool, 1, 1 << HAS_MORE)
    }

    /// What the second argument of a resolver leads to: bytes, and two words of the auxiliary vector.
    pub(crate) fn resolver_words(&self, pool: &mut Pool) -> [Value; 3] {
        let bytes = Value::TOP;
        [bytes, self.hwcap(pool, 1, 0), self.hwcap(pool, 2, 0)]
    }

    /// `AT_HWCAP` or `AT_HWCAP2`. `more`: other bits that a known system sets.
    fn hwcap(&self, pool: &mut Pool, word: u8, more: u64) -> Value {
        let (mut known, mut value) = (0, 0);
        for bit in 0..64 {
            let Some(feature) = hwcap_bit(word, bit) else { continue };
            let is_present = self.present.contains(feature);
            if is_present || self.absent.contains(feature) {
                known |= 1_u64 << bit;
                value |= u64::from(is_present) << bit;
            }
        }
        if self.is_known {
            let others = more | if word == 1 { 1 << CPUID } else { 0 };
            (known, value) = (known | others, value | others);
        }
        if self.hides_registers && word == 1 {
            known |= 1 << CPUID;
        }
        // Whether the registers can be read does not follow from what the CPU has.
        pool.fitted(Bits { known, value, ..Bits::ANY }, 8, !self.hides_registers)
    }

    /// What `mrs` reads.
    pub(crate) fn system_register(&self, pool: &mut Pool, register: u16) -> Value {
        /// Where each thread's memory is.
        const TPIDR_EL0: u16 = 0xde82;
        if register == TPIDR_EL0 {
            return pool.constant(crate::reach::value::region::THREAD_BASE);
        }
        let fields = id_register_bits(register);
        if fields.is_empty() {
            return Value::TOP.opened(is_of_the_cpu(register));
        }
        let (mut known, mut value) = (0, 0);
        for field in fields {
            let (field_known, field_value) = self.field(field);
            known |= field_known << field.low;
            value |= field_value << field.low;
        }
        pool.fitted(Bits { known, value, ..Bits::ANY }, 8, true)
    }

    /// The bits of a field that are known, and their values.
    fn field(&self, field: &IdField) -> (u64, u64) {
        let allows = |value: u8| {
            let stated = field.features(value);
            let own = field.features.iter().map(|it| it.1);
            field.reserved >> value & 1 == 0
                && stated.intersection(self.absent).is_empty()
                && own
                    .filter(|&feature| self.present.contains(feature))
                    .all(|feature| stated.contains(feature))
        };
        let mut values = (0..16_u8).filter(|&value| allows(value)).map(u64::from);
        let Some(first) = values.next() else { return (0, 0) };
        if self.is_known {
            return (0xf, first);
        }
        let differ = values.fold(0, |differ, value| differ | (value ^ first));
        (!differ & 0xf, first & !differ & 0xf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn::operations::Arithmetic;
    use crate::reach::value::pool::{Places, Shape};
    use deburr_cpu::{Arch, Feature, FeatureSet};

    fn bits(pool: &Pool, value: Value) -> (u64, u64) {
        match pool.shape(value) {
            Shape::Bits(bits) => (bits.known, bits.value),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_cpu_without_lse_shows_none_and_may_have_the_rest() {
        let mut pool = Pool::new(Places::default());
        let model = Model::without(Feature::FEAT_LSE);
        let word = model.auxiliary(&mut pool, Some(AT_HWCAP));
        let (known, value) = bits(&pool, word);
        assert_eq!((known >> 8 & 1, value >> 8 & 1), (1, 0), "LSE");
        assert_eq!(known >> 20 & 1, 0, "dot products");
        assert!(word.is_doubt());
        let register = model.system_register(&mut pool, 0xc030);
        let (known, value) = bits(&pool, register);
        assert_eq!((known >> 20 & 0xf, value >> 20 & 0xf), (0xf, 0), "Atomic");
    }

    #[test]
    fn a_kernel_that_hides_the_registers_says_so_in_the_first_word() {
        let mut pool = Pool::new(Places::default());
        let mut bit = |model: Model, entry: u64| {
            let word = model.auxiliary(&mut pool, Some(entry));
            let place = pool.constant(1 << CPUID);
            let bit = pool.compute(Arithmetic::And, word, place, 8);
            pool.as_constant(bit)
        };
        assert_eq!(bit(Model::hiding_registers(), AT_HWCAP), Some(0));
        assert_eq!(bit(Model::any(Arch::Aarch64), AT_HWCAP), None);
        assert_eq!(
            bit(Model::hiding_registers(), AT_HWCAP2),
            None,
            "the same bit of the second word is another"
        );
    }

    #[test]
    fn a_known_cpu_shows_all_that_it_has() {
        let mut pool = Pool::new(Places::default());
        let model = Model::exact(Arch::Aarch64, FeatureSet::of(&[Feature::FEAT_AES, Feature::FEAT_PMULL]));
        let word = model.auxiliary(&mut pool, Some(AT_HWCAP));
        let (known, value) = bits(&pool, word);
        assert_eq!((known & 0x1118, value & 0x1118), (0x1118, 0x0018), "AES and PMULL, neither LSE nor RDM");
        let register = model.system_register(&mut pool, 0xc030);
        let (known, value) = bits(&pool, register);
        assert_eq!((known & 0xf0, value & 0xf0), (0xf0, 0x20));
        assert!(!model.system_register(&mut pool, 0xdf02).is_doubt(), "a clock says nothing of the CPU");
        assert!(model.system_register(&mut pool, 0xc000).is_doubt(), "its name does");
    }
}
