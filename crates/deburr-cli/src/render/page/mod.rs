//! What pages for people share: the style sheet, the frame of figures, and text of others as text. A page is one file that needs
//! no other, and no script; it is light or dark as its reader has it.
//!
//! In: a title and what is drawn. Out: HTML, with SVG inside.

pub(crate) mod axis;
pub(crate) mod canvas;
pub(crate) mod markup;

/// A page up to the beginning of its body; `title` is escaped already.
pub(crate) fn head(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
        include_str!("page.css"),
    )
}
