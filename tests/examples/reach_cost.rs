//! What the analysis of run-time checks costs beside everything else.
//!
//! Checks each file once as a whole, and runs the analysis on it once more alone. Prints, for all files together, how many
//! there are, how many of them have instructions above the first level, and the CPU seconds of the whole and of the analysis,
//! with one thread. What is no ELF file is passed over.

use deburr_core::function::discover;
use deburr_core::function::reach::{Checks, Stated};
use deburr_core::image::{Image, Linkage};
use deburr_core::insn::sweep::Wants;
use deburr_core::insn::{Class, ClassSet};
use deburr_core::{Request, check};
use deburr_tests::cpu_time::thread_seconds;
use std::error::Error;
use std::hint::black_box;

/// The CPU seconds of the analysis of one file; `None` where nothing lies above the first level.
fn analyse(bytes: &[u8]) -> Result<Option<f64>, Box<dyn Error + Send + Sync>> {
    let image = Image::parse(bytes, None)?;
    let program = discover(&image, Wants::classes(ClassSet::of(&[Class::FeatureQuery])));
    if program.hits_by_function().next().is_none() {
        return Ok(None);
    }
    let start = thread_seconds();
    let linkage = Linkage::parse(&image);
    let checks = Checks::find(&image, &linkage, &program, &[], (&Stated::default(), true), None);
    let permitted = deburr_cpu::universal_features(image.arch);
    black_box(checks.judge(&image, &program, permitted, &Stated::default()));
    Ok(Some(thread_seconds() - start))
}

fn measure(paths: &[String]) -> Result<(u64, u64, f64, f64), Box<dyn Error + Send + Sync>> {
    let (mut files, mut above, mut whole, mut reach) = (0, 0, 0.0, 0.0);
    for path in paths {
        let Ok(bytes) = std::fs::read(path) else { continue };
        let start = thread_seconds();
        let report = check(&bytes, &Request::default());
        let seconds = thread_seconds() - start;
        if black_box(report).is_err() {
            continue;
        }
        let analysis = analyse(&bytes)?;
        (files, whole, reach) = (files + 1, whole + seconds, reach + analysis.unwrap_or(0.0));
        above += u64::from(analysis.is_some());
    }
    Ok((files, above, whole, reach))
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    if paths.is_empty() {
        return Err("usage: reach_cost FILE…".into());
    }
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let (files, above, whole, reach) = one.install(|| measure(&paths))?;
    println!("{files} {above} {whole:.6} {reach:.6}");
    Ok(())
}
