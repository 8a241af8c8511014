//! Compares the sweep's decoder for x86-64 with iced-x86: on every instruction that can be made up, or, where files are
//! named, from every byte of their code.

#![expect(clippy::print_stdout, reason = "an example for developers")]
#![expect(clippy::disallowed_methods, reason = "reads the files that it is given")]

use deburr_core::insn::x86_64::{check_everywhere, check_opcodes, check_sweep};
use object::{Object, ObjectSection, SectionKind};
use std::sync::atomic::{AtomicUsize, Ordering};

fn main() -> Result<(), String> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let decided = std::thread::scope(|scope| {
        let work = |thread: usize| {
            if files.is_empty() {
                return check_opcodes(thread as u64, threads as u64).map_err(|fault| format!("{fault:02x?}"));
            }
            let mut decided = 0;
            while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                decided += check_file(file)?;
            }
            Ok(decided)
        };
        let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        let ended =
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?);
        ended.sum::<Result<u64, String>>()
    })?;
    println!("the table decides {decided} instructions as iced-x86 does");
    Ok(())
}

/// Compares from every byte of a file's code, and its sweep for several wants.
fn check_file(path: &str) -> Result<u64, String> {
    let fault = |fault: &dyn std::fmt::Debug| format!("{path}: {fault:02x?}");
    let bytes = std::fs::read(path).map_err(|error| fault(&error))?;
    let file = object::File::parse(&*bytes).map_err(|error| fault(&error))?;
    let mut decided = 0;
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
        let code = section.data().map_err(|error| fault(&error))?;
        decided += check_everywhere(code).map_err(|error| fault(&error))?;
        for choice in 0..8 {
            let choice = (choice << 3 | choice) ^ code.len() as u64 ^ choice << 37;
            if !check_sweep(code, choice) {
                return Err(fault(&format_args!("the sweeps differ for the choice {choice}")));
            }
        }
    }
    Ok(decided)
}
