//! Emulating stage: qemu's log (`-d in_asm,strace`) → what was translated, which signals came, what processes did.
//!
//! In: bytes as they arrive. Out: [`Event`]s in their order. The log of several threads is one text: a system call is
//! printed before it runs, and its result after it, so that lines of others may come between and be glued to it. Whatever
//! cannot be understood is passed over; a line has a maximum length, so that memory is bounded. Source: qemu, `accel/tcg/translator.c`
//! (`IN:`), `disas/capstone.c` (lines of instructions), `linux-user/strace.c`.

use regex::bytes::Regex;
use std::ops::Range;

/// Bytes of a line that are kept.
const LONGEST_LINE: usize = 64 << 10;
/// Bytes of a block that are kept: qemu translates up to 512 instructions at a time.
const LONGEST_BLOCK: usize = 16 << 10;

/// Something that the log says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A block was translated in order to run it: its address, and its bytes.
    Block {
        /// The address of its first instruction.
        address: u64,
        /// The bytes of its instructions.
        bytes: Vec<u8>,
    },
    /// A block whose address is not said.
    UnplacedBlock,
    /// The program got SIGILL, for the instruction at an address.
    IllegalInstruction(u64),
    /// A process began a system call.
    Call {
        /// The process.
        pid: i32,
        /// What matters of it.
        call: Call,
    },
}

/// A system call, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// `execve`, `execveat`: the program, as it is printed.
    Exec(Vec<u8>),
    /// `exit_group`.
    Exit,
    /// Memory becomes executable.
    MapsCode,
    /// Another process begins: its number, where the result is on the same line.
    Fork(Option<i32>),
    /// Any other.
    Other,
}

/// Reads a log piece by piece.
#[derive(Debug)]
pub struct LogReader {
    line: Vec<u8>,
    block: Option<Block>,
    call: Regex,
    signal: Regex,
    result: Regex,
}

/// A block that is being read.
#[derive(Debug, Default)]
struct Block {
    address: Option<u64>,
    bytes: Vec<u8>,
}

impl LogReader {
    /// Begins.
    ///
    /// # Errors
    /// Never: the patterns are constant.
    pub fn new() -> Result<LogReader, regex::Error> {
        Ok(LogReader {
            line: Vec::new(),
            block: None,
            // At the beginning of a line, or after the arguments or the result of another call.
            call: Regex::new(
                r"(?-u)(?:^|\)|= -?[0-9]+ ?|= 0x[0-9a-f]{16})([0-9]{1,10}) ([a-z_][a-z0-9_]{1,30})\(",
            )?,
            signal: Regex::new(
                r"(?-u)--- SIGILL \{si_signo=SIGILL, si_code=[0-9]+, si_addr=0x([0-9a-f]{1,16})\}",
            )?,
            result: Regex::new(r"(?-u)\) = ([0-9]{1,10})")?,
        })
    }

