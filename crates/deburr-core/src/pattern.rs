//! Names with wildcards: `*` matches any characters, `/` and none among them, `?` for one.

/// Whether a whole name is one that a pattern describes. Takes time in proportion to the product of their lengths at
/// most.
pub fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    // Where the last `*` was, and how much of the name it has taken so far.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&wanted) if wanted == '?' || Some(&wanted) == name.get(n) => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                (p, n) = (at + 1, taken + 1);
            }
        }
    }
    pattern.iter().skip(p).all(|&rest| rest == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn star_matches_any_characters_and_question_mark_one() {
        for (pattern, name) in [
            ("sum", "sum"),
            ("sum*", "sum"),
            ("*_avx2", "a/b_avx2"),
            ("s?m*x*", "sum_x_y"),
            ("f(char*)", "f(char*)"),
            ("**", ""),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("sum", "sums"), ("s?m", "sm"), ("*_avx2", "x_avx2_y"), ("", "a")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
