//! From decoded messages to a [`Model`]: names become numbers, local functions are inlined, constants are decoded.

use crate::content::decode;
use crate::error::GraphError;
use crate::limits::{CALLS_MAX, CONTENT_TOTAL_MAX, NODES_MAX};
use crate::model::{Attribute, Body, Declared, Dim, Initialiser, Input, Model, Node, ValueId};
use crate::ops::Registry;
use crate::proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto,
};
use crate::tensor::{Element, Origin, Tensor, is_possible};
use std::collections::BTreeMap;

/// Makes a model of what was decoded.
pub fn import(proto: &ModelProto) -> Result<Model, GraphError> {
    let graph = proto.graph.as_ref().ok_or(GraphError::NoGraph)?;
    let standard = proto.opset_import.iter().find(|set| is_standard(&set.domain));
    let functions = proto
        .functions
        .iter()
        .map(|function| (key(&function.domain, &function.name, &function.overload), function));
    let mut import = Import {
        registry: Registry::new(),
        functions: functions.collect(),
        declared: Vec::new(),
        nodes: 0,
        depth: 0,
        numbers: 0,
    };
    let mut scope = Scope::default();
    let initialisers = import.initialisers(graph, &mut scope)?;
    let inputs = import.inputs(graph, &mut scope)?;
    let mut nodes = Vec::new();
    let mut scopes = Scopes(vec![scope]);
    import.nodes(&graph.node, &mut scopes, &Frame::default(), &mut nodes, &infos(graph))?;
    let main = Body {
        inputs: inputs.iter().map(|input| input.value).collect(),
        outputs: graph.output.iter().filter_map(|info| scopes.find(&info.name)).collect(),
        nodes,
        initialisers,
    };
    Ok(Model {
        producer: proto.producer_name.clone(),
        opset: standard.map_or(1, |set| set.version),
        inputs,
        main,
        declared: import.declared,
    })
}

fn is_standard(domain: &str) -> bool {
    domain.is_empty() || domain == "ai.onnx"
}

type Key<'p> = (&'p str, &'p str, &'p str);

fn key<'p>(domain: &'p str, name: &'p str, overload: &'p str) -> Key<'p> {
    (domain, name, overload)
}

type Infos<'p> = BTreeMap<&'p str, &'p ValueInfoProto>;

fn infos(graph: &GraphProto) -> Infos<'_> {
    graph.value_info.iter().chain(&graph.output).map(|info| (info.name.as_str(), info)).collect()
}

/// The names that one graph or function gives to values.
#[derive(Default)]
struct Scope<'p>(BTreeMap<&'p str, ValueId>);

/// The scopes that are visible, the innermost last.
struct Scopes<'p>(Vec<Scope<'p>>);

impl<'p> Scopes<'p> {
    fn find(&self, name: &str) -> Option<ValueId> {
        self.0.iter().rev().find_map(|scope| scope.0.get(name)).copied()
    }

    fn define(&mut self, name: &'p str, value: ValueId) -> Result<(), GraphError> {
        let before = self.0.last_mut().and_then(|scope| scope.0.insert(name, value));
        before.map_or(Ok(()), |_| Err(GraphError::Duplicate { value: name.to_owned() }))
    }
}

/// The call of a local function that operators are inlined from.
#[derive(Default)]
struct Frame<'p> {
    attributes: BTreeMap<&'p str, &'p AttributeProto>,
}

struct Import<'p> {
    registry: Registry,
    functions: BTreeMap<Key<'p>, &'p FunctionProto>,
    declared: Vec<Option<Declared>>,
    nodes: usize,
    /// Bodies and calls around what is being read.
    depth: usize,
    /// Numbers copied out of the file, wherever a function is called anew.
    numbers: usize,
}

impl<'p> Import<'p> {
    fn value(&mut self, declared: Option<Declared>) -> ValueId {
        self.declared.push(declared);
        ValueId(self.declared.len() as u32 - 1)
    }

    fn initialisers(
        &mut self,
        graph: &'p GraphProto,
        scope: &mut Scope<'p>,
    ) -> Result<Vec<Initialiser>, GraphError> {
        let mut found = Vec::new();
        let sparse = graph
            .sparse_initializer
            .iter()
            .filter_map(|sparse| Some((sparse.values.as_ref()?, &sparse.dims)));
        let dense = graph.initializer.iter().map(|tensor| (tensor, &tensor.dims));
        for (proto, dims) in dense.chain(sparse) {
            let mut tensor = self.constant(proto, dims)?;
            // One number in float is a factor or an epsilon; weights come by the dozen.
            if tensor.element == Element::Float && tensor.count() > 1 {
                tensor.origin = Origin::Parameter;
                tensor.trained = true;
            }
            let value = self.value(None);
            if scope.0.insert(&proto.name, value).is_some() {
                return Err(GraphError::Duplicate { value: proto.name.clone() });
            }
            found.push(Initialiser { value, tensor });
        }
        Ok(found)
    }

