//! What the developers' tasks and the tidy test share: the reader of imports, and the drawings of rooms.

pub mod imports;
pub mod rooms;
