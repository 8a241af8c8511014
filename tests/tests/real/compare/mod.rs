//! `deburr compare`: its page in a browser.

mod page;
