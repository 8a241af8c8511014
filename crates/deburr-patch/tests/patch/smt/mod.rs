//! The prover compared with an SMT solver: z3 gets the same instructions, by another reading of the manual.
//! The query is whether any state distinguishes the two sequences.
//!
//! `symbolic` makes terms of the instructions, `z3` answers. What the prover accepts no state may
//! distinguish. What it refutes z3 refutes as well, by a state of its own, in which the interpreter of
//! numbers gives two results. The prover may refuse more: instructions that no proof can hold, whatever they
//! compute.

mod symbolic;
mod z3;

use crate::interpreter::execute;
use crate::loads::epilogue;
use crate::mutants::Mutants;
use crate::pairs::PAIRS;
use crate::retrying::{NAND, RETRY, filled, flags_of_the_last_try, growing_sum, nand_by_size_and_order};
use crate::states::Random;
use crate::templates::made_between;
use crate::wrong::WRONG;
use crate::{CLASSES, Pair, Reason, Wrong, agree_in, by_size_and_order, words};
use deburr_patch::{
    Dead, Difference, Given, Proof, Refusal, State, prove, prove_given, prove_loads, prove_retrying,
    prove_with,
};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use symbolic::{End, MEMORY, Path, Script, Term, constant, registers};
use z3::{Answer, Z3};

/// What z3 says of two sequences.
#[derive(Clone, PartialEq, Debug)]
enum Verdict {
    /// No state distinguishes them, and the new one's order is no weaker.
    Same,
    /// Registers, SP, flags, memory or the exit differ, from this state on.
    Values(Box<State>),
    /// Only what memory's order is made of differs: the access itself, its letters, the barriers.
    Order,
    /// Some state leads to an instruction that has no meaning here.
    Stuck,
    Unknown,
}

impl Verdict {
    fn name(&self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Values(_) => "values differ",
            Verdict::Order => "order differs",
            Verdict::Stuck => "stuck",
            Verdict::Unknown => "unknown",
        }
    }
}

/// Two sequences as one script.
struct Query<'a> {
    old: &'a [u32],
    new: &'a [u32],
    script: Script,
    /// What is known where the sequences begin.
    given: Vec<Given>,
    /// What plain loads read.
    reads: Vec<Term>,
    /// Whether the new sequence is tried more than once, which the interpreter does not do.
    retries: bool,
    /// When a sequence is stuck; when values differ; when the order does.
    stuck: Vec<Term>,
    values: Vec<Term>,
    order: Vec<Term>,
}

/// Some terms, of which one holds.
fn any(terms: &[Term]) -> Term {
    format!("(or false {})", terms.join(" "))
}

/// That what is known of some registers is so.
fn holds(given: &[Given], x: &[Term]) -> Term {
    let holds = |Given { register, zero_from }: &Given| {
        let high = format!("(bvlshr {} {})", x[usize::from(*register)], constant((*zero_from).into(), 64));
        format!("(= {high} {})", constant(0, 64))
    };
    format!("(and true {})", given.iter().map(holds).collect::<Vec<_>>().join(" "))
}

