//! Why a model cannot be read or costed.

/// A model that was refused. The file is wrong in all of these but [`Self::Unreadable`] and [`Self::Unbound`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// The reader failed.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
    /// Something reaches past the end of what it lies in.
    #[error(
        "it ends too early, or is not ONNX: what begins at byte {offset} needs {needed} bytes more than there are"
    )]
    Truncated {
        /// Where it begins.
        offset: u64,
        /// Bytes that are missing.
        needed: u64,
    },
    /// The bytes are not ONNX.
    #[error("byte {offset} is not ONNX: {problem}")]
    Malformed {
        /// Where.
        offset: u64,
        /// What is wrong there.
        problem: &'static str,
    },
    /// The structure has the wrong fields.
    #[error("it is not ONNX: {0}")]
    Undecodable(#[from] prost::DecodeError),
    /// There is no graph in it.
    #[error("it holds no graph: is it an ONNX model?")]
    NoGraph,
    /// More than is believed of any model.
    #[error("it has too much of something: {what} would pass the limit of {limit}")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// The limit it passes.
        limit: u64,
    },
    /// A tensor too large to exist.
    #[error("a tensor of operator {node} ({operator}) has impossible dimensions")]
    ImpossibleShape {
        /// The operator's place in the model.
        node: usize,
        /// What it is called.
        operator: String,
    },
    /// A weight or an input too large to exist, or smaller than nothing.
    #[error("tensor `{name}` has impossible dimensions")]
    ImpossibleTensor {
        /// Its name.
        name: String,
    },
    /// An operator reads what nothing before it writes: a cycle, a wrong order or a wrong name.
    #[error("operator {node} ({operator}) reads `{value}`, which nothing before it writes")]
    Undefined {
        /// The operator's place in its graph.
        node: usize,
        /// What it is called.
        operator: String,
        /// What it reads.
        value: String,
    },
    /// Two things write the same value.
    #[error("`{value}` is written twice")]
    Duplicate {
        /// Which.
        value: String,
    },
    /// A function that calls itself, or functions too deep inside each other.
    #[error("local function `{function}` calls itself, or lies too deep in other functions")]
    EndlessCalls {
        /// Which.
        function: String,
    },
    /// A length that the model leaves open and the caller did not give.
    #[error("the model leaves dimension `{symbol}` open, and no size was given for it")]
    Unbound {
        /// Its name in the model.
        symbol: String,
    },
}
