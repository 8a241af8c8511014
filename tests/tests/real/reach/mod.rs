//! Which functions a program reaches without a check for their features: programs compiled here, run under qemu, judged by
//! deburr.

mod aarch64;
mod example;
mod refusals;
mod x86_64;

/// One case, tested twice: `runs` holds the program against qemu-user on CPUs with and without the feature, so that what the
/// case claims is so; `verdicts` holds deburr against the case.
macro_rules! case {
    ($name:ident, $case:expr) => {
        pub(super) mod $name {
            use super::*;

            pub(super) const CASE: Case = $case;
            pub(super) const NAME: &str = crate::reach::name_of(module_path!());

            #[test]
            fn runs() {
                deburr_tests::reach::assert_runs(NAME, &CASE);
            }

            #[test]
            fn verdicts() {
                deburr_tests::reach::assert_verdicts(NAME, &CASE);
            }
        }
    };
}
use case;

/// A case's name in `gaps.txt`: its module's path below this one.
const fn name_of(module: &'static str) -> &'static str {
    let (_, name) = module.split_at(module_path!().len() + "::".len());
    name
}
