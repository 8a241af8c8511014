//! Patch stage: values of the machine as Boolean functions of the initial state.
//!
//! A [`Graph`] is an and-inverter graph (Kuehlmann, Ganai and Paruthi, *Circuit-based Boolean Reasoning*, DAC
//! 2001). Each node is an input or the conjunction of two literals, no two nodes are the same conjunction,
//! and what constants decide is never built. So two computations that do the same steps are the same
//! literals, and comparing them costs nothing. A [`Word`] is 64 such literals. The graph only grows, up to a
//! ceiling, after which it says that it is [`Graph::full`].

use std::array;
use std::cell::Cell;
use std::collections::HashMap;

/// A node of the graph, or its complement.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Lit(u32);

pub(crate) const FALSE: Lit = Lit(0);
pub(crate) const TRUE: Lit = Lit(1);

/// Nodes beyond which nothing is built: some multiplications of 64 bits.
const CEILING: usize = 1 << 17;

/// Decisions of the solver on all questions about one graph.
const DECISIONS: u32 = 10_000;

impl Lit {
    pub(crate) fn constant(value: bool) -> Lit {
        if value { TRUE } else { FALSE }
    }

    /// The node, as its index in order of making; the constant is node 0.
    pub(crate) fn node(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub(crate) fn is_complement(self) -> bool {
        self.0 & 1 != 0
    }
}

impl std::ops::Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Node {
    /// The constant (false) or an input.
    Leaf,
    And(Lit, Lit),
}

pub(crate) struct Graph {
    nodes: Vec<Node>,
    known: HashMap<(Lit, Lit), Lit>,
    /// Of each word that was made as `0 - x`, the complement of `x`; and of its low bits.
    negatives: HashMap<Word, Word>,
    /// What the solver may still do.
    decisions: Cell<u32>,
    full: bool,
}

/// 64 bits, the lowest first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Word([Lit; 64]);

impl Word {
    pub(crate) const ZERO: Word = Word([FALSE; 64]);

    pub(crate) fn constant(value: u64) -> Word {
        Word(array::from_fn(|bit| Lit::constant(value >> bit & 1 != 0)))
    }

    /// The word whose bits `f` gives.
    pub(crate) fn of(f: impl FnMut(usize) -> Lit) -> Word {
        Word(array::from_fn(f))
    }

    /// Bits beyond the highest are zero.
    pub(crate) fn bit(&self, bit: usize) -> Lit {
        self.0.get(bit).copied().unwrap_or(FALSE)
    }

    pub(crate) fn bits(&self) -> impl DoubleEndedIterator<Item = Lit> + '_ {
        self.0.iter().copied()
    }

    /// The low `width` bits.
    pub(crate) fn low(&self, width: usize) -> Word {
        Word::of(|bit| if bit < width { self.bit(bit) } else { FALSE })
    }

    /// The low `width` bits, the highest of them repeated above.
    pub(crate) fn sign_extended(&self, width: usize) -> Word {
        Word::of(|bit| self.bit(bit.min(width.saturating_sub(1))))
    }

    pub(crate) fn complement(&self) -> Word {
        Word(self.0.map(|lit| !lit))
    }

    /// Shifted left; what leaves a width is the caller's to cut off.
    pub(crate) fn shifted_left(&self, by: usize) -> Word {
        Word::of(|bit| bit.checked_sub(by).map_or(FALSE, |from| self.bit(from)))
    }

    pub(crate) fn shifted_right(&self, by: usize) -> Word {
        Word::of(|bit| self.bit(bit + by))
    }

    /// The low `width` bits rotated right.
    pub(crate) fn rotated_right(&self, by: usize, width: usize) -> Word {
        Word::of(|bit| if bit < width { self.bit((bit + by) % width) } else { FALSE })
    }

    /// Its value, where it is a constant.
    pub(crate) fn value(&self) -> Option<u64> {
        self.bits().rev().try_fold(0, |value, lit| match lit {
            TRUE => Some(value << 1 | 1),
            FALSE => Some(value << 1),
            _ => None,
        })
    }
}

/// A sum and the carries into and out of its highest bit.
pub(crate) struct Sum {
    pub(crate) word: Word,
    pub(crate) carry: Lit,
    pub(crate) overflow: Lit,
}

impl Graph {
    pub(crate) fn new() -> Graph {
        Graph {
            nodes: vec![Node::Leaf],
            known: HashMap::new(),
            negatives: HashMap::new(),
            decisions: Cell::new(DECISIONS),
            full: false,
        }
    }

