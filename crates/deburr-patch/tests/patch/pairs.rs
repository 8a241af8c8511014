//! Sequences with load-exclusive and store-exclusive, and what may take their place: every shape of the rewrite.
//!
//! From the fixtures of `llsc-loop`, and what gcc 4.8 to 12, clang 11 to 19 and rustc write. Each is listed with its
//! replacement next to it, instruction by instruction, from address 0.

use super::Pair;
use super::listing::listed;
use std::sync::LazyLock;

pub(crate) static PAIRS: LazyLock<Vec<Pair>> = LazyLock::new(|| {
    let shapes = SHAPES.trim().split("\n\n").map(|shape| {
        let (name, listing) = shape.split_once('\n').expect("a name and a listing");
        let (old, new) = listed(listing);
        Pair { name, old, new }
    });
    shapes.collect()
});

const SHAPES: &str = "
swap, 8 bytes, acquire and release
    aa0003e2 mov x2, x0         | aa0003e2 mov x2, x0
    c85ffc40 ldaxr x0, [x2]     | f8e18040 swpal x1, x0, [x2]
    c803fc41 stlxr w3, x1, [x2] | 2a1f03e3 mov w3, wzr
    35ffffc3 cbnz w3, 0x4       | d503201f nop

swap, 4 bytes, relaxed
    885f7c40 ldxr w0, [x2]     | b8218040 swp w1, w0, [x2]
    88037c41 stxr w3, w1, [x2] | 2a1f03e3 mov w3, wzr
    35ffffc3 cbnz w3, 0x0      | d503201f nop

swap, 2 bytes, release
    485f7c40 ldxrh w0, [x2]      | 78618040 swplh w1, w0, [x2]
    4803fc41 stlxrh w3, w1, [x2] | 2a1f03e3 mov w3, wzr
    35ffffc3 cbnz w3, 0x0        | d503201f nop

swap, 1 byte, acquire
    085ffc01 ldaxrb w1, [x0]    | 38a28001 swpab w2, w1, [x0]
    08037c02 stxrb w3, w2, [x0] | 2a1f03e3 mov w3, wzr
    35ffffc3 cbnz w3, 0x0       | d503201f nop

swap, the old value unused
    885ffc1f ldaxr wzr, [x0]    | b8e18003 swpal w1, w3, [x0]
    8803fc01 stlxr w3, w1, [x0] | 2a1f03e3 mov w3, wzr
    35ffffc3 cbnz w3, 0x0       | d503201f nop

swap in for zero on the stack
    885fffe8 ldaxr w8, [sp]      | b8ff83e8 swpal wzr, w8, [sp]
    8809ffff stlxr w9, wzr, [sp] | 2a1f03e9 mov w9, wzr
    35ffffc9 cbnz w9, 0x0        | d503201f nop

add, 4 bytes, relaxed
    885f7c40 ldxr w0, [x2]     | b8210040 ldadd w1, w0, [x2]
    0b010003 add w3, w0, w1    | 0b010003 add w3, w0, w1
    88047c43 stxr w4, w3, [x2] | 2a1f03e4 mov w4, wzr
    35ffffa4 cbnz w4, 0x0      | d503201f nop

add, the sum in the old value's register
    c85ffc02 ldaxr x2, [x0]     | f8e10002 ldaddal x1, x2, [x0]
    8b010042 add x2, x2, x1     | 8b010042 add x2, x2, x1
    c803fc02 stlxr w3, x2, [x0] | 2a1f03e3 mov w3, wzr
    35ffffa3 cbnz w3, 0x0       | d503201f nop

add, 1 byte, acquire
    085ffc02 ldaxrb w2, [x0]    | 38a10002 ldaddab w1, w2, [x0]
    0b010043 add w3, w2, w1     | 0b010043 add w3, w2, w1
    08047c03 stxrb w4, w3, [x0] | 2a1f03e4 mov w4, wzr
    35ffffa4 cbnz w4, 0x0       | d503201f nop

