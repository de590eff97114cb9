//! The metric repository: how busy GPUs are, read again and again, and told to the world, which knows whose they are.

mod nvml;

pub use nvml::NvmlGauges;

use crate::world::Mail;
use evenhand_core::{Bytes, Span};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// A name by which a GPU may be known to whoever measures it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GpuName {
    /// The driver's: `GPU-...`.
    Device(String),
    /// A number on a machine.
    On {
        /// The machine.
        host: String,
        /// The number.
        index: u8,
    },
    /// The pod that has it.
    Pod {
        /// Where the pod is.
        namespace: String,
        /// What it is called there.
        name: String,
    },
}

/// What was measured of a GPU; parts of 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gauge {
    /// Of the time in which some kernel ran.
    pub duty: f64,
    /// Of streaming multiprocessors in use, if that is measured.
    pub sm: Option<f64>,
    /// Of tensor throughput, if that is measured.
    pub tensor: Option<f64>,
    /// Of memory bandwidth, if that is measured.
    pub bandwidth: Option<f64>,
    /// Memory in use.
    pub memory: Bytes,
}

/// A GPU with all names by which it is known, and what was measured of it.
pub type Gauged = (Vec<GpuName>, Gauge);

/// Where measurements come from.
pub trait GaugeSource: Send {
    /// All GPUs as they are now; or why nothing can be read.
    fn read(&mut self) -> Result<Vec<Gauged>, String>;
}

/// Reads again and again, on a thread of its own, until nobody listens. `note` hears when it begins to fail, and when it works again.
pub fn watch_gauges(
    mut source: Box<dyn GaugeSource>,
    every: Span,
    tell: Sender<Mail>,
    note: impl Fn(&str) + Send + 'static,
) -> std::io::Result<()> {
    std::thread::Builder::new().name("gauges".to_owned()).spawn(move || {
        let mut failing = false;
        loop {
            match source.read() {
                Ok(gauges) => {
                    if std::mem::take(&mut failing) {
                        note("GPUs are measured again");
                    }
                    if tell.send(Mail::Gauges(gauges)).is_err() {
                        return;
                    }
                }
                Err(error) if !failing => {
                    failing = true;
                    note(&format!("warning: GPUs are not measured: {error}"));
                }
                Err(_) => {}
            }
            std::thread::sleep(Duration::from_millis(every.0));
        }
    })?;
    Ok(())
}
