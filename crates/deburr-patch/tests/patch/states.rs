//! States to begin in: values at the ends of each size, and random ones, in which memory often holds what a
//! register does.

use deburr_patch::State;

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(crate) fn value(&mut self) -> u64 {
        const ENDS: [u64; 12] = [
            0,
            1,
            7,
            0x7f,
            0x80,
            0xff,
            0x8000,
            0xffff,
            0x7fff_ffff,
            0x8000_0000,
            0x7fff_ffff_ffff_ffff,
            u64::MAX,
        ];
        let end = ENDS[(self.next() % 12) as usize];
        match self.next() % 4 {
            0 => end,
            1 => !end,
            2 => self.next() << 32 | end,
            _ => self.next(),
        }
    }
}

pub(crate) fn states(count: usize) -> Vec<State> {
    let mut random = Random(7);
    let mut state = || {
        let common = random.value();
        let registers: [u64; 31] =
            std::array::from_fn(|_| if random.next().is_multiple_of(3) { common } else { random.value() });
        let place = (random.next() % 9) as usize;
        let low = match random.next() % 4 {
            0 => common,
            1 => registers[place],
            // The low halves of two.
            2 if random.next().is_multiple_of(2) => registers[2] & 0xffff_ffff | registers[3] << 32,
            2 => registers[(random.next() % 9) as usize] & 0xff | random.next() << 32,
            _ => random.value(),
        };
        // Two neighbours, as a pair is compared with.
        let high = if random.next().is_multiple_of(8) { random.value() } else { registers[place + 1] };
        let memory = match random.next() % 16 {
            0 => 0,
            _ => u128::from(low) | u128::from(high) << 64,
        };
        State { registers, sp: random.value(), nzcv: (random.next() % 16) as u8, memory, loads: Vec::new() }
    };
    (0..count).map(|_| state()).collect()
}
