//! Bytes that nobody meant as a trace: mutated samples, from a seed, through every reader. None may panic, take much
//! memory, or answer differently the second time.
//!
//! A few hundred mutations per format by default; EVENHAND_FUZZ_SECONDS runs each format that long, EVENHAND_FUZZ_SEED
//! chooses another beginning. A failure names the seed and the iteration that repeat it.

use crate::samples::{SAMPLES, sample, sides_of};
use evenhand_sim::ClusterSpec;
use evenhand_sim::traces::{Sides, TRACES, Throughputs, cluster_from_openb_nodes, read};
use evenhand_tests::fuzzing::{Counting, clock, most_held, number_from};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ITERATIONS: u64 = 300;
const HELD_MAX: i64 = 64 << 20;
const HELD_PER_BYTE_MAX: i64 = 64;

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
    fn of<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

const VALUES: &[&str] = &[
    "0",
    "-1",
    "1e308",
    "-1e308",
    "1e-308",
    "NaN",
    "inf",
    "-0",
    "18446744073709551615",
    "9223372036854775807",
    "4294967296",
    "99999999999999999999999999",
    "0.0000001",
    "None",
    "null",
    "Unknown",
    "",
    " ",
    "\"",
    "\"\"",
    "é",
    "\u{202e}",
    "9999-12-31 23:59:59+18:00",
    "1900-01-01 00:00:00-18:00",
    "gres/gpu:a=4294967295",
    "[",
    "{",
    "]",
    "}",
    "a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q|r",
    "1-1-1-1-1",
    "#",
    ";",
];

/// One change to the bytes of a sample.
fn mutate(bytes: &mut Vec<u8>, donors: &[Vec<u8>], dice: &mut Dice) {
    let at = dice.below(bytes.len() + 1);
    let until = (at + dice.below(40)).min(bytes.len());
    match dice.below(12) {
        0 | 1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << dice.below(8);
            }
        }
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..until)),
        4 => drop(bytes.splice(at..until, dice.of(VALUES).bytes())),
        5 | 6 => replace_field(bytes, at, dice.of(VALUES)),
        7 => {
            let donor = &donors[dice.below(donors.len())];
            let (from, length) = (dice.below(donor.len()), dice.below(400));
            let part = donor[from..(from + length).min(donor.len())].to_vec();
            drop(bytes.splice(at..until, part));
        }
        8 => drop(
            bytes.splice(at..at, [0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80].into_iter().take(1 + dice.below(6))),
        ),
        9 => drop(bytes.splice(at..at, dice.of(&["\r", "\n", "\r\n", "\n\r", "\0", "\t", "|", ","]).bytes())),
        10 => {
            let row = bytes[at..until].to_vec();
            drop(bytes.splice(at..at, row.repeat(1 + dice.below(20))));
        }
        _ if dice.below(40) == 0 => {
            let length = 1 << (10 + dice.below(12));
            let filler = dice.of(&[b"x", b"9", b",", b"[", b"\"", b"|", b"\n", b"\\"])[0];
            drop(bytes.splice(at..at, vec![filler; length]));
        }
        _ => {}
    }
}

/// Puts a value between two separators.
fn replace_field(bytes: &mut Vec<u8>, at: usize, value: &str) {
    let is_edge = |byte: &u8| [b',', b'\t', b'|', b'\n', b' ', b':', b'='].contains(byte);
    let start = bytes[..at].iter().rposition(is_edge).map_or(0, |found| found + 1);
    let end = bytes[at..].iter().position(is_edge).map_or(bytes.len(), |found| at + found);
    drop(bytes.splice(start..end, value.bytes()));
}

/// Everything that reads bytes, on these bytes.
fn read_all(bytes: &[u8], name: &str, sides: &[Sides], cluster: &ClusterSpec) {
    for sides in sides {
        for entry in TRACES {
            let _ = (entry.read)(&mut &bytes[..], sides);
        }
        let again = [(); 2].map(|()| read(&mut &bytes[..], name, sides));
        if let [Ok(one), Ok(two)] = &again {
            assert_eq!(format!("{one:?}"), format!("{two:?}"), "two readings differ");
        }
        let [one, two] = again;
        assert_eq!(one.is_ok(), two.is_ok());
        let _ = one.and_then(|trace| trace.bind(cluster));
    }
    let _ = cluster_from_openb_nodes(&mut &bytes[..], None);
    let _ = Throughputs::read(&mut &bytes[..]);
}

