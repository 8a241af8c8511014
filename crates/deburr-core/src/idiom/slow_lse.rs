//! CPUs on which LSE atomics were seen to take longer than exclusives where nobody contends.
//!
//! A row is a machine of `evidence/near_far_percpu_add.csv`, with medians in nanoseconds of an add to a location that one CPU
//! uses. Under contention LSE may still win there.

/// A CPU on which LSE atomics were seen to be slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowLse {
    /// As `--target` has it.
    pub cpu: &'static str,
    /// The machine.
    pub machine: &'static str,
    /// By a load-exclusive/store-exclusive loop.
    pub exclusives: &'static str,
    /// By a store form: `stadd`.
    pub store_form: &'static str,
    /// By a form that returns a value, where that is slower still: `ldadd`.
    pub value_form: Option<&'static str>,
    /// Who published it.
    pub source: &'static str,
}

/// The table has CIX P1, and not which of its two kinds of core ran; its reporter saw no dependence on that.
pub const SLOW_LSE: [SlowLse; 3] = [
    cix_p1("cortex-a520"),
    cix_p1("cortex-a720"),
    SlowLse {
        cpu: "tsv110",
        machine: "Kunpeng 920 (tsv110)",
        exclusives: "6.57",
        store_form: "29.00",
        value_form: Some("69.55"),
        source: "deepin-community/kernel pull request 1564",
    },
];

const fn cix_p1(cpu: &'static str) -> SlowLse {
    SlowLse {
        cpu,
        machine: "CIX P1 (A720/A520)",
        exclusives: "6.56",
        store_form: "45.79",
        value_form: None,
        source: "linux-arm-kernel list, November 2025",
    }
}

/// The row of a CPU on which every form of LSE was seen to be slower than exclusives; where only the store form is, another
/// form helps.
pub fn slow_in_all_forms(cpu: Option<&str>) -> Option<&'static SlowLse> {
    SLOW_LSE.iter().find(|row| cpu == Some(row.cpu) && row.value_form.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_cpu::Target;

    #[test]
    fn every_row_is_a_target_and_has_its_figures_from_the_table() {
        let table = include_str!("../../../../evidence/near_far_percpu_add.csv");
        for row in SLOW_LSE {
            assert_eq!(Target::parse(row.cpu).unwrap().cpu(), Some(row.cpu));
            let forms = [("LL/SC", row.exclusives), ("LSE store form", row.store_form)];
            let value = row.value_form.map(|median| ("LSE value form", median));
            for (variant, median) in forms.into_iter().chain(value) {
                let text = format!(",{},0,{variant},{median},", row.machine);
                assert!(table.contains(&text), "{text}");
            }
        }
    }

    #[test]
    fn only_a_core_on_which_both_forms_are_slow_is_better_without_lse() {
        assert_eq!(slow_in_all_forms(Some("tsv110")).map(|row| row.machine), Some("Kunpeng 920 (tsv110)"));
        for cpu in [None, Some("cortex-a720"), Some("neoverse-n1")] {
            assert_eq!(slow_in_all_forms(cpu), None);
        }
    }
}