    /// Reads on.
    pub fn read(&mut self, bytes: &[u8], out: &mut Vec<Event>) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, is_whole) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            let room = LONGEST_LINE.saturating_sub(self.line.len());
            self.line.extend(&text[..text.len().min(room)]);
            if is_whole {
                let line = std::mem::take(&mut self.line);
                self.line_ended(&line, out);
                self.line = line;
                self.line.clear();
            }
        }
    }

    /// Ends: what has no end counts as far as it goes.
    pub fn end(&mut self, out: &mut Vec<Event>) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.line_ended(&line, out);
        }
        self.end_block(out);
    }

    fn line_ended(&mut self, line: &[u8], out: &mut Vec<Event>) {
        if let Some(block) = &mut self.block
            && block.takes(line)
        {
            return;
        }
        self.end_block(out);
        if line.starts_with(b"IN:") {
            self.block = Some(Block::default());
            return;
        }
        if let Some(found) = self.signal.captures(line) {
            out.extend(number(&found[1], 16).map(Event::IllegalInstruction));
        }
        let starts: Vec<(Range<usize>, i32, Range<usize>)> = self
            .call
            .captures_iter(line)
            .filter_map(|found| {
                let pid = std::str::from_utf8(&found[1]).ok()?.parse().ok()?;
                Some((found.get(0)?.range(), pid, found.get(2)?.range()))
            })
            .collect();
        for (i, (whole, pid, name)) in starts.iter().enumerate() {
            let end = starts.get(i + 1).map_or(line.len(), |next| next.0.start);
            // What is glued on begins with the parenthesis that ends this call.
            let arguments = line.get(whole.end..(end + 1).min(line.len())).unwrap_or_default();
            let call = self.call_of(&line[name.clone()], arguments);
            out.push(Event::Call { pid: *pid, call });
        }
    }

    fn call_of(&self, name: &[u8], arguments: &[u8]) -> Call {
        let has = |text: &[u8]| arguments.windows(text.len()).any(|window| window == text);
        match name {
            b"execve" | b"execveat" => {
                let path = arguments.iter().position(|byte| *byte == b'"').map(|at| &arguments[at + 1..]);
                let path = path.unwrap_or_default();
                let end = path.windows(2).position(|two| two == b"\",").unwrap_or(path.len());
                Call::Exec(path[..end].to_vec())
            }
            b"exit_group" => Call::Exit,
            b"mmap" | b"mmap2" | b"mprotect" | b"pkey_mprotect" if has(b"PROT_EXEC") => Call::MapsCode,
            b"mremap" | b"shmat" => Call::MapsCode,
            b"fork" | b"vfork" | b"clone" | b"clone3" if !has(b"CLONE_THREAD") => {
                let pid = self.result.captures(arguments).and_then(|found| number(&found[1], 10));
                Call::Fork(pid.and_then(|pid| i32::try_from(pid).ok()).filter(|pid| *pid > 0))
            }
            _ => Call::Other,
        }
    }

    fn end_block(&mut self, out: &mut Vec<Event>) {
        let Some(block) = self.block.take() else { return };
        match block.address {
            Some(address) => out.push(Event::Block { address, bytes: block.bytes }),
            None => out.push(Event::UnplacedBlock),
        }
    }
}

impl Block {
    /// Takes a line, if it is one of its instructions: `0x4002821770:  55    pushq %rbp`, or words of four bytes where
    /// instructions are that long.
    fn takes(&mut self, line: &[u8]) -> bool {
        let Some((address, rest)) = instruction(line) else { return false };
        let expected = self.address.map(|start| start.wrapping_add(self.bytes.len() as u64));
        if expected.is_some_and(|expected| expected != address) || self.bytes.len() >= LONGEST_BLOCK {
            return false;
        }
        let mut words = rest.split(|byte| *byte == b' ').skip_while(|word| word.is_empty());
        let mut taken = Vec::new();
        // A run of spaces separates bytes from the mnemonic, and gives an empty word.
        for word in words.by_ref().take_while(|word| !word.is_empty()) {
            match (word.len(), number(word, 16)) {
                (2, Some(value)) => taken.push(value as u8),
                (8, Some(value)) => taken.extend((value as u32).to_le_bytes()),
                _ => break,
            }
        }
        if taken.is_empty() {
            return false;
        }
        self.address.get_or_insert(address);
        self.bytes.extend(taken);
        true
    }
}

fn instruction(line: &[u8]) -> Option<(u64, &[u8])> {
    let digits = line.strip_prefix(b"0x")?;
    let colon = digits.iter().take(17).position(|byte| *byte == b':')?;
    Some((number(&digits[..colon], 16)?, &digits[colon + 1..]))
}

fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    // Rust takes a sign, too.
    text.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u64::from_str_radix(text, radix).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(log: &[u8]) -> Vec<Event> {
        let (mut reader, mut out) = (LogReader::new().unwrap(), Vec::new());
        reader.read(log, &mut out);
        reader.end(&mut out);
        out
    }

    fn call(pid: i32, call: Call) -> Event {
        Event::Call { pid, call }
    }

    fn block(address: u64, bytes: &[u8]) -> Event {
        Event::Block { address, bytes: bytes.to_vec() }
    }

    /// Recorded from qemu 7.2.
    const X86_64: &[u8] = b"----------------\nIN: \n\
        0x4002820b70:  48 89 e7                 movq     %rsp, %rdi\n\
        0x4002820b73:  e8 f8 0b 00 00           callq    0x4002821770\n\n\
        18420 openat(-100,\"/etc/ld.so.cache\",O_RDONLY|O_CLOEXEC) = 4\n\
        ----------------\nIN: main\n\
        0x4000001050:  66 2e 0f 1f 84 00 00 00  nopw     %cs:(%rax, %rax)\n\
        0x4000001058:  00 00\n\
        0x400000105a:  c3                       retq     \n\n\
        18420 mmap(0x000000400286e000,1400832,PROT_EXEC|PROT_READ,MAP_PRIVATE|MAP_DENYWRITE|MAP_FIXED,4,0x26000) = 0x000000400286e000\n\
        --- SIGILL {si_signo=SIGILL, si_code=2, si_addr=0x0000004000001290} ---\n";

    #[test]
    fn blocks_calls_and_signals_come_in_their_order() {
        let nop = [0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0xc3];
        let expected = [
            block(0x40_0282_0b70, &[0x48, 0x89, 0xe7, 0xe8, 0xf8, 0x0b, 0, 0]),
            call(18420, Call::Other),
            block(0x40_0000_1050, &nop),
            call(18420, Call::MapsCode),
            Event::IllegalInstruction(0x40_0000_1290),
        ];
        assert_eq!(events(X86_64), expected);
    }

    #[test]
    fn instructions_of_four_bytes_are_printed_as_words() {
        let log =
            b"IN: \n0x5500000790:  d503201f  nop      \n0x5500000794:  b8e0003f  ldaddal  w0, wzr, [x1]\n\n";
        let bytes = [0x1f, 0x20, 0x03, 0xd5, 0x3f, 0x00, 0xe0, 0xb8];
        assert_eq!(events(log), [block(0x55_0000_0790, &bytes)]);
    }

    #[test]
    fn lines_of_several_threads_that_are_glued_are_taken_apart() {
        let log = b"7 futex(0x0000004003a2d990,0,1,NULL,NULL,0)8 exit_group(0)\n\
            7 clone(CLONE_CHILD_SETTID|0x11,child_stack=0x0000000000000000) = 9\n\
            7 clone(CLONE_VM|CLONE_THREAD|0x11) = 10\n\
            9 execve(\"/bin/tr\"ue\",{\"true\",NULL}) = 9\n\
            9 execve(\"/bin/false\",{\"false\",NULL})----------------\nIN: \n0x10:  c3   retq\n = 0\n";
        let expected = [
            call(7, Call::Other),
            call(8, Call::Exit),
            call(7, Call::Fork(Some(9))),
            call(7, Call::Other),
            call(9, Call::Exec(b"/bin/tr\"ue".to_vec())),
            call(9, Call::Exec(b"/bin/false".to_vec())),
            block(0x10, &[0xc3]),
        ];
        assert_eq!(events(log), expected);
    }

    #[test]
    fn a_block_without_addresses_is_counted_and_one_that_jumps_is_cut() {
        assert_eq!(events(b"IN: \nOBJD-T: 55c3\n"), [Event::UnplacedBlock]);
        assert_eq!(events(b"IN: \n0x10:  c3  retq\n0x20:  55  pushq\n"), [block(0x10, &[0xc3])]);
    }

    #[test]
    fn what_is_read_does_not_depend_on_where_it_is_cut() {
        let whole = events(X86_64);
        for cut in 0..X86_64.len() {
            let (mut reader, mut out) = (LogReader::new().unwrap(), Vec::new());
            reader.read(&X86_64[..cut], &mut out);
            reader.read(&X86_64[cut..], &mut out);
            reader.end(&mut out);
            assert_eq!(out, whole, "{cut}");
        }
    }

    /// Replaces bytes of a log by those of a simple generator.
    #[test]
    fn damaged_logs_are_read_to_their_end_in_bounded_memory() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize
        };
        for _ in 0..400 {
            let mut log = X86_64.to_vec();
            for _ in 0..next() % 20 {
                let at = next() % log.len();
                match next() % 4 {
                    0 => log[at] = next() as u8,
                    1 => log.truncate(at + 1),
                    2 => log[at] = b'\n',
                    _ => log[at] = b"0x: ){}\"="[next() % 9],
                }
            }
            for event in events(&log) {
                if let Event::Block { bytes, .. } = event {
                    assert!(!bytes.is_empty() && bytes.len() <= log.len());
                }
            }
        }
        let (mut reader, mut out) = (LogReader::new().unwrap(), Vec::new());
        for _ in 0..100 {
            reader.read(&[b'x'; 10_000], &mut out);
        }
        assert!(reader.line.len() <= LONGEST_LINE);
        let mut endless = b"IN: \n".to_vec();
        for i in 0..20_000_u64 {
            endless.extend(format!("{:#x}:  c3  retq\n", 0x1000 + i).bytes());
        }
        let longest = events(&endless).into_iter().map(|event| match event {
            Event::Block { bytes, .. } => bytes.len(),
            _ => 0,
        });
        assert!(longest.max() <= Some(LONGEST_BLOCK));
    }
}
