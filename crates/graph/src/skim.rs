//! The structure of a model without its weights: one pass over the wire format that copies what we need into a small
//! message, and seeks past the rest.
//!
//! Decoding the file itself would be shorter, but prost reads every field it knows: either weights would be read, or
//! small constants (shapes, axes) would be out of reach with them. Here a field is kept or skipped by its length, and every
//! limit on a hostile file is in one place, before anything is decoded.

use crate::error::GraphError;
use crate::limits::{
    CONSTANT_BYTES_MAX, ITEMS_MAX, LIST_BYTES_MAX, NESTING_MAX, STRUCTURE_BYTES_MAX, TEXT_BYTES_MAX,
};
use crate::source::Source;
use std::io::{Read, Seek};

/// What becomes of a field.
#[derive(Clone, Copy)]
enum Rule {
    /// A number, or a list of them.
    Number,
    /// A name: refused if it is too long.
    Text,
    /// Content of a tensor: skipped if it is large.
    Content,
    /// A message.
    Inside(&'static [(u64, Rule)]),
    /// A graph or one of its operators, which may hold graphs again; a table cannot name itself.
    Graph,
}

use Rule::{Content, Graph, Inside, Number, Text};

const MODEL: &[(u64, Rule)] =
    &[(1, Number), (2, Text), (7, Graph), (8, Inside(OPSET)), (25, Inside(FUNCTION))];
const GRAPH: &[(u64, Rule)] = &[
    (1, Inside(NODE)),
    (5, Inside(TENSOR)),
    (11, Inside(VALUE)),
    (12, Inside(VALUE)),
    (13, Inside(VALUE)),
    (15, Inside(SPARSE)),
];
const NODE: &[(u64, Rule)] = &[(1, Text), (2, Text), (4, Text), (5, Inside(ATTRIBUTE)), (7, Text), (8, Text)];
const ATTRIBUTE: &[(u64, Rule)] = &[
    (1, Text),
    (2, Number),
    (3, Number),
    (4, Content),
    (5, Inside(TENSOR)),
    (6, Graph),
    (7, Number),
    (8, Number),
    (9, Content),
    (20, Number),
    (21, Text),
];
const TENSOR: &[(u64, Rule)] = &[
    (1, Number),
    (2, Number),
    (4, Content),
    (5, Content),
    (7, Content),
    (8, Text),
    (9, Content),
    (10, Content),
];
const SPARSE: &[(u64, Rule)] = &[(1, Inside(TENSOR)), (3, Number)];
const VALUE: &[(u64, Rule)] = &[(1, Text), (2, Inside(TYPE))];
const TYPE: &[(u64, Rule)] = &[(1, Inside(TENSOR_TYPE))];
const TENSOR_TYPE: &[(u64, Rule)] = &[(1, Number), (2, Inside(SHAPE))];
const SHAPE: &[(u64, Rule)] = &[(1, Inside(DIMENSION))];
const DIMENSION: &[(u64, Rule)] = &[(1, Number), (2, Text)];
const OPSET: &[(u64, Rule)] = &[(1, Text), (2, Number)];
const FUNCTION: &[(u64, Rule)] = &[
    (1, Text),
    (4, Text),
    (5, Text),
    (6, Text),
    (7, Inside(NODE)),
    (10, Text),
    (11, Inside(ATTRIBUTE)),
    (13, Text),
];

const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH: u64 = 2;
const FIXED_32: u64 = 5;

/// The structure of the model in `source`, as bytes that decode into [`crate::proto::ModelProto`].
pub fn structure(source: &mut Source<impl Read + Seek>) -> Result<Vec<u8>, GraphError> {
    let mut skim = Skim { source, items: 0, bytes: 0 };
    let mut out = Vec::new();
    let end = skim.source.length();
    skim.message(MODEL, end, 0, &mut out)?;
    Ok(out)
}

struct Skim<'a, R> {
    source: &'a mut Source<R>,
    items: usize,
    bytes: usize,
}

