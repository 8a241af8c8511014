//! Prints what each function of a file does with its frame, and whether it is in an unoptimised stretch, for
//! `scripts/optimisation`: address, length, instructions, stored arguments, whether in a stretch, held loads, idle jumps, saved registers, name.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "it is a program, and reads files")]

use deburr_core::provenance::{Optimisation, frame_use};

fn main() {
    for path in std::env::args().skip(1) {
        let Ok(bytes) = std::fs::read(path) else { continue };
        let Ok((image, program)) = deburr_core::front::open(&bytes, None, Default::default()) else {
            continue;
        };
        let all = Optimisation::of(&image, &program);
        for function in program.functions().iter().filter(|function| !function.is_part()) {
            let extent = function.extent(&image);
            let found = frame_use(&image, &program, function);
            let inside = u8::from(all.stretch_at(extent.start).is_some());
            let counts = [found.instructions, found.arguments];
            let name = program.name(function, &image).unwrap_or_default();
            println!(
                "{}\t{}\t{}\t{}\t{inside}\t{}\t{}\t{}\t{name}",
                extent.start,
                extent.len(),
                counts[0],
                counts[1],
                found.held,
                found.idle_jumps,
                found.saved
            );
        }
    }
}
