//! Symbol names → names as the source has them.
//!
//! In: a name from a symbol table. Out: the demangled name; Go and C names as they are. Bounded, because a short
//! mangled name can abbreviate an exponentially long one. Follows the Itanium C++ ABI and Rust's two schemes.

/// Longer names stay mangled.
const MANGLED_LIMIT: usize = 8192;
/// Where a demangled name is cut.
const DEMANGLED_LIMIT: usize = 8192;
/// Deeper nesting than any real name has.
const RECURSION_LIMIT: u32 = 96;

/// A string that refuses to grow beyond the limit.
#[derive(Default)]
struct Bounded(String);

impl std::fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len().saturating_add(text.len()) > DEMANGLED_LIMIT {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// The name as the source has it, without the hash of Rust's scheme; the name itself where it is not mangled,
/// too long or malformed. A suffix such as `@plt` or `.cold` stays.
pub fn demangle(name: &str) -> String {
    if name.len() > MANGLED_LIMIT {
        return name.to_owned();
    }
    if let Some(plain) = name.strip_suffix("@plt") {
        return demangle_plain(plain).map_or_else(|| name.to_owned(), |plain| plain + "@plt");
    }
    demangle_plain(name).unwrap_or_else(|| name.to_owned())
}

fn demangle_plain(name: &str) -> Option<String> {
    use std::fmt::Write;
    if !name.starts_with("_Z") && !name.starts_with("_R") && !name.starts_with("__Z") {
        return None;
    }
    let mut out = Bounded::default();
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        write!(out, "{rust:#}").ok()?;
        return Some(out.0);
    }
    let options = cpp_demangle::ParseOptions::default().recursion_limit(RECURSION_LIMIT);
    let symbol = cpp_demangle::Symbol::new_with_options(name, &options).ok()?;
    let options = cpp_demangle::DemangleOptions::new().recursion_limit(RECURSION_LIMIT);
    symbol.structured_demangle(&mut FromWrite(&mut out), &options).ok()?;
    Some(out.0)
}

/// The bounded string, as the C++ demangler writes.
struct FromWrite<'b>(&'b mut Bounded);

impl cpp_demangle::DemangleWrite for FromWrite<'_> {
    fn write_string(&mut self, text: &str) -> std::fmt::Result {
        std::fmt::Write::write_str(self.0, text)
    }
}
