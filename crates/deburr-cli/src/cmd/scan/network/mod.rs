//! What a scan fetches from other machines: by curl, in loads, and what failed before comes first.

pub(super) mod curl;
pub(super) mod failed;
pub(super) mod remote;