impl<'a> Query<'a> {
    fn new(old: &'a [u32], new: &'a [u32]) -> Query<'a> {
        let mut query = Query::empty(old, new);
        query.compare(&[]);
        query
    }

    fn given(old: &'a [u32], new: &'a [u32], given: &[Given], dead: &[Dead]) -> Query<'a> {
        let mut query = Query::empty(old, new);
        query.given = given.to_vec();
        let known = holds(given, &registers());
        query.say(&format!("(assert {known})"));
        query.compare(dead);
        query
    }

    /// As `prove_loads` has it: what the first load of one reads the first of the other reads too, and so on.
    fn loads(old: &'a [u32], new: &'a [u32]) -> Query<'a> {
        let mut query = Query::empty(old, new);
        query.reads = (0..4).map(|load| format!("load{load}")).collect();
        for load in query.reads.clone() {
            query.say(&format!("(declare-const {load} (_ BitVec 64))"));
        }
        query.compare(&[]);
        query
    }

    /// As `prove_retrying` has it. Whatever the plain load reads: a try that stores does what the old
    /// sequence does, and after one that does not the old sequence would do as before, with anything in
    /// memory. So all tries together do what the old sequence does, by induction.
    fn retrying(old: &'a [u32], new: &'a [u32], dead: &[Dead]) -> Query<'a> {
        let mut query = Query::empty(old, new);
        query.retries = true;
        query.say("(declare-const guess (_ BitVec 64))");
        query.say(&format!("(declare-const then {MEMORY})"));
        let before = query.run(old, Path::start());
        let tries = query.run(new, Path { reads: vec!["guess".to_owned()], ..Path::start() });
        let then = || Path { memory: "then".to_owned(), ..Path::start() };
        let without = query.run(old, then());
        let (mut stores, mut fails) = (Vec::new(), Vec::new());
        for path in tries {
            let stored = path.access.as_ref().map_or("true".to_owned(), |access| access.stored.clone());
            let when =
                |holds: &str| Path { condition: format!("(and {} {holds})", path.condition), ..path.clone() };
            fails.push(when(&format!("(not {stored})")));
            stores.push(when(&stored));
        }
        query.hold(&before, &stores, dead);
        for Path { end, condition, x, flags, barriers, .. } in fails {
            match end {
                End::Left(0) if barriers.is_empty() => {
                    let after = query.run(old, Path { condition, x, flags, ..then() });
                    query.hold(&without, &after, dead);
                }
                End::Left(_) => query.values.push(condition),
                _ => {}
            }
        }
        query
    }

    fn empty(old: &'a [u32], new: &'a [u32]) -> Query<'a> {
        let mut query = Query {
            old,
            new,
            script: Script::new(),
            given: Vec::new(),
            reads: Vec::new(),
            retries: false,
            stuck: Vec::new(),
            values: Vec::new(),
            order: Vec::new(),
        };
        // A byte of memory, and what the old sequence finds where it looks.
        query.say("(declare-const probe (_ BitVec 64))\n(declare-const cell (_ BitVec 128))");
        query
    }

    fn say(&mut self, line: &str) {
        self.script.text.push_str(line);
        self.script.text.push('\n');
    }

    fn run(&mut self, words: &[u32], start: Path) -> Vec<Path> {
        let paths = self.script.run(words, start);
        for path in &paths {
            match path.end {
                End::Stuck => self.stuck.push(path.condition.clone()),
                // Coming back, the sequence begins anew, and what was known has to be so still.
                End::Left(0) => {
                    let known = holds(&self.given, &path.x);
                    self.stuck.push(format!("(and {} (not {known}))", path.condition));
                }
                _ => {}
            }
        }
        paths
    }

    fn compare(&mut self, dead: &[Dead]) {
        let start = Path { reads: self.reads.clone(), ..Path::start() };
        let (old, new) = (self.run(self.old, start.clone()), self.run(self.new, start));
        let accesses = old.iter().filter_map(|path| Some((path, path.access.as_ref()?)));
        let address = accesses.fold(constant(0, 64), |other, (path, access)| {
            format!("(ite {} {} {other})", path.condition, access.address)
        });
        let address = self.script.define("(_ BitVec 64)", &address);
        let byte = |at: u64| format!("(select memory (bvadd {address} {}))", constant(at, 64));
        let bytes: Vec<Term> = (0..16).rev().map(byte).collect();
        self.say(&format!("(assert (= cell (concat {})))", bytes.join(" ")));
        self.hold(&old, &new, dead);
    }

    /// What differs where the sequences are left.
    fn hold(&mut self, old: &[Path], new: &[Path], dead: &[Dead]) {
        for (old, new) in old.iter().flat_map(|old| new.iter().map(move |new| (old, new))) {
            let (End::Left(before), End::Left(after)) = (old.end, new.end) else { continue };
            let inside = (0..self.old.len() as i64).contains(&before);
            let dead = dead.iter().filter(|dead| dead.exit == before && !inside && before == after);
            // The stack pointer, here the last of the registers, never is.
            let dead = dead.fold(0, |all, dead| all | dead.registers & (u32::MAX >> 1));
            let both = |terms: &[Term]| format!("(and {} {} {})", old.condition, new.condition, any(terms));
            self.values.push(both(&unlike_values(old, new, dead)));
            self.order.push(both(&unlike_order(old, new, !self.retries)));
        }
    }

    /// What z3 says. The first query is whether a sequence is stuck, where that is expected: then its values
    /// are of no account.
    fn judged(&self, z3: &mut Z3, is_stuck: bool) -> Verdict {
        let mut asked =
            |goal: &[&[Term]]| z3.ask(&format!("{}(assert {})", self.script.text, any(&goal.concat())));
        if is_stuck && asked(&[&self.stuck]) == Answer::Sat {
            return Verdict::Stuck;
        }
        match asked(&[&self.values]) {
            Answer::Sat => return Verdict::Values(Box::new(self.state(z3))),
            Answer::Unknown => return Verdict::Unknown,
            Answer::Unsat => {}
        }
        match asked(&[&self.stuck, &self.order]) {
            Answer::Unsat => return Verdict::Same,
            Answer::Unknown => return Verdict::Unknown,
            Answer::Sat => {}
        }
        match asked(&[&self.stuck]) {
            Answer::Sat => Verdict::Stuck,
            Answer::Unsat => Verdict::Order,
            Answer::Unknown => Verdict::Unknown,
        }
    }

    /// Where the model of the last answer begins.
    fn state(&self, z3: &mut Z3) -> State {
        let mut names = registers();
        names.extend(["n", "z", "c", "v", "cell"].map(str::to_owned));
        names.extend(self.reads.clone());
        let values = z3.values(&names);
        State {
            registers: std::array::from_fn(|number| values[&format!("x{number}")] as u64),
            sp: values["sp"] as u64,
            nzcv: ["n", "z", "c", "v"].iter().fold(0, |all, flag| all << 1 | values[*flag] as u8),
            memory: values["cell"],
            loads: self.reads.iter().map(|name| values[name] as u64).collect(),
        }
    }
}

