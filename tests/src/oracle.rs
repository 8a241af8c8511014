//! The second opinion: counts taken from the *text* of GNU or LLVM objdump.
//!
//! In: a file that objdump disassembles. Out: [`Listing`], and what it says about atomics ([`Atomics`]) and about x86
//! instructions above the first level ([`above_x86_64_v1`]). Names and operands are compared as strings, as a person would
//! with grep; nothing here knows an encoding. Helper bodies are recognised by their text (the flag byte read through x16
//! before an LSE instruction; the lse.S of libgcc and compiler-rt), so that they are found in stripped files too; where symbols name
//! them, [`Atomics::of`] insists that both agree.

use crate::toolchain::{require, run};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// One line of disassembly.
#[derive(Debug, Clone)]
pub struct Line {
    /// The address in the file.
    pub address: u64,
    /// The mnemonic, prefixes left out: `ldaxr`.
    pub mnemonic: String,
    /// What follows it: `w0, [x1]`, comments left out.
    pub operands: String,
    /// Index into [`Listing::functions`].
    pub function: usize,
}

impl Line {
    /// The target of a direct call or jump: the first word of the operands that is a hexadecimal number.
    pub fn target(&self) -> Option<u64> {
        let word = self.operands.rsplit(", ").next()?.split_whitespace().next()?;
        u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()
    }
}

/// A disassembly.
#[derive(Debug, Default)]
pub struct Listing {
    /// All instructions, by address within each section.
    pub lines: Vec<Line>,
    /// The symbols that objdump prints as headings, or `.text` where it has none.
    pub functions: Vec<String>,
}

impl Listing {
    /// Runs `objdump -d` (the tool named) on a file.
    ///
    /// # Panics
    /// If the tool is missing or fails.
    pub fn of(tool: &str, file: &Path) -> Listing {
        require(tool);
        let mut objdump = Command::new(tool);
        objdump.args(["-d", "--no-show-raw-insn"]);
        // By default LLVM knows only the instructions of armv8.0-a. `EM_AARCH64` is 183.
        if tool.contains("llvm")
            && std::fs::read(file).is_ok_and(|bytes| bytes.get(18..20) == Some(&[183, 0]))
        {
            objdump.arg("--mattr=+lse,+bti");
        }
        Listing::parse(&run(objdump.arg(file)))
    }

    /// Reads the text of either objdump.
    pub fn parse(text: &str) -> Listing {
        let mut listing = Listing::default();
        for line in text.lines() {
            if let Some(heading) = line.strip_suffix(">:").and_then(|l| l.split_once(" <")) {
                listing.functions.push(heading.1.to_owned());
            } else if let Some((address, rest)) = line.split_once(':')
                && let Ok(address) = u64::from_str_radix(address.trim(), 16)
            {
                let rest = rest.trim();
                let rest = rest.split("//").next().unwrap_or(rest);
                let (mnemonic, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                listing.lines.push(Line {
                    address,
                    mnemonic: mnemonic.to_owned(),
                    operands: operands.trim().to_owned(),
                    function: listing.functions.len().saturating_sub(1),
                });
            }
        }
        listing
    }

    /// The heading above a line.
    pub fn function(&self, line: &Line) -> &str {
        self.functions.get(line.function).map_or("", String::as_str)
    }
}

fn stem<'a>(mnemonic: &'a str, stems: &[&str]) -> Option<(&'a str, &'a str)> {
    let stem = stems.iter().find(|stem| mnemonic.starts_with(**stem))?;
    Some(mnemonic.split_at(stem.len()))
}

/// Whether it is `ldxr`, `ldaxrb`, `ldxp`, …
pub fn is_load_exclusive(mnemonic: &str) -> bool {
    ["ldxr", "ldaxr", "ldxp", "ldaxp"].contains(&mnemonic.trim_end_matches(['b', 'h']))
}

/// Whether it is `stxr`, `stlxrb`, `stxp`, …
pub fn is_store_exclusive(mnemonic: &str) -> bool {
    ["stxr", "stlxr", "stxp", "stlxp"].contains(&mnemonic.trim_end_matches(['b', 'h']))
}

/// Whether it is an atomic of FEAT_LSE.
pub fn is_lse(mnemonic: &str) -> bool {
    lse_parts(mnemonic).is_some()
}

