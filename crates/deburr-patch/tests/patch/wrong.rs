//! Replacements that are wrong, or that no proof can hold, and what each must be refused for.
//!
//! Most are a right replacement with other instructions in some places; each edit is an index and an instruction,
//! with `<` for one of the old sequence. Among them is what a rewriter got wrong before: the two that name the status register and the value that was thrown away.
// tidy: table

use super::Reason::{Different, New, NoAccess, Old, StoreExclusives};
use super::listing::{Listing, instruction, listed};
use super::{Reason, Wrong};
use deburr_patch::{Cause, Difference, Side};
use std::sync::LazyLock;

pub(crate) static WRONG: LazyLock<Vec<Wrong>> =
    LazyLock::new(|| edits().into_iter().chain(wholes()).collect());

/// Wrong replacements, each as edits of a right one.
fn edited<const N: usize>(
    (old, right): Listing,
    cases: [(&'static str, Reason, &'static str); N],
) -> impl Iterator<Item = Wrong> {
    cases.into_iter().map(move |(name, refusal, edits)| {
        let (mut old, mut new) = (old.to_vec(), right.to_vec());
        for edit in edits.split("; ") {
            let (at, edit) = edit.split_once(' ').expect("an index");
            let (side, at) = at.strip_prefix('<').map_or((&mut new, at), |at| (&mut old, at));
            side[at.parse::<usize>().expect("an index")] = instruction(edit);
        }
        Wrong { name, refusal, old: old.leak(), new: new.leak() }
    })
}

