//! Words of code and the operations that they lift to.

use super::*;

fn lifted(code: &[u8]) -> Block {
    lift(Arch::X86_64, code, Svma(0x1000))
}

fn code_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn lifted_words(words: &[u32]) -> Block {
    lift(Arch::Aarch64, &code_of(words), Svma(0x1000))
}

fn register(number: u8, size: u8) -> Operand {
    Operand::Register { number, size }
}

#[test]
fn a_block_ends_where_control_may_leave_it() {
    // mov 0x10(%rip),%eax; test %eax,%eax; je +2
    let block = lifted(&[0x8b, 0x05, 0x10, 0, 0, 0, 0x85, 0xc0, 0x74, 0x02, 0x90, 0x90, 0xc3]);
    assert_eq!(block.operations.len(), 2);
    let Exit::Branch { test, target, next } = block.exit else { panic!("{:?}", block.exit) };
    assert_eq!((test, target, next), (Test::Flags(Condition::EQUAL), Svma(0x100c), Svma(0x100a)));
    let Operation::Move { from: Operand::Memory(address), .. } = block.operations[0].1 else { panic!() };
    assert!(address.is_static() && address.displacement == 0x1016 && address.size == 4);
}

#[test]
fn no_operations_leave_nothing_and_unknown_ones_say_what_they_change() {
    // endbr64; nop; ret
    let block = lifted(&[0xf3, 0x0f, 0x1e, 0xfa, 0x90, 0xc3]);
    assert_eq!((block.operations.len(), block.exit), (0, Exit::Return));
    // vpaddd %ymm1,%ymm2,%ymm3; ret
    let block = lifted(&[0xc5, 0xed, 0xfe, 0xd9, 0xc3]);
    let Operation::Other(clobbered) = block.operations[0].1 else { panic!() };
    assert_eq!((clobbered.written, clobbered.read), (8 << VECTORS, 6 << VECTORS));
}

#[test]
fn a_double_shift_takes_its_count_from_a_register_or_a_number() {
    // shrd %cl,%rdi,%rax; shld $1,%r13,%rax; ret
    let block = lifted(&[0x48, 0x0f, 0xad, 0xf8, 0x4c, 0x0f, 0xa4, 0xe8, 0x01, 0xc3]);
    let (right, left) = (block.operations[0].1, block.operations[1].1);
    let to = register(0, 8);
    let shift = |is_left, from, count| Operation::ShiftDouble { is_left, to, from, count };
    assert_eq!(right, shift(false, register(7, 8), register(1, 1)));
    assert_eq!(left, shift(true, register(13, 8), Operand::Immediate(1)));
}

#[test]
fn bytes_that_are_not_code_stop_it() {
    assert_eq!(lifted(&[0x06]).exit, Exit::Stop);
    assert_eq!(lifted(&[]).exit, Exit::Stop);
}

#[test]
fn a_block_of_a64_ends_at_its_branch_and_joins_pages_and_distances() {
    // adrp x0, +0x10000; add x0, x0, #0x50; ldr w1, [x0, #8]; tbz w1, #5, +8
    let block = lifted_words(&[0x9000_0080, 0x9101_4000, 0xb940_0801, 0x3628_0041]);
    assert_eq!(block.operations.len(), 3);
    let Operation::TakeAddress { to: 0, size: 8, address } = block.operations[1].1 else { panic!() };
    assert!(address.is_static() && address.displacement == 0x11050);
    // After the sum the register holds no page.
    let from = Operand::Memory(Address::based(0, 8, 4));
    assert_eq!(block.operations[2].1, Operation::Move { to: register(1, 4), from });
    let test = Test::Zero { number: 1, size: 4, bit: Some(5), is_negated: false };
    assert_eq!(block.exit, Exit::Branch { test, target: Svma(0x1014), next: Svma(0x1010) });
}

#[test]
fn operands_of_a64_are_shifted_extended_and_inverted() {
    // add x0, x1, w2, sxtw #3; bic w3, w4, w5, lsr #2; mov x6, sp; sub sp, sp, #32; ret
    let block = lifted_words(&[0x8b22_cc20, 0x0a65_0883, 0x9100_03e6, 0xd100_83ff, 0xd65f_03c0]);
    let changed = |taken, is_signed, shift, count, is_inverted, size| Operand::Changed {
        taken,
        is_signed,
        shift,
        count,
        is_inverted,
        size,
    };
    let compute = |kind, to, left, right| Operation::Compute { kind, to, left, right, sets_flags: false };
    let scaled = changed((2, 4), true, Arithmetic::ShiftLeft, 3, false, 8);
    let others = changed((5, 4), false, Arithmetic::ShiftRight, 2, true, 4);
    let stack = register(31, 8);
    let grown = Operand::Immediate(32_u64.wrapping_neg());
    let address = Address::based(31, 0, 8);
    let expected = [
        compute(Arithmetic::Add, register(0, 8), register(1, 8), scaled),
        compute(Arithmetic::And, register(3, 4), register(4, 4), others),
        Operation::TakeAddress { to: 6, size: 8, address },
        compute(Arithmetic::Add, stack, stack, grown),
    ];
    let found: Vec<Operation> = block.operations.iter().map(|it| it.1).collect();
    assert_eq!((found.as_slice(), block.exit), (expected.as_slice(), Exit::Return));
}