/// Each thing that may differ in value where both paths are taken.
fn unlike_values(old: &Path, new: &Path, dead: u32) -> Vec<Term> {
    if old.end != new.end {
        return vec!["true".to_owned()];
    }
    let unlike = |(a, b): (&Term, &Term)| (a != b).then(|| format!("(distinct {a} {b})"));
    let registers = old.x.iter().zip(&new.x).enumerate();
    let alive = registers.filter(|(number, _)| dead >> number & 1 == 0).map(|(_, pair)| pair);
    let mut found: Vec<Term> = alive.chain(old.flags.iter().zip(&new.flags)).filter_map(unlike).collect();
    found.push(format!("(distinct (select {} probe) (select {} probe))", old.memory, new.memory));
    found
}

/// Each thing by which another observer of memory may distinguish the two, though no value differs.
fn unlike_order(old: &Path, new: &Path, plain: bool) -> Vec<Term> {
    let mut fixed = old.barriers != new.barriers;
    let mut found = Vec::new();
    match (&old.access, &new.access) {
        (Some(old), Some(new)) => {
            fixed |= (old.place, old.bytes) != (new.place, new.bytes);
            fixed |= old.acquire && !new.acquire || old.loads && !new.loads;
            found.push(format!("(distinct {} {})", old.address, new.address));
            found.push(format!("(distinct {} {})", old.stored, new.stored));
            if old.release && !new.release {
                found.push(old.stored.clone());
            }
        }
        (old, new) => fixed |= old.is_some() || new.is_some(),
    }
    if plain {
        fixed |= old.loads.len() != new.loads.len();
        found.extend(old.loads.iter().zip(&new.loads).map(|(old, new)| format!("(distinct {old} {new})")));
    }
    found.push(fixed.to_string());
    found
}

