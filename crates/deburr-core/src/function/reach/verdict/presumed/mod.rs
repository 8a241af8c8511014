//! What would be known if words of unknown origin held answers of the CPU: see [`search`].

pub(crate) mod by_name;
pub(crate) mod named;
pub(crate) mod search;
mod test;
mod tested;
pub(crate) mod vocabulary;
mod weight;
pub(crate) mod words;
