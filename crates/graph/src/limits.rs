//! How much of a file is believed. All of these are far above what real models need, and low enough that a hostile file
//! costs a bounded amount of memory and time.

/// Bytes of everything in a model that is not weights. The largest exports of today hold a few megabytes.
pub const STRUCTURE_BYTES_MAX: usize = 32 << 20;

/// Messages, texts and numbers in that structure, since a byte of a file can become a hundred in memory.
pub const ITEMS_MAX: usize = 600_000;

/// Bytes of one name.
pub const TEXT_BYTES_MAX: u64 = 4096;

/// Bytes of a constant that are read, because shapes may be computed from it; what is larger is taken for weights.
pub const CONSTANT_BYTES_MAX: u64 = 4096;

/// Bytes of one list of numbers that is not a tensor's content, such as dimensions or strides.
pub const LIST_BYTES_MAX: u64 = 64 << 10;

/// Messages inside messages: about fifteen graphs inside each other.
pub const NESTING_MAX: usize = 64;

/// Operators, those of local functions counted wherever they are called.
pub const NODES_MAX: usize = 200_000;

/// Calls of local functions and bodies inside each other.
pub const CALLS_MAX: usize = 32;

/// Dimensions of one tensor.
pub const RANK_MAX: usize = 16;

/// How often an operator may run in a step, all loops around it multiplied.
pub const REPEAT_MAX: f64 = 1e12;

/// Operands whose contents are combined in one operator.
pub const OPERANDS_MAX: usize = 64;

/// Elements of one tensor: 2^48, more than any machine holds, and products of a few of them still fit into a number.
pub const ELEMENTS_MAX: i64 = 1 << 48;

/// Elements of a tensor whose content is computed along with its shape.
pub const CONTENT_MAX: usize = 4096;

/// Numbers copied from constants of a file, and numbers computed in one inference; what is computed after stays unknown.
pub const CONTENT_TOTAL_MAX: usize = 4 << 20;
