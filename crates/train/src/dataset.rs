//! Profiles as they were measured: what was trained, how long a step took alone, and beside what it took how much longer.
//!
//! ```text
//! solo.csv    a configuration alone: name, architecture, family, batch, ..., step_ms, nvml_gpu, sm, tensor, dram, reserved_mb
//! pairs.csv   two of them at the same time: mode, name1, name2, step_ms1, step_ms2
//! graphs/     ARCHITECTURE.onnx.gz, without weights
//! ```
//!
//! The time of a step alone is the shortest that was seen of a configuration, alone or beside others: steps that wait for the host
//! differ by a fifth from run to run, always upwards, and nobody is faster beside others.

use evenhand_core::SharingMode;
use evenhand_graph::{Binding, Costs, Gpu, Model, Optimiser, Precision};
use evenhand_predict::learned::Told;
use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

/// Megabytes of a process on a GPU that no framework counts: those of its context. Not measured.
const CONTEXT_MB: f64 = 500.0;

/// How the files of graphs end.
const GRAPH: &str = ".onnx.gz";

/// What can be wrong with a folder of profiles.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// A file could not be read.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A row is not what it should be.
    #[error("{path}, line {line}: {what}")]
    Row {
        /// In which file.
        path: PathBuf,
        /// Where.
        line: usize,
        /// What.
        what: String,
    },
    /// There is nothing to learn from.
    #[error("{path}: no rows")]
    Empty {
        /// Which file.
        path: PathBuf,
    },
    /// A graph could not be costed.
    #[error("{architecture}: {error}")]
    Graph {
        /// Of what.
        architecture: String,
        /// Why.
        error: evenhand_graph::GraphError,
    },
}

/// One configuration.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Its architecture's family: what is held out for testing.
    pub family: String,
    /// Whether the host was made to wait: a graph cannot tell.
    pub has_gaps: bool,
    /// What the graph tells.
    pub told: Told,
    /// What was measured.
    pub seen: Seen,
}

/// What was measured of a configuration alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Milliseconds of a step.
    pub step_ms: f64,
    /// Milliseconds of kernels in a step.
    pub kernel_ms: f64,
    /// Kernels in a step.
    pub kernels: f64,
    /// Utilisation as the driver tells it, percent.
    pub utilisation: f64,
    /// Multiprocessors in use, percent.
    pub sm: f64,
    /// Warps resident, percent.
    pub occupancy: f64,
    /// Tensor cores in use, percent.
    pub tensor: f64,
    /// Memory bandwidth in use, percent.
    pub dram: f64,
    /// Memory reserved by the allocator and that of the context, in megabytes.
    pub memory_mb: f64,
}

/// Two configurations at the same time.
#[derive(Clone, Debug)]
pub struct Pair {
    /// How they shared.
    pub mode: SharingMode,
    /// Which: places in [`Dataset::profiles`].
    pub who: [usize; 2],
    /// How many times longer a step of each took than alone.
    pub slowdown: [f64; 2],
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct Dataset {
    /// Tells one set of files from another.
    pub digest: String,
    /// Configurations, by name.
    pub profiles: Vec<Profile>,
    /// Pairs; those measured several times, as often.
    pub pairs: Vec<Pair>,
}

impl Dataset {
    /// Reads a folder, for one GPU model.
    pub fn read(folder: &Path, gpu: &Gpu) -> Result<Self, DataError> {
        let solo = Rows::read(&folder.join("solo.csv"))?;
        let pairs = Rows::read(&folder.join("pairs.csv"))?;
        let shortest = shortest(&solo, &pairs)?;
        let mut models: BTreeMap<String, Model> = BTreeMap::new();
        let mut found = Self { digest: digest(folder)?, ..Self::default() };
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for row in solo.iter() {
            let name = row.text("name")?.to_owned();
            if places.contains_key(&name) {
                continue;
            }
            let architecture = row.text("architecture")?;
            if !models.contains_key(architecture) {
                models.insert(architecture.to_owned(), graph(folder, architecture)?);
            }
            let told = told(&row, &models[architecture], gpu)?;
            let seen = Seen { step_ms: shortest[&name], ..seen(&row)? };
            let has_gaps = row.number("duty")? < 1.0 || row.number("host_ms")? > 0.0;
            places.insert(name.clone(), found.profiles.len());
            found.profiles.push(Profile {
                name,
                family: row.text("family")?.to_owned(),
                has_gaps,
                told,
                seen,
            });
        }
        for row in pairs.iter() {
            let who = [row.text("name1")?, row.text("name2")?].map(|name| places.get(name).copied());
            let [Some(one), Some(other)] = who else {
                return Err(row.wrong("a configuration that was not measured alone".into()));
            };
            let times = [row.positive("step_ms1")?, row.positive("step_ms2")?];
            let slowdown =
                [times[0] / found.profiles[one].seen.step_ms, times[1] / found.profiles[other].seen.step_ms];
            let mode = row.mode()?;
            found.pairs.push(Pair { mode, who: [one, other], slowdown });
        }
        Ok(found)
    }

