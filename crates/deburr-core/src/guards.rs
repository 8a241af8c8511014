//! Guards that the user states: names → functions of one file, and whether they still serve.
//!
//! In: what is stated, the functions and their verdicts. Out: the features known where functions begin, and for each
//! statement a [`GuardUse`]: one that changes no verdict is stale.

use crate::address::CodeOffset;
use crate::function::Program;
use crate::function::reach::{Checks, Stated, Verdict};
use crate::image::{Image, demangle};
use crate::pattern;
use crate::report::{GuardUse, Reach};
use crate::request::StatedGuard;
use deburr_cpu::FeatureSet;
use std::collections::BTreeSet;

/// The stated guards of one file: each with the functions that it names.
pub(crate) struct Guards<'a> {
    guards: Vec<(StatedGuard<'a>, BTreeSet<CodeOffset>)>,
}

impl<'a> Guards<'a> {
    /// Finds the functions, by all their names.
    pub(crate) fn find(guards: &[StatedGuard<'a>], image: &Image<'_>, program: &Program) -> Guards<'a> {
        let mut guards: Vec<_> = guards.iter().map(|guard| (*guard, BTreeSet::new())).collect();
        if guards.is_empty() {
            return Guards { guards };
        }
        let aliases = image.symbols.iter().filter_map(|symbol| {
            let start = image.code_offset(symbol.svma)?;
            Some((program.function_from(start)?, symbol.name.as_ref()))
        });
        let named = program
            .functions()
            .iter()
            .filter_map(|function| Some((function, program.name(function, image)?)));
        for (function, name) in aliases.chain(named).filter(|(function, _)| !function.is_part()) {
            let readable = demangle(name);
            for (guard, functions) in &mut guards {
                if pattern::matches(guard.function, name) || pattern::matches(guard.function, &readable) {
                    functions.insert(function.start);
                }
            }
        }
        Guards { guards }
    }

    /// What all guards state, by function.
    pub(crate) fn all(&self) -> Stated {
        self.chosen(|_| true)
    }

    fn chosen(&self, is_chosen: impl Fn(usize) -> bool) -> Stated {
        let mut stated = Stated::default();
        for (_, (guard, functions)) in self.guards.iter().enumerate().filter(|(index, _)| is_chosen(*index)) {
            for &start in functions {
                let features = stated.entry(start).or_insert(FeatureSet::EMPTY);
                *features = features.union(guard.features);
            }
        }
        stated
    }

    /// Whether each guard serves: a verdict is another with it alone than with none, or with all but it than with all.
    pub(crate) fn uses(
        &self,
        checks: Option<&Checks>,
        image: &Image<'_>,
        program: &Program,
        with_all: &[Verdict],
    ) -> Vec<GuardUse> {
        let permitted = deburr_cpu::universal_features(image.arch);
        let judge = |is_chosen: &dyn Fn(usize) -> bool| {
            let stated = self.chosen(is_chosen);
            checks.map_or_else(Vec::new, |checks| checks.judge(image, program, permitted, &stated))
        };
        let reaches =
            |verdicts: &[Verdict]| verdicts.iter().map(|verdict| verdict.reach).collect::<Vec<Reach>>();
        let any = self.guards.iter().any(|(_, functions)| !functions.is_empty());
        let without = if any { reaches(&judge(&|_| false)) } else { Vec::new() };
        let with_all = reaches(with_all);
        let of = |(index, (guard, functions)): (usize, &(StatedGuard<'_>, BTreeSet<CodeOffset>))| GuardUse {
            id: guard.id,
            functions: functions.len() as u64,
            is_needed: !functions.is_empty()
                && with_all != without
                && (reaches(&judge(&|other| other == index)) != without
                    || reaches(&judge(&|other| other != index)) != with_all),
        };
        self.guards.iter().enumerate().map(of).collect()
    }
}
