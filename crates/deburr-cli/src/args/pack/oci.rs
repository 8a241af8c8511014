//! The options of `deburr pack oci`.

use crate::args::format::Format;
use clap::Args;
use std::path::PathBuf;

/// The options of `deburr pack oci`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  deburr pack oci PACK --entrypoint /usr/bin/prog -o layout
  deburr pack oci --variant x86-64-v1=tree-v1 --variant x86-64-v3=tree-v3 -o \\
      layout
  deburr pack oci --base debian-layout --tag 1.2 --entrypoint /usr/bin/prog \\
      PACK -o layout
  skopeo copy --all oci:layout docker://registry.example/app:1.2

Each tree becomes one layer, its files at the root of the image. The index has a
manifest for each level: linux/amd64, linux/amd64/v2 to v4; linux/arm64/v8, v8.1
and so on. Each program and shared library is checked first: one that needs more
than its level is refused.

The same trees give the same bytes. Files have the time SOURCE_DATE_EPOCH, or
1970, and belong to root. A base is an OCI image layout; its image for the best
level that does not exceed the variant's comes below the layer.

Exit status: 0 written, 2 not; then nothing was written.")]
pub(crate) struct Oci {
    /// What deburr pack build made
    #[arg(value_name = "PACK", required_unless_present = "variants", conflicts_with = "variants")]
    pub(crate) pack: Option<PathBuf>,
    /// Tree and its level (once for each variant)
    #[arg(long = "variant", value_name = "LEVEL=TREE")]
    pub(crate) variants: Vec<String>,
    /// Image below: an OCI image layout, folder or plain tar
    #[arg(long, value_name = "LAYOUT")]
    pub(crate) base: Option<PathBuf>,
    /// The program that a container runs; again for each argument
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) entrypoint: Vec<String>,
    /// Set a variable in the environment of containers
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// The image's name in the layout, such as 1.2
    #[arg(long, value_name = "NAME")]
    pub(crate) tag: Option<String>,
    /// Folder for the layout, empty or new
    #[arg(short, long, value_name = "LAYOUT")]
    pub(crate) output: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub(crate) format: Format,
}
