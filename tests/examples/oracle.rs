//! What objdump's text says about atomics: `cargo run -p deburr-tests --example oracle FILE…`.

use deburr_tests::oracle::{Atomics, Listing};
use std::path::Path;

fn main() {
    for file in std::env::args().skip(1) {
        let atomics = Atomics::of(&Listing::of("llvm-objdump", Path::new(&file)));
        println!("{file}:");
        for helper in &atomics.helpers {
            let calls = atomics.helper_calls.values().filter(|name| **name == helper.name).count();
            println!("  {:#x}..{:#x} {}: {calls} calls", helper.start, helper.end, helper.name);
        }
        println!(
            "  {} helper bodies, {} calls, {} load-exclusives and {} store-exclusives elsewhere, {} LSE atomics elsewhere",
            atomics.helpers.len(),
            atomics.helper_calls.len(),
            atomics.load_exclusives.len(),
            atomics.store_exclusives.len(),
            atomics.lse.len()
        );
    }
}