    /// Inputs that are not initialisers with a default, as old files list them.
    fn inputs(&mut self, graph: &'p GraphProto, scope: &mut Scope<'p>) -> Result<Vec<Input>, GraphError> {
        let mut inputs = Vec::new();
        let weights: Vec<&str> = scope.0.keys().copied().collect();
        for info in &graph.input {
            if weights.binary_search(&info.name.as_str()).is_ok() {
                continue;
            }
            let declared = declared(info).unwrap_or(Declared { element: 1, dims: Vec::new() });
            let value = self.value(Some(declared.clone()));
            if scope.0.insert(&info.name, value).is_some() {
                return Err(GraphError::Duplicate { value: info.name.clone() });
            }
            inputs.push(Input { name: info.name.clone(), value, declared });
        }
        Ok(inputs)
    }

    fn nodes(
        &mut self,
        protos: &'p [NodeProto],
        scopes: &mut Scopes<'p>,
        frame: &Frame<'p>,
        out: &mut Vec<Node>,
        infos: &Infos<'p>,
    ) -> Result<(), GraphError> {
        for (at, proto) in protos.iter().enumerate() {
            self.nodes += 1;
            if self.nodes > NODES_MAX {
                return Err(GraphError::TooMuch { what: "the number of operators", limit: NODES_MAX as u64 });
            }
            let inputs = resolved(proto, at, scopes)?;
            let called = self.functions.get(&key(&proto.domain, &proto.op_type, &proto.overload)).copied();
            if let Some(function) = called {
                self.call(proto, function, &inputs, scopes, frame, out)?;
                continue;
            }
            let op = self.registry.find(&proto.domain, &proto.op_type);
            let attributes = self.attributes(&proto.attribute, scopes, frame)?;
            let mut outputs = Vec::with_capacity(proto.output.len());
            for name in &proto.output {
                outputs.push(self.output(name, scopes, infos)?);
            }
            out.push(Node { op, name: proto.op_type.clone(), inputs, outputs, attributes });
        }
        Ok(())
    }

    fn output(
        &mut self,
        name: &'p str,
        scopes: &mut Scopes<'p>,
        infos: &Infos<'p>,
    ) -> Result<Option<ValueId>, GraphError> {
        if name.is_empty() {
            return Ok(None);
        }
        let value = self.value(infos.get(name).and_then(|info| declared(info)));
        scopes.define(name, value)?;
        Ok(Some(value))
    }

    /// Puts the operators of a local function where it is called.
    fn call(
        &mut self,
        proto: &'p NodeProto,
        function: &'p FunctionProto,
        inputs: &[Option<ValueId>],
        scopes: &mut Scopes<'p>,
        frame: &Frame<'p>,
        out: &mut Vec<Node>,
    ) -> Result<(), GraphError> {
        self.enter(&function.name)?;
        let mut inner = Scopes(vec![Scope::default()]);
        for (name, value) in function.input.iter().zip(inputs) {
            // An input left out reads as a value of which nothing is known.
            let value = if let Some(value) = value { *value } else { self.value(None) };
            inner.define(name, value)?;
        }
        let attributes = bound(proto, function, frame);
        self.nodes(&function.node, &mut inner, &Frame { attributes }, out, &Infos::new())?;
        self.depth -= 1;
        for (outer, name) in proto.output.iter().zip(&function.output) {
            if outer.is_empty() {
                continue;
            }
            let value = inner.find(name).ok_or_else(|| GraphError::Undefined {
                node: out.len(),
                operator: function.name.clone(),
                value: name.clone(),
            })?;
            scopes.define(outer, value)?;
        }
        Ok(())
    }

    fn attributes(
        &mut self,
        protos: &'p [AttributeProto],
        scopes: &mut Scopes<'p>,
        frame: &Frame<'p>,
    ) -> Result<Vec<(String, Attribute)>, GraphError> {
        let mut found = Vec::with_capacity(protos.len());
        for proto in protos {
            let source = if proto.ref_attr_name.is_empty() {
                proto
            } else {
                let Some(given) = frame.attributes.get(proto.ref_attr_name.as_str()) else { continue };
                given
            };
            found.push((proto.name.clone(), self.attribute(source, scopes, frame)?));
        }
        Ok(found)
    }