/// Operation, order (`""`, `a`, `l`, `al`) and width (`b`, `h` or `""`) of an FEAT_LSE atomic.
fn lse_parts(mnemonic: &str) -> Option<(&str, &str, &str)> {
    const STEMS: [&str; 19] = [
        "casp", "cas", "swp", "ldadd", "ldclr", "ldeor", "ldset", "ldsmax", "ldsmin", "ldumax", "ldumin",
        "stadd", "stclr", "steor", "stset", "stsmax", "stsmin", "stumax", "stumin",
    ];
    let (operation, rest) = stem(mnemonic, &STEMS)?;
    let order = ["al", "a", "l", ""].into_iter().find(|order| rest.starts_with(order))?;
    let width = rest.get(order.len()..)?;
    ["", "b", "h"].contains(&width).then_some((operation, order, width))
}

/// A body of an outlined helper, as its text shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    /// `cas4_acq_rel`, as in the name `__aarch64_cas4_acq_rel`.
    pub name: String,
    /// Address of its first instruction.
    pub start: u64,
    /// Address after its last instruction.
    pub end: u64,
}

/// What a listing of A64 code says about atomics.
#[derive(Debug, Default)]
pub struct Atomics {
    /// The helper bodies, by address.
    pub helpers: Vec<Helper>,
    /// Address of each `bl` or `b` outside helper bodies that goes to one, and the helper's name.
    pub helper_calls: BTreeMap<u64, String>,
    /// Address of each load-exclusive outside helper bodies, and the function around it.
    pub load_exclusives: BTreeMap<u64, String>,
    /// The same of store-exclusives.
    pub store_exclusives: BTreeMap<u64, String>,
    /// The same of FEAT_LSE atomics.
    pub lse: BTreeMap<u64, String>,
}

impl Atomics {
    /// Counts.
    ///
    /// # Panics
    /// If a symbol names a helper where the text shows none, or another one.
    pub fn of(listing: &Listing) -> Atomics {
        let lines = &listing.lines;
        let helpers: Vec<Helper> = (0..lines.len()).filter_map(|at| helper_at(lines, at)).collect();
        for (index, name) in listing.functions.iter().enumerate() {
            let Some(name) = name.strip_prefix("__aarch64_") else { continue };
            let Some(first) = lines.iter().find(|line| line.function == index) else { continue };
            let Some(named) = ["cas", "swp", "ld"].iter().any(|stem| name.starts_with(stem)).then_some(name)
            else {
                continue;
            };
            let seen =
                helpers.iter().find(|helper| helper.start == first.address).map(|helper| &*helper.name);
            assert_eq!(seen, Some(named), "the symbol and the text of {:#x} disagree", first.address);
        }
        let inside = |address| helpers.iter().any(|helper| (helper.start..helper.end).contains(&address));
        let starts: BTreeMap<u64, &str> =
            helpers.iter().map(|helper| (helper.start, &*helper.name)).collect();
        let mut atomics = Atomics::default();
        for line in lines {
            let mnemonic = &*line.mnemonic;
            let of_interest = mnemonic == "bl" || mnemonic == "b" || is_load_exclusive(mnemonic);
            if !(of_interest || is_store_exclusive(mnemonic) || is_lse(mnemonic)) || inside(line.address) {
                continue;
            }
            let function = listing.function(line).to_owned();
            if let Some(name) =
                line.target().and_then(|target| starts.get(&target)).filter(|_| mnemonic.starts_with('b'))
            {
                atomics.helper_calls.insert(line.address, (*name).to_owned());
            } else if is_load_exclusive(mnemonic) {
                atomics.load_exclusives.insert(line.address, function);
            } else if is_store_exclusive(mnemonic) {
                atomics.store_exclusives.insert(line.address, function);
            } else if is_lse(mnemonic) {
                atomics.lse.insert(line.address, function);
            }
        }
        atomics.helpers = helpers;
        atomics
    }
}

