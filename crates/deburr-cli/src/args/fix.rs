//! The options of `deburr fix`.
//!
//! In: the arguments after `fix`. Out: [`Fix`], whose text here is the help of the verb.

use super::batch::Batch;
use super::format::Format;
use super::values::offers;
use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, ValueEnum};
use deburr_core::Svma;
use deburr_patch::RULES;
use std::path::PathBuf;

/// What takes the place of `yield`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PauseChoice {
    Isb,
    Sb,
    // `sb` where the target has it, `isb` elsewhere.
    Auto,
}

/// The options of `deburr fix`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("destination").args(["output", "in_place", "dispatch"]))]
#[command(after_long_help = "Examples:
  deburr fix ./libstore.so
      show what could be rewritten; changes nothing
  deburr fix ./libstore.so -o libstore-lse.so      write a new file
  deburr fix --target armv8.1-a -o new/ unpacked/
      a whole tree, and calls of outlined helpers, too
  deburr fix app.whl -o app-lse.whl
      a package: its hashes stay right
  deburr fix --in-place --only llsc-loop ./server
      the old file stays as server.orig
  deburr fix --site 0x13b77c --function 'spin_*' ./server
  deburr fix --dispatch dist/ ./libstore.so
      both files, and what each needs
  deburr fix --verify libstore.so libstore-lse.so
      prove the difference from the two files alone
  deburr fix --revert libstore-lse.so -o old.so
      the original again, byte for byte

Nothing moves in a rewritten file: new words replace old ones, each proven to do
the same, and a note says what was changed. What was written is read again and
verified before it gets its name. A place that is not proven is not touched.

Where exclusive loops or outlined calls became LSE instructions, the new file
needs FEAT_LSE: on CPUs before Armv8.1 it dies of SIGILL. --dispatch keeps both
files, as rewritten/NAME and original/NAME; manifest.json lists them the best
first, with the features that each needs, for a launcher to take the first that
the CPU can run.

Where there is nothing to rewrite, -o writes the file as it is, and --in-place
leaves it alone: both succeed. In a directory, files that must stay as they are
(other architectures, archives, relocatable objects, files whose bytes a hash or
a signature attests) are left so, or copied; named themselves, they are an
error. Links are kept and not followed.

A package that is named is rewritten as a whole. Binaries in it that must stay
as they are do so, and all else stays byte for byte, except for the hashes that
a package has of its files, which are made right (RECORD of wheels, md5sums of
.deb). Before it gets its name, it is read again, and its binaries are compared
with those of the original. Signatures of the package hold no longer; a note
names them. --revert gives the binaries back; the package around them may be
compressed otherwise than it was. Packages in directories are rewritten like
those that are named. Packages in packages are not, which is an error where
there are AArch64 programs in them; the layers of container images (docker save,
OCI) are, with all digests in manifests and configurations.

OUT may be a device, a FIFO, /dev/stdout or -; what is printed goes to the
standard error where OUT is the standard output. Links are followed and stay.

Exit status: 0 planned, written or verified; 1 not verified; 2 some work could
not be done.")]
pub(crate) struct Fix {
    /// ELF files for AArch64, directories and packages of them
    ///
    /// Packages are wheels and other zip files, .deb, tar and container images.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) paths: Vec<PathBuf>,

    /// Write the result here; of a directory, a copy
    #[arg(short, long, value_name = "OUT", help_heading = "What to do")]
    pub(crate) output: Option<PathBuf>,
    /// Replace FILE; the original stays as FILE.orig
    #[arg(long, help_heading = "What to do")]
    pub(crate) in_place: bool,
    /// Suffix of a replaced file's backup [default: .orig]
    ///
    /// Nothing that exists is overwritten.
    #[arg(long, value_name = "SUFFIX", requires = "in_place", value_parser = suffix, help_heading = "What to do")]
    pub(crate) backup: Option<String>,
    /// Write both files and manifest.json into DIR
    ///
    /// The manifest lists what each file needs.
    #[arg(long, value_name = "DIR", help_heading = "What to do")]
    pub(crate) dispatch: Option<PathBuf>,
    /// Restore the original of a rewritten FILE
    ///
    /// It goes into OUT or in the place of FILE; a backup is made only with --backup.
    #[arg(long, requires = "destination", conflicts_with_all = CHOICES, conflicts_with = "dispatch", help_heading = "What to do")]
    pub(crate) revert: bool,
    /// Prove that the second FILE does the same as the first
    ///
    /// Give the original and the rewritten one, as files or packages. Every difference must be a change that is proven.
    #[arg(long, conflicts_with_all = NO_TARGET, help_heading = "What to do")]
    #[arg(conflicts_with_all = ["revert", "destination"])]
    pub(crate) verify: bool,