    fn attribute(
        &mut self,
        proto: &'p AttributeProto,
        scopes: &mut Scopes<'p>,
        frame: &Frame<'p>,
    ) -> Result<Attribute, GraphError> {
        self.copied(proto.ints.len() + proto.floats.len())?;
        Ok(if let Some(graph) = &proto.g {
            Attribute::Body(self.body(graph, scopes, frame)?)
        } else if let Some(tensor) = &proto.t {
            Attribute::Tensor(self.constant(tensor, &tensor.dims)?)
        } else if let Some(text) = &proto.s {
            Attribute::Text(String::from_utf8_lossy(text).into_owned())
        } else if !proto.ints.is_empty() || proto.r#type == 7 {
            Attribute::Ints(proto.ints.clone())
        } else if !proto.floats.is_empty() || proto.r#type == 6 {
            Attribute::Floats(proto.floats.iter().map(|value| f64::from(*value)).collect())
        } else if let Some(value) = proto.f.filter(|_| proto.r#type == 1 || proto.i.is_none()) {
            Attribute::Float(f64::from(value))
        } else if proto.i.is_some() || proto.r#type == 2 {
            Attribute::Int(proto.i.unwrap_or(0))
        } else {
            Attribute::Other
        })
    }

    /// Goes one level deeper, unless that is too deep for any model.
    fn enter(&mut self, name: &str) -> Result<(), GraphError> {
        self.depth += 1;
        if self.depth > CALLS_MAX {
            return Err(GraphError::EndlessCalls { function: name.to_owned() });
        }
        Ok(())
    }

    /// A tensor that comes with the file, its content if that was small enough to be kept.
    fn constant(&mut self, proto: &TensorProto, dims: &[i64]) -> Result<Tensor, GraphError> {
        if !is_possible(dims) {
            return Err(GraphError::ImpossibleTensor { name: proto.name.clone() });
        }
        let tensor = Tensor::new(Element::from_onnx(proto.data_type), dims.to_vec());
        let content = decode(proto);
        self.copied(content.len() + dims.len())?;
        Ok(tensor.with_content(content))
    }

    fn copied(&mut self, numbers: usize) -> Result<(), GraphError> {
        self.numbers += numbers;
        if self.numbers > CONTENT_TOTAL_MAX {
            return Err(GraphError::TooMuch {
                what: "the numbers in constants",
                limit: CONTENT_TOTAL_MAX as u64,
            });
        }
        Ok(())
    }

    fn body(
        &mut self,
        graph: &'p GraphProto,
        scopes: &mut Scopes<'p>,
        frame: &Frame<'p>,
    ) -> Result<Body, GraphError> {
        self.enter("a body")?;
        let mut scope = Scope::default();
        let initialisers = self.initialisers(graph, &mut scope)?;
        let inputs = self.inputs(graph, &mut scope)?.into_iter().map(|input| input.value).collect();
        scopes.0.push(scope);
        let mut nodes = Vec::new();
        let walked = self.nodes(&graph.node, scopes, frame, &mut nodes, &infos(graph));
        let outputs = graph.output.iter().map(|info| {
            scopes.find(&info.name).ok_or_else(|| GraphError::Undefined {
                node: graph.node.len(),
                operator: "the end of a body".into(),
                value: info.name.clone(),
            })
        });
        let outputs = walked.and_then(|()| outputs.collect());
        scopes.0.pop();
        self.depth -= 1;
        Ok(Body { inputs, outputs: outputs?, nodes, initialisers })
    }
}

fn resolved(proto: &NodeProto, at: usize, scopes: &Scopes) -> Result<Vec<Option<ValueId>>, GraphError> {
    let find = |name: &String| {
        if name.is_empty() {
            return Ok(None);
        }
        scopes.find(name).map(Some).ok_or_else(|| GraphError::Undefined {
            node: at,
            operator: proto.op_type.clone(),
            value: name.clone(),
        })
    };
    proto.input.iter().map(find).collect()
}

/// The attributes that a function's operators may refer to: its defaults, and what the call gives.
fn bound<'p>(
    proto: &'p NodeProto,
    function: &'p FunctionProto,
    frame: &Frame<'p>,
) -> BTreeMap<&'p str, &'p AttributeProto> {
    let mut bound: BTreeMap<_, _> =
        function.attribute_proto.iter().map(|attribute| (attribute.name.as_str(), attribute)).collect();
    for attribute in &proto.attribute {
        let source = if attribute.ref_attr_name.is_empty() {
            Some(attribute)
        } else {
            frame.attributes.get(attribute.ref_attr_name.as_str()).copied()
        };
        if let Some(source) = source {
            bound.insert(&attribute.name, source);
        }
    }
    bound
}

/// What a file states of a value, if it is a tensor.
fn declared(info: &ValueInfoProto) -> Option<Declared> {
    let tensor = info.r#type.as_ref()?.tensor_type.as_ref()?;
    let dims = tensor.shape.as_ref()?.dim.iter().map(|dim| match (dim.dim_value, &dim.dim_param) {
        (Some(size), _) => Dim::Known(size),
        (None, Some(name)) if !name.is_empty() => Dim::Symbol(name.clone()),
        _ => Dim::Unknown,
    });
    Some(Declared { element: tensor.elem_type, dims: dims.collect() })
}