#[expect(clippy::print_stderr, reason = "figures of a long run")]
fn fuzz(format: &str, name: &str) {
    let donors: Vec<_> = SAMPLES.iter().map(|(_, name)| fs::read(sample(name)).unwrap()).collect();
    let own = fs::read(sample(name)).unwrap();
    let tables = [Sides::default(), sides_of("gavel"), sides_of("pollux")];
    // Only two formats look at tables.
    let sides = if ["gavel", "pollux"].contains(&format) { &tables[..] } else { &tables[..1] };
    let cluster = ClusterSpec::parse("v100=1024,T4=8", None, None).unwrap();
    let seed = number_from("EVENHAND_FUZZ_SEED").unwrap_or(1);
    let (more, mut iteration, mut most) = (clock(ITERATIONS), 0, 0);
    while more(iteration) {
        let mut dice = Dice(seed ^ iteration.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let mut bytes = own.clone();
        for _ in 0..=dice.below(6) {
            mutate(&mut bytes, &donors, &mut dice);
        }
        let held = most_held(|| {
            let read = catch_unwind(AssertUnwindSafe(|| read_all(&bytes, name, sides, &cluster)));
            assert!(read.is_ok(), "{format}: seed {seed}, iteration {iteration}");
        });
        let allowed = HELD_MAX + HELD_PER_BYTE_MAX * bytes.len() as i64;
        assert!(
            held < allowed,
            "{format}: {held} bytes held for {}, seed {seed}, iteration {iteration}",
            bytes.len()
        );
        most = most.max(held);
        iteration += 1;
    }
    if number_from("EVENHAND_FUZZ_SECONDS").is_some() {
        eprintln!("{format}: {iteration} iterations, at most {} KiB held", most / 1024);
    }
}

macro_rules! fuzz_each {
    ($($test:ident: $format:literal),*) => {
        $(#[test]
        fn $test() {
            let (format, name) = SAMPLES.iter().find(|(format, _)| *format == $format).unwrap();
            fuzz(format, name);
        })*

        #[test]
        fn every_format_is_fuzzed() {
            let fuzzed = [$($format),*];
            assert_eq!(fuzzed.len(), TRACES.len());
            assert!(TRACES.iter().all(|entry| fuzzed.contains(&entry.name)));
        }
    };
}

fuzz_each! {
    mutated_native: "native", mutated_generic: "generic", mutated_philly_csv: "philly-csv",
    mutated_philly_vc: "philly-vc", mutated_philly_json: "philly-json", mutated_helios: "helios",
    mutated_acme: "acme", mutated_pai: "pai", mutated_openb: "openb", mutated_elasticflow: "elasticflow",
    mutated_gavel: "gavel", mutated_pollux: "pollux", mutated_tiresias: "tiresias", mutated_muri: "muri",
    mutated_chronus: "chronus", mutated_sacct: "sacct", mutated_swf: "swf"
}

/// A small archive can unpack to anything: here a sample is followed by a gigabyte of one byte.
#[test]
fn an_endless_file_does_not_fill_the_memory() {
    for (format, name) in SAMPLES {
        let own = fs::read(sample(name)).unwrap();
        let sides = sides_of(format);
        let entry = TRACES.iter().find(|entry| entry.name == *format).unwrap();
        for filler in [b"x", b"\"", b"[", b",", b"9"] {
            let start = own.strip_suffix(b"]\n").unwrap_or(&own).to_vec();
            let endless = start.chain(&b",\""[..]).chain(std::io::repeat(filler[0]).take(1 << 30));
            let mut source: Box<dyn BufRead> = Box::new(BufReader::with_capacity(1 << 16, endless));
            let held = most_held(|| {
                let error = (entry.read)(&mut source, &sides).map(|trace| trace.jobs.len()).unwrap_err();
                assert!(error.allowed.contains("longer than"), "{format}: {error}");
            });
            assert!(held < HELD_MAX, "{format}: {held} bytes held");
        }
    }
}
