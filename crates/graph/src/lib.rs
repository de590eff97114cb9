//! Reads ONNX graphs and says what a training step of them costs: operations, bytes, kernels and memory, for any batch.
//!
//! [`Model::read`] walks over a file and seeks past its weights; [`Costs::of`] binds the batch, infers every shape and adds
//! up the costs of every operator; [`step_time`] and [`Features`] set them against a GPU model.
//!
//! Pure: bytes come through a reader that the caller gives, and nothing else goes in.

mod binding;
mod content;
mod costs;
mod error;
mod features;
mod fuse;
#[cfg(test)]
mod fuzz;
mod gpu;
mod gradients;
#[cfg(test)]
mod hostile;
mod import;
mod ledger;
pub mod limits;
mod model;
pub mod ops;
mod parameters;
mod precision;
mod proto;
mod roofline;
#[cfg(test)]
mod sketch;
mod skim;
#[cfg(test)]
mod small_models;
mod source;
mod tensor;
mod walk;

pub use binding::{Batch, Binding};
pub use costs::{Costs, Export, Kernel, OperatorCost, Pass, Unknown};
pub use error::GraphError;
pub use features::{FEATURES, Features};
pub use gpu::{GPUS, Gpu};
pub use model::{Attribute, Body, Declared, Dim, Initialiser, Input, Model, Node, ValueId};
pub use ops::work::{Class, Work};
pub use ops::{OPS, Role};
pub use precision::Precision;
pub use roofline::{Optimiser, StepTime, step_time};
pub use tensor::{Element, Origin, Tensor};

use prost::Message;
use std::io::{Read, Seek};

impl Model {
    /// Reads a model; its weights are skipped, wherever they lie.
    pub fn read(reader: impl Read + Seek) -> Result<Self, GraphError> {
        let mut source = source::Source::new(reader)?;
        let structure = skim::structure(&mut source)?;
        let proto = proto::ModelProto::decode(structure.as_slice())?;
        import::import(&proto)
    }
}
