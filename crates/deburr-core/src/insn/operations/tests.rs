//! Words of code and the operations that they lift to.

use super::*;

fn lifted(code: &[u8]) -> Block {
    lift(Arch::X86_64, code, Svma(0x1000)).unwrap()
}

#[test]
fn a_block_ends_where_control_may_leave_it() {
    // mov 0x10(%rip),%eax; test %eax,%eax; je +2
    let block = lifted(&[0x8b, 0x05, 0x10, 0, 0, 0, 0x85, 0xc0, 0x74, 0x02, 0x90, 0x90, 0xc3]);
    assert_eq!(block.operations.len(), 2);
    let Exit::Branch { condition, target, next } = block.exit else { panic!("{:?}", block.exit) };
    assert_eq!((condition, target, next), (Condition::EQUAL, Svma(0x100c), Svma(0x100a)));
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
    assert_eq!((clobbered.written, clobbered.read), (1 << 19, 1 << 17 | 1 << 18));
}

#[test]
fn a_double_shift_takes_its_count_from_a_register_or_a_number() {
    // shrd %cl,%rdi,%rax; shld $1,%r13,%rax; ret
    let block = lifted(&[0x48, 0x0f, 0xad, 0xf8, 0x4c, 0x0f, 0xa4, 0xe8, 0x01, 0xc3]);
    let register = |number, size| Operand::Register { number, size };
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