add, operand shifted
    885ffc40 ldaxr w0, [x2]         | 531d7024 lsl w4, w1, #3
    0b010c03 add w3, w0, w1, lsl #3 | b8e40040 ldaddal w4, w0, [x2]
    8804fc43 stlxr w4, w3, [x2]     | 0b010c03 add w3, w0, w1, lsl #3
    35ffffa4 cbnz w4, 0x0           | 2a1f03e4 mov w4, wzr

add, operand extended
    c85ffc40 ldaxr x0, [x2]          | 937e7c24 sbfiz x4, x1, #2, #32
    8b21c803 add x3, x0, w1, sxtw #2 | f8e40040 ldaddal x4, x0, [x2]
    c804fc43 stlxr w4, x3, [x2]      | 8b21c803 add x3, x0, w1, sxtw #2
    35ffffa4 cbnz w4, 0x0            | 2a1f03e4 mov w4, wzr

add of a product
    885ffc08 ldaxr w8, [x0]      | 1b027c2a mul w10, w1, w2
    1b022029 madd w9, w1, w2, w8 | b8ea0008 ldaddal w10, w8, [x0]
    880afc09 stlxr w10, w9, [x0] | 1b022029 madd w9, w1, w2, w8
    35ffffaa cbnz w10, 0x0       | 2a1f03ea mov w10, wzr

increment
    885f7c08 ldxr w8, [x0]     | 52800029 mov w9, #0x1
    11000508 add w8, w8, #0x1  | b8290008 ldadd w9, w8, [x0]
    88097c08 stxr w9, w8, [x0] | 11000508 add w8, w8, #0x1
    35ffffa9 cbnz w9, 0x0      | 2a1f03e9 mov w9, wzr

decrement with flags
    c85ffc08 ldaxr x8, [x0]     | 92800009 mov x9, #0xffffffffffffffff
    f1000508 subs x8, x8, #0x1  | f8e90008 ldaddal x9, x8, [x0]
    c809fc08 stlxr w9, x8, [x0] | f1000508 subs x8, x8, #0x1
    35ffffa9 cbnz w9, 0x0       | 2a1f03e9 mov w9, wzr

add of a shifted immediate
    c85ffc08 ldaxr x8, [x0]            | d28a000a mov x10, #0x5000
    91401509 add x9, x8, #0x5, lsl #12 | f8aa0008 ldadda x10, x8, [x0]
    c80a7c09 stxr w10, x9, [x0]        | 91401509 add x9, x8, #0x5, lsl #12
    35ffffaa cbnz w10, 0x0             | 2a1f03ea mov w10, wzr

sub, 4 bytes
    885ffc40 ldaxr w0, [x2]     | 4b0103e4 neg w4, w1
    4b010003 sub w3, w0, w1     | b8e40040 ldaddal w4, w0, [x2]
    8804fc43 stlxr w4, w3, [x2] | 4b010003 sub w3, w0, w1
    35ffffa4 cbnz w4, 0x0       | 2a1f03e4 mov w4, wzr

sub, 8 bytes
    c85ffc40 ldaxr x0, [x2]     | cb0103e4 neg x4, x1
    cb010003 sub x3, x0, x1     | f8e40040 ldaddal x4, x0, [x2]
    c804fc43 stlxr w4, x3, [x2] | cb010003 sub x3, x0, x1
    35ffffa4 cbnz w4, 0x0       | 2a1f03e4 mov w4, wzr

sub, 1 byte
    085ffc02 ldaxrb w2, [x0]     | 4b0103e4 neg w4, w1
    4b010043 sub w3, w2, w1      | 38e40002 ldaddalb w4, w2, [x0]
    0804fc03 stlxrb w4, w3, [x0] | 4b010043 sub w3, w2, w1
    35ffffa4 cbnz w4, 0x0        | 2a1f03e4 mov w4, wzr