impl<R: Read + Seek> Skim<'_, R> {
    /// Copies the fields of a message that ends before `end`.
    fn message(
        &mut self,
        rules: &[(u64, Rule)],
        end: u64,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), GraphError> {
        if depth > NESTING_MAX {
            return Err(GraphError::TooMuch { what: "messages inside messages", limit: NESTING_MAX as u64 });
        }
        while self.source.offset() < end {
            let tag = self.varint(end)?;
            let (field, wire) = (tag >> 3, tag & 7);
            let rule = rules.iter().find(|(number, _)| *number == field).map(|(_, rule)| *rule);
            match (rule, wire) {
                (Some(rule), LENGTH) => self.field(rule, field, end, depth, out)?,
                (Some(Number | Content), _) => self.scalar(tag, end, out)?,
                (Some(_), _) => return Err(self.malformed("a number where a message or a text belongs")),
                (None, _) => self.pass(wire, end)?,
            }
        }
        Ok(())
    }

    /// A field with a length.
    fn field(
        &mut self,
        rule: Rule,
        field: u64,
        end: u64,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), GraphError> {
        let length = self.length(end)?;
        self.count(1)?;
        let limit = match rule {
            Content if length > CONSTANT_BYTES_MAX => return self.source.skip(length),
            Number if length > LIST_BYTES_MAX => Some(("a list of numbers, in bytes,", LIST_BYTES_MAX)),
            Text if length > TEXT_BYTES_MAX => Some(("a name, in bytes,", TEXT_BYTES_MAX)),
            _ => None,
        };
        if let Some((what, limit)) = limit {
            return Err(GraphError::TooMuch { what, limit });
        }
        let inner = match rule {
            Inside(rules) => rules,
            Graph => GRAPH,
            Number | Text | Content => {
                self.keep(length as usize)?;
                put_varint(field << 3 | LENGTH, out);
                put_varint(length, out);
                return self.source.take(length, out);
            }
        };
        let mut inside = Vec::new();
        let inner_end = self.source.offset() + length;
        self.message(inner, inner_end, depth + 1, &mut inside)?;
        put_varint(field << 3 | LENGTH, out);
        put_varint(inside.len() as u64, out);
        out.extend_from_slice(&inside);
        Ok(())
    }

    /// A number that stands alone.
    fn scalar(&mut self, tag: u64, end: u64, out: &mut Vec<u8>) -> Result<(), GraphError> {
        self.count(1)?;
        self.keep(16)?;
        put_varint(tag, out);
        match tag & 7 {
            VARINT => {
                let value = self.varint(end)?;
                put_varint(value, out);
                Ok(())
            }
            FIXED_64 => self.fixed(8, end).and_then(|count| self.source.take(count, out)),
            FIXED_32 => self.fixed(4, end).and_then(|count| self.source.take(count, out)),
            _ => Err(self.malformed("an unknown kind of field")),
        }
    }

    /// Goes past a field that nobody needs.
    fn pass(&mut self, wire: u64, end: u64) -> Result<(), GraphError> {
        let count = match wire {
            VARINT => return self.varint(end).map(drop),
            FIXED_64 => self.fixed(8, end)?,
            LENGTH => self.length(end)?,
            FIXED_32 => self.fixed(4, end)?,
            _ => return Err(self.malformed("an unknown kind of field")),
        };
        self.source.skip(count)
    }

    /// A length, all of which lies before `end`.
    fn length(&mut self, end: u64) -> Result<u64, GraphError> {
        let length = self.varint(end)?;
        self.fixed(length, end)
    }

    fn fixed(&self, count: u64, end: u64) -> Result<u64, GraphError> {
        let room = end.saturating_sub(self.source.offset());
        if count > room {
            return Err(GraphError::Truncated { offset: self.source.offset(), needed: count - room });
        }
        Ok(count)
    }

    fn varint(&mut self, end: u64) -> Result<u64, GraphError> {
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            self.fixed(1, end)?;
            let byte = self.source.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.malformed("a number of more than 64 bits"))
    }

    fn count(&mut self, items: usize) -> Result<(), GraphError> {
        self.items += items;
        // A model with this many parts is either hostile or not one that anybody could train.
        if self.items > ITEMS_MAX {
            return Err(GraphError::TooMuch { what: "the number of parts", limit: ITEMS_MAX as u64 });
        }
        Ok(())
    }

    fn keep(&mut self, bytes: usize) -> Result<(), GraphError> {
        self.bytes += bytes;
        if self.bytes > STRUCTURE_BYTES_MAX {
            return Err(GraphError::TooMuch {
                what: "the structure, in bytes,",
                limit: STRUCTURE_BYTES_MAX as u64,
            });
        }
        Ok(())
    }

    fn malformed(&self, problem: &'static str) -> GraphError {
        GraphError::Malformed { offset: self.source.offset(), problem }
    }
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn skimmed(bytes: &[u8]) -> Result<Vec<u8>, GraphError> {
        structure(&mut Source::new(Cursor::new(bytes)).unwrap())
    }

    #[test]
    fn what_is_known_is_copied_and_the_rest_is_left_out() {
        // ir_version 8, a producer, a doc string.
        assert_eq!(skimmed(b"\x08\x08\x12\x01x\x32\x03abc").unwrap(), b"\x08\x08\x12\x01x");
    }

    #[test]
    fn large_content_is_skipped_and_small_content_kept() {
        for (size, kept) in [(4_usize, true), (5000, false)] {
            let mut tensor = vec![0x4a];
            put_varint(size as u64, &mut tensor);
            tensor.extend(vec![7; size]);
            let mut graph = vec![0x2a];
            put_varint(tensor.len() as u64, &mut graph);
            graph.extend(&tensor);
            let mut model = vec![0x3a];
            put_varint(graph.len() as u64, &mut model);
            model.extend(&graph);
            assert_eq!(skimmed(&model).unwrap().len() > 6, kept);
        }
    }

    #[test]
    fn a_length_past_the_end_is_refused() {
        assert!(matches!(skimmed(b"\x3a\x7fabc"), Err(GraphError::Truncated { needed: 124, .. })));
        assert!(matches!(
            skimmed(&[0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
            Err(GraphError::Truncated { .. })
        ));
        assert!(matches!(skimmed(&[0xff; 12]), Err(GraphError::Malformed { .. })));
        assert!(matches!(skimmed(b"\x0b"), Err(GraphError::Malformed { .. })));
    }
}
