//! A thread as instructions, run on every combination of values that its reads may give.
//!
//! In: code by address, registers, and the values that another thread may have stored. Out: all runs. The instructions are
//! read by this module's own table ([`super::compute`] has the arithmetic).
//!
//! A store-exclusive is modelled as in herd: where it succeeds it is a write that makes one access with the read of the
//! load-exclusive (`rmw`), and its status register is 0 and depends on nothing that was loaded. Where it fails, it is no
//! event. A loop's failed tries are runs with more reads; `Limits` says how many there may be.

use super::compute;
use super::event::{Acquire, Dependency, Event, Kind, Run};
use super::state::{LOCATIONS, Limits, State, Thread, Value, field, location, signed};

const RET: u32 = 0xd65f_03c0;
/// Instructions of a run, more than any path has.
const MAX_STEPS: u32 = 200;

/// Every run within the limits. `stored` has the values by location that the other thread may have stored there.
pub(super) fn runs(thread: &Thread, stored: &[Vec<u128>; LOCATIONS], limits: Limits) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut states = vec![State::start(thread, limits)];
    while let Some(mut state) = states.pop() {
        let segment = thread
            .code
            .iter()
            .find(|part| (part.at..part.at + 4 * part.words.len() as u64).contains(&state.pc));
        let segment = segment.unwrap_or_else(|| panic!("no code at {:#x}", state.pc));
        let word = segment.words[(state.pc - segment.at) as usize / 4];
        state.steps += 1;
        assert!(state.steps < MAX_STEPS, "an endless loop");
        if word == RET {
            runs.push(Run { registers: state.registers.map(|register| register.bits), events: state.events });
        } else if let Some(state) = branch(&mut state, word) {
            states.extend(state);
        } else {
            state.pc += 4;
            if barrier(&mut state, word) || compute::compute(&mut state, word) {
                states.push(state);
            } else {
                access(state, word, stored, &mut states);
            }
        }
    }
    runs
}

/// A branch, taken or not; `Some(None)` where it goes back once too often.
fn branch(state: &mut State, word: u32) -> Option<Option<State>> {
    let (is_taken, offset) = if word & 0xfc00_0000 == 0x1400_0000 {
        (true, signed(word, 0, 26))
    } else if word & 0xff00_0010 == 0x5400_0000 {
        let flags = state.flags;
        state.control = state.control.and(flags.dependency);
        (compute::holds(field(word, 0, 4), flags.bits), signed(word, 5, 19))
    } else if word & 0x7e00_0000 == 0x3400_0000 {
        let value = state.register(field(word, 0, 5));
        state.control = state.control.and(value.dependency);
        let bits = if word >> 31 == 1 { value.bits } else { value.bits & 0xffff_ffff };
        ((bits == 0) == (field(word, 24, 1) == 0), signed(word, 5, 19))
    } else {
        return None;
    };
    let offset = if is_taken { 4 * offset } else { 4 };
    // The branch back of gcc 7's layout counts as the `cbnz` of the others; both are backward branches.
    if offset < 0 {
        match state.left.back.checked_sub(1) {
            Some(left) => state.left.back = left,
            None => return Some(None),
        }
    }
    state.pc = state.pc.wrapping_add_signed(offset);
    Some(Some(state.clone()))
}

fn barrier(state: &mut State, word: u32) -> bool {
    let kind = match (word, field(word, 8, 2)) {
        (0xd503_201f, _) => return true,
        (0xd503_3f5f, _) => {
            state.monitor = None;
            return true;
        }
        (0xd503_3fdf, _) => Kind::InstructionBarrier,
        (word, 3) if word & 0xffff_f0ff == 0xd503_30bf => Kind::FullBarrier,
        (word, 2) if word & 0xffff_f0ff == 0xd503_30bf => Kind::StoreBarrier,
        (word, 1) if word & 0xffff_f0ff == 0xd503_30bf => Kind::LoadBarrier,
        _ => return false,
    };
    let control = state.control;
    state.push(Event { control, ..plain(kind) });
    true
}

fn plain(kind: Kind) -> Event {
    let none = Dependency::default();
    let (address, data, control, carried) = (none, none, none, none);
    Event { kind, location: 0, value: 0, address, data, control, rmw: None, is_amo: false, carried }
}