/// Whether a difference is one of values, so that a state alone shows it.
fn is_of_values(difference: Difference) -> bool {
    use Difference::{Exit, Flags, Memory, Register, StackPointer};
    matches!(difference, Exit | Flags | Memory | Register(_) | StackPointer)
}

/// How often z3 said what where the prover said what.
#[derive(Default, Debug)]
struct Agreement {
    counts: BTreeMap<(&'static str, &'static str), usize>,
    /// What the prover refused though z3 finds the two the same.
    refused: Vec<String>,
}

impl Agreement {
    /// Holds one against the other, and a state that z3 finds against the interpreter. What z3 says.
    fn hold(&mut self, z3: &mut Z3, answer: &Result<Proof, Refusal>, query: &Query, place: &str) -> Verdict {
        let verdict = query.judged(z3, matches!(answer, Err(Refusal::Instruction { .. })));
        let (old, new) = (query.old, query.new);
        let place = format!("{place}: {old:08x?}, {new:08x?}");
        if let Verdict::Values(state) = &verdict {
            assert!(query.retries || !agree_in(old, new, state), "{place}: the same in {state:x?}");
        }
        let said = match answer {
            Ok(_) => {
                assert_eq!(verdict, Verdict::Same, "{place}: accepted");
                "proven"
            }
            Err(Refusal::Different { difference, .. }) => {
                let agrees = match &verdict {
                    Verdict::Values(state) => {
                        query.retries || execute(old, state).is_ok() && execute(new, state).is_ok()
                    }
                    Verdict::Order => !is_of_values(*difference),
                    _ => false,
                };
                assert!(agrees, "{place}: {difference}, but {verdict:?}");
                "different"
            }
            Err(refusal) => {
                if verdict == Verdict::Same {
                    self.refused.push(format!("{place}: {refusal}"));
                }
                "refused"
            }
        };
        *self.counts.entry((said, verdict.name())).or_default() += 1;
        verdict
    }

    fn count(&self, said: &'static str, verdict: &'static str) -> usize {
        self.counts.get(&(said, verdict)).copied().unwrap_or(0)
    }

    fn all(&self) -> usize {
        self.counts.values().sum()
    }
}

#[test]
fn z3_finds_every_right_pair_the_same() {
    let mut z3 = Z3::start();
    let mut agreement = Agreement::default();
    for Pair { name, old, new } in PAIRS.iter() {
        let (old, new) = (words(old), words(new));
        agreement.hold(&mut z3, &prove(&old, &new), &Query::new(&old, &new), name);
    }
    assert_eq!(agreement.count("proven", "same"), PAIRS.len(), "{:?}", agreement.counts);
}

#[test]
fn z3_distinguishes_every_wrong_pair_where_the_prover_does() {
    let mut z3 = Z3::start();
    let mut agreement = Agreement::default();
    for Wrong { name, refusal, old, new } in WRONG.iter() {
        let (old, new) = (words(old), words(new));
        let (answer, query) = (prove(&old, &new), Query::new(&old, &new));
        let verdict = agreement.hold(&mut z3, &answer, &query, name);
        // These are shown by a state, each of them; order is nothing that a state shows.
        let shown = match refusal {
            Reason::Different(Difference::Acquire | Difference::Release | Difference::Barriers) => false,
            Reason::Different(_) => true,
            _ => continue,
        };
        assert_eq!(matches!(verdict, Verdict::Values(_)), shown, "{name}");
    }
    assert_eq!(agreement.count("proven", "same"), 0);
    // What does the same and is no proof's part: exclusives for exclusives, an atomic for itself, a path with
    // no access.
    assert_eq!(agreement.refused.len(), 3, "{:#?}", agreement.refused);
}

