//! The numbers in a small constant.

use crate::proto::TensorProto;

/// The numbers of a tensor; none if they are elsewhere, were too large to keep, or are of no type that shapes are made of.
pub fn decode(proto: &TensorProto) -> Vec<f64> {
    if !proto.raw_data.is_empty() {
        return raw(&proto.raw_data, proto.data_type);
    }
    match proto.data_type {
        1 => proto.float_data.iter().map(|value| f64::from(*value)).collect(),
        7 => proto.int64_data.iter().map(|value| *value as f64).collect(),
        11 => proto.double_data.clone(),
        2..=6 | 9 => proto.int32_data.iter().map(|value| f64::from(*value)).collect(),
        _ => Vec::new(),
    }
}

fn raw(bytes: &[u8], element: i32) -> Vec<f64> {
    match element {
        1 => each(bytes, |part| f64::from(f32::from_le_bytes(part))),
        2 | 9 => each(bytes, |part| f64::from(u8::from_le_bytes(part))),
        3 => each(bytes, |part| f64::from(i8::from_le_bytes(part))),
        5 => each(bytes, |part| f64::from(i16::from_le_bytes(part))),
        6 => each(bytes, |part| f64::from(i32::from_le_bytes(part))),
        7 => each(bytes, |part| i64::from_le_bytes(part) as f64),
        11 => each(bytes, f64::from_le_bytes),
        12 => each(bytes, |part| f64::from(u32::from_le_bytes(part))),
        _ => Vec::new(),
    }
}

fn each<const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> f64) -> Vec<f64> {
    bytes.as_chunks::<N>().0.iter().map(|part| read(*part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_from_either_place() {
        let raw_data = [7_i64, -1].iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(decode(&TensorProto { data_type: 7, raw_data, ..TensorProto::default() }), [7.0, -1.0]);
        assert_eq!(
            decode(&TensorProto { data_type: 7, int64_data: vec![3], ..TensorProto::default() }),
            [3.0]
        );
        assert_eq!(
            decode(&TensorProto { data_type: 1, raw_data: vec![0, 0, 128, 63, 9], ..TensorProto::default() }),
            [1.0]
        );
    }
}
