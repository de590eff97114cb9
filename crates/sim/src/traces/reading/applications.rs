//! How long the applications of Pollux (OSDI 2021) take: a folder per application with `placements.csv` (seconds of a
//! step by placement and batch per GPU, on T4 GPUs), `scalability.csv` (the same for more nodes) and
//! `validation-<batch>.csv` (steps until each epoch, by batch size).
//!
//! The rules are those of the simulator that comes with Pollux: replicas are packed four to a node, a batch that does not
//! fit is split into several passes of which only the last synchronises, and numbers between two measured ones lie on the
//! line between them.

use super::{Row, Table};
use crate::InputError;
use crate::traces::{Warning, open_file};
use std::collections::BTreeMap;
use std::path::Path;

/// Replicas on one node of the measured cluster.
const GPUS_PER_NODE: u32 = 4;

/// Applications by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Applications(BTreeMap<String, Application>);

/// Seconds of a step, and those in which it synchronises, by batch per GPU.
type Curve = BTreeMap<u32, (f64, f64)>;

#[derive(Clone, Debug, Default)]
struct Application {
    /// By placement: `44` is two nodes with four each, not forty-four.
    placements: BTreeMap<String, Curve>,
    /// By nodes and replicas.
    scalability: BTreeMap<(u32, u32), Curve>,
    /// Steps until the end of each epoch, by batch size.
    steps: BTreeMap<u32, Vec<f64>>,
}

impl Applications {
    /// Reads the folder that holds a folder per application.
    pub(crate) fn open(folder: &Path) -> Result<Self, InputError> {
        let mut found = Self::default();
        for (name, path) in entries(folder)? {
            if path.join("placements.csv").is_file() {
                found.0.insert(name, Application::open(&path)?);
            }
        }
        if found.0.is_empty() {
            let allowed =
                "the folder has no <application>/placements.csv: give the folder `traces` of Pollux";
            return Err(InputError::whole(&folder.display().to_string(), allowed));
        }
        Ok(found)
    }

    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Seconds from beginning to end with one batch size on so many GPUs; `None` if nobody measured it.
    pub(crate) fn seconds(&self, application: &str, replicas: u32, batch: u32) -> Option<f64> {
        let application = self.0.get(application)?;
        let curve = application.curve(replicas)?;
        let largest = *curve.keys().next_back()?;
        let local = batch.div_ceil(replicas);
        let passes = local.div_ceil(largest).max(1);
        let (step, sync) = between(curve, local.div_ceil(passes))?;
        Some(application.steps(batch)? * (step + f64::from(passes - 1) * (step - sync)))
    }
}

impl Application {
    fn open(folder: &Path) -> Result<Self, InputError> {
        let mut found = Self::default();
        for (name, path) in entries(folder)? {
            let batch = name.strip_prefix("validation-").and_then(|rest| rest.strip_suffix(".csv"));
            if name == "placements.csv" {
                rows(&path, &["placement", "local_bsz", "step_time", "sync_time"], |row| {
                    let curve = found.placements.entry(row.named("placement")?.to_owned()).or_default();
                    point(row, curve)
                })?;
            } else if name == "scalability.csv" {
                rows(&path, &["num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"], |row| {
                    let size = (whole(row, "num_nodes")?, whole(row, "num_replicas")?);
                    point(row, found.scalability.entry(size).or_default())
                })?;
            } else if let Some(batch) = batch.and_then(|batch| batch.parse().ok()) {
                let steps = found.steps.entry(batch).or_default();
                rows(&path, &["iteration"], |row| {
                    steps.push(row.needed("iteration")?);
                    Ok(())
                })?;
            }
        }
        Ok(found)
    }

    fn curve(&self, replicas: u32) -> Option<&Curve> {
        let nodes = replicas.div_ceil(GPUS_PER_NODE);
        // The name of a placement is its smallest rotation, so the node that is not full comes first.
        let rest = replicas - (nodes.checked_sub(1)?) * GPUS_PER_NODE;
        let full = "4".repeat(nodes.min(64) as usize - 1);
        self.placements.get(&format!("{rest}{full}")).or_else(|| self.scalability.get(&(nodes, replicas)))
    }