/// Reads and writes of one instruction, by the state after each value read.
fn access(state: State, word: u32, stored: &[Vec<u128>; LOCATIONS], out: &mut Vec<State>) {
    let [size, rs, rn, rt] = [field(word, 30, 2), field(word, 16, 5), field(word, 5, 5), field(word, 0, 5)];
    let bit = |at: u32| field(word, at, 1) == 1;
    let acquire = |is: bool| if is { Acquire::Yes } else { Acquire::No };
    let bits = 8 << size;
    let base = state.base(rn);
    let read = |acquire: Acquire, returns: bool| read(&state, base, (acquire, returns), stored);
    match (word & 0x3f00_0000, bit(23), bit(21)) {
        // ldxr, ldaxr; ldxp, ldaxp
        (0x0800_0000, false, is_pair) if bit(22) && !(is_pair && size < 2) => {
            for (mut state, at, value) in read(acquire(bit(15)), true) {
                loaded(&mut state, at, (rt, is_pair.then_some(field(word, 10, 5))), value, bits);
                state.monitor = Some((at, location(base.bits)));
                out.push(state);
            }
        }
        // stxr, stlxr; stxp, stlxp
        (0x0800_0000, false, is_pair) if !(is_pair && size < 2) => {
            let high = is_pair.then_some(field(word, 10, 5));
            store_exclusive(state, base, (rs, rt, high), bit(15), bits, out);
        }
        // casp; cas
        (0x0800_0000, is_single, true) => {
            let width = if is_single { bits } else { 32 << (size & 1) };
            let registers = (rs, rt, !is_single);
            let returns = rs != 31;
            for (state, at, value) in read(acquire(bit(22) && returns), returns) {
                compare_and_swap(state, at, value, registers, (width, bit(15)), out);
            }
        }
        // ldar, stlr
        (0x0800_0000, true, false) if bit(22) => {
            for (mut state, at, value) in read(Acquire::Yes, true) {
                loaded(&mut state, at, (rt, None), value, bits);
                out.push(state);
            }
        }
        (0x0800_0000, true, false) => out.push(store(state, base, rt, true, bits)),
        // ldapr
        (0x3800_0000, true, true) if word & 0x3fff_fc00 == 0x38bf_c000 => {
            for (mut state, at, value) in read(Acquire::Processor, true) {
                loaded(&mut state, at, (rt, None), value, bits);
                out.push(state);
            }
        }
        // swp, ldadd, …
        (0x3800_0000, is_acquire, true) if word & 0xc00 == 0 => {
            let returns = rt != 31;
            for (state, at, value) in read(acquire(is_acquire && returns), returns) {
                out.push(update(state, at, value, word));
            }
        }
        // str, ldr
        (0x3900_0000, false, _) if field(word, 10, 12) == 0 && !bit(22) => {
            out.push(store(state, base, rt, false, bits))
        }
        (0x3900_0000, false, _) if field(word, 10, 12) == 0 => {
            for (mut state, at, value) in read(Acquire::No, true) {
                loaded(&mut state, at, (rt, None), value, bits);
                out.push(state);
            }
        }
        _ => panic!("{word:08x} is not in the table"),
    }
}

/// The state after a read, the read's index and its value, for every value that memory may have.
fn read(
    state: &State,
    base: Value,
    (acquire, returns): (Acquire, bool),
    stored: &[Vec<u128>; LOCATIONS],
) -> Vec<(State, usize, u128)> {
    let location = location(base.bits);
    let own = state.events.iter().filter(|event| event.is_write() && event.location == location);
    let mut values: Vec<u128> =
        stored[location].iter().copied().chain([0]).chain(own.map(|event| event.value)).collect();
    values.sort_unstable();
    values.dedup();
    let after = values.into_iter().map(|value| {
        let mut state = state.clone();
        let kind = Kind::Read { acquire, returns };
        let control = state.control;
        let at = state.push(Event { location, value, address: base.dependency, control, ..plain(kind) });
        (state, at, value)
    });
    after.collect()
}

/// What a register depends on that got the value of a read: also on what a store before it carried to it.
fn through(state: &State, read: usize) -> Dependency {
    let event = &state.events[read];
    let before = state.events[..read].iter().rev();
    let mut writes = before.filter(|other| other.is_write() && other.location == event.location);
    let carried = writes.next().map(|write| write.carried).unwrap_or_default();
    Dependency::on(read).and(event.address).and(carried)
}

fn loaded(state: &mut State, at: usize, (rt, high): (u32, Option<u32>), value: u128, bits: u32) {
    let dependency = through(state, at);
    let part = |value: u128| (value as u64) & (u64::MAX >> (64 - bits));
    state.set(rt, Value { bits: part(value), dependency });
    if let Some(high) = high {
        state.set(high, Value { bits: part(value >> bits), dependency });
    }
}

