//! What pages for people share: the style sheet, the frame of figures, text of others as text, and data for a script; `view`:
//! pages that are searched and opened. A page is one file that needs no other; it is light or dark as its reader has it.
//!
//! In: a title and what is drawn. Out: HTML, with SVG inside.

pub(crate) mod axis;
pub(crate) mod canvas;
pub(crate) mod markup;
pub(crate) mod script;
pub(crate) mod view;

/// A page without a script up to the beginning of its body; `title` is escaped already.
pub(crate) fn head(title: &str) -> String {
    head_with(title, "", "")
}

/// The same of a page that may also run the script of this source expression, and has styles of its own.
pub(crate) fn head_with_script(title: &str, source: &str, styles: &str) -> String {
    head_with(title, &format!("; script-src '{source}'; base-uri 'none'; form-action 'none'"), styles)
}

fn head_with(title: &str, policy: &str, styles: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'{policy}\">\n\
         <title>{title}</title>\n<style>\n{}{styles}</style>\n</head>\n<body>\n",
        include_str!("page.css"),
    )
}
