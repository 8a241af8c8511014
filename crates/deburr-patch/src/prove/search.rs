//! Patch stage: whether some initial state makes a literal true.
//!
//! First sixty-four states at a time are tried, made of values that meet often (0, all ones, the ends of each
//! size, and one another); what they do not show goes to a CDCL solver in the clauses of Tseitin, with a
//! bound on its work.

use super::bits::{FALSE, Graph, Lit, Node, TRUE};
use batsat::{Callbacks, Solver, SolverInterface, SolverOpts, lbool};
use std::cell::Cell;

/// Batches of sixty-four tried states.
const BATCHES: u64 = 4;

pub(crate) enum Answer {
    Never,
    /// A value for each node's input; complete for the inputs, whatever the literal depends on.
    Sometimes(Vec<bool>),
    /// The bound was reached.
    Undecided,
}

/// Counts the decisions.
struct Bounded<'a>(&'a Cell<u32>);

impl Callbacks for Bounded<'_> {
    fn stop(&self) -> bool {
        self.0.set(self.0.get().saturating_sub(1));
        self.0.get() == 0
    }
}

pub(crate) fn search(graph: &Graph, goal: Lit) -> Answer {
    match goal {
        FALSE => return Answer::Never,
        // Any state will do; what else differs in it is read from the same values.
        TRUE => return Answer::Sometimes(evaluated(graph, &[])),
        _ => {}
    }
    match tried(graph, goal) {
        Some(found) => Answer::Sometimes(found),
        None => solved(graph, goal),
    }
}

/// The value of a literal, given those of the nodes.
pub(crate) fn value_of(values: &[bool], lit: Lit) -> bool {
    values.get(lit.node()).is_some_and(|value| *value) != lit.is_complement()
}

/// The values of all nodes from those of the inputs.
pub(crate) fn evaluated(graph: &Graph, inputs: &[bool]) -> Vec<bool> {
    let mut values: Vec<bool> = Vec::with_capacity(graph.nodes().len());
    for (index, node) in graph.nodes().iter().enumerate() {
        let value = match node {
            Node::Leaf => inputs.get(index).is_some_and(|value| *value),
            Node::And(a, b) => value_of(&values, *a) && value_of(&values, *b),
        };
        values.push(value);
    }
    values
}

/// The next of a sequence that is the same in every run (Marsaglia, *Xorshift RNGs*, 2003).
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn tried(graph: &Graph, goal: Lit) -> Option<Vec<bool>> {
    const ENDS: [u64; 8] = [0, 1, u64::MAX, 0x7f, 0x80, 0xffff_ff80, 0x8000_0000, 1 << 63];
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    for _ in 0..BATCHES {
        let common: [u64; 64] = std::array::from_fn(|_| random(&mut seed));
        let (mut lanes, mut values) = ([0_u64; 64], Vec::with_capacity(graph.nodes().len()));
        let mut inputs = 0_usize;
        for (index, node) in graph.nodes().iter().enumerate() {
            let word = |values: &[u64], lit: Lit| {
                let value = values.get(lit.node()).copied().unwrap_or(0);
                if lit.is_complement() { !value } else { value }
            };
            let value = match node {
                Node::Leaf if index == 0 => 0,
                Node::Leaf => {
                    // The inputs come as words of 64 bits, except for the four flags, which are any bits.
                    if inputs.is_multiple_of(64) {
                        for (lane, common) in lanes.iter_mut().zip(&common) {
                            let drawn = random(&mut seed);
                            let end = ENDS.get((drawn >> 32 & 7) as usize).copied().unwrap_or(0);
                            *lane = match drawn & 7 {
                                0 | 1 => *common,
                                2 => common & 0xff,
                                3 => common ^ 1 << (drawn >> 40 & 63),
                                4 | 5 => end,
                                _ => random(&mut seed),
                            };
                        }
                    }
                    let bit = inputs % 64;
                    inputs += 1;
                    lanes.iter().enumerate().fold(0, |all, (at, lane)| all | (lane >> bit & 1) << at)
                }
                Node::And(a, b) => word(&values, *a) & word(&values, *b),
            };
            values.push(value);
        }
        let goals = values.get(goal.node()).copied().unwrap_or(0);
        let goals = if goal.is_complement() { !goals } else { goals };
        if goals != 0 {
            let lane = goals.trailing_zeros();
            return Some(values.iter().map(|value| value >> lane & 1 != 0).collect());
        }
    }
    None
}

