//! One frame in the text of `perf script`: where an instruction is.
//!
//! ```text
//!             prog 18207   544.645902:     250000 cpu-clock:      55d7166862b6 sum+0x16 (/usr/bin/prog)
//! ```
//!
//! The instruction pointer is printed as `%16lx` after a blank or a tabulator (tools/perf/util/evsel_fprintf.c); no other
//! hexadecimal field has that width, so a command of any name stays in front of it.

/// How wide an instruction pointer is printed.
const WIDTH: usize = 16;

/// A frame: of a line that is a whole sample, or of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptFrame<'l> {
    /// The instruction pointer; in chains of some versions of perf, an offset in the file.
    pub ip: u64,
    /// The symbol with its offset, as it is printed.
    pub name: &'l str,
    /// The file, or something like `[kernel.kallsyms]`, as it is printed.
    pub object: &'l str,
}

impl<'l> ScriptFrame<'l> {
    /// `55d7166862b6 sum+0x16 (/usr/bin/prog)`.
    pub fn of(text: &'l str) -> Option<ScriptFrame<'l>> {
        let (ip, rest) = text.trim_start().split_once(' ')?;
        let ip = hexadecimal(ip)?;
        let (name, object) = split_object(rest)?;
        Some(ScriptFrame { ip, name, object })
    }

    /// A frame at the end of a line, and what is before it.
    pub fn in_line(line: &'l str) -> Option<(&'l str, ScriptFrame<'l>)> {
        let bytes = line.as_bytes();
        let mut at = 0;
        while let Some(space) = line.get(at..)?.find(' ') {
            // The token that ends here, and the column after which `%16lx` would have begun.
            let (start, end) = (at, at + space);
            at = end + 1;
            let token = line.get(start..end)?;
            let column = start.min(end.saturating_sub(WIDTH));
            let is_padded = hexadecimal(token).is_some()
                && end > WIDTH
                && bytes.get(column - 1..start)?.iter().all(|byte| *byte == b' ');
            // The first of them or none: looking further would take quadratic time on a hostile line.
            if is_padded {
                return Some((line.get(..column)?, ScriptFrame::of(line.get(start..)?)?));
            }
        }
        None
    }

    /// The path, and the offset that `dsoff` prints after it.
    pub(crate) fn path(&self) -> (&'l str, Option<u64>) {
        match self.object.rsplit_once("+0x").map(|(path, offset)| (path, hexadecimal(offset))) {
            Some((path, offset @ Some(_))) => (path, offset),
            _ => (self.object, None),
        }
    }

    /// The name and the offset after it; `None`: perf knows none.
    pub fn symbol(&self) -> Option<(&'l str, Option<u64>)> {
        let name = self.name.trim();
        let (name, offset) =
            match name.rsplit_once("+0x").map(|(before, offset)| (before, hexadecimal(offset))) {
                Some((before, offset @ Some(_))) => (before, offset),
                _ => (name, None),
            };
        (!name.is_empty() && name != "[unknown]").then_some((name, offset))
    }
}

pub(crate) fn hexadecimal(token: &str) -> Option<u64> {
    let is_digits = token.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (is_digits && !token.is_empty()).then(|| u64::from_str_radix(token, 16).ok()).flatten()
}

/// `sum(int) (/usr/bin/prog)` → the symbol and the file. Both may have parentheses.
fn split_object(text: &str) -> Option<(&str, &str)> {
    let inner = text.trim_end().strip_suffix(')')?;
    let mut depth = 1u32;
    for (at, byte) in inner.bytes().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let object = inner.get(at + 1..)?;
            // A path has parentheses that do not match.
            let name = inner.get(..at).filter(|name| name.is_empty() || name.ends_with(' '));
            return name.map(|name| (name, object)).or_else(|| by_beginning(inner));
        }
    }
    by_beginning(inner)
}

/// The same by how files begin: with a slash, or a bracket.
fn by_beginning(inner: &str) -> Option<(&str, &str)> {
    let at = inner.rfind(" (/").or_else(|| inner.rfind(" (["))?;
    Some((inner.get(..at + 1)?, inner.get(at + 2..)?))
}
