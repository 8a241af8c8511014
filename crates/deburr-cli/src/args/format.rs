//! What the options of output take: formats, where each goes (`sarif=report.sarif`), and when there are
//! colours.

use clap::ValueEnum;
use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use std::ffi::OsStr;
use std::marker::PhantomData;
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

/// A version of the JSON document of `deburr check`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaVersion {
    /// A finding for each place.
    #[value(name = "1")]
    One = 1,
    /// A finding for places that differ in nothing else.
    #[value(name = "2")]
    Two = 2,
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
pub(crate) struct Formatted<F> {
    pub(crate) format: F,
    /// `None`: the standard output, or what `--output` says.
    pub(crate) file: Option<PathBuf>,
}

/// A format of findings, and where it goes.
pub(crate) type Destination = Formatted<ReportFormat>;

/// Takes the page out of the formats of a verb that prints one format, and writes a page only to a file. `html`: the file that an
/// older option names.
///
/// # Errors
/// For people: where two formats would be printed, or a file is given that no page goes to.
pub(crate) fn take_page<F: Copy + PartialEq>(
    formats: &mut Vec<Formatted<F>>,
    page: F,
    html: &mut Option<PathBuf>,
) -> Result<(), String> {
    for given in formats.extract_if(.., |given| given.format == page) {
        let file = given.file.ok_or("--format html: give it a file, as in --format html=FILE")?;
        if html.replace(file).is_some() {
            return Err("--format html: two pages for one run".to_owned());
        }
    }
    match formats.as_slice() {
        [Formatted { file: Some(_), .. }] => {
            Err("--format: only html goes to a file; redirect the others".to_owned())
        }
        [] | [_] => Ok(()),
        _ => Err("--format: two formats for the standard output".to_owned()),
    }
}

/// Reads a [`Formatted`].
#[derive(Debug)]
pub(super) struct FormatParser<F>(PhantomData<fn() -> F>);

impl<F> FormatParser<F> {
    pub(super) const fn new() -> FormatParser<F> {
        FormatParser(PhantomData)
    }
}

impl<F> Clone for FormatParser<F> {
    fn clone(&self) -> FormatParser<F> {
        FormatParser::new()
    }
}

impl<F: ValueEnum + Clone + Send + Sync + 'static> TypedValueParser for FormatParser<F> {
    type Value = Formatted<F>;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Formatted<F>, clap::Error> {
        let bytes = value.as_bytes();
        let (format, file) = match bytes.iter().position(|&byte| byte == b'=') {
            Some(at) => (OsStr::from_bytes(&bytes[..at]), Some(OsStr::from_bytes(&bytes[at + 1..]))),
            None => (value, None),
        };
        let format = EnumValueParser::<F>::new().parse_ref(command, argument, format)?;
        Ok(Formatted { format, file: file.map(PathBuf::from) })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(F::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}