or, 8 bytes
    c85ffc40 ldaxr x0, [x2]    | f8a13040 ldseta x1, x0, [x2]
    aa010003 orr x3, x0, x1    | aa010003 orr x3, x0, x1
    c8047c43 stxr w4, x3, [x2] | 2a1f03e4 mov w4, wzr
    35ffffa4 cbnz w4, 0x0      | d503201f nop

or with an immediate, 1 byte
    085f7c08 ldxrb w8, [x0]      | 52801009 mov w9, #0x80
    32190108 orr w8, w8, #0x80   | 38693008 ldsetlb w9, w8, [x0]
    0809fc08 stlxrb w9, w8, [x0] | 32190108 orr w8, w8, #0x80
    35ffffa9 cbnz w9, 0x0        | 2a1f03e9 mov w9, wzr

or with the complement
    885ffc40 ldaxr w0, [x2]     | 2a2103e4 mvn w4, w1
    2a210003 orn w3, w0, w1     | b8e43040 ldsetal w4, w0, [x2]
    8804fc43 stlxr w4, w3, [x2] | 2a210003 orn w3, w0, w1
    35ffffa4 cbnz w4, 0x0       | 2a1f03e4 mov w4, wzr

xor, 2 bytes
    485f7c02 ldxrh w2, [x0]      | 78612002 ldeorlh w1, w2, [x0]
    4a010043 eor w3, w2, w1      | 4a010043 eor w3, w2, w1
    4804fc03 stlxrh w4, w3, [x0] | 2a1f03e4 mov w4, wzr
    35ffffa4 cbnz w4, 0x0        | d503201f nop

xor with the complement
    c85ffc40 ldaxr x0, [x2]     | aa2103e4 mvn x4, x1
    ca210003 eon x3, x0, x1     | f8e42040 ldeoral x4, x0, [x2]
    c804fc43 stlxr w4, x3, [x2] | ca210003 eon x3, x0, x1
    35ffffa4 cbnz w4, 0x0       | 2a1f03e4 mov w4, wzr

and, 1 byte
    085ffc02 ldaxrb w2, [x0]     | 2a2103e4 mvn w4, w1
    0a010043 and w3, w2, w1      | 38e41002 ldclralb w4, w2, [x0]
    0804fc03 stlxrb w4, w3, [x0] | 0a010043 and w3, w2, w1
    35ffffa4 cbnz w4, 0x0        | 2a1f03e4 mov w4, wzr

and with an immediate
    c85f7c01 ldxr x1, [x0]     | 92801fe2 mov x2, #0xffffffffffffff00
    92401c21 and x1, x1, #0xff | f8221001 ldclr x2, x1, [x0]
    c8027c01 stxr w2, x1, [x0] | 92401c21 and x1, x1, #0xff
    35ffffa2 cbnz w2, 0x0      | 2a1f03e2 mov w2, wzr

and with a rotated operand
    885ffc40 ldaxr w0, [x2]         | 2ae11fe4 mvn w4, w1, ror #7
    0ac11c03 and w3, w0, w1, ror #7 | b8e41040 ldclral w4, w0, [x2]
    8804fc43 stlxr w4, w3, [x2]     | 0ac11c03 and w3, w0, w1, ror #7
    35ffffa4 cbnz w4, 0x0           | 2a1f03e4 mov w4, wzr

clear
    885ffc40 ldaxr w0, [x2]     | b8e11040 ldclral w1, w0, [x2]
    0a210003 bic w3, w0, w1     | 0a210003 bic w3, w0, w1
    8804fc43 stlxr w4, w3, [x2] | 2a1f03e4 mov w4, wzr
    35ffffa4 cbnz w4, 0x0       | d503201f nop

set a bit by its number
    c85ffc08 ldaxr x8, [x0]       | 9ac22029 lsl x9, x1, x2
    9ac22029 lsl x9, x1, x2       | f8e93008 ldsetal x9, x8, [x0]
    aa09010a orr x10, x8, x9      | aa09010a orr x10, x8, x9
    c80bfc0a stlxr w11, x10, [x0] | 2a1f03eb mov w11, wzr
    35ffff8b cbnz w11, 0x0        | d503201f nop