fn solved(graph: &Graph, goal: Lit) -> Answer {
    let mut needed = vec![false; goal.node() + 1];
    if let Some(root) = needed.last_mut() {
        *root = true;
    }
    for index in (0..needed.len()).rev() {
        if let (Some(true), Some(Node::And(a, b))) = (needed.get(index), graph.nodes().get(index)) {
            for lit in [a, b] {
                if let Some(operand) = needed.get_mut(lit.node()) {
                    *operand = true;
                }
            }
        }
    }
    let mut solver = Solver::new(SolverOpts::default(), Bounded(graph.decisions()));
    // Variables are decided on in this order at first: from the goal to the inputs. So the few literals that
    // choose between two computations come before the many bits of what is computed.
    let mut variables: Vec<Option<batsat::Var>> =
        needed.iter().rev().map(|needed| needed.then(|| solver.new_var_default())).collect();
    variables.reverse();
    let literal = |lit: Lit| {
        let variable = variables.get(lit.node()).copied().flatten()?;
        Some(batsat::Lit::new(variable, !lit.is_complement()))
    };
    for (variable, node) in variables.iter().zip(graph.nodes()) {
        let (Some(variable), Node::And(a, b)) = (variable, node) else { continue };
        let output = batsat::Lit::new(*variable, true);
        let (Some(a), Some(b)) = (literal(*a), literal(*b)) else { return Answer::Undecided };
        for mut clause in [vec![!output, a], vec![!output, b], vec![output, !a, !b]] {
            solver.add_clause_reuse(&mut clause);
        }
    }
    let Some(goal) = literal(goal) else { return Answer::Undecided };
    let answer = solver.solve_limited(&[goal]);
    if answer == lbool::FALSE {
        return Answer::Never;
    }
    if answer != lbool::TRUE {
        return Answer::Undecided;
    }
    let value = |variable: &Option<batsat::Var>| {
        variable.is_some_and(|variable| solver.value_var(variable) == lbool::TRUE)
    };
    let inputs: Vec<bool> = variables.iter().map(value).collect();
    Answer::Sometimes(evaluated(graph, &inputs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::bits::Word;

    #[test]
    fn the_solver_shows_that_nothing_differs() {
        let mut graph = Graph::new();
        let (a, b) = (graph.input_word(), graph.input_word());
        let difference = graph.sum(&a, &b.complement(), TRUE, 64).word;
        let (zero, equal) = (graph.is_zero(&difference), graph.equal(&a, &b));
        assert_ne!(zero, equal);
        let goal = graph.xor(zero, equal);
        assert!(matches!(search(&graph, goal), Answer::Never));
    }

    #[test]
    fn the_solver_finds_a_state_that_trying_does_not() {
        let mut graph = Graph::new();
        let (a, b) = (graph.input_word(), graph.input_word());
        let sum = graph.sum(&a, &b, FALSE, 64).word;
        let first = graph.equal(&a, &Word::constant(0x1234_5678_9abc_def1));
        let second = graph.equal(&sum, &Word::constant(0xfedc_ba98_7654_3210));
        let goal = graph.and(first, second);
        assert!(tried(&graph, goal).is_none());
        let Answer::Sometimes(values) = search(&graph, goal) else { panic!("no state found") };
        assert!(value_of(&values, goal));
        let found = b.bits().rev().fold(0, |all, lit| all << 1 | u64::from(value_of(&values, lit)));
        assert_eq!(found, 0xfedc_ba98_7654_3210 - 0x1234_5678_9abc_def1);
    }

    #[test]
    fn the_state_for_what_always_holds_is_one_of_the_graphs() {
        let mut graph = Graph::new();
        let (a, b) = (graph.input_word(), graph.input_word());
        let equal = graph.equal(&a, &b);
        let Answer::Sometimes(values) = search(&graph, TRUE) else { panic!("no state found") };
        let inputs = a.bits().chain(b.bits()).all(|lit| !value_of(&values, lit));
        assert!(inputs && value_of(&values, equal) && value_of(&values, TRUE));
    }

    #[test]
    fn the_bound_of_the_solver_holds() {
        let mut graph = Graph::new();
        let (a, b, c) = (graph.input_word(), graph.input_word(), graph.input_word());
        let (left, right) = (graph.product(&a, &b, 24), graph.product(&b, &c, 24));
        let (left, right) = (graph.product(&left, &c, 24), graph.product(&a, &right, 24));
        let goal = !graph.equal(&left, &right);
        assert!(matches!(search(&graph, goal), Answer::Undecided));
    }
}