    /// Steps until the last epoch that all batch sizes have.
    fn steps(&self, batch: u32) -> Option<f64> {
        let epochs = self.steps.values().map(Vec::len).min().filter(|epochs| *epochs > 0)?;
        let known: Curve =
            self.steps.iter().map(|(batch, steps)| (*batch, (steps[epochs - 1], 0.0))).collect();
        between(&known, batch).map(|(steps, _)| steps)
    }
}

/// The value at a place, on the line between its neighbours; `None` outside of what was measured.
fn between(curve: &Curve, at: u32) -> Option<(f64, f64)> {
    let (below, low) = curve.range(..=at).next_back()?;
    let (above, high) = curve.range(at..).next()?;
    let part = if above == below { 0.0 } else { f64::from(at - below) / f64::from(above - below) };
    Some((low.0 + (high.0 - low.0) * part, low.1 + (high.1 - low.1) * part))
}

fn point(row: &Row<'_>, curve: &mut Curve) -> Result<(), Warning> {
    let (step, sync) = (row.needed("step_time")?, row.needed("sync_time")?);
    if step <= 0.0 || sync < 0.0 {
        return Err(Warning::BadRow);
    }
    curve.insert(whole(row, "local_bsz")?, (step, sync));
    Ok(())
}

fn whole(row: &Row<'_>, column: &str) -> Result<u32, Warning> {
    row.named(column)?.parse().map_err(|_| Warning::BadRow)
}

/// The entries of a folder by name, in order.
fn entries(folder: &Path) -> Result<BTreeMap<String, std::path::PathBuf>, InputError> {
    let cannot = |error| {
        InputError::whole(&folder.display().to_string(), format!("the folder cannot be read: {error}"))
    };
    let list = std::fs::read_dir(folder).map_err(cannot)?;
    list.map(|entry| entry.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())))
        .collect::<Result<_, _>>()
        .map_err(cannot)
}

/// Reads a small table: here a row that cannot be read is an error, for there is nobody to count it for.
fn rows(
    path: &Path,
    needed: &[&str],
    mut each: impl FnMut(&Row<'_>) -> Result<(), Warning>,
) -> Result<(), InputError> {
    let place = path.display().to_string();
    let mut source = open_file(path)
        .map_err(|error| InputError::whole(&place, format!("the file cannot be read: {error}")))?;
    let mut table = Table::open(&mut source, ',', needed).map_err(|error| error.within(&place))?;
    while let Some(row) = table.next().map_err(|error| error.within(&place))? {
        let read = row.and_then(|row| each(&row).map_err(|_| row.line));
        read.map_err(|line| InputError {
            line,
            allowed: format!("the row cannot be read; it has the columns {}", needed.join(", ")),
            place: place.clone(),
            ..InputError::default()
        })?;
    }
    Ok(())
}

#[cfg(test)]
impl Applications {
    /// One application whose step takes a second, and half a second more for every doubling of the batch per GPU.
    pub(crate) fn example() -> Self {
        let curve = Curve::from([(4, (1.0, 0.5)), (8, (1.5, 0.5))]);
        let steps = BTreeMap::from([(8, vec![5.0, 100.0]), (16, vec![3.0, 60.0, 90.0])]);
        let placements = BTreeMap::from([("1".to_owned(), curve.clone()), ("24".to_owned(), curve.clone())]);
        let scalability = BTreeMap::from([((6, 24), curve)]);
        Self(BTreeMap::from([("bert".to_owned(), Application { placements, scalability, steps })]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_follow_the_rules_of_the_simulator() {
        let tables = Applications::example();
        let close = |found: Option<f64>, expected: f64| {
            assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?}");
        };
        close(tables.seconds("bert", 1, 8), 100.0 * 1.5);
        // Two passes of eight, of which only the last synchronises.
        close(tables.seconds("bert", 1, 16), 60.0 * (1.5 + 1.0));
        // Between two batch sizes, and six replicas on nodes of four and two.
        close(tables.seconds("bert", 1, 12), 80.0 * (1.25 + 0.75));
        assert_eq!(tables.seconds("bert", 6, 8), None, "nobody measured a batch of two per GPU");
        assert_eq!(
            (tables.seconds("bert", 2, 8), tables.seconds("ncf", 1, 8), tables.seconds("bert", 0, 8)),
            (None, None, None)
        );
    }
}