    /// Whether something was left out, so that the graph decides nothing any more.
    pub(crate) fn full(&self) -> bool {
        self.full
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(crate) fn decisions(&self) -> &Cell<u32> {
        &self.decisions
    }

    fn add(&mut self, node: Node) -> Lit {
        if self.nodes.len() >= CEILING {
            self.full = true;
            return FALSE;
        }
        let lit = Lit((self.nodes.len() as u32) << 1);
        self.nodes.push(node);
        lit
    }

    pub(crate) fn input(&mut self) -> Lit {
        self.add(Node::Leaf)
    }

    pub(crate) fn input_word(&mut self) -> Word {
        Word::of(|_| self.input())
    }

    fn parts(&self, lit: Lit) -> Option<(Lit, Lit)> {
        match self.nodes.get(lit.node()) {
            Some(Node::And(a, b)) if !lit.is_complement() => Some((*a, *b)),
            _ => None,
        }
    }

    pub(crate) fn and(&mut self, a: Lit, b: Lit) -> Lit {
        let (a, b) = if a < b { (a, b) } else { (b, a) };
        if a == FALSE || a == !b {
            return FALSE;
        }
        if a == TRUE || a == b {
            return b;
        }
        for (whole, other) in [(a, b), (b, a)] {
            if let Some((left, right)) = self.parts(whole) {
                if other == !left || other == !right {
                    return FALSE;
                }
                if other == left || other == right {
                    return whole;
                }
            }
        }
        if let Some(known) = self.known.get(&(a, b)) {
            return *known;
        }
        let lit = self.add(Node::And(a, b));
        self.known.insert((a, b), lit);
        lit
    }

    pub(crate) fn or(&mut self, a: Lit, b: Lit) -> Lit {
        !self.and(!a, !b)
    }

    /// Complements are taken out, so that `a ^ b` and `!(a ^ !b)` are one node.
    pub(crate) fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        let odd = a.is_complement() != b.is_complement();
        let (a, b) = (Lit(a.0 & !1), Lit(b.0 & !1));
        let (left, right) = (self.and(a, !b), self.and(!a, b));
        let xor = self.or(left, right);
        if odd { !xor } else { xor }
    }

    /// `then` where `condition` holds, otherwise `other`.
    pub(crate) fn choose(&mut self, condition: Lit, then: Lit, other: Lit) -> Lit {
        if then == other {
            return then;
        }
        let (left, right) = (self.and(condition, then), self.and(!condition, other));
        self.or(left, right)
    }

    /// Where the two are equal either may be taken: of a condition "greater" or "less or equal" that equality
    /// is part of, only the rest is looked at. So a maximum written with `gt` is the one written with `ge`.
    pub(crate) fn choose_word(&mut self, condition: Lit, then: &Word, other: &Word) -> Word {
        let unequal = !self.equal(then, other);
        let rest = |(a, b)| if a == unequal { Some(b) } else { (b == unequal).then_some(a) };
        let condition = match (self.parts(condition).and_then(rest), self.parts(!condition).and_then(rest)) {
            (Some(rest), _) => rest,
            (_, Some(rest)) => !rest,
            _ => condition,
        };
        Word::of(|bit| self.choose(condition, then.bit(bit), other.bit(bit)))
    }

    pub(crate) fn and_words(&mut self, a: &Word, b: &Word) -> Word {
        Word::of(|bit| self.and(a.bit(bit), b.bit(bit)))
    }

    pub(crate) fn or_words(&mut self, a: &Word, b: &Word) -> Word {
        Word::of(|bit| self.or(a.bit(bit), b.bit(bit)))
    }

    pub(crate) fn xor_words(&mut self, a: &Word, b: &Word) -> Word {
        Word::of(|bit| self.xor(a.bit(bit), b.bit(bit)))
    }

    /// Whether all bits are zero.
    pub(crate) fn is_zero(&mut self, word: &Word) -> Lit {
        word.bits().fold(TRUE, |so_far, bit| self.and(so_far, !bit))
    }

    pub(crate) fn equal(&mut self, a: &Word, b: &Word) -> Lit {
        let differing = self.xor_words(a, b);
        self.is_zero(&differing)
    }

    /// The sum of the low `width` bits, zero-extended. What is one sum is one word: `x - 5` is made as
    /// `x + -5`, and `x + -y` as `x - y`. The carries are those of the addition as it is written.
    pub(crate) fn sum(&mut self, a: &Word, b: &Word, carry_in: Lit, width: usize) -> Sum {
        let chain = self.chain(a, b, carry_in, width);
        let low = b.low(width);
        let word = match (carry_in, low.value(), self.negatives.get(&low).copied()) {
            (TRUE, Some(value), _) => {
                self.chain(a, &Word::constant(value.wrapping_add(1)), FALSE, width).word
            }
            (FALSE, _, Some(complement)) => self.chain(a, &complement, TRUE, width).word,
            _ => chain.word,
        };
        if carry_in == TRUE && a.low(width) == Word::ZERO && low.value().is_none() {
            for bits in [8, 16, 32, 64].into_iter().filter(|bits| *bits <= width) {
                self.negatives.insert(word.low(bits), b.low(bits));
            }
        }
        Sum { word, ..chain }
    }

    fn chain(&mut self, a: &Word, b: &Word, carry_in: Lit, width: usize) -> Sum {
        let (mut carry, mut before) = (carry_in, carry_in);
        let word = Word::of(|bit| {
            if bit >= width {
                return FALSE;
            }
            let (a, b) = (a.bit(bit), b.bit(bit));
            before = carry;
            let half = self.xor(a, b);
            let (both, passed) = (self.and(a, b), self.and(half, carry));
            carry = self.or(both, passed);
            self.xor(half, before)
        });
        Sum { word, carry, overflow: self.xor(carry, before) }
    }

    /// `a < b` of the low `width` bits, as numbers with or without sign.
    pub(crate) fn less(&mut self, a: &Word, b: &Word, width: usize, signed: bool) -> Lit {
        let difference = self.sum(a, &b.complement(), TRUE, width);
        if signed {
            self.xor(difference.word.bit(width.saturating_sub(1)), difference.overflow)
        } else {
            !difference.carry
        }
    }

    /// The low `width` bits of the product.
    pub(crate) fn product(&mut self, a: &Word, b: &Word, width: usize) -> Word {
        (0..width).fold(Word::ZERO, |so_far, bit| {
            let chosen = b.bit(bit);
            let partial = a.shifted_left(bit);
            let partial = Word::of(|bit| self.and(partial.bit(bit), chosen));
            self.chain(&so_far, &partial, FALSE, width).word
        })
    }
}
