//! Text of others in HTML, and numbers that programs can read off the page.

use std::fmt::{self, Display, Formatter, Write};

/// Text as content or as an attribute's value. Control characters, which HTML has no place for, become U+FFFD.
pub(crate) struct Escaped<'t>(pub(crate) &'t str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(character)?,
                control if control.is_control() => f.write_char('\u{fffd}')?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// A number as people read it, with the number itself next to it. It keeps its unit on its line.
pub(crate) fn data(name: &str, value: f64, shown: &str) -> String {
    format!("<data class=\"{name}\" value=\"{value}\">{}</data>", Escaped(shown))
}

/// A sentence in which percentages keep their sign on their line.
pub(crate) fn sentence(text: &str) -> String {
    Escaped(text).to_string().replace(" %", "\u{a0}%")
}

/// A command whose lines break between words where they can, so that an option keeps its dashes.
pub(crate) fn command(text: &str) -> String {
    let words = text.split(' ').map(|word| format!("<span>{}</span>", Escaped(word)));
    words.collect::<Vec<String>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_stays_text() {
        let hostile = "</code><script>alert('1')</script> & \"x\" \u{1b}[31m";
        assert_eq!(
            Escaped(hostile).to_string(),
            "&lt;/code&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;x&quot; \u{fffd}[31m"
        );
    }

    #[test]
    fn a_command_keeps_its_words_and_its_blanks() {
        assert_eq!(command("a  --b=<c>"), "<span>a</span> <span></span> <span>--b=&lt;c&gt;</span>");
    }

    #[test]
    fn numbers_keep_all_their_digits() {
        assert_eq!(
            data("effect", 0.1 + 0.2, "+30 %"),
            "<data class=\"effect\" value=\"0.30000000000000004\">+30 %</data>"
        );
    }
}
