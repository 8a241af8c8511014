//! What a caller gives to the reader in addition to the profile.

/// Further files. The reader opens nothing: what it would need is in [`crate::Profile::wanted`] and
/// [`crate::Profile::wanted_perf_maps`], and the caller reads again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request<'a> {
    /// Jitdumps: the paths of [`crate::WantedJitdump`], and their bytes.
    pub jitdumps: &'a [(&'a str, &'a [u8])],
    /// Perf maps: processes, and the bytes of their `perf-PID.map`.
    pub perf_maps: &'a [(u32, &'a [u8])],
}