fn edits() -> Vec<Wrong> {
    let mut cases = Vec::new();
    // A swap.
    let right = listed(
        "
        885ffc40 ldaxr w0, [x2]     | b8e18040 swpal w1, w0, [x2]
        8803fc41 stlxr w3, w1, [x2] | 2a1f03e3 mov w3, wzr
        35ffffc3 cbnz w3, 0x0       | d503201f nop
        ",
    );
    cases.extend(edited(
        right,
        [
            ("operands swapped", Different(Difference::Memory), "0 b8e28040 swpal w2, w0, [x2]"),
            ("another base", Different(Difference::Address), "0 b8e18020 swpal w1, w0, [x1]"),
            ("another size", Different(Difference::Size), "0 f8e18040 swpal x1, x0, [x2]"),
            (
                "the zero register as destination",
                New(0, Cause::ZeroDestination),
                "<0 885ffc1f ldaxr wzr, [x0]; <1 8803fc01 stlxr w3, w1, [x0]; 0 b8e1801f swpal w1, wzr, [x0]",
            ),
            (
                "the exclusives left as they are",
                New(0, Cause::Access),
                "0 885ffc40 ldaxr w0, [x2]; 1 8803fc41 stlxr w3, w1, [x2]; 2 35ffffc3 cbnz w3, 0x0",
            ),
            (
                "the base overwritten",
                Old(1, Cause::Unpaired),
                "<0 c85ffc00 ldaxr x0, [x0]; <1 c803fc01 stlxr w3, x1, [x0]; 0 f8e18000 swpal x1, x0, [x0]",
            ),
            ("another address stored to", Old(1, Cause::Unpaired), "<1 8803fc81 stlxr w3, w1, [x4]"),
            (
                "another size stored",
                Old(1, Cause::Unpaired),
                "<0 c85ffc40 ldaxr x0, [x2]; 0 f8e18040 swpal x1, x0, [x2]",
            ),
            ("a load-exclusive alone", StoreExclusives(0), "<1 d5033f5f clrex #0xf; <2 d503201f nop"),
        ],
    ));
    // A swap with an instruction that does nothing between.
    let right = listed(
        "
        885ffc40 ldaxr w0, [x2]     | b8e18040 swpal w1, w0, [x2]
        d503201f nop                | 2a1f03e3 mov w3, wzr
        8803fc41 stlxr w3, w1, [x2] | d503201f nop
        35ffffa3 cbnz w3, 0x0       | d503201f nop
        ",
    );
    cases.extend(edited(
        right,
        [
            ("a call", Old(1, Cause::Call), "<1 9400001f bl 0x80"),
            ("a system call", Old(1, Cause::Call), "<1 d4000001 svc #0x0"),
            ("a wait for an event", Old(1, Cause::Event), "<1 d503205f wfe"),
            (
                "a signal to itself",
                Old(0, Cause::Event),
                "<0 d50320bf sevl; <1 885ffc40 ldaxr w0, [x2]; <3 35ffffc3 cbnz w3, 0x4",
            ),
            (
                "floating point",
                Old(1, Cause::Unknown),
                "<1 1e270000 fmov s0, w0; 1 1e270000 fmov s0, w0; 2 2a1f03e3 mov w3, wzr",
            ),
            ("the monitor cleared between", Old(2, Cause::Unpaired), "<1 d5033f5f clrex #0xf"),
        ],
    ));
    // An addition.
    let right = listed(
        "
        885ffc40 ldaxr w0, [x2]     | b8e10040 ldaddal w1, w0, [x2]
        0b010003 add w3, w0, w1     | 0b010003 add w3, w0, w1
        8804fc43 stlxr w4, w3, [x2] | 2a1f03e4 mov w4, wzr
        35ffffa4 cbnz w4, 0x0       | d503201f nop
        ",
    );
    cases.extend(edited(
        right,
        [
            ("acquire lost", Different(Difference::Acquire), "0 b8610040 ldaddl w1, w0, [x2]"),
            ("status not written", Different(Difference::Register(4)), "2 d503201f nop"),
            ("status one", Different(Difference::Register(4)), "2 52800024 mov w4, #0x1"),
            (
                "the stack pointer changed",
                Different(Difference::StackPointer),
                "3 910043ff add sp, sp, #0x10",
            ),
            (
                "two accesses in place of one",
                New(1, Cause::Access),
                "1 b8e10040 ldaddal w1, w0, [x2]; 2 0b010003 add w3, w0, w1; 3 2a1f03e4 mov w4, wzr",
            ),
        ],
    ));
    // An addition with the barrier of `__sync`.
    let right = listed(
        "
        885f7c40 ldxr w0, [x2]      | b8e10040 ldaddal w1, w0, [x2]
        0b010003 add w3, w0, w1     | 0b010003 add w3, w0, w1
        8804fc43 stlxr w4, w3, [x2] | 2a1f03e4 mov w4, wzr
        35ffffa4 cbnz w4, 0x0       | d503201f nop
        d5033bbf dmb ish            | d5033bbf dmb ish
        ",
    );
    cases.extend(edited(
        right,
        [
            ("a barrier forgotten", Different(Difference::Barriers), "4 d503201f nop"),
            ("a weaker barrier", Different(Difference::Barriers), "3 d5033abf dmb ishst; 4 d503201f nop"),
        ],
    ));
    // A compare-and-swap.
    let right = listed(
        "
        885ffc03 ldaxr w3, [x0]     | 2a0103e3 mov w3, w1
        6b01007f cmp w3, w1         | 88e3fc02 casal w3, w2, [x0]
        540003c1 b.ne 0x80          | 6b01007f cmp w3, w1
        8804fc02 stlxr w4, w2, [x0] | 540003a1 b.ne 0x80
        35ffff84 cbnz w4, 0x0       | 2a1f03e4 mov w4, wzr
        ",
    );
    cases.extend(edited(
        right,
        [
            ("release lost", Different(Difference::Release), "1 88e37c02 casa w3, w2, [x0]"),
            ("acquire lost on the path that fails only", Different(Difference::Acquire), "<3 88047c02 stxr w4, w2, [x0]; 1 88a3fc02 casl w3, w2, [x0]"),
            ("expected and new value exchanged", Different(Difference::Stored), "0 2a0203e3 mov w3, w2; 1 88e3fc01 casal w3, w1, [x0]"),
            ("byte compare-and-swap of an expected value that may be wide", Different(Difference::Stored), "<0 085ffc03 ldaxrb w3, [x0]; <3 0804fc02 stlxrb w4, w2, [x0]; 1 08e3fc02 casalb w3, w2, [x0]"),
            ("flags of a compare with its operands exchanged", Different(Difference::Flags), "2 6b03003f cmp w1, w3"),
            ("another exit", Different(Difference::Exit), "3 54000421 b.ne 0x90"),
            ("the exits exchanged", Different(Difference::Exit), "3 540003a0 b.eq 0x80"),
            ("a loop in the new sequence", Different(Difference::Exit), "3 54ffffa1 b.ne 0x0"),
        ],
    ));
    // A compare-and-swap of two registers.
    let right = listed(
        "
        c87fa408 ldaxp x8, x9, [x0]      | aa0203e8 mov x8, x2
        eb02011f cmp x8, x2              | aa0303e9 mov x9, x3
        1a9f07ea cset w10, ne            | 4868fc04 caspal x8, x9, x4, x5, [x0]
        eb03013f cmp x9, x3              | eb02011f cmp x8, x2
        1a8a054a cinc w10, w10, ne       | 1a9f07ea cset w10, ne
        3500036a cbnz w10, 0x80          | eb03013f cmp x9, x3
        c82a9404 stlxp w10, x4, x5, [x0] | 1a8a054a cinc w10, w10, ne
        35ffff2a cbnz w10, 0x0           | 3500032a cbnz w10, 0x80
        ",
    );
    cases.extend(edited(
        right,
        [
            (
                "acquire lost, of two registers",
                Different(Difference::Acquire),
                "2 4828fc04 caspl x8, x9, x4, x5, [x0]",
            ),
            (
                "release lost, of two registers",
                Different(Difference::Release),
                "2 48687c04 caspa x8, x9, x4, x5, [x0]",
            ),
            (
                "the halves of the expected value exchanged",
                Different(Difference::Stored),
                "0 aa0303e8 mov x8, x3; 1 aa0203e9 mov x9, x2",
            ),
            (
                "the new value's next neighbours stored",
                Different(Difference::Memory),
                "2 4868fc06 caspal x8, x9, x6, x7, [x0]",
            ),
            ("the high half compared only", Different(Difference::Stored), "0 aa0403e8 mov x8, x4"),
            (
                "a pair of narrow registers for one of wide ones",
                Different(Difference::Size),
                "2 0868fc04 caspal w8, w9, w4, w5, [x0]",
            ),
        ],
    ));
    // An unsigned maximum.
    let right = listed(
        "
        885ffc08 ldaxr w8, [x0]      | b8e16008 ldumaxal w1, w8, [x0]
        6b01011f cmp w8, w1          | 6b01011f cmp w8, w1
        1a818109 csel w9, w8, w1, hi | 1a818109 csel w9, w8, w1, hi
        880afc09 stlxr w10, w9, [x0] | 2a1f03ea mov w10, wzr
        35ffff8a cbnz w10, 0x0       | d503201f nop
        ",
    );
    cases.extend(edited(
        right,
        [
            ("byte maximum of an operand that may be wide", Different(Difference::Memory), "<0 085ffc08 ldaxrb w8, [x0]; <3 080afc09 stlxrb w10, w9, [x0]; 0 38e16008 ldumaxalb w1, w8, [x0]"),
            ("signed for unsigned", Different(Difference::Memory), "0 b8e14008 ldsmaxal w1, w8, [x0]"),
        ],
    ));
    cases
}