    /// Rewrite what these rules find only (can be given more than once)
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = PossibleValuesParser::new(RULES), help_heading = "Choice")]
    pub(crate) only: Vec<String>,
    /// Rewrite in these functions only (repeatable)
    ///
    /// A name, or a pattern with * and ?.
    #[arg(long, value_name = "NAME", help_heading = "Choice")]
    pub(crate) function: Vec<String>,
    /// Rewrite at these addresses only (can be given more than once)
    #[arg(long, value_name = "ADDRESS", value_parser = address, help_heading = "Choice")]
    pub(crate) site: Vec<Svma>,
    /// Skip compare-and-swaps that retry at once on failure
    ///
    /// LSE may be slower there.
    #[arg(long, help_heading = "Choice")]
    pub(crate) skip_spin_cas: bool,
    /// Level or CPU that every machine has, such as armv8.1-a
    ///
    /// Calls of helpers are rewritten only with LSE.
    #[arg(long, value_name = "NAME", value_parser = offers::NAMED_MACHINE, hide_possible_values = true, help_heading = "Choice")]
    pub(crate) target: Vec<String>,
    /// Replacement of yield in spin loops
    ///
    /// isb, which every CPU has; sb, only where the --target has FEAT_SB; or whichever of them the target has.
    #[arg(long, value_enum, value_name = "NAME", default_value_t = PauseChoice::Isb, help_heading = "Choice")]
    pub(crate) pause: PauseChoice,
    /// The configuration, of which `target` is read [default: deburr.toml in the current folder or the nearest above it]
    #[arg(long, value_name = "FILE", help_heading = "Choice")]
    pub(crate) config: Option<PathBuf>,

    /// Move longer replacements into executable space that is added
    ///
    /// A branch leads there and back.
    #[arg(long, help_heading = "New file")]
    pub(crate) trampolines: bool,
    /// Give the new file a build-id of its own
    ///
    /// Debug files of the original are then not found any more.
    #[arg(long, help_heading = "New file")]
    pub(crate) new_build_id: bool,
    /// Also rewrite files whose bytes a hash or signature attests
    ///
    /// In a file beside FILE, in an attribute, in FILE itself or in bytes after its last section, such as an archive. None of them matches the
    /// new file. --trailer is the old name.
    #[arg(long, alias = "trailer", help_heading = "New file")]
    pub(crate) despite_signature: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub(crate) format: Format,
    /// Sites and addresses per rule in a plan; 0: all
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Output")]
    pub(crate) limit: usize,

    /// With --verify: list what the proofs assume
    #[arg(short, long, requires = "verify", help_heading = "Output")]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) batch: Batch,
}

impl Fix {
    /// What is added to the name of a file that is replaced.
    pub(crate) fn suffix(&self) -> &str {
        self.backup.as_deref().unwrap_or(".orig")
    }

    /// Whether nothing is written: what could be is only shown.
    pub(crate) fn is_plan(&self) -> bool {
        let is_back = self.revert || self.verify;
        !is_back && self.output.is_none() && !self.in_place && self.dispatch.is_none()
    }
}

/// The options that choose what is rewritten, and how.
const CHOICES: [&str; 10] = [
    "target",
    "config",
    "only",
    "function",
    "site",
    "skip_spin_cas",
    "pause",
    "trampolines",
    "new_build_id",
    "despite_signature",
];

/// Those of them that have no meaning for files that are there already.
const NO_TARGET: [&str; 8] = {
    let [_target, _config, rest @ ..] = CHOICES;
    rest
};

/// An address as the plan shows it.
fn address(text: &str) -> Result<Svma, String> {
    let number = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.map(Svma).ok_or_else(|| "expected an address such as 0x13b77c".to_owned())
}

/// What can be added to a file's name.
fn suffix(text: &str) -> Result<String, String> {
    match text {
        "" => Err("expected a suffix such as .orig".to_owned()),
        text if text.contains('/') => Err("a suffix is no path".to_owned()),
        text => Ok(text.to_owned()),
    }
}