signed maximum
    885ffc08 ldaxr w8, [x0]      | b8e14008 ldsmaxal w1, w8, [x0]
    6b01011f cmp w8, w1          | 6b01011f cmp w8, w1
    1a81c109 csel w9, w8, w1, gt | 1a81c109 csel w9, w8, w1, gt
    880afc09 stlxr w10, w9, [x0] | 2a1f03ea mov w10, wzr
    35ffff8a cbnz w10, 0x0       | d503201f nop

signed minimum
    c85ffc08 ldaxr x8, [x0]      | f8e15008 ldsminal x1, x8, [x0]
    eb01011f cmp x8, x1          | eb01011f cmp x8, x1
    9a81d109 csel x9, x8, x1, le | 9a81d109 csel x9, x8, x1, le
    c80afc09 stlxr w10, x9, [x0] | 2a1f03ea mov w10, wzr
    35ffff8a cbnz w10, 0x0       | d503201f nop

unsigned minimum
    c85f7c08 ldxr x8, [x0]       | f8217008 ldumin x1, x8, [x0]
    eb01011f cmp x8, x1          | eb01011f cmp x8, x1
    9a819109 csel x9, x8, x1, ls | 9a819109 csel x9, x8, x1, ls
    c80a7c09 stxr w10, x9, [x0]  | 2a1f03ea mov w10, wzr
    35ffff8a cbnz w10, 0x0       | d503201f nop

unsigned maximum
    885f7c08 ldxr w8, [x0]       | b8616008 ldumaxl w1, w8, [x0]
    6b01011f cmp w8, w1          | 6b01011f cmp w8, w1
    1a818109 csel w9, w8, w1, hi | 1a818109 csel w9, w8, w1, hi
    880afc09 stlxr w10, w9, [x0] | 2a1f03ea mov w10, wzr
    35ffff8a cbnz w10, 0x0       | d503201f nop

signed maximum of bytes
    085ffc08 ldaxrb w8, [x0]     | 38a14008 ldsmaxab w1, w8, [x0]
    13001d08 sxtb w8, w8         | 13001d08 sxtb w8, w8
    6b21811f cmp w8, w1, sxtb    | 6b21811f cmp w8, w1, sxtb
    1a81c109 csel w9, w8, w1, gt | 1a81c109 csel w9, w8, w1, gt
    080a7c09 stxrb w10, w9, [x0] | 2a1f03ea mov w10, wzr
    35ffff6a cbnz w10, 0x0       | d503201f nop

signed minimum of halfwords
    485ffc08 ldaxrh w8, [x0]      | 78e15008 ldsminalh w1, w8, [x0]
    13003d08 sxth w8, w8          | 13003d08 sxth w8, w8
    6b21a11f cmp w8, w1, sxth     | 6b21a11f cmp w8, w1, sxth
    1a81b109 csel w9, w8, w1, lt  | 1a81b109 csel w9, w8, w1, lt
    480afc09 stlxrh w10, w9, [x0] | 2a1f03ea mov w10, wzr
    35ffff6a cbnz w10, 0x0        | d503201f nop

unsigned minimum of bytes
    085ffc08 ldaxrb w8, [x0]      | 38e17008 lduminalb w1, w8, [x0]
    6b21011f cmp w8, w1, uxtb     | 6b21011f cmp w8, w1, uxtb
    1a819109 csel w9, w8, w1, ls  | 1a819109 csel w9, w8, w1, ls
    080afc09 stlxrb w10, w9, [x0] | 2a1f03ea mov w10, wzr
    35ffff8a cbnz w10, 0x0        | d503201f nop

compare-and-swap, 4 bytes
    885ffc03 ldaxr w3, [x0]     | 2a0103e3 mov w3, w1
    6b01007f cmp w3, w1         | 88e3fc02 casal w3, w2, [x0]
    540003c1 b.ne 0x80          | 6b01007f cmp w3, w1
    8804fc02 stlxr w4, w2, [x0] | 540003a1 b.ne 0x80
    35ffff84 cbnz w4, 0x0       | 2a1f03e4 mov w4, wzr