#[test]
fn z3_and_the_prover_agree_on_every_size_and_order() {
    const LETTERS: [[bool; 2]; 4] = [[false, false], [true, false], [false, true], [true, true]];
    let mut z3 = Z3::start();
    let mut agreement = Agreement::default();
    for operation in ["swap", "add", "compare-and-swap"] {
        for (size, before, after) in (0..4)
            .flat_map(|size| LETTERS.map(|before| (size, before)))
            .flat_map(|(size, before)| LETTERS.map(|after| (size, before, after)))
        {
            let (old, new) = by_size_and_order(operation, size, before, after);
            let place = format!("{operation}, size {size}, {before:?} by {after:?}");
            agreement.hold(&mut z3, &prove(&old, &new), &Query::new(&old, &new), &place);
        }
    }
    let expected = [(("different", "order differs"), 84), (("proven", "same"), 108)];
    assert_eq!(agreement.counts, BTreeMap::from(expected));
}

#[test]
fn z3_and_the_prover_take_what_is_known_and_what_is_dead_alike() {
    let mut z3 = Z3::start();
    let mut agreement = Agreement::default();
    // Bytes compared with a register that may be wide, and with one that is not.
    for name in [
        "byte compare-and-swap of an expected value that may be wide",
        "byte maximum of an operand that may be wide",
    ] {
        let wrong = WRONG.iter().find(|wrong| wrong.name == name).expect(name);
        let (old, new) = (words(wrong.old), words(wrong.new));
        for zero_from in [0, 7, 8, 9, 32, 63] {
            let given = [Given { register: 1, zero_from }];
            let answer = prove_given(&old, &new, &given);
            let place = format!("{name}, {given:?}");
            agreement.hold(&mut z3, &answer, &Query::given(&old, &new, &given, &[]), &place);
        }
    }
    let (old, new) = made_between(20);
    for (exit, registers) in [(20, 1 << 3), (5, 1 << 3), (20, 1 << 4), (20, u32::MAX), (21, u32::MAX)] {
        let dead = [Dead { exit, registers }];
        let answer = prove_with(&old, &new, &[], &dead);
        agreement.hold(&mut z3, &answer, &Query::given(&old, &new, &[], &dead), &format!("{dead:?}"));
    }
    // ldaxr w2, [x0]; cbnz w2, #-4; stxr w3, w1, [x0]; cbnz w3, #-12 against mov w2, wzr; casa w2, w1, [x0];
    // cbnz w2, #-8; mov w3, wzr: what is known of w2 is not where it comes back.
    let (old, new) = (
        [0x885f_fc02, 0x35ff_ffe2, 0x8803_7c01, 0x35ff_ffa3],
        [0x2a1f_03e2, 0x88e2_7c01, 0x35ff_ffc2, 0x2a1f_03e3],
    );
    for register in [2, 9] {
        let given = [Given { register, zero_from: 1 }];
        let answer = prove_given(&old, &new, &given);
        agreement.hold(&mut z3, &answer, &Query::given(&old, &new, &given, &[]), &format!("{given:?}"));
    }
    let expected = [(("different", "values differ"), 9), (("proven", "same"), 9), (("refused", "stuck"), 1)];
    assert_eq!(agreement.counts, BTreeMap::from(expected));
}

#[test]
fn z3_and_the_prover_agree_on_plain_loads() {
    let mut z3 = Z3::start();
    let mut agreement = Agreement::default();
    let mut hold = |old: &[u32], new: &[u32], place: &str| {
        agreement.hold(&mut z3, &prove_loads(old, new), &Query::loads(old, new), place);
    };
    for by in (0..=256).step_by(8) {
        let (old, new) = epilogue(by);
        hold(&old, &new, &format!("by {by}"));
    }
    let (old, new) = epilogue(48);
    for (at, bit) in (0..2).flat_map(|at| (0..32).map(move |bit| (at, bit))) {
        let (mut before, mut after) = (old, new);
        before[at] ^= 1 << bit;
        after[at] ^= 1 << bit;
        hold(&old, &after, &format!("new word {at}, bit {bit}"));
        hold(&before, &new, &format!("old word {at}, bit {bit}"));
    }
    assert_eq!(agreement.all(), 33 + 128);
    assert!(agreement.refused.is_empty(), "{:#?}", agreement.refused);
}

