//! Measurements by the driver of this machine.

use super::{Gauge, GaugeSource, Gauged, GpuName};
use crate::local::{GpuError, open_driver};
use evenhand_core::Bytes;
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

/// Asks the driver.
#[derive(Debug)]
pub struct NvmlGauges(Nvml);

impl NvmlGauges {
    /// The driver of this machine, if there is one.
    pub fn open() -> Result<Self, GpuError> {
        Ok(Self(open_driver()?))
    }

    fn one(&self, index: u32) -> Result<Gauged, NvmlError> {
        let device = self.0.device_by_index(index)?;
        let (busy, memory) = (device.utilization_rates()?, device.memory_info()?);
        let gauge = Gauge {
            duty: f64::from(busy.gpu) / 100.0,
            // The driver's figure for memory is a part of time too: of that in which some of it was read or written.
            bandwidth: Some(f64::from(busy.memory) / 100.0),
            memory: Bytes(memory.used),
            ..Gauge::default()
        };
        Ok((vec![GpuName::Device(device.uuid()?)], gauge))
    }
}

impl GaugeSource for NvmlGauges {
    fn read(&mut self) -> Result<Vec<Gauged>, String> {
        let all = self.0.device_count().and_then(|count| (0..count).map(|index| self.one(index)).collect());
        all.map_err(|error: NvmlError| error.to_string())
    }
}