    /// The same without some families, and without the pairs that have a part in them.
    pub fn without(&self, families: &[String]) -> Self {
        let kept = |profile: &Profile| !families.contains(&profile.family);
        let mut places: Vec<Option<usize>> = Vec::new();
        let mut profiles = Vec::new();
        for profile in &self.profiles {
            places.push(kept(profile).then_some(profiles.len()));
            profiles.extend(kept(profile).then(|| profile.clone()));
        }
        let pair = |pair: &Pair| {
            let [one, other] = pair.who;
            Some(Pair { who: [places[one]?, places[other]?], ..pair.clone() })
        };
        let pairs = self.pairs.iter().filter_map(pair).collect();
        let digest = if families.is_empty() {
            self.digest.clone()
        } else {
            format!("{} without {}", self.digest, families.join(", "))
        };
        Self { digest, profiles, pairs }
    }

    /// The families, each once.
    pub fn families(&self) -> Vec<&str> {
        let mut families: Vec<&str> = self.profiles.iter().map(|profile| profile.family.as_str()).collect();
        families.sort_unstable();
        families.dedup();
        families
    }
}

/// FNV-1a over the two tables.
fn digest(folder: &Path) -> Result<String, DataError> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for name in ["solo.csv", "pairs.csv"] {
        let path = folder.join(name);
        let bytes = std::fs::read(&path).map_err(|error| DataError::File { path, error })?;
        hash = bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    }
    Ok(format!("{hash:016x}"))
}

/// The shortest step of every configuration, wherever it was seen.
fn shortest(solo: &Rows, pairs: &Rows) -> Result<BTreeMap<String, f64>, DataError> {
    let mut shortest: BTreeMap<String, f64> = BTreeMap::new();
    let columns = [(solo, "name", "step_ms"), (pairs, "name1", "step_ms1"), (pairs, "name2", "step_ms2")];
    for (rows, name, time) in columns {
        for row in rows.iter() {
            let (name, time) = (row.text(name)?, row.positive(time)?);
            let known = shortest.entry(name.to_owned()).or_insert(f64::INFINITY);
            *known = known.min(time);
        }
    }
    Ok(shortest)
}

fn seen(row: &Row<'_>) -> Result<Seen, DataError> {
    Ok(Seen {
        step_ms: row.number("step_ms")?,
        kernel_ms: row.number("kernel_ms")?,
        kernels: row.number("kernels")?,
        utilisation: row.number("nvml_gpu")?,
        sm: row.number("sm")?,
        occupancy: row.number("occupancy")?,
        tensor: row.number("tensor")?,
        dram: row.number("dram")?,
        memory_mb: row.positive("reserved_mb")? + CONTEXT_MB,
    })
}

fn told(row: &Row<'_>, model: &Model, gpu: &Gpu) -> Result<Told, DataError> {
    let precision = if row.text("precision")? == "fp32" { Precision::Fp32 } else { Precision::Bf16 };
    let optimiser = if row.text("optimiser")? == "adamw" { Optimiser::Adam } else { Optimiser::Momentum };
    let fixed = row.text("family")? == "gnn";
    let batch = row.positive("batch")? as i64;
    let binding = Binding { batch: (!fixed).then_some(batch), ..Binding::default() };
    let costs = Costs::of(model, &binding, precision).map_err(|error| {
        let architecture = row.text("architecture").unwrap_or_default().to_owned();
        DataError::Graph { architecture, error }
    })?;
    Ok(Told::of(&costs, gpu, precision, optimiser))
}

/// The names of all architectures of which a folder of profiles has a graph.
pub fn architectures(folder: &Path) -> Result<Vec<String>, DataError> {
    let path = folder.join("graphs");
    let entries = std::fs::read_dir(&path).map_err(|error| DataError::File { path: path.clone(), error })?;
    let name = |entry: std::fs::DirEntry| entry.file_name().to_str()?.strip_suffix(GRAPH).map(str::to_owned);
    let mut names: Vec<String> = entries.filter_map(Result::ok).filter_map(name).collect();
    names.sort();
    if names.is_empty() { Err(DataError::Empty { path }) } else { Ok(names) }
}