#[test]
#[ignore = "a quarter of a minute of z3; `cargo xtask nightly` runs it"]
fn z3_and_the_prover_agree_on_what_is_tried_again() {
    let mut z3 = Z3::start();
    let mut agreement = Agreement::default();
    for (size, order) in (0..4).flat_map(|size| (0..4).map(move |order| (size, order))) {
        let (old, new) = nand_by_size_and_order(size, order);
        let (old, new) = (filled(&old), filled(&new));
        let answer = prove_retrying(&old, &new, &[]);
        let place = format!("size {size}, order {order}");
        agreement.hold(&mut z3, &answer, &Query::retrying(&old, &new, &[]), &place);
    }
    assert_eq!(agreement.count("proven", "same"), 16);
    // What a try that fails has changed is read by the next.
    let (sum, flags) = (growing_sum(), flags_of_the_last_try());
    for (old, new) in [(&sum.0[..], &sum.1[..]), (&flags.0, &flags.1)] {
        let (old, new) = (filled(old), filled(new));
        let answer = prove_retrying(&old, &new, &[]);
        let verdict =
            agreement.hold(&mut z3, &answer, &Query::retrying(&old, &new, &[]), "after a failed try");
        assert!(matches!(verdict, Verdict::Values(_)), "{verdict:?}: {new:08x?}");
    }
    let old = filled(&NAND);
    for (at, bit) in (0..RETRY.len()).flat_map(|at| (0..32).map(move |bit| (at, bit))) {
        let mut new = filled(&RETRY);
        new[at] ^= 1 << bit;
        let answer = prove_retrying(&old, &new, &[]);
        let query = Query::retrying(&old, &new, &[]);
        agreement.hold(&mut z3, &answer, &query, &format!("word {at}, bit {bit}"));
    }
    // A plain load from elsewhere, or of fewer bytes, is a guess that may never be right; but if ever it is,
    // all is the same.
    let is_guess = |place: &String| place.starts_with("word 0, ");
    assert!(
        agreement.refused.len() == 20 && agreement.refused.iter().all(is_guess),
        "{:#?}",
        agreement.refused
    );
    assert!(agreement.count("different", "values differ") >= 90, "{:?}", agreement.counts);
}

/// One in `share` of what a rewriter may get wrong, and of the bits that may flip in either sequence.
fn mutants(share: u64) -> Agreement {
    let halves = [0, 1].map(|half| move || mutants_of(PAIRS.iter().skip(half).step_by(2), share));
    let [mut all, other] = std::thread::scope(|scope| {
        halves.map(|half| scope.spawn(half)).map(|half| half.join().expect("the one half and the other"))
    });
    for (said, count) in other.counts {
        *all.counts.entry(said).or_default() += count;
    }
    all.refused.extend(other.refused);
    // Products of exchanged factors, which the prover gives up on.
    let is_product = |place: &String| place.starts_with("add of a product, ");
    assert!(all.refused.len() <= 8 && all.refused.iter().all(is_product), "{all:#?}");
    all
}

fn mutants_of(pairs: impl Iterator<Item = &'static Pair>, share: u64) -> Agreement {
    let mut z3 = Z3::start();
    let mut agreement = Agreement::default();
    let mut random = Random(29);
    for Pair { name, old, new } in pairs {
        let (old, new) = (words(old), words(new));
        let mut seen = HashSet::from([(old.clone(), new.clone())]);
        let decided = Mutants::of(&old, &new).into_iter();
        let decided = decided.map(|(decision, mutant)| (format!("{decision:?}"), old.clone(), mutant));
        let flipped =
            (0..new.len()).flat_map(|at| (0..32).map(move |bit| (at, bit))).flat_map(|(at, bit)| {
                let (mut before, mut after) = (old.clone(), new.clone());
                before[at] ^= 1 << bit;
                after[at] ^= 1 << bit;
                let place = |side: &str| format!("{side} word {at}, bit {bit}");
                [(place("old"), before, new.clone()), (place("new"), old.clone(), after)]
            });
        for (place, before, after) in decided.chain(flipped) {
            if !seen.insert((before.clone(), after.clone())) || !random.next().is_multiple_of(share) {
                continue;
            }
            let (answer, query) = (prove(&before, &after), Query::new(&before, &after));
            agreement.hold(&mut z3, &answer, &query, &format!("{name}, {place}"));
        }
    }
    agreement
}

