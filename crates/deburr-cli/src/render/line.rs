//! A text in the room of one line: without control characters, and cut where it is too long.

/// A text that stays on its line, whatever a symbol table or a folder holds.
pub(super) fn one_line(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// The beginning of a text that is too long.
pub(super) fn fit(text: &str, room: Option<usize>) -> String {
    match room {
        Some(room) if text.chars().count() > room => {
            let mut cut: String = text.chars().take(room.saturating_sub(1)).collect();
            cut.push('…');
            cut
        }
        _ => text.to_owned(),
    }
}

/// The end of a source location that is too long: file and line say more than the folders above.
pub(super) fn fit_end(text: &str, room: Option<usize>) -> String {
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
