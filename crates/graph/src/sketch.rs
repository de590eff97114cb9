//! Small models for tests, written as an exporter would.

use crate::binding::Binding;
use crate::costs::Costs;
use crate::error::GraphError;
use crate::model::Model;
use crate::precision::Precision;
use crate::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
use prost::Message;
use std::io::Cursor;

/// The number of float in onnx.proto.
pub const FLOAT: i32 = 1;
/// The number of int64 in onnx.proto.
pub const INT64: i32 = 7;

pub fn node(op: &str, inputs: &[&str], outputs: &[&str], attribute: Vec<AttributeProto>) -> NodeProto {
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    NodeProto {
        op_type: op.into(),
        input: own(inputs),
        output: own(outputs),
        attribute,
        ..NodeProto::default()
    }
}

pub fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { name: name.into(), i: Some(value), r#type: 2, ..AttributeProto::default() }
}

pub fn ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto { name: name.into(), ints: values.to_vec(), r#type: 7, ..AttributeProto::default() }
}

pub fn text(name: &str, value: &str) -> AttributeProto {
    AttributeProto { name: name.into(), s: Some(value.into()), r#type: 3, ..AttributeProto::default() }
}

pub fn body(name: &str, graph: GraphProto) -> AttributeProto {
    AttributeProto { name: name.into(), g: Some(graph), r#type: 5, ..AttributeProto::default() }
}

/// A tensor without content.
pub fn weight(name: &str, dims: &[i64]) -> TensorProto {
    TensorProto { name: name.into(), dims: dims.to_vec(), data_type: FLOAT, ..TensorProto::default() }
}

/// A list of integers as exporters write it.
pub fn list(name: &str, values: &[i64]) -> TensorProto {
    let raw_data = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let dims = vec![values.len() as i64];
    TensorProto { name: name.into(), dims, data_type: INT64, raw_data, ..TensorProto::default() }
}

/// One integer.
pub fn scalar(name: &str, value: i64) -> TensorProto {
    TensorProto { dims: Vec::new(), ..list(name, &[value]) }
}

/// An input; 0 leaves a dimension open under the name of its place.
pub fn input(name: &str, dims: &[i64]) -> ValueInfoProto {
    const NAMES: [&str; 4] = ["batch", "sequence", "height", "width"];
    let dim = dims.iter().enumerate().map(|(axis, size)| match size {
        0 => DimensionProto { dim_value: None, dim_param: Some(NAMES[axis].into()) },
        size => DimensionProto { dim_value: Some(*size), dim_param: None },
    });
    let shape = Some(TensorShapeProto { dim: dim.collect() });
    let tensor_type = Some(TensorTypeProto { elem_type: FLOAT, shape });
    ValueInfoProto { name: name.into(), r#type: Some(TypeProto { tensor_type }) }
}

/// A value by name alone.
pub fn named(name: &str) -> ValueInfoProto {
    ValueInfoProto { name: name.into(), r#type: None }
}

pub fn graph(input: Vec<ValueInfoProto>, initializer: Vec<TensorProto>, node: Vec<NodeProto>) -> GraphProto {
    GraphProto { node, initializer, input, ..GraphProto::default() }
}

pub fn model(graph: GraphProto) -> ModelProto {
    let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: 20 }];
    ModelProto { ir_version: 9, graph: Some(graph), opset_import, ..ModelProto::default() }
}

/// Reads what was written.
pub fn read(model: &ModelProto) -> Result<Model, GraphError> {
    Model::read(Cursor::new(model.encode_to_vec()))
}

/// Reads what was written and costs it for a batch of 2 and a length of 8.
pub fn cost(model: &ModelProto) -> Result<Costs, GraphError> {
    let binding = Binding { batch: Some(2), sequence: Some(8), ..Binding::default() };
    Costs::of(&read(model)?, &binding, Precision::Fp32)
}
