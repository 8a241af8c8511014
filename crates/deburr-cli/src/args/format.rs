//! What the options of output take: formats, where each goes (`sarif=report.sarif`), and when there are
//! colours.

use clap::ValueEnum;
use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// `auto` checks whether the output is a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

/// A format of what differs between two builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    Text,
    Json,
    Html,
}

/// A format of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    Text,
    Concise,
    Json,
    Sarif,
    Github,
    Junit,
    Lintian,
    VariantJson,
    Html,
    Parquet,
}

/// A format, and where it goes: `sarif=report.sarif`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Destination {
    pub(crate) format: ReportFormat,
    /// `None`: the standard output, or what `--output` says.
    pub(crate) file: Option<PathBuf>,
}

/// Reads a [`Destination`].
#[derive(Debug, Clone)]
pub(super) struct DestinationParser;

impl TypedValueParser for DestinationParser {
    type Value = Destination;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Destination, clap::Error> {
        let bytes = value.as_bytes();
        let (format, file) = match bytes.iter().position(|&byte| byte == b'=') {
            Some(at) => (OsStr::from_bytes(&bytes[..at]), Some(OsStr::from_bytes(&bytes[at + 1..]))),
            None => (value, None),
        };
        let format = EnumValueParser::<ReportFormat>::new().parse_ref(command, argument, format)?;
        Ok(Destination { format, file: file.map(PathBuf::from) })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(ReportFormat::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}
