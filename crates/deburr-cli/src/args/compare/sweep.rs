//! What commands are compared at: the values of `--param`, as they are given.
//!
//! In: `NAME=VALUES`, where values are a list, and each of them one value or a range. Out: a [`Parameter`];
//! several make a [`Sweep`], whose points are all their combinations.

use std::fmt;
use std::str::FromStr;

/// Points at most of a sweep: more are a mistake.
const MOST_POINTS: usize = 1000;

/// A name in commands, and the values that replace it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
}

impl FromStr for Parameter {
    type Err = String;

    fn from_str(text: &str) -> Result<Parameter, String> {
        let wrong = || {
            "expected a name and values, such as clients=1,2,4, clients=1..8, clients=1..64*2 or \
             size=0..100+25"
                .to_owned()
        };
        let (name, list) = text.split_once('=').ok_or_else(wrong)?;
        let mut values: Vec<String> = Vec::new();
        for element in list.split(',') {
            values.extend(range(element)?.unwrap_or_else(|| vec![element.to_owned()]));
        }
        if name == "port" || !is_word(name) || !values.iter().all(|value| is_word(value)) {
            return Err(wrong());
        }
        let is_new =
            |(index, value): (usize, &String)| !values.iter().take(index).any(|before| before == value);
        match values.iter().enumerate().all(is_new) {
            true => Ok(Parameter { name: name.to_owned(), values }),
            false => Err("a value is given twice".to_owned()),
        }
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c))
}

/// The values of a range, both ends among them: `FIRST..LAST` by 1, `FIRST..LAST+STEP`, or
/// `FIRST..LAST*FACTOR`. `None`: no range.
fn range(text: &str) -> Result<Option<Vec<String>>, String> {
    let Some((first, rest)) = text.split_once("..") else { return Ok(None) };
    let wrong = || format!("{text:?}: expected a range, such as 1..8, 0..1+0.25 or 1..64*2");
    let (last, by, is_factor) = match rest.split_once(['+', '*']) {
        Some((last, by)) => (last, by, rest.contains('*')),
        None => (rest, "1", false),
    };
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let [Some(from), Some(to), Some(by_number)] = [first, last, by].map(number) else { return Err(wrong()) };
    let goes_on = if is_factor { by_number > 1.0 && from > 0.0 } else { by_number > 0.0 };
    if to < from || !goes_on {
        return Err(wrong());
    }
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let digits = [first, last, by].map(decimals).into_iter().max().unwrap_or(0);
    let mut values = Vec::new();
    // Each from the start, so that no error adds up; half a step past the end is still the end.
    for index in 0..=MOST_POINTS {
        let at =
            if is_factor { from * by_number.powi(index as i32) } else { from + by_number * index as f64 };
        if at > to * (1.0 + 1e-9) + 1e-9 * by_number {
            return Ok(Some(values));
        }
        values.push(format!("{at:.digits$}"));
    }
    Err(format!("{text:?}: more than {MOST_POINTS} values"))
}

/// All that is swept over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sweep {
    pub(crate) parameters: Vec<Parameter>,
}

/// What replaces each name at one point.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Values(pub(crate) Vec<(String, String)>);

impl Sweep {
    /// `None` without parameters.
    ///
    /// # Errors
    /// A name that is given twice, or too many points.
    pub(crate) fn new(parameters: &[Parameter]) -> Result<Option<Sweep>, String> {
        for (index, parameter) in parameters.iter().enumerate() {
            if parameters.iter().take(index).any(|before| before.name == parameter.name) {
                return Err(format!("--param {}: given twice", parameter.name));
            }
        }
        let points = parameters.iter().map(|parameter| parameter.values.len());
        if points.fold(1, usize::saturating_mul) > MOST_POINTS {
            return Err(format!("--param: more than {MOST_POINTS} points"));
        }
        Ok((!parameters.is_empty()).then(|| Sweep { parameters: parameters.to_vec() }))
    }

    /// The names, as a heading has them: `clients`, or `clients/size`.
    pub(crate) fn name(&self) -> String {
        let names: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        names.join("/")
    }

    /// Its points: all combinations, those of the last parameter side by side.
    pub(crate) fn points(&self) -> Vec<Values> {
        let mut points = vec![Values::default()];
        for Parameter { name, values } in &self.parameters {
            let with = |point: &Values, value: &String| {
                Values([point.0.as_slice(), &[(name.clone(), value.clone())]].concat())
            };
            points = points.iter().flat_map(|point| values.iter().map(|value| with(point, value))).collect();
        }
        points
    }
}

impl Values {
    /// As the record and the outputs name the point: `4`, or `4/100`.
    pub(crate) fn label(&self) -> String {
        let values: Vec<&str> = self.0.iter().map(|(_, value)| value.as_str()).collect();
        values.join("/")
    }
}

/// As options would have it, one parameter a line.
impl fmt::Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines =
            self.parameters.iter().map(|Parameter { name, values }| format!("{name}={}", values.join(",")));
        f.write_str(&lines.collect::<Vec<String>>().join("\n"))
    }
}

impl FromStr for Sweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Sweep, String> {
        let parameters = text.lines().map(str::parse).collect::<Result<Vec<Parameter>, String>>()?;
        Sweep::new(&parameters)?.ok_or_else(|| "no parameter".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        text.parse::<Parameter>().unwrap_or_else(|error| panic!("{text}: {error}")).values
    }

    #[test]
    fn values_are_lists_of_words_and_ranges() {
        assert_eq!(values("n=1,2,4"), ["1", "2", "4"]);
        assert_eq!(values("n=1..4,8"), ["1", "2", "3", "4", "8"]);
        assert_eq!(values("n=1..64*4"), ["1", "4", "16", "64"]);
        assert_eq!(values("n=0..1+0.25"), ["0.00", "0.25", "0.50", "0.75", "1.00"]);
        assert_eq!(values("n=0.1..0.3+0.1"), ["0.1", "0.2", "0.3"]);
        assert_eq!(values("alloc=malloc,je-malloc"), ["malloc", "je-malloc"]);
        for wrong in [
            "n", "n=", "=1", "port=1", "n=1,1", "n=4..1", "n=1..4+0", "n=1..4*1", "n=0..4*2", "n=1..1e9",
            "n=a b",
        ] {
            assert!(wrong.parse::<Parameter>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn several_parameters_make_all_their_combinations() {
        let parameters = ["a=1,2", "b=x,y"].map(|text| text.parse().expect("a parameter"));
        let sweep = Sweep::new(&parameters).expect("a sweep").expect("parameters");
        assert_eq!(sweep.name(), "a/b");
        let labels: Vec<String> = sweep.points().iter().map(Values::label).collect();
        assert_eq!(labels, ["1/x", "1/y", "2/x", "2/y"]);
        assert_eq!(sweep.to_string().parse(), Ok(sweep));
        assert_eq!(Sweep::new(&[]), Ok(None));
        let many: Parameter = "c=1..40".parse().expect("a parameter");
        assert!(Sweep::new(&[many.clone(), Parameter { name: "d".to_owned(), ..many.clone() }]).is_err());
        assert!(Sweep::new(&[many.clone(), many]).is_err());
    }
}