/// Reads the graph of an architecture from a folder of profiles.
pub fn graph(folder: &Path, architecture: &str) -> Result<Model, DataError> {
    let path = folder.join("graphs").join(format!("{architecture}{GRAPH}"));
    let failed = |error| DataError::File { path: path.clone(), error };
    let mut bytes = Vec::new();
    GzDecoder::new(File::open(&path).map_err(failed)?).read_to_end(&mut bytes).map_err(failed)?;
    let wrong = |error| DataError::Graph { architecture: architecture.to_owned(), error };
    Model::read(Cursor::new(bytes)).map_err(wrong)
}

/// A table of text.
struct Rows {
    path: PathBuf,
    columns: Vec<String>,
    cells: Vec<Vec<String>>,
}

struct Row<'a> {
    table: &'a Rows,
    at: usize,
}

impl Rows {
    fn read(path: &Path) -> Result<Self, DataError> {
        let text =
            std::fs::read_to_string(path).map_err(|error| DataError::File { path: path.into(), error })?;
        let cells = |line: &str| line.split(',').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let mut lines = text.lines();
        let columns = lines.next().map(cells).unwrap_or_default();
        let cells = lines.filter(|line| !line.trim().is_empty()).map(cells).collect();
        let read = Self { path: path.into(), columns, cells };
        if read.cells.is_empty() { Err(DataError::Empty { path: read.path }) } else { Ok(read) }
    }

    fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.cells.len()).map(|at| Row { table: self, at })
    }
}

impl Row<'_> {
    fn wrong(&self, what: String) -> DataError {
        DataError::Row { path: self.table.path.clone(), line: self.at + 2, what }
    }

    fn text(&self, column: &str) -> Result<&str, DataError> {
        let place = self.table.columns.iter().position(|name| name == column);
        let cell = place.and_then(|place| self.table.cells[self.at].get(place));
        cell.map(String::as_str).ok_or_else(|| self.wrong(format!("no {column}")))
    }

    fn mode(&self) -> Result<SharingMode, DataError> {
        match self.text("mode")? {
            "mps" => Ok(SharingMode::Mps),
            "time-slicing" => Ok(SharingMode::TimeSlicing),
            other => Err(self.wrong(format!("the mode is {other:?}, not time-slicing or mps"))),
        }
    }

    /// Nothing that is measured or chosen here is negative.
    fn number(&self, column: &str) -> Result<f64, DataError> {
        let text = self.text(column)?;
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| self.wrong(format!("{column} is {text:?}, not a number of at least 0")))
    }

    /// What logarithms are taken of.
    fn positive(&self, column: &str) -> Result<f64, DataError> {
        let number = self.number(column)?;
        if number > 0.0 { Ok(number) } else { Err(self.wrong(format!("{column} is 0"))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What reading a table and one of its numbers says.
    fn told(name: &str, text: &str) -> String {
        let path = std::env::temp_dir().join(format!("evenhand-train-{}-{name}.csv", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let read = Rows::read(&path).and_then(|rows| {
            let row = Row { table: &rows, at: 0 };
            Ok((row.positive("step_ms")?, row.mode()?))
        });
        std::fs::remove_file(&path).unwrap();
        read.map_or_else(|error| error.to_string(), |found| format!("{found:?}"))
    }

    #[test]
    fn rows_that_make_no_sense_are_refused_with_their_place() {
        assert_eq!(told("good", "step_ms,mode\n1.5,mps\n"), "(1.5, Mps)");
        for (name, text, what) in [
            ("empty", "", "no rows"),
            ("title", "step_ms,mode\n", "no rows"),
            ("short", "mode,step_ms\nmps\n", "line 2: no step_ms"),
            ("nan", "step_ms,mode\nNaN,mps\n", "line 2: step_ms is \"NaN\""),
            ("negative", "step_ms,mode\n-1,mps\n", "line 2: step_ms is \"-1\""),
            ("zero", "step_ms,mode\n0,mps\n", "line 2: step_ms is 0"),
            ("mode", "step_ms,mode\n1,turns\n", "line 2: the mode is \"turns\""),
        ] {
            assert!(told(name, text).contains(what), "{}", told(name, text));
        }
    }
}