/// Those that differ from every right replacement in more than some places.
fn wholes() -> impl Iterator<Item = Wrong> {
    let cases = [
        (
            "an instruction of the loop forgotten",
            Different(Difference::Register(3)),
            "
            12001c21 and w1, w1, #0xff  | 12001c21 and w1, w1, #0xff
            085ffc03 ldaxrb w3, [x0]    | 2a0103e3 mov w3, w1
            6b01007f cmp w3, w1         | 08e37c02 casab w3, w2, [x0]
            540003a1 b.ne 0x80          | 6b01007f cmp w3, w1
            08047c02 stxrb w4, w2, [x0] | 54000381 b.ne 0x80
            12001863 and w3, w3, #0x7f  | 2a1f03e4 mov w4, wzr
            35ffff64 cbnz w4, 0x4       | d503201f nop
            ",
        ),
        (
            "flags of a decrement forgotten",
            Different(Difference::Flags),
            "
            c85ffc08 ldaxr x8, [x0]     | 92800009 mov x9, #0xffffffffffffffff
            f1000508 subs x8, x8, #0x1  | f8e90008 ldaddal x9, x8, [x0]
            c809fc08 stlxr w9, x8, [x0] | d1000508 sub x8, x8, #0x1
            35ffffa9 cbnz w9, 0x0       | 2a1f03e9 mov w9, wzr
            ",
        ),
        (
            "carry of a decrement from its addition",
            Different(Difference::Flags),
            "
            c85ffc08 ldaxr x8, [x0]     | cb0103e9 neg x9, x1
            eb010108 subs x8, x8, x1    | f8e90008 ldaddal x9, x8, [x0]
            c809fc08 stlxr w9, x8, [x0] | ab090108 adds x8, x8, x9
            35ffffa9 cbnz w9, 0x0       | 2a1f03e9 mov w9, wzr
            ",
        ),
        (
            "the zero register as a relaxed destination",
            New(1, Cause::ZeroDestination),
            "
            885f7c08 ldxr w8, [x0]     | 52800029 mov w9, #0x1
            11000508 add w8, w8, #0x1  | b829001f stadd w9, [x0]
            88097c08 stxr w9, w8, [x0] | 11000508 add w8, w8, #0x1
            35ffffa9 cbnz w9, 0x0      | 2a1f03e9 mov w9, wzr
            ",
        ),
        (
            "compare-and-swap into the zero register",
            New(0, Cause::ZeroDestination),
            "
            885ffc09 ldaxr w9, [x0]     | 88ff7c08 casa wzr, w8, [x0]
            350003e9 cbnz w9, 0x80      | 350003e9 cbnz w9, 0x80
            880a7c08 stxr w10, w8, [x0] | 2a1f03ea mov w10, wzr
            35ffffaa cbnz w10, 0x0      | d503201f nop
            ",
        ),
        (
            "a value that was thrown away taken for stored back",
            Different(Difference::Memory),
            "
            885ffc1f ldaxr wzr, [x0]     | b8ff0008 ldaddal wzr, w8, [x0]
            8808fc1f stlxr w8, wzr, [x0] | 2a1f03e8 mov w8, wzr
            35ffffc8 cbnz w8, 0x0        | d503201f nop
            ",
        ),
        (
            "the status is the old value, and the new one is made in it",
            Different(Difference::Register(0)),
            "
            885ffc40 ldaxr w0, [x2]     | 4b0103e0 neg w0, w1
            4b010003 sub w3, w0, w1     | b8e00040 ldaddal w0, w0, [x2]
            8800fc43 stlxr w0, w3, [x2] | 4b010003 sub w3, w0, w1
            35ffffa0 cbnz w0, 0x0       | d503201f nop
            ",
        ),
        (
            "the status is the old value and made zero too early",
            Different(Difference::Register(3)),
            "
            885ffc40 ldaxr w0, [x2]     | b8e10040 ldaddal w1, w0, [x2]
            0b010003 add w3, w0, w1     | 2a1f03e0 mov w0, wzr
            8800fc43 stlxr w0, w3, [x2] | 0b010003 add w3, w0, w1
            35ffffa0 cbnz w0, 0x0       | d503201f nop
            ",
        ),
        (
            "a swap where the loop may leave without storing",
            Different(Difference::Stored),
            "
            885ffc02 ldaxr w2, [x0]    | b8a18002 swpa w1, w2, [x0]
            350003e2 cbnz w2, 0x80     | 350003e2 cbnz w2, 0x80
            88037c01 stxr w3, w1, [x0] | 2a1f03e3 mov w3, wzr
            35ffffa3 cbnz w3, 0x0      | d503201f nop
            ",
        ),
        (
            "a barrier before the access instead of after it",
            Different(Difference::Barriers),
            "
            885f7c40 ldxr w0, [x2]      | d5033bbf dmb ish
            0b010003 add w3, w0, w1     | b8e10040 ldaddal w1, w0, [x2]
            8804fc43 stlxr w4, w3, [x2] | 0b010003 add w3, w0, w1
            35ffffa4 cbnz w4, 0x0       | 2a1f03e4 mov w4, wzr
            d5033bbf dmb ish            | d503201f nop
            ",
        ),
        (
            "a second condition that a compare-and-swap does not have",
            Different(Difference::Stored),
            "
            885ffc03 ldaxr w3, [x0]          | 2a0103e3 mov w3, w1
            6b01007f cmp w3, w1              | 88e3fc02 casal w3, w2, [x0]
            7a4008a0 ccmp w5, #0x0, #0x0, eq | 6b01007f cmp w3, w1
            540003a1 b.ne 0x80               | 7a4008a0 ccmp w5, #0x0, #0x0, eq
            8804fc02 stlxr w4, w2, [x0]      | 54000381 b.ne 0x80
            35ffff64 cbnz w4, 0x0            | 2a1f03e4 mov w4, wzr
            ",
        ),
        (
            "a register changed that was not",
            Different(Difference::Register(1)),
            "
            885ffc40 ldaxr w0, [x2]     | 4b0103e1 neg w1, w1
            4b010003 sub w3, w0, w1     | b8e10040 ldaddal w1, w0, [x2]
            8804fc43 stlxr w4, w3, [x2] | 0b010003 add w3, w0, w1
            35ffffa4 cbnz w4, 0x0       | 2a1f03e4 mov w4, wzr
            ",
        ),
        (
            "a barrier between the exclusives",
            Old(3, Cause::Barrier),
            "
            885f7c40 ldxr w0, [x2]      | b8e10040 ldaddal w1, w0, [x2]
            d5033bbf dmb ish            | 0b010003 add w3, w0, w1
            0b010003 add w3, w0, w1     | 2a1f03e4 mov w4, wzr
            8804fc43 stlxr w4, w3, [x2] | d5033bbf dmb ish
            35ffff84 cbnz w4, 0x0       | d503201f nop
            ",
        ),
        (
            "a load between the exclusives",
            Old(1, Cause::Access),
            "
            885ffc40 ldaxr w0, [x2]     | b94000a1 ldr w1, [x5]
            b94000a1 ldr w1, [x5]       | b8e18040 swpal w1, w0, [x2]
            8804fc41 stlxr w4, w1, [x2] | 2a1f03e4 mov w4, wzr
            35ffffa4 cbnz w4, 0x0       | d503201f nop
            ",
        ),
        (
            "an atomic already",
            Old(0, Cause::Access),
            "
            b8e18040 swpal w1, w0, [x2] | b8e18040 swpal w1, w0, [x2]
            2a1f03e3 mov w3, wzr        | 2a1f03e3 mov w3, wzr
            ",
        ),
        (
            "a return",
            Old(3, Cause::Unknown),
            "
            885ffc40 ldaxr w0, [x2]     | b8e18040 swpal w1, w0, [x2]
            8803fc41 stlxr w3, w1, [x2] | 2a1f03e3 mov w3, wzr
            35ffffc3 cbnz w3, 0x0       | d65f03c0 ret
            d65f03c0 ret                | d503201f nop
            ",
        ),
        (
            "a signed return address",
            Old(0, Cause::Unknown),
            "
            d503233f paciasp            | d503233f paciasp
            885ffc40 ldaxr w0, [x2]     | b8e18040 swpal w1, w0, [x2]
            8803fc41 stlxr w3, w1, [x2] | 2a1f03e3 mov w3, wzr
            35ffffc3 cbnz w3, 0x4       | d503201f nop
            ",
        ),
        (
            "a spin inside the exclusives",
            Different(Difference::Exit),
            "
            885ffc02 ldaxr w2, [x0]    | 2a1f03e2 mov w2, wzr
            35ffffe2 cbnz w2, 0x0      | 88e27c01 casa w2, w1, [x0]
            88037c01 stxr w3, w1, [x0] | 350003c2 cbnz w2, 0x80
            35ffffa3 cbnz w3, 0x0      | 2a1f03e3 mov w3, wzr
            ",
        ),
        (
            "a store-exclusive alone",
            Old(0, Cause::Unpaired),
            "
            8803fc41 stlxr w3, w1, [x2] | b8e18040 swpal w1, w0, [x2]
            35ffffe3 cbnz w3, 0x0       | d503201f nop
            ",
        ),
        (
            "two store-exclusives",
            StoreExclusives(2),
            "
            885ffc40 ldaxr w0, [x2]     | 34000061 cbz w1, 0xc
            34000081 cbz w1, 0x14       | b8e18040 swpal w1, w0, [x2]
            8803fc41 stlxr w3, w1, [x2] | 14000005 b 0x1c
            35ffffa3 cbnz w3, 0x0       | b8e48040 swpal w4, w0, [x2]
            14000003 b 0x1c             | 2a1f03e3 mov w3, wzr
            8803fc44 stlxr w3, w4, [x2] | d503201f nop
            35ffff43 cbnz w3, 0x0       | d503201f nop
            ",
        ),
        (
            "a path past the exclusives",
            NoAccess(Side::Old),
            "
            34000405 cbz w5, 0x80       | 34000405 cbz w5, 0x80
            885ffc40 ldaxr w0, [x2]     | b8e18040 swpal w1, w0, [x2]
            8803fc41 stlxr w3, w1, [x2] | 2a1f03e3 mov w3, wzr
            35ffffc3 cbnz w3, 0x4       | d503201f nop
            ",
        ),
        (
            "a path past the atomic",
            NoAccess(Side::New),
            "
            885ffc03 ldaxr w3, [x0]     | 34000402 cbz w2, 0x80
            6b01007f cmp w3, w1         | 2a0103e3 mov w3, w1
            540003c1 b.ne 0x80          | 88e3fc02 casal w3, w2, [x0]
            8804fc02 stlxr w4, w2, [x0] | d503201f nop
            35ffff84 cbnz w4, 0x0       | d503201f nop
            ",
        ),
        (
            "an exchange of two registers by a compare-and-swap",
            Different(Difference::Stored),
            "
            c87f8440 ldaxp x0, x1, [x2]     | aa1f03e0 mov x0, xzr
            d503201f nop                    | aa1f03e1 mov x1, xzr
            c8249c46 stlxp w4, x6, x7, [x2] | 4860fc46 caspal x0, x1, x6, x7, [x2]
            35ffffa4 cbnz w4, 0x0           | 2a1f03e4 mov w4, wzr
            ",
        ),
        (
            "a pair compared and swapped",
            Different(Difference::Size),
            "
            c85ffc40 ldaxr x0, [x2]     | 4860fc46 caspal x0, x1, x6, x7, [x2]
            c804fc46 stlxr w4, x6, [x2] | d503201f nop
            35ffffc4 cbnz w4, 0x0       | d503201f nop
            ",
        ),
        (
            "the status left, though it is no flag",
            Different(Difference::Register(8)),
            "
            c87f1c06 ldxp x6, x7, [x0]      | aa0203e6 mov x6, x2
            eb0200df cmp x6, x2             | aa0303e7 mov x7, x3
            fa4300e0 ccmp x7, x3, #0x0, eq  | 4826fc04 caspl x6, x7, x4, x5, [x0]
            540003a1 b.ne 0x80              | eb0200df cmp x6, x2
            c8289404 stlxp w8, x4, x5, [x0] | fa4300e0 ccmp x7, x3, #0x0, eq
            35ffff68 cbnz w8, 0x0           | 54000361 b.ne 0x80
            ",
        ),
        (
            "two registers stored back where the comparison fails",
            StoreExclusives(2),
            "
            c87fa408 ldaxp x8, x9, [x0]      | aa0203e8 mov x8, x2
            eb02011f cmp x8, x2              | aa0303e9 mov x9, x3
            1a9f07ea cset w10, ne            | 4868fc04 caspal x8, x9, x4, x5, [x0]
            eb03013f cmp x9, x3              | eb02011f cmp x8, x2
            1a8a054a cinc w10, w10, ne       | 1a9f07ea cset w10, ne
            3400008a cbz w10, 0x24           | eb03013f cmp x9, x3
            c82aa408 stlxp w10, x8, x9, [x0] | 1a8a054a cinc w10, w10, ne
            35ffff2a cbnz w10, 0x0           | 2a1f03ea mov w10, wzr
            14000003 b 0x2c                  | d503201f nop
            c82a9404 stlxp w10, x4, x5, [x0] | d503201f nop
            35fffeca cbnz w10, 0x0           | d503201f nop
            ",
        ),
    ];
    cases.into_iter().map(|(name, refusal, listing)| {
        let (old, new) = listed(listing);
        Wrong { name, refusal, old, new }
    })
}
