//! Links and headings of Markdown, as far as this repository's documents use them.
//!
//! In: a text. Out: the same text with other targets, its targets, or the fragments of its headings. A link is what follows `](`.
//! Blocks between fences and spans between backquotes are code, and have none (CommonMark 0.31, 4.5 and 6.1).

/// The text, with each target replaced by what `target` makes of it.
///
/// # Errors
/// What `target` refuses: all of it, a line each.
pub(super) fn rewrite(text: &str, target: impl Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let (mut written, mut faults) = (String::with_capacity(text.len()), Vec::new());
    let mut rest = text;
    for (start, end) in targets(text) {
        let begin = start - (text.len() - rest.len());
        written.push_str(&rest[..begin]);
        match target(&text[start..end]) {
            Ok(other) => written.push_str(&other),
            Err(fault) => faults.push(fault),
        }
        rest = &text[end..];
    }
    written.push_str(rest);
    if faults.is_empty() { Ok(written) } else { Err(faults.join("\n")) }
}

/// What the text links to.
#[cfg(test)]
pub(super) fn found(text: &str) -> Vec<&str> {
    targets(text).into_iter().map(|(start, end)| &text[start..end]).collect()
}

/// Where each target starts and ends.
fn targets(text: &str) -> Vec<(usize, usize)> {
    let (mut found, mut at, mut is_fenced, mut is_code) = (Vec::new(), 0, false, false);
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        // A span ends with its paragraph at the latest.
        is_code &= !line.trim().is_empty();
        if !is_fenced && !is_fence {
            for (index, c) in line.char_indices() {
                is_code ^= c == '`';
                let link = line[index..].strip_prefix("](").filter(|_| !is_code);
                if let Some(length) = link.and_then(|link| link.find(')')) {
                    found.push((at + index + 2, at + index + 2 + length));
                }
            }
        }
        at += line.len();
    }
    found
}

/// The fragments by which links name the text's headings: GitHub's and mdBook's are the same for them.
#[cfg(test)]
pub(super) fn fragments(text: &str) -> Vec<String> {
    let mut is_fenced = false;
    let headings = text.lines().filter(|line| {
        is_fenced ^= line.trim_start().starts_with("```");
        !is_fenced && line.starts_with('#')
    });
    let kept = |heading: &str| -> String {
        let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    headings.map(|heading| kept(heading.trim_start_matches('#'))).collect()
}