compare-and-swap, 8 bytes, to the next word
    c85f7c03 ldxr x3, [x0]      | aa0103e3 mov x3, x1
    eb01007f cmp x3, x1         | c8a3fc02 casl x3, x2, [x0]
    54000061 b.ne 0x14          | eb01007f cmp x3, x1
    c804fc02 stlxr w4, x2, [x0] | 54000041 b.ne 0x14
    35ffff84 cbnz w4, 0x0       | 2a1f03e4 mov w4, wzr

compare-and-swap, 1 byte, the expected value made narrow
    12001c21 and w1, w1, #0xff  | 12001c21 and w1, w1, #0xff
    085ffc03 ldaxrb w3, [x0]    | 2a0103e3 mov w3, w1
    6b01007f cmp w3, w1         | 08e37c02 casab w3, w2, [x0]
    54000061 b.ne 0x18          | 6b01007f cmp w3, w1
    08047c02 stxrb w4, w2, [x0] | 54000041 b.ne 0x18
    35ffff84 cbnz w4, 0x4       | 2a1f03e4 mov w4, wzr

compare-and-swap, 2 bytes, with a narrow compare
    485f7c08 ldxrh w8, [x0]      | 2a0103e8 mov w8, w1
    6b21211f cmp w8, w1, uxth    | 48a8fc02 caslh w8, w2, [x0]
    540003c1 b.ne 0x80           | 6b21211f cmp w8, w1, uxth
    4809fc02 stlxrh w9, w2, [x0] | 540003a1 b.ne 0x80
    35ffff89 cbnz w9, 0x0        | 2a1f03e9 mov w9, wzr

weak compare-and-swap, gcc
    885f7c03 ldxr w3, [x0]      | 2a0203e3 mov w3, w2
    6b02007f cmp w3, w2         | 88a3fc01 casl w3, w1, [x0]
    54000061 b.ne 0x14          | 6b02007f cmp w3, w2
    8804fc01 stlxr w4, w1, [x0] | 54000041 b.ne 0x14
    7100009f cmp w4, #0x0       | 2a1f03e4 mov w4, wzr

weak compare-and-swap, clang
    885ffc08 ldaxr w8, [x0]     | 2a0103e8 mov w8, w1
    6b01011f cmp w8, w1         | 88e8fc02 casal w8, w2, [x0]
    540003c1 b.ne 0x80          | 6b01011f cmp w8, w1
    8809fc02 stlxr w9, w2, [x0] | 540003a1 b.ne 0x80
    35000409 cbnz w9, 0x90      | 2a1f03e9 mov w9, wzr

weak compare-and-swap, the status in the expected value's register
    885ffc08 ldaxr w8, [x0]     | 2a0103e8 mov w8, w1
    6b01011f cmp w8, w1         | 88e8fc02 casal w8, w2, [x0]
    540003c1 b.ne 0x80          | 6b01011f cmp w8, w1
    8801fc02 stlxr w1, w2, [x0] | 540003a1 b.ne 0x80
    35000401 cbnz w1, 0x90      | 2a1f03e1 mov w1, wzr

compare-and-swap from zero
    885ffc02 ldaxr w2, [x0]    | 2a1f03e2 mov w2, wzr
    350003e2 cbnz w2, 0x80     | 88e27c01 casa w2, w1, [x0]
    88037c01 stxr w3, w1, [x0] | 350003c2 cbnz w2, 0x80
    35ffffa3 cbnz w3, 0x0      | 2a1f03e3 mov w3, wzr

compare-and-swap from seven
    885f7c02 ldxr w2, [x0]     | 528000e2 mov w2, #0x7
    71001c5f cmp w2, #0x7      | 88a27c01 cas w2, w1, [x0]
    540003c1 b.ne 0x80         | 71001c5f cmp w2, #0x7
    88037c01 stxr w3, w1, [x0] | 540003a1 b.ne 0x80
    35ffff83 cbnz w3, 0x0      | 2a1f03e3 mov w3, wzr

