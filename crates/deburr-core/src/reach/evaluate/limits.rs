//! The bounds of this room.

/// Maximum of contexts of a function, after which one serves all callers. Of 40 test programs none has more than 5.
pub(super) const MAX_CONTEXTS: usize = 8;

/// The same of a function that returns what it has allocated, which each caller is to have for itself, and of a small one: libgcc
/// notes each of its 60 features by a call.
pub(super) const MAX_CHEAP_CONTEXTS: usize = 64;

/// Maximum of blocks of a function that is small, if it calls nothing.
pub(super) const MAX_SMALL_BLOCKS: usize = 8;

/// Visits of a block after which its state widens. Loops that count to a small bound settle before.
pub(super) const VISITS_BEFORE_WIDENING: u32 = 4;

/// Maximum of stores into callers' frames that a context keeps by themselves: structures of features have up to 40 fields.
pub(super) const MAX_EFFECTS: usize = 64;

/// Bytes of a copy or of a fill that are followed one by one; C's structures of function pointers have up to 2 KiB.
pub(super) const MAX_COPIED: u64 = 4096;

/// Bytes past the end of an object in a frame that a store at an unknown offset may reach: the address of a field may have been
/// taken, which looks like the end.
pub(super) const FRAME_REACH: i32 = 256;

/// Bytes of an object in a frame that are followed one by one.
pub(super) const MAX_FRAME_OBJECT: i32 = 4096;

/// Blocks that are looked through for the registers that a function reads before it writes them.
pub(super) const MAX_ARGUMENT_BLOCKS: usize = 200;

/// Calls deep that the same is looked through.
pub(super) const MAX_ARGUMENT_DEPTH: u32 = 6;

/// Blocks of a function that may do no more than allocate.
pub(super) const MAX_ALLOCATOR_BLOCKS: usize = 14;

/// Maximum of pointers of one object that are followed when it goes out of sight.
pub(super) const MAX_ESCAPING_POINTERS: usize = 4096;

/// Maximum of objects behind the arguments of a call that are searched for relevant addresses; after it the callee is evaluated.
pub(super) const MAX_CARRIED: usize = 64;

/// Blocks of a function, after which each of its registers counts as read. Detectors have up to some hundred. A function is walked once for all
/// blocks that the first of them leads to.
pub(super) const MAX_LIVENESS_BLOCKS: usize = 1 << 16;

/// Changes of the words that a context knows when it is entered and returns, after which it knows none.
pub(super) const MAX_WORD_CHANGES: u32 = 4;

/// The same of a word: how often its value may have changed, unless few numbers are possible.
pub(super) const MAX_WORD_JOINS: u16 = 2;
