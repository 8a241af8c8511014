//! A comparison for the tests of figures and numbers.

use deburr_lab::comparison::{self, Comparison, Question, Reading, Series};
use deburr_lab::side::Side;
use deburr_lab::stats::benchstat::Upstream;
use deburr_lab::stats::random::Random;
use deburr_lab::stats::verdict::{Order, Rule};
use deburr_lab::stats::{Direction, Rope};

/// Twenty-four pairs of which B takes 4 % longer; one of them ran next to something else.
pub(super) fn comparison() -> Comparison {
    let mut random = Random::new(7);
    let mut values = [Vec::new(), Vec::new()];
    let mut sequence = Vec::new();
    for pair in 0..24 {
        let mut sides = [(Side::A, 0.25), (Side::B, 0.26)];
        if pair % 4 > 1 {
            sides.reverse();
        }
        for (position, (side, center)) in (0_u32..).zip(sides) {
            let value = center * (1.0 + 0.01 * random.normal());
            values[usize::from(side == Side::B)].push(value);
            let began = Some(f64::from(2 * pair + position) * 0.3);
            let pair = pair as usize;
            sequence.push(Reading { side, value, began, pair, is_contaminated: pair == 7 });
        }
    }
    let question = Question { name: "wall".to_owned(), unit: "s".to_owned(), direction: Direction::Smaller };
    let series = Series { sequence, contaminated: 1, ..Series::of(values, Order::Interleaved) };
    let rule = Rule::standard(Rope::ONE_PERCENT).unwrap();
    comparison::compare(question, &series, &rule, 1, Upstream::Corrected).unwrap()
}