compare-and-swap from zero, clang -Os
    885ffc09 ldaxr w9, [x0]      | 2a1f03e9 mov w9, wzr
    34000069 cbz w9, 0x10        | 88e9fc08 casal w9, w8, [x0]
    d5033f5f clrex #0xf          | 35000089 cbnz w9, 0x18
    14000003 b 0x18              | 2a1f03ea mov w10, wzr
    880afc08 stlxr w10, w8, [x0] | d503201f nop
    35ffff6a cbnz w10, 0x0       | d503201f nop

compare-and-swap, rotated
    2a0103e8 mov w8, w1          | 2a0103e8 mov w8, w1
    14000003 b 0x10              | 2a0803e9 mov w9, w8
    880afc02 stlxr w10, w2, [x0] | 88e9fc02 casal w9, w2, [x0]
    340003aa cbz w10, 0x80       | 6b08013f cmp w9, w8
    885ffc09 ldaxr w9, [x0]      | 54000061 b.ne 0x1c
    6b08013f cmp w9, w8          | 2a1f03ea mov w10, wzr
    54ffff80 b.eq 0x8            | 1400001a b 0x80

add, gcc 7
    885ffc02 ldaxr w2, [x0]     | b8e10002 ldaddal w1, w2, [x0]
    0b010042 add w2, w2, w1     | 0b010042 add w2, w2, w1
    8803fc02 stlxr w3, w2, [x0] | 2a1f03e3 mov w3, wzr
    34000043 cbz w3, 0x14       | 14000002 b 0x14
    17fffffc b 0x0              | d503201f nop

sync add with its barrier
    885f7c40 ldxr w0, [x2]      | b8610040 ldaddl w1, w0, [x2]
    0b010003 add w3, w0, w1     | 0b010003 add w3, w0, w1
    8804fc43 stlxr w4, w3, [x2] | 2a1f03e4 mov w4, wzr
    35ffffa4 cbnz w4, 0x0       | d503201f nop
    d5033bbf dmb ish            | d5033bbf dmb ish

sync compare-and-swap with its barrier
    c85f7c60 ldxr x0, [x3]      | aa0103e0 mov x0, x1
    eb01001f cmp x0, x1         | c8a0fc62 casl x0, x2, [x3]
    54000061 b.ne 0x14          | eb01001f cmp x0, x1
    c804fc62 stlxr w4, x2, [x3] | 54000041 b.ne 0x14
    35ffff84 cbnz w4, 0x0       | 2a1f03e4 mov w4, wzr
    d5033bbf dmb ish            | d5033bbf dmb ish

add between two barriers
    d5033bbf dmb ish           | d5033bbf dmb ish
    885f7c02 ldxr w2, [x0]     | b8210002 ldadd w1, w2, [x0]
    0b010042 add w2, w2, w1    | 0b010042 add w2, w2, w1
    88037c02 stxr w3, w2, [x0] | 2a1f03e3 mov w3, wzr
    35ffffa3 cbnz w3, 0x4      | d503201f nop
    d5033bbf dmb ish           | d5033bbf dmb ish

stronger than it was
    885f7c40 ldxr w0, [x2]     | b8e10040 ldaddal w1, w0, [x2]
    0b010003 add w3, w0, w1    | 0b010003 add w3, w0, w1
    88047c43 stxr w4, w3, [x2] | 2a1f03e4 mov w4, wzr
    35ffffa4 cbnz w4, 0x0      | d503201f nop

compare-and-swap of two registers, a flag made of both
    c87fa408 ldaxp x8, x9, [x0]      | aa0203e8 mov x8, x2
    eb02011f cmp x8, x2              | aa0303e9 mov x9, x3
    1a9f07ea cset w10, ne            | 4868fc04 caspal x8, x9, x4, x5, [x0]
    eb03013f cmp x9, x3              | eb02011f cmp x8, x2
    1a8a054a cinc w10, w10, ne       | 1a9f07ea cset w10, ne
    3500036a cbnz w10, 0x80          | eb03013f cmp x9, x3
    c82a9404 stlxp w10, x4, x5, [x0] | 1a8a054a cinc w10, w10, ne
    35ffff2a cbnz w10, 0x0           | 3500032a cbnz w10, 0x80

