//! Large files and mutated ones, with every byte counted that is read or held.
//!
//! A few hundred mutations of each kind by default; EVENHAND_FUZZ_SECONDS runs each kind that long, EVENHAND_FUZZ_SEED
//! chooses another beginning. A failure names the seed and the iteration that repeat it.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use evenhand_core::Random;
use evenhand_graph::{Binding, Costs, Features, GPUS, Model, Precision};
use evenhand_tests::fuzzing::{Counting, clock, most_held, number_from};
use std::fs::{self, File};
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a model may hold, whatever is in its file.
const HELD_MAX: i64 = 50 << 20;
/// And for every byte of a file that holds no weights.
const HELD_PER_BYTE_MAX: i64 = 200;

const ITERATIONS: u64 = 300;

/// A reader that counts.
struct Counted {
    file: File,
    bytes: u64,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.bytes += count as u64;
        Ok(count)
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// A field with a length.
fn field(number: u64, content: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

/// A model of a hundred products of matrices whose weights are holes in the file.
fn write_large(path: &Path) -> u64 {
    const LAYERS: u64 = 100;
    const WIDTH: u64 = 1150;
    let raw = WIDTH * WIDTH * 4;
    let head = |layer: u64| {
        let dims = [varint(1 << 3), varint(WIDTH)].concat().repeat(2);
        let kind = [varint(2 << 3), varint(1)].concat();
        [dims, kind, field(8, format!("w{layer}").as_bytes()), varint(9 << 3 | 2), varint(raw)].concat()
    };
    let tensor_head = |layer: u64| {
        let head = head(layer);
        [varint(5 << 3 | 2), varint(head.len() as u64 + raw), head].concat()
    };
    let mut rest = Vec::new();
    for layer in 0..LAYERS {
        let names = [format!("x{layer}"), format!("w{layer}"), format!("x{}", layer + 1)];
        let node = [
            field(1, names[0].as_bytes()),
            field(1, names[1].as_bytes()),
            field(2, names[2].as_bytes()),
            field(4, b"MatMul"),
        ];
        rest.extend(field(1, &node.concat()));
    }
    let dim = |content: &[u8]| field(1, content);
    let shape = [dim(&field(2, b"batch")), dim(&[varint(1 << 3), varint(WIDTH)].concat())].concat();
    let tensor_type = [varint(1 << 3), varint(1), field(2, &shape)].concat();
    rest.extend(field(11, &[field(1, b"x0"), field(2, &field(1, &tensor_type))].concat()));
    let length =
        (0..LAYERS).map(|layer| tensor_head(layer).len() as u64 + raw).sum::<u64>() + rest.len() as u64;
    let mut file = File::create(path).unwrap();
    file.write_all(&[varint(1 << 3), varint(9), varint(7 << 3 | 2), varint(length)].concat()).unwrap();
    for layer in 0..LAYERS {
        file.write_all(&tensor_head(layer)).unwrap();
        file.seek(SeekFrom::Current(raw as i64)).unwrap();
    }
    file.write_all(&rest).unwrap();
    file.metadata().unwrap().len()
}

#[test]
fn the_weights_of_a_large_file_are_not_read() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("large.onnx");
    let length = write_large(&path);
    assert!(length > 500_000_000, "{length}");
    let mut reader = Counted { file: File::open(&path).unwrap(), bytes: 0 };
    let held = most_held(|| {
        let model = Model::read(&mut reader).unwrap();
        let binding = Binding { batch: Some(8), ..Binding::default() };
        let costs = Costs::of(&model, &binding, Precision::Bf16).unwrap();
        assert!((costs.parameters - 100.0 * 1150.0 * 1150.0).abs() < 0.5);
        assert!((costs.forward_flop - 100.0 * 2.0 * 8.0 * 1150.0 * 1150.0).abs() < 0.5);
    });
    fs::remove_file(&path).unwrap();
    assert!(reader.bytes < 2 << 20, "{} bytes were read", reader.bytes);
    assert!(held < HELD_MAX, "{held} bytes were held");
}

/// The graphs that are small enough to be mutated by the thousand.
fn samples() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/graph/tests/graphs");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn below(dice: &mut Random, bound: usize) -> usize {
    dice.below(bound.max(1) as u64) as usize
}