#[test]
fn conditions_of_a64_say_less_by_a_borrow() {
    // cmp w0, #5; ccmp w1, w2, #4, ne; csinc w3, w4, wzr, lo; cmn x5, #1; b.hs +4
    let block = lifted_words(&[0x7100_141f, 0x7a42_1024, 0x1a9f_3483, 0xb100_04bf, 0x5400_0022]);
    let (one, other) = (register(1, 4), register(2, 4));
    let not_equal = Condition::EQUAL.negated();
    let right = Operand::Immediate(5);
    let change = Some(Arithmetic::Add);
    let (then, otherwise) = (register(4, 4), Operand::Immediate(0));
    let expected = [
        Operation::Compare { left: register(0, 4), right },
        Operation::CompareIf { condition: not_equal, left: one, right: other, otherwise: Nzcv(4) },
        Operation::Select { condition: Condition::BELOW, to: register(3, 4), then, otherwise, change },
        Operation::Compare { left: register(5, 8), right: Operand::Immediate(u64::MAX) },
    ];
    let found: Vec<Operation> = block.operations.iter().map(|it| it.1).collect();
    assert_eq!(found, expected);
    let Exit::Branch { test, .. } = block.exit else { panic!() };
    assert_eq!(test, Test::Flags(Condition::BELOW.negated()));
    assert!(
        Nzcv(4).holds(Condition::EQUAL)
            && Nzcv(4).holds(Condition::BELOW)
            && !Nzcv(2).holds(Condition::BELOW)
    );
}

#[test]
fn pairs_of_a64_move_their_base_before_or_after() {
    // stp x29, x30, [sp, #-32]!; ldp x0, x1, [x0]; ldr x2, [x3], #8; swpal w4, w5, [x6]; stxr w7, x8, [x9]
    let block = lifted_words(&[0xa9be_7bfd, 0xa940_0400, 0xf840_8462, 0xb8e4_80c5, 0xc807_7d28]);
    let at = |base, displacement, size| Operand::Memory(Address::based(base, displacement, size));
    let step = |number, by: i64| {
        let (to, right) = (register(number, 8), Operand::Immediate(by.cast_unsigned()));
        Operation::Compute { kind: Arithmetic::Add, to, left: to, right, sets_flags: false }
    };
    let moved = |to, from| Operation::Move { to, from };
    let swap = Operation::Fetch {
        kind: None,
        to: at(6, 0, 4),
        by: register(4, 4),
        old: register(5, 4),
        sets_flags: false,
    };
    let expected = [
        step(31, -32),
        moved(at(31, 0, 8), register(29, 8)),
        moved(at(31, 8, 8), register(30, 8)),
        // The base is loaded over last.
        moved(register(1, 8), at(0, 8, 8)),
        moved(register(0, 8), at(0, 0, 8)),
        moved(register(2, 8), at(3, 0, 8)),
        step(3, 8),
        swap,
        Operation::StoreExclusive { status: 7, to: at(9, 0, 8), from: register(8, 8) },
    ];
    let found: Vec<Operation> = block.operations.iter().map(|it| it.1).collect();
    assert_eq!(found, expected);
}

#[test]
fn fields_of_a64_move_and_the_system_is_asked() {
    // ubfx x0, x1, #20, #4; bfi w2, w3, #8, #3; mrs x4, id_aa64isar0_el1; svc #0; br x5
    let block = lifted_words(&[0xd354_5c20, 0x3318_0862, 0xd538_0604, 0xd400_0001, 0xd61f_00a0]);
    let field = |to, from, low, to_low, width, keeps_rest| Operation::MoveBits {
        to,
        from,
        low,
        to_low,
        width,
        keeps_rest,
    };
    let found: Vec<Operation> = block.operations.iter().map(|it| it.1).collect();
    assert_eq!(found[0], field(register(0, 8), register(1, 8), 20, 0, 4, false));
    assert_eq!(found[1], field(register(2, 4), register(3, 4), 0, 8, 3, true));
    assert_eq!(found[2], Operation::ReadSystem { to: 4, register: 0xc030 });
    let Operation::Other(clobbered) = found[3] else { panic!() };
    assert_eq!((clobbered.written, clobbered.read), (1, 0x13f));
    assert_eq!(block.exit, Exit::JumpIndirect(register(5, 8)));
}

#[test]
fn an_address_of_a64_may_be_of_each_page_that_a_register_has_held() {
    // adrp x0, +0x10000; cbz x1, +12; adrp x0, +0x20000; add x2, x0, #8; add x3, x0, #16; ret
    let words = [0x9000_0080, 0xb400_0061, 0x9000_0100, 0x9100_2002, 0x9100_4003, 0xd65f_03c0];
    let mut found = Vec::new();
    mentions(Arch::Aarch64, &code_of(&words), Svma(0x1000), false, |it| found.push((it.kind, it.place)));
    use MentionKind as K;
    let expected = [
        (K::Jumped, 0x1010),
        (K::PerhapsTaken, 0x11008),
        (K::Taken, 0x21008),
        (K::PerhapsTaken, 0x11010),
        (K::Taken, 0x21010),
        (K::Left, 0),
    ];
    assert_eq!(found, expected);
}

#[test]
fn any_words_of_a64_lift_to_a_block_within_them() {
    let mut word = 0x2545_f491_u32;
    let mut next = || {
        word ^= word << 13;
        word ^= word >> 17;
        word ^= word << 5;
        word
    };
    for _ in 0..40_000 {
        let words: [u32; 4] = std::array::from_fn(|_| next());
        let block = lifted_words(&words);
        assert!(block.start == Svma(0x1000) && block.end.0 > 0x1000 && block.end.0 <= 0x1010);
        assert!(block.operations.iter().all(|(at, _)| (0x1000..block.end.0).contains(&at.0)));
        let mut count = 0;
        mentions(Arch::Aarch64, &code_of(&words), Svma(0x1000), false, |it| {
            count += usize::from(it.at.0 < 0x1000)
        });
        assert_eq!(count, 0);
    }
}