#[test]
#[ignore = "a third of a minute of z3; `cargo xtask nightly` runs it"]
fn z3_accepts_every_mutant_that_the_prover_does() {
    let agreement = mutants(24);
    println!("{} mutants: {:?}", agreement.all(), agreement.counts);
    assert!(agreement.all() >= 600 && agreement.count("different", "values differ") >= 300);
}

#[test]
#[ignore = "asks z3 some 20,000 questions, minutes; `cargo xtask nightly` runs it"]
fn z3_accepts_every_one_of_all_mutants_that_the_prover_does() {
    let agreement = mutants(1);
    println!("{} mutants: {agreement:#?}", agreement.all());
    assert!(agreement.all() >= 12_000 && agreement.count("different", "values differ") >= 6_000);
}

/// The terms of an instruction mean on constants what the interpreter says, and both know the same
/// instructions.
#[test]
fn each_class_of_instruction_has_the_terms_that_the_interpreter_computes() {
    let mut z3 = Z3::start();
    let mut random = Random(31);
    let (mut understood, mut refused) = (0, 0);
    for (name, fixed, drawn) in CLASSES {
        for _ in 0..40 {
            let word = fixed | random.next() as u32 & drawn;
            let mut script = Script::new();
            let registers = std::array::from_fn(|_| random.value());
            let nzcv = (random.next() % 16) as u8;
            let state = State { registers, sp: random.value(), nzcv, memory: 0, loads: Vec::new() };
            let start = registers.iter().chain([&state.sp]).zip(symbolic::registers());
            for (value, register) in start {
                let _ = writeln!(script.text, "(assert (= {register} {}))", constant(*value, 64));
            }
            for (flag, bit) in ["n", "z", "c", "v"].iter().zip([8, 4, 2, 1]) {
                let _ = writeln!(script.text, "(assert (= {flag} {}))", nzcv & bit != 0);
            }
            let paths = script.run(&[word], Path::start());
            let stuck = matches!(paths.as_slice(), [Path { end: End::Stuck, .. }]);
            let Ok(outcome) = execute(&[word], &state) else {
                refused += 1;
                assert!(stuck, "{name}: {word:#010x}");
                continue;
            };
            understood += 1;
            let unlike = paths.iter().map(|path| {
                let registers = path.x.iter().zip(outcome.registers);
                let registers =
                    registers.map(|(term, value)| format!("(distinct {term} {})", constant(value, 64)));
                let flags = path.flags.iter().zip([8, 4, 2, 1]);
                let flags = flags.map(|(term, bit)| format!("(distinct {term} {})", outcome.nzcv & bit != 0));
                let mut unlike: Vec<Term> = registers.chain(flags).collect();
                unlike.push((path.end != End::Left(outcome.exit)).to_string());
                unlike.push((path.barriers != outcome.barriers).to_string());
                format!("(and {} {})", path.condition, any(&unlike))
            });
            let mut unlike: Vec<Term> = unlike.collect();
            // One of the paths is always gone.
            let gone: Vec<Term> = paths.iter().map(|path| path.condition.clone()).collect();
            unlike.push(format!("(not {})", any(&gone)));
            let goal = any(&unlike);
            let answer = z3.ask(&format!("{}(assert {goal})", script.text));
            assert_eq!(answer, Answer::Unsat, "{name}: {word:#010x}, {state:x?}");
        }
    }
    println!("{understood} words understood, {refused} refused");
    assert!(understood > 300 && refused > 50);
}