/// A change that may break every length around it.
fn break_bytes(bytes: &mut Vec<u8>, donor: &[u8], dice: &mut Random) {
    let at = below(dice, bytes.len() + 1);
    let until = (at + below(dice, 40)).min(bytes.len());
    match below(dice, 7) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..until)),
        2 => drop(bytes.splice(at..at, vec![0xff; 1 + below(dice, 10)])),
        3 => {
            let from = below(dice, donor.len());
            let part = donor[from..(from + below(dice, 400)).min(donor.len())].to_vec();
            drop(bytes.splice(at..until, part));
        }
        4 => {
            let part = bytes[at..until].to_vec();
            drop(bytes.splice(at..at, part.repeat(1 + below(dice, 50))));
        }
        _ => change_byte(bytes, dice),
    }
}

/// A change that leaves every length as it was, so that what lies inside is read: numbers, names, dimensions.
fn change_byte(bytes: &mut [u8], dice: &mut Random) {
    let at = below(dice, bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte = match below(dice, 4) {
            0 => *byte ^ (1 << below(dice, 8)),
            1 => [0, 1, 2, 7, 8, 0x7f][below(dice, 6)],
            2 => byte.wrapping_add(1),
            _ => below(dice, 256) as u8,
        };
    }
}

/// Reads and costs; the same bytes must give the same answer.
fn answer(bytes: &[u8]) -> Option<String> {
    let model = Model::read(Cursor::new(bytes)).ok()?;
    let binding = Binding { batch: Some(3), sequence: Some(16), ..Binding::default() };
    let costs = Costs::of(&model, &binding, Precision::Bf16).ok()?;
    let row = Features::of(&costs, &GPUS[0], 3, Precision::Bf16);
    assert!(row.iter().all(|value| value.is_finite()), "{row:?}");
    Some(format!("{} {} {row:?}", costs.forward_flop, costs.saved_bytes))
}

#[expect(clippy::print_stderr, reason = "figures of a long run")]
fn fuzz(kind: &str, change: impl Fn(&mut Vec<u8>, &[u8], &mut Random)) {
    let samples = samples();
    let seed = number_from("EVENHAND_FUZZ_SEED").unwrap_or(1);
    let (more, mut iteration, mut most, mut read) = (clock(ITERATIONS), 0, 0, 0);
    while more(iteration) {
        let mut dice = Random::stream(seed ^ iteration.wrapping_mul(0x2545_f491_4f6c_dd1d), kind);
        let mut bytes = samples[below(&mut dice, samples.len())].clone();
        let donor = &samples[below(&mut dice, samples.len())];
        for _ in 0..=below(&mut dice, 6) {
            change(&mut bytes, donor, &mut dice);
        }
        let mut answers = [None, None];
        let held = most_held(|| {
            let work = catch_unwind(AssertUnwindSafe(|| answers = [answer(&bytes), answer(&bytes)]));
            assert!(work.is_ok(), "{kind}: seed {seed}, iteration {iteration}");
        });
        assert_eq!(answers[0], answers[1], "{kind}: two readings differ, seed {seed}, iteration {iteration}");
        let allowed = HELD_MAX.min((1 << 20) + HELD_PER_BYTE_MAX * bytes.len() as i64);
        assert!(
            held < allowed,
            "{kind}: {held} bytes for {}, seed {seed}, iteration {iteration}",
            bytes.len()
        );
        most = most.max(held);
        read += u64::from(answers[0].is_some());
        iteration += 1;
    }
    if number_from("EVENHAND_FUZZ_SECONDS").is_some() {
        eprintln!("{kind}: {iteration} iterations, {read} costed, at most {} KiB held", most / 1024);
    }
}

#[test]
fn fuzz_broken_files() {
    fuzz("broken", break_bytes);
}

#[test]
fn fuzz_changed_files() {
    fuzz("changed", |bytes, _, dice| change_byte(bytes, dice));
}