/// The helper body whose `adrp` stands at `lines[at]`, or nothing. A `bti c` before it belongs to it.
fn helper_at(lines: &[Line], at: usize) -> Option<Helper> {
    let is = |index: usize, mnemonic: &str, operands: &str| {
        lines
            .get(index)
            .is_some_and(|l| l.mnemonic == mnemonic && l.operands.replace(' ', "").starts_with(operands))
    };
    if !(is(at, "adrp", "x16,")
        && is(at + 1, "ldrb", "w16,[x16")
        && is(at + 2, "cbz", "w16,")
        && is(at + 4, "ret", ""))
    {
        return None;
    }
    let lse = lines.get(at + 3)?;
    let (operation, order, width) = lse_parts(&lse.mnemonic)?;
    let tail = lines.get(at + 5..(at + 16).min(lines.len()))?;
    let ret = tail.iter().position(|line| line.mnemonic == "ret")?;
    let sync = tail.get(..ret)?.iter().any(|line| line.mnemonic == "dmb");
    let size = match (operation, width, lse.operands.starts_with('w')) {
        ("casp", ..) => "16",
        (_, "b", _) => "1",
        (_, "h", _) => "2",
        (_, _, true) => "4",
        (_, _, false) => "8",
    };
    let order = match (order, sync) {
        (_, true) => "sync",
        ("a", _) => "acq",
        ("l", _) => "rel",
        ("al", _) => "acq_rel",
        _ => "relax",
    };
    let first = if at > 0 && is(at - 1, "bti", "c") { at - 1 } else { at };
    Some(Helper {
        name: format!("{}{size}_{order}", if operation == "casp" { "cas" } else { operation }),
        start: lines.get(first)?.address,
        end: tail.get(ret)?.address + 4,
    })
}

/// Counts instructions above x86-64-v1, for features whose text is beyond doubt: by mnemonic alone.
pub fn above_x86_64_v1(listing: &Listing) -> BTreeMap<&'static str, u64> {
    const SURE: [(&str, &[&str]); 8] = [
        ("POPCNT", &["popcnt"]),
        ("LZCNT", &["lzcnt"]),
        ("MOVBE", &["movbe"]),
        ("BMI1", &["andn", "bextr", "blsi", "blsr", "blsmsk"]),
        ("BMI2", &["bzhi", "mulx", "pdep", "pext", "rorx", "sarx", "shlx", "shrx"]),
        ("FMA", &["vfmadd", "vfmsub", "vfnmadd", "vfnmsub"]),
        ("SSSE3", &["pshufb", "palignr", "pabsb", "pabsw", "pabsd", "phaddw", "phaddd"]),
        ("PCLMULQDQ", &["pclmul"]),
    ];
    let mut counts = BTreeMap::new();
    for line in &listing.lines {
        // AT&T syntax: an operand size letter may follow.
        for (feature, mnemonics) in SURE {
            let matches = mnemonics.iter().any(|sure| {
                line.mnemonic.strip_prefix(sure).is_some_and(|rest| {
                    feature == "FMA" || feature == "PCLMULQDQ" || ["", "l", "q", "w"].contains(&rest)
                })
            });
            if matches {
                *counts.entry(feature).or_insert(0) += 1;
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWP: &str = "\
0000000000001000 <__aarch64_swp4_acq>:
    1000:\tbti\tc
    1004:\tadrp\tx16, 20000 <x>
    1008:\tldrb\tw16, [x16, #17]
    100c:\tcbz\tw16, 1018 <__aarch64_swp4_acq+0x18>
    1010:\tswpa\tw0, w0, [x1]
    1014:\tret
    1018:\tmov\tw16, w0
    101c:\tldaxr\tw0, [x1]
    1020:\tstxr\tw17, w16, [x1]
    1024:\tcbnz\tw17, 101c <__aarch64_swp4_acq+0x1c>
    1028:\tret
0000000000002000 <f>:
    2000:\tbl\t1000 <__aarch64_swp4_acq>
    2004:\tldxrb\tw0, [x1]
    2008:\tb\t1000 <__aarch64_swp4_acq>
    200c:\tstaddl\tw0, [x1]
";

    #[test]
    fn helper_bodies_calls_and_inline_atomics_are_told_apart() {
        let atomics = Atomics::of(&Listing::parse(SWP));
        assert_eq!(atomics.helpers, [Helper { name: "swp4_acq".into(), start: 0x1000, end: 0x102c }]);
        assert_eq!(atomics.helper_calls.keys().copied().collect::<Vec<_>>(), [0x2000, 0x2008]);
        assert_eq!(atomics.load_exclusives.keys().copied().collect::<Vec<_>>(), [0x2004]);
        assert_eq!(atomics.lse.keys().copied().collect::<Vec<_>>(), [0x200c]);
    }

    #[test]
    fn only_exclusives_and_lse_atomics_count_as_such() {
        assert!(is_load_exclusive("ldaxrb") && is_load_exclusive("ldxp") && !is_load_exclusive("ldar"));
        assert!(is_store_exclusive("stlxrh") && !is_store_exclusive("stlr"));
        assert!(is_lse("casalb") && is_lse("ldsmaxlh") && is_lse("stset") && is_lse("caspal"));
        assert!(!is_lse("ldapr") && !is_lse("stp") && !is_lse("case"));
    }
}
