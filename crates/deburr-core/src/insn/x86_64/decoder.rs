//! How iced-x86 is set to read code.

use iced_x86::DecoderOptions;

/// The mode of the processor, as the decoder takes it.
pub(super) const BITNESS: u32 = 64;

/// How the decoder reads code.
pub(super) const OPTIONS: u32 = DecoderOptions::NONE;
