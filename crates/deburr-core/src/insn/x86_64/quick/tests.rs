//! The decoder by table compared with iced-x86, by example; nightly compares them on all that can be made up.

use super::decode::quick;
use super::hot::{HOT, Kind};
use crate::insn::x86_64::{check_everywhere, check_opcodes, check_sweep};

/// The length that the table gives, if it decides.
fn length(hex: &str) -> Option<usize> {
    let mut bytes = [0x90; 16];
    for (place, byte) in bytes.iter_mut().zip(hex.split_whitespace()) {
        *place = u8::from_str_radix(byte, 16).unwrap();
    }
    assert!(check_everywhere(&bytes).is_ok(), "{hex}");
    quick(&bytes, &HOT).filter(|quick| !quick.kind.any(Kind::SLOW)).map(|quick| quick.length)
}

#[test]
fn common_instructions_are_decided() {
    for hex in [
        "48 89 e5",                                  // mov rbp, rsp
        "83 ec 08",                                  // sub esp, 8
        "48 8b 05 00 00 00 00",                      // mov rax, [rip]
        "8b 04 8d 00 00 00 00",                      // mov eax, [rcx*4]
        "48 b8 00 00 00 00 00 00 00 00",             // mov rax, 0
        "66 b8 00 00",                               // mov ax, 0
        "f7 c1 00 00 00 00",                         // test ecx, 0
        "f7 d9",                                     // neg ecx
        "e8 00 00 00 00",                            // call
        "66 48 e8 00 00 00 00",                      // data16 rex.W call
        "f2 e9 00 00 00 00",                         // bnd jmp
        "f3 c3",                                     // rep ret
        "0f 84 00 00 00 00",                         // je
        "f3 0f 1e fa",                               // endbr64
        "66 66 2e 0f 1f 84 00 00 00 00 00",          // nop
        "66 66 66 66 66 2e 0f 1f 84 00 00 00 00 00", // nop
        "64 48 8b 04 25 28 00 00 00",                // mov rax, fs:[28h]
        "f2 0f 10 44 24 08",                         // movsd xmm0, [rsp+8]
        "66 44 0f 6f c1",                            // movdqa xmm8, xmm1
        "66 0f 38 00 c1",                            // pshufb xmm0, xmm1
        "c5 f8 77",                                  // vzeroupper
        "c4 e2 f1 b8 c2",                            // vfmadd231pd xmm0, xmm1, xmm2
        "62 f1 75 48 fe c2",                         // vpaddd zmm0, zmm1, zmm2
        "f3 48 ab",                                  // rep stosq
    ] {
        assert_eq!(length(hex), Some(hex.split_whitespace().count()), "{hex}");
    }
}

#[test]
fn what_the_table_does_not_decide_is_left_to_the_full_decoder() {
    for hex in [
        "f0 ff 00",                                     // lock inc dword [rax]
        "67 8b 00",                                     // mov eax, [eax]
        "48 66 89 c0",                                  // a REX prefix before another prefix
        "66 f2 0f 10 c0",                               // two mandatory prefixes
        "f3 c5 f8 77",                                  // a prefix before VEX
        "8f e9 78 81 c0",                               // vfrczpd xmm0, xmm0
        "0f 0f c1 9e",                                  // pfadd mm0, mm1
        "c4 e2 6d 92 04 88",                            // vgatherdps ymm0, [rax+ymm1*4], ymm2
        "c7 f8 00 00 00 00",                            // xbegin
        "66 66 66 66 66 66 66 66 66 66 66 66 66 66 66", // no instruction
    ] {
        assert_eq!(length(hex), None, "{hex}");
    }
}

#[test]
fn a_sample_of_all_that_can_be_made_up_is_decoded_as_in_full() {
    let decided = check_opcodes(3, 9973).unwrap_or_else(|fault| panic!("{fault:02x?}"));
    assert!(decided > 100_000, "{decided}");
}

/// Numbers that repeat from run to run (xorshift64).
struct Random(u64);

impl Random {
    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[test]
fn the_sweep_by_table_finds_what_the_full_one_does_in_random_bytes() {
    let mut random = Random(0x5eed);
    for _ in 0..600 {
        let length = random.draw() as usize % 900;
        let code: Vec<u8> = (0..length).map(|_| (random.draw() >> 24) as u8).collect();
        assert!(check_everywhere(&code).is_ok(), "{code:02x?}");
        let choice = random.draw();
        assert!(check_sweep(&code, choice), "choice {choice:#x}: {code:02x?}");
    }
}

/// Common instructions in random order, with a few bytes changed.
#[test]
fn the_sweep_by_table_finds_what_the_full_one_does_in_changed_code() {
    const CODE: [&[u8]; 24] = [
        &[0x55],
        &[0x48, 0x89, 0xe5],
        &[0x48, 0x83, 0xec, 0x18],
        &[0x48, 0x8b, 0x05, 0xf0, 0xff, 0xff, 0xff],
        &[0x48, 0x8d, 0x3d, 0x10, 0x00, 0x00, 0x00],
        &[0xe8, 0x20, 0x00, 0x00, 0x00],
        &[0x85, 0xc0],
        &[0x74, 0x0a],
        &[0x75, 0xf0],
        &[0x0f, 0x84, 0xc0, 0xff, 0xff, 0xff],
        &[0xeb, 0xe0],
        &[0xe9, 0x80, 0x00, 0x00, 0x00],
        &[0x89, 0x44, 0x24, 0x08],
        &[0x4c, 0x8b, 0x04, 0xc5, 0x00, 0x00, 0x00, 0x00],
        &[0xf6, 0xc1, 0x01],
        &[0x66, 0x0f, 0xfe, 0xc1],
        &[0xf2, 0x0f, 0x58, 0x44, 0x24, 0x10],
        &[0xc5, 0xf5, 0xfe, 0xc2],
        &[0x62, 0xf1, 0x75, 0x48, 0xfe, 0xc2],
        &[0xf0, 0x0f, 0xb1, 0x17],
        &[0xf3, 0x90],
        &[0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
        &[0xf3, 0x0f, 0x1e, 0xfa],
        &[0xc3],
    ];
    let mut random = Random(0xc0de);
    for _ in 0..600 {
        let mut code: Vec<u8> =
            (0..120).flat_map(|_| CODE[random.draw() as usize % CODE.len()]).copied().collect();
        for _ in 0..random.draw() % 8 {
            let at = random.draw() as usize % code.len();
            code[at] = (random.draw() >> 16) as u8;
        }
        assert!(check_everywhere(&code).is_ok(), "{code:02x?}");
        let choice = random.draw();
        assert!(check_sweep(&code, choice), "choice {choice:#x}: {code:02x?}");
    }
}