/// What is stored of a register, or of two.
fn stored_value(state: &State, rt: u32, high: Option<u32>, bits: u32) -> (u128, Dependency) {
    let part = |value: Value| u128::from(value.bits & (u64::MAX >> (64 - bits)));
    let low = state.register(rt);
    match high.map(|high| state.register(high)) {
        Some(high) => (part(low) | part(high) << bits, low.dependency.and(high.dependency)),
        None => (part(low), low.dependency),
    }
}

fn write(state: &State, base: Value, (value, data): (u128, Dependency), release: bool) -> Event {
    let carried = data.and(base.dependency);
    let (address, control) = (base.dependency, state.control);
    let location = location(base.bits);
    Event { location, value, address, data, control, carried, ..plain(Kind::Write { release }) }
}

fn store(mut state: State, base: Value, rt: u32, release: bool, bits: u32) -> State {
    let event = write(&state, base, stored_value(&state, rt, None, bits), release);
    state.push(event);
    state
}

fn store_exclusive(
    mut state: State,
    base: Value,
    (rs, rt, high): (u32, u32, Option<u32>),
    release: bool,
    bits: u32,
    out: &mut Vec<State>,
) {
    let status = |bits: u64| Value { bits, ..Value::default() };
    let monitor = state.monitor.take().filter(|(_, armed)| *armed == location(base.bits));
    if let Some(failures) = state.left.failures.checked_sub(1) {
        let mut failed = state.clone();
        failed.left.failures = failures;
        failed.set(rs, status(1));
        out.push(failed);
    }
    if let Some((read, _)) = monitor {
        let mut event = write(&state, base, stored_value(&state, rt, high, bits), release);
        event.rmw = Some(read);
        state.push(event);
        state.set(rs, status(0));
        out.push(state);
    }
}

/// After the read of a compare-and-swap. Where it fails it is that read alone, or also writes back what it read.
fn compare_and_swap(
    mut state: State,
    at: usize,
    value: u128,
    (rs, rt, is_pair): (u32, u32, bool),
    (bits, release): (u32, bool),
    out: &mut Vec<State>,
) {
    let high = |low: u32| is_pair.then_some(low + 1);
    let expected = stored_value(&state, rs, high(rs), bits);
    let new = stored_value(&state, rt, high(rt), bits);
    let whole = if is_pair { 2 * bits } else { bits };
    let found = value & (u128::MAX >> (128 - whole));
    let dependency = through(&state, at);
    loaded(&mut state, at, (rs, high(rs)), value, bits);
    let read = &state.events[at];
    let (location, address, control) = (read.location, read.address, read.control);
    let compared = expected.1.and(dependency);
    let (value, data, flows) = if found == expected.0 {
        (new.0, new.1.chosen_by(expected.1), new.1.chosen_by(compared))
    } else {
        out.push(state.clone());
        if !state.left.writes_back {
            return;
        }
        (found, Dependency::default().chosen_by(expected.1), dependency.chosen_by(compared))
    };
    let (carried, kind) = (flows.and(address), Kind::Write { release });
    let (rmw, is_amo) = (Some(at), true);
    state.push(Event { location, value, address, data, control, rmw, is_amo, carried, kind });
    out.push(state);
}

/// After the read of an atomic that always stores.
fn update(mut state: State, at: usize, value: u128, word: u32) -> State {
    let bits = 8 << field(word, 30, 2);
    let old = value as u64 & (u64::MAX >> (64 - bits));
    let operand = state.register(field(word, 16, 5));
    let is_swap = field(word, 15, 1) == 1;
    let new = match is_swap {
        true => operand.bits,
        false => compute::update(field(word, 12, 3), old, operand.bits, bits),
    };
    let read = &state.events[at];
    let (location, address, control) = (read.location, read.address, read.control);
    let flows = if is_swap { Dependency::default() } else { through(&state, at) };
    let carried = operand.dependency.and(address).and(flows);
    let kind = Kind::Write { release: field(word, 22, 1) == 1 };
    let value = u128::from(new & (u64::MAX >> (64 - bits)));
    let (data, rmw, is_amo) = (operand.dependency, Some(at), true);
    loaded(&mut state, at, (field(word, 0, 5), None), u128::from(old), bits);
    state.push(Event { location, value, address, data, control, rmw, is_amo, carried, kind });
    state
}
