//! A text in the room of one line: cut where it is too long.

/// The beginning of a text that is too long.
pub(crate) fn fit(text: &str, room: Option<usize>) -> String {
    match room {
        Some(room) if text.chars().count() > room => {
            let mut cut: String = text.chars().take(room.saturating_sub(1)).collect();
            cut.push('…');
            cut
        }
        _ => text.to_owned(),
    }
}

/// The beginning and the end of a text that is too long.
pub(crate) fn fit_middle(text: &str, room: Option<usize>) -> String {
    let length = text.chars().count();
    match room {
        Some(room) if length > room && room > 2 => {
            let before = (room - 1).div_ceil(2);
            let after = room - 1 - before;
            let start: String = text.chars().take(before).collect();
            let end: String = text.chars().skip(length - after).collect();
            format!("{start}…{end}")
        }
        _ => fit(text, room),
    }
}

/// Lines that a text of several words may take.
const LINES: usize = 3;

/// A text in a few lines, broken between words; what is too long even so loses its middle.
pub(crate) fn wrapped(text: &str, room: Option<usize>) -> Vec<String> {
    let Some(room) = room.map(|room| room.max(1)) else { return vec![text.to_owned()] };
    let text = fit_middle(text, Some(room.saturating_mul(LINES)));
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let mut rest: Vec<char> = word.chars().collect();
        let last = lines.last_mut().expect("there is always one");
        let used = last.chars().count();
        if used == 0 || used + 1 + rest.len() <= room {
            if used > 0 {
                last.push(' ');
            }
        } else {
            lines.push(String::new());
        }
        // A word longer than a line is broken where that ends.
        loop {
            let last = lines.last_mut().expect("there is always one");
            let left = room.saturating_sub(last.chars().count()).min(rest.len());
            last.extend(rest.drain(..left));
            if rest.is_empty() {
                break;
            }
            lines.push(String::new());
        }
    }
    lines
}

/// A list of which no more than some are shown: the first ones and the last, and between them how many are left out.
pub(crate) fn shortened<'t>(list: impl Iterator<Item = &'t str>, shown: usize, separator: &str) -> String {
    let all: Vec<&str> = list.collect();
    let (Some(left_out @ 1..), Some(last)) = (all.len().checked_sub(shown), all.last()) else {
        return all.join(separator);
    };
    let first = all.get(..shown.saturating_sub(1)).unwrap_or_default();
    let more = format!("… {left_out} more …");
    first.iter().copied().chain([more.as_str(), *last]).collect::<Vec<_>>().join(separator)
}

/// The end of a source location that is too long: file and line say more than the folders above.
pub(crate) fn fit_end(text: &str, room: Option<usize>) -> String {
    const LEAST: usize = 12;
    let length = text.chars().count();
    match room {
        Some(room) if length > room && room < LEAST => String::new(),
        Some(room) if length > room => {
            format!(" at …{}", text.chars().skip(length - (room - 5)).collect::<String>())
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_between_words_and_never_wider_or_much_longer() {
        assert_eq!(wrapped("call of a helper", Some(8)), ["call of", "a helper"]);
        assert_eq!(wrapped("call of a helper", None), ["call of a helper"]);
        assert_eq!(wrapped("", Some(8)), [""]);
        let name = "n".repeat(10_000);
        for text in [name.clone(), format!("a {name} b {name}"), " ".repeat(500), "x ".repeat(900)] {
            for room in [1, 2, 7, 80] {
                let lines = wrapped(&text, Some(room));
                assert!(lines.iter().all(|line| line.chars().count() <= room), "{room}: {lines:?}");
                assert!(lines.len() <= 2 * LINES + 1, "{room}: {}", lines.len());
            }
        }
    }

    #[test]
    fn text_too_long_loses_its_middle_and_a_list_says_how_much() {
        assert_eq!(fit_middle("abcdefgh", Some(8)), "abcdefgh");
        assert_eq!(fit_middle("abcdefgh", Some(5)), "ab…gh");
        assert_eq!(fit_middle("abcdefgh", None), "abcdefgh");
        let list = ["AVX", "AVX2", "BMI1", "BMI2", "FMA"];
        assert_eq!(shortened(list.into_iter(), 5, " "), "AVX AVX2 BMI1 BMI2 FMA");
        assert_eq!(shortened(list.into_iter(), 3, " "), "AVX AVX2 … 2 more … FMA");
    }
}
