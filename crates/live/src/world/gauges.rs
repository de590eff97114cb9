//! What was measured of GPUs, told of the jobs that have them.

use super::{Arrival, Running, World};
use crate::gauges::{Gauge, Gauged, GpuName};
use evenhand_core::{Bytes, Demand, Estimate, Event, Sharing};
use std::collections::BTreeMap;

/// Smaller changes of a part of 1 are not worth telling.
const PART: f64 = 0.05;

impl World {
    /// Tells what jobs were measured to ask of their GPUs, where that is news. The first measurement of a lease is not believed: jobs load
    /// data before they train. Whoever shares GPUs cannot be told from the others there.
    pub(super) fn gauge(&mut self, gauged: &[Gauged]) {
        // A pod may have several.
        let mut by_name: BTreeMap<&GpuName, Vec<&Gauge>> = BTreeMap::new();
        for (names, gauge) in gauged {
            for name in names {
                by_name.entry(name).or_default().push(gauge);
            }
        }
        let mut told = Vec::new();
        for running in self.running.values_mut().filter(|running| running.is_alone()) {
            let names = self.runner.gpu_names(&running.lease);
            let found = |ways: &Vec<GpuName>| ways.iter().find_map(|name| by_name.get(name));
            // Of some of its GPUs only, or of none, nothing can be said.
            let Some(gauges) = names.iter().map(found).collect::<Option<Vec<_>>>() else { continue };
            let gauges: Vec<&Gauge> = gauges.into_iter().flatten().copied().collect();
            if gauges.is_empty() {
                continue;
            }
            let demand = demand(&gauges);
            let Some(before) = running.gauged.last.replace(demand) else { continue };
            let mean = between(&before, &demand);
            if running.gauged.told.is_none_or(|told| is_news(&told, &mean)) {
                running.gauged.told = Some(mean);
                told.push(Event::Telemetry { lease: running.lease.id, demand: mean, slowdown: None });
            }
        }
        self.ready.extend(told.into_iter().map(Arrival::Seen));
    }
}

impl Running {
    fn is_alone(&self) -> bool {
        self.started && self.leaving.is_none() && self.lease.sharing == Sharing::Alone
    }
}

/// What was measured of one lease.
#[derive(Debug, Default)]
pub(super) struct Measured {
    last: Option<Demand>,
    told: Option<Demand>,
}

/// What a job asks of one of its GPUs: on average, and of memory the most.
fn demand(gauges: &[&Gauge]) -> Demand {
    let mean =
        |part: fn(&Gauge) -> f64| gauges.iter().map(|gauge| part(gauge)).sum::<f64>() / gauges.len() as f64;
    let memory = gauges.iter().map(|gauge| gauge.memory).max().unwrap_or(Bytes::ZERO);
    Demand {
        duty: mean(|gauge| gauge.duty),
        // Where it is not measured, whoever runs is taken to have all of the GPU.
        sm: mean(|gauge| gauge.sm.unwrap_or(gauge.duty)),
        tensor: mean(|gauge| gauge.tensor.unwrap_or(0.0)),
        bandwidth: mean(|gauge| gauge.bandwidth.unwrap_or(0.0)),
        memory: Estimate::exact(memory),
        ..Demand::default()
    }
}

fn between(before: &Demand, after: &Demand) -> Demand {
    let mean = |part: fn(&Demand) -> f64| f64::midpoint(part(before), part(after));
    Demand {
        duty: mean(|demand| demand.duty),
        sm: mean(|demand| demand.sm),
        tensor: mean(|demand| demand.tensor),
        bandwidth: mean(|demand| demand.bandwidth),
        memory: Estimate::exact(before.memory.mean.max(after.memory.mean)),
        ..Demand::default()
    }
}

fn is_news(told: &Demand, now: &Demand) -> bool {
    let parts = |demand: &Demand| [demand.duty, demand.sm, demand.tensor, demand.bandwidth];
    let memory = |demand: &Demand| demand.memory.mean.0 as f64;
    let moved = parts(told).into_iter().zip(parts(now)).any(|(told, now)| (now - told).abs() > PART);
    moved || (memory(now) - memory(told)).abs() > PART * memory(told).max(1.0)
}
