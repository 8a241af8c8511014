//! `deburr pack oci`: variants → an OCI image layout with a manifest for each level.
//!
//! In: the options. Out: the layout, there whole or not at all, and a report in text or JSON.

mod store;
mod tree;
mod variant;

use crate::args::format::Format;
use crate::args::pack::oci::Oci;
use crate::cmd::failure::Failure;
use crate::input::image_layout::ImageLayout;
use crate::input::mapped::Bytes;
use deburr_package::layout::{
    Base, Descriptor, Platform, Settings, config, image_layout, index, manifest, outer_index,
};
use deburr_package::{Blobs, archive};
use deburr_text::ShownPath as _;
use serde::Serialize;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::Store;
use variant::{Variant, variants};

/// What was written.
#[derive(Serialize)]
struct Written {
    images: Vec<Image>,
    /// The digest of the index of the images.
    digest: String,
    /// What the reader should know.
    notes: Vec<String>,
}

/// An image of the layout.
#[derive(Serialize)]
struct Image {
    level: String,
    platform: String,
    /// The digest of its manifest.
    digest: String,
    /// The size of its own layer in bytes.
    layer: u64,
}

/// Runs the step.
pub(super) fn run(options: &Oci, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let written = write(options).map_err(Failure::Message)?;
    match options.format {
        Format::Text => text(out, &written, &options.output)?,
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, &written).map_err(io::Error::from)?;
            writeln!(out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write(options: &Oci) -> Result<Written, String> {
    let settings = settings(options)?;
    let time = time()?;
    refuse_existing(&options.output)?;
    let mut notes = Vec::new();
    let variants = variants(options, &mut notes)?;
    for variant in &variants {
        variant.check(&mut notes)?;
    }
    for (at, variant) in variants.iter().enumerate() {
        let architecture = &variant.platform.architecture;
        let is_lowest = at == 0 || variants[at - 1].platform.architecture != *architecture;
        if is_lowest && !variant.is_first() {
            notes.push(format!(
                "no image is for plain linux/{architecture}; clients that name no variant may find none"
            ));
        }
    }
    let temporary = temporary(&options.output)?;
    let result = match &options.base {
        None => layout(options, &settings, time, &variants, None, &temporary),
        Some(path) => with_base(path, |blobs| {
            layout(options, &settings, time, &variants, Some((path, blobs)), &temporary)
        }),
    };
    let placed = result.and_then(|written| {
        fs::rename(&temporary, &options.output)
            .map_err(|error| format!("{}: {error}", options.output.shown()))?;
        Ok(written)
    });
    match placed {
        Ok((images, digest)) => Ok(Written { images, digest, notes }),
        Err(error) => {
            // The first fault is the one to report; what is left is below a name of its own.
            let _ = fs::remove_dir_all(&temporary);
            Err(error)
        }
    }
}

/// Writes the layout; the images, and the digest of their index.
fn layout(
    options: &Oci,
    settings: &Settings,
    time: u64,
    variants: &[Variant],
    below: Option<(&Path, &dyn Blobs)>,
    to: &Path,
) -> Result<(Vec<Image>, String), String> {
    let store = Store::new(to)?;
    let (mut images, mut manifests): (Vec<Image>, Vec<(Descriptor, Platform)>) = (Vec::new(), Vec::new());
    for variant in variants {
        let base = below.map(|(path, blobs)| base(variant, path, blobs, &store)).transpose()?;
        let layer = store.layer(variant, time)?;
        let config = config(base.as_ref(), &layer, &variant.platform, settings);
        let manifest = manifest(base.as_ref(), &layer, &config.descriptor);
        store.document(&config)?;
        store.document(&manifest)?;
        images.push(Image {
            level: variant.level.clone(),
            platform: variant.platform.to_string(),
            digest: manifest.descriptor.digest.clone(),
            layer: layer.size,
        });
        manifests.push((manifest.descriptor, variant.platform.clone()));
    }
    let index = index(&manifests);
    store.document(&index)?;
    store.file("index.json", &outer_index(&index.descriptor, options.tag.as_deref()))?;
    store.file("oci-layout", &image_layout())?;
    Ok((images, index.descriptor.digest))
}

/// The base of a variant, with its layers copied.
fn base(variant: &Variant, path: &Path, blobs: &dyn Blobs, store: &Store) -> Result<Base, String> {
    let named = |error: String| format!("{}: {error}", path.shown());
    let base = Base::find(blobs, &variant.platform)
        .map_err(|error| named(format!("for {}: {error}", variant.platform)))?;
    for layer in &base.layers {
        store.copied(blobs, layer).map_err(named)?;
    }
    let links = base.links(blobs).map_err(|error| named(error.to_string()))?;
    if let Some(folder) = variant.folder_among(&links) {
        return Err(format!(
            "{}: it is a link in the base, and a folder in its place would hide what is there; install into where the link leads, such as usr/{0}",
            folder.shown()
        ));
    }
    Ok(base)
}

/// Opens a layout in a folder or in an archive.
fn with_base<T>(path: &Path, run: impl FnOnce(&dyn Blobs) -> Result<T, String>) -> Result<T, String> {
    let fault = |error: io::Error| format!("{}: {error}", path.shown());
    if fs::metadata(path).map_err(fault)?.is_dir() {
        return run(&ImageLayout::new(path));
    }
    let bytes = Bytes::open(path).map_err(fault)?;
    let archive = archive(&bytes).ok_or_else(|| {
        format!("{}: expected an OCI image layout, as a folder or as a tar archive", path.shown())
    })?;
    run(&archive)
}

fn settings(options: &Oci) -> Result<Settings, String> {
    for variable in &options.env {
        if variable.split_once('=').is_none_or(|(name, _)| name.is_empty()) {
            return Err(format!("--env {variable}: expected NAME=VALUE"));
        }
    }
    // image-spec, "Pre-Defined Annotation Keys", `ref.name`, without what separates.
    let is_end = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
    let is_inner = |letter: char| letter.is_ascii_alphanumeric() || "-._:@/+".contains(letter);
    if let Some(tag) = &options.tag
        && !(is_end(tag.chars().next()) && is_end(tag.chars().last()) && tag.chars().all(is_inner))
    {
        return Err(format!("--tag {tag}: expected letters and digits, with -._:@/+ between them"));
    }
    Ok(Settings { entrypoint: options.entrypoint.clone(), env: options.env.clone() })
}

/// The time of all files (reproducible-builds.org, "SOURCE_DATE_EPOCH").
fn time() -> Result<u64, String> {
    match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text
            .parse()
            .map_err(|_| format!("SOURCE_DATE_EPOCH={text}: expected a number of seconds since 1970")),
        Err(std::env::VarError::NotPresent) => Ok(0),
        Err(error) => Err(format!("SOURCE_DATE_EPOCH: {error}")),
    }
}

fn refuse_existing(output: &Path) -> Result<(), String> {
    let is_free = match fs::read_dir(output) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(output).is_err(),
    };
    is_free
        .then_some(())
        .ok_or_else(|| format!("{}: expected a folder that is empty or does not exist", output.shown()))
}

/// A new folder next to the output.
fn temporary(output: &Path) -> Result<PathBuf, String> {
    let fault = |path: &Path, error: io::Error| format!("{}: {error}", path.shown());
    let absolute = std::path::absolute(output).map_err(|error| fault(output, error))?;
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(format!("{}: expected a folder that is empty or does not exist", output.shown()));
    };
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.new", std::process::id()));
    let temporary = parent.join(hidden);
    fs::create_dir(&temporary).map_err(|error| fault(&temporary, error))?;
    Ok(temporary)
}

fn text(out: &mut dyn Write, written: &Written, output: &Path) -> io::Result<()> {
    for image in &written.images {
        writeln!(
            out,
            "{:<16} {:<16} {} (layer: {} bytes)",
            image.level, image.platform, image.digest, image.layer
        )?;
    }
    for note in &written.notes {
        writeln!(out, "{note}")?;
    }
    writeln!(out, "{}: {}", output.shown(), written.digest)
}