compare-and-swap of two registers, their differences joined
    c87fa408 ldaxp x8, x9, [x0]     | aa0203e8 mov x8, x2
    ca03012b eor x11, x9, x3        | aa0303e9 mov x9, x3
    ca02010a eor x10, x8, x2        | 48687c04 caspa x8, x9, x4, x5, [x0]
    aa0b014a orr x10, x10, x11      | ca03012b eor x11, x9, x3
    b500038a cbnz x10, 0x80         | ca02010a eor x10, x8, x2
    c82a1404 stxp w10, x4, x5, [x0] | aa0b014a orr x10, x10, x11
    35ffff4a cbnz w10, 0x0          | b500034a cbnz x10, 0x80

compare-and-swap of two registers, gcc 7
    c87f1c06 ldxp x6, x7, [x0]      | aa0203e6 mov x6, x2
    eb0200df cmp x6, x2             | aa0303e7 mov x7, x3
    fa4300e0 ccmp x7, x3, #0x0, eq  | 4826fc04 caspl x6, x7, x4, x5, [x0]
    540003a1 b.ne 0x80              | eb0200df cmp x6, x2
    c8289404 stlxp w8, x4, x5, [x0] | fa4300e0 ccmp x7, x3, #0x0, eq
    34000048 cbz w8, 0x1c           | 54000361 b.ne 0x80
    17fffffa b 0x0                  | 2a1f03e8 mov w8, wzr

compare-and-swap of two registers from zero
    c87fa408 ldaxp x8, x9, [x0]      | aa1f03e8 mov x8, xzr
    aa09010a orr x10, x8, x9         | aa1f03e9 mov x9, xzr
    b50003ca cbnz x10, 0x80          | 4868fc02 caspal x8, x9, x2, x3, [x0]
    c82a8c02 stlxp w10, x2, x3, [x0] | aa09010a orr x10, x8, x9
    35ffff8a cbnz w10, 0x0           | b500038a cbnz x10, 0x80

compare-and-swap of two narrow registers
    887fa408 ldaxp w8, w9, [x0]      | 2a0203e8 mov w8, w2
    6b02011f cmp w8, w2              | 2a0303e9 mov w9, w3
    1a9f07ea cset w10, ne            | 0868fc04 caspal w8, w9, w4, w5, [x0]
    6b03013f cmp w9, w3              | 6b02011f cmp w8, w2
    1a8a054a cinc w10, w10, ne       | 1a9f07ea cset w10, ne
    3500036a cbnz w10, 0x80          | 6b03013f cmp w9, w3
    882a9404 stlxp w10, w4, w5, [x0] | 1a8a054a cinc w10, w10, ne
    35ffff2a cbnz w10, 0x0           | 3500032a cbnz w10, 0x80

compare-and-swap of two registers, each moved to a pair
    c87fac09 ldaxp x9, x11, [x0]     | aa0203ec mov x12, x2
    ca03016d eor x13, x11, x3        | aa0303ed mov x13, x3
    ca02012c eor x12, x9, x2         | 486cfc04 caspal x12, x13, x4, x5, [x0]
    aa0d018c orr x12, x12, x13       | aa0c03e9 mov x9, x12
    d503201f nop                     | aa0d03eb mov x11, x13
    d503201f nop                     | ca03016d eor x13, x11, x3
    b500034c cbnz x12, 0x80          | ca02012c eor x12, x9, x2
    c82c9404 stlxp w12, x4, x5, [x0] | aa0d018c orr x12, x12, x13
    35ffff0c cbnz w12, 0x0           | b500030c cbnz x12, 0x80
";
