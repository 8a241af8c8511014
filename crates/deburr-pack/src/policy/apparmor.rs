//! Files of AppArmor for what was laid out.
//!
//! In: places. Out: one file of aliases, which every profile reads, and for each program an abstraction, which its profile includes.
//! AppArmor goes by the path of the file that is executed, links resolved: that is the launcher, and then a variant. An alias makes rules
//! and attachments for `/usr/bin/prog` hold for these, too (apparmor.d(5), *Alias rules*); the start of the variant by the launcher needs
//! a rule of its own, which keeps the profile (`ix`).

use super::places::{Laid, Location, Places};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Which every file of `tunables/global` reads, and which is for packages.
const TUNABLES: &str = "apparmor.d/tunables/multiarch.d";
const ABSTRACTIONS: &str = "apparmor.d/abstractions";

/// The files, by their paths in `/etc`.
pub(super) fn files(places: &Places, name: &str) -> Vec<(PathBuf, String)> {
    let mut aliases = format!(
        "# {name}: rules for programs and libraries hold for their variants, which deburr pack laid out.\n"
    );
    let mut libraries = String::new();
    for (place, laid) in &places.files {
        for at in laid.launcher.iter().map(|path| escaped(path)).chain(laid.variants.iter().map(pattern)) {
            let _ = writeln!(aliases, "alias \"{}\" -> \"{at}\",", escaped(place));
        }
        if !laid.is_program {
            laid.variants.iter().for_each(|at| rule(&mut libraries, &pattern(at), "mr"));
        }
    }
    let mut files = vec![(PathBuf::from(format!("{TUNABLES}/{name}")), aliases)];
    for (place, laid) in places.files.iter().filter(|(_, laid)| laid.is_program) {
        let short = place.trim_start_matches('/').replace('/', ".");
        let text = abstraction(place, laid, &libraries);
        files.push((PathBuf::from(format!("{ABSTRACTIONS}/{name}/{short}")), text));
    }
    files
}

fn abstraction(place: &str, laid: &Laid, libraries: &str) -> String {
    let mut text =
        format!("# For the profile of {place}: its launcher starts a variant under the same profile.\n");
    rule(&mut text, &escaped(laid.launcher.as_deref().unwrap_or(place)), "mr");
    laid.variants.iter().for_each(|at| rule(&mut text, &pattern(at), "mrix"));
    text.push_str(libraries);
    text
}

fn rule(text: &mut String, pattern: &str, permissions: &str) {
    let _ = writeln!(text, "  \"{pattern}\" {permissions},");
}

fn pattern(location: &Location) -> String {
    match location {
        Location::Trees(trees, path) => format!("{}/[0-9a-f]*/*/{}", escaped(trees), escaped(path)),
        Location::File(path) => escaped(path),
    }
}

/// A path whose characters mean themselves in a quoted pattern.
fn escaped(path: &str) -> String {
    let mut text = String::new();
    for character in path.chars() {
        if "\\\"*?[]{}^@,".contains(character) {
            text.push('\\');
        }
        text.push(character);
    }
    text
}
