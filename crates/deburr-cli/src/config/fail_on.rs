//! What `--fail-on` takes, and `fail-on` in the configuration: the least severity that fails a run, and whether
//! undecided files do.

use clap::ValueEnum;
use deburr_core::finding::Severity;

/// One item of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Note,
    Warning,
    Error,
    // A comment for users here would make the help of all options long.
    Undecided,
    Never,
}

/// What fails a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failing {
    /// The least severity of a finding that does; `None`: none does.
    pub(crate) threshold: Option<Severity>,
    /// Whether a file that is undecided does.
    pub(crate) undecided: bool,
}

impl Default for Failing {
    fn default() -> Failing {
        Failing::USUAL
    }
}

impl Failing {
    /// What a list says; `None` of an empty one.
    ///
    /// # Errors
    /// Where `never` is not alone.
    pub(crate) fn of(list: &[FailOn]) -> Result<Option<Failing>, String> {
        if list.contains(&FailOn::Never) && list.len() > 1 {
            return Err("never: give it alone".to_owned());
        }
        let severity = |item: &FailOn| match item {
            FailOn::Note => Some(Severity::Note),
            FailOn::Warning => Some(Severity::Warning),
            FailOn::Error => Some(Severity::Error),
            FailOn::Undecided | FailOn::Never => None,
        };
        // By itself, `undecided` adds to what fails by default: a file that dies is worse.
        let usual = if list.contains(&FailOn::Undecided) { Some(Severity::Warning) } else { None };
        let threshold = list.iter().filter_map(severity).min().or(usual);
        let undecided = list.contains(&FailOn::Undecided);
        Ok((!list.is_empty()).then_some(Failing { threshold, undecided }))
    }

    /// What fails a run by default.
    const USUAL: Failing = Failing { threshold: Some(Severity::Warning), undecided: false };

    /// What fails a run: the command line wins over the configuration, and a strict run adds undecided files.
    pub(crate) fn chosen(
        given: &[FailOn],
        configured: Option<Failing>,
        is_strict: bool,
    ) -> Result<Failing, String> {
        let given = Failing::of(given).map_err(|fault| format!("--fail-on: {fault}"))?;
        let chosen = given.or(configured).unwrap_or(Failing::USUAL);
        let is_never = chosen.threshold.is_none();
        Ok(Failing { undecided: chosen.undecided || (is_strict && !is_never), ..chosen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_the_least_severity_and_whether_undecided_files_fail() {
        use FailOn::{Error, Never, Note, Undecided, Warning};
        for (list, threshold, undecided) in [
            (&[Error][..], Some(Severity::Error), false),
            (&[Error, Undecided], Some(Severity::Error), true),
            (&[Undecided, Error, Note], Some(Severity::Note), true),
            (&[Undecided], Some(Severity::Warning), true),
            (&[Warning], Some(Severity::Warning), false),
            (&[Never], None, false),
        ] {
            assert_eq!(Failing::of(list), Ok(Some(Failing { threshold, undecided })), "{list:?}");
        }
        assert_eq!(Failing::of(&[]), Ok(None));
        assert!(Failing::of(&[Never, Undecided]).is_err());
    }

    #[test]
    fn a_strict_run_adds_undecided_files_and_the_command_line_wins() {
        let of = |given: &[FailOn], configured: Option<FailOn>, is_strict| {
            let configured = configured.and_then(|item| Failing::of(&[item]).unwrap());
            let Failing { threshold, undecided } = Failing::chosen(given, configured, is_strict).unwrap();
            (threshold, undecided)
        };
        assert_eq!(of(&[], None, false), (Some(Severity::Warning), false));
        assert_eq!(of(&[], None, true), (Some(Severity::Warning), true));
        assert_eq!(of(&[FailOn::Error], Some(FailOn::Note), true), (Some(Severity::Error), true));
        assert_eq!(of(&[FailOn::Error], Some(FailOn::Undecided), false), (Some(Severity::Error), false));
        assert_eq!(of(&[], Some(FailOn::Undecided), false), (Some(Severity::Warning), true));
        assert_eq!(of(&[FailOn::Never], None, true), (None, false));
        assert!(Failing::chosen(&[FailOn::Never, FailOn::Note], None, false).is_err());
    }
}
