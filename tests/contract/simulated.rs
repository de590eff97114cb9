//! The contract, kept by the simulator.

use crate::suite::{Script, Stage, contract};
use evenhand_core::{Backend, NodeId, Span, Time};
use evenhand_sim::{Faults, SimJob, Workload, World};
use std::sync::Arc;

contract!(Simulated);

pub struct Simulated;

impl Stage for Simulated {
    fn world(&self, script: &Script) -> Box<dyn Backend> {
        let job = |(submit, truth, _)| SimJob::new(submit, truth);
        let mut jobs: Vec<SimJob> = script.job_list().map(job).collect();
        jobs.sort_by_key(|job| job.submit);
        let workload = Workload { jobs, tenants: Script::tenants(), ..Workload::default() };
        let nodes = script.node_list();
        let mut world = World::new(Script::models(), &nodes, Arc::new(workload), Faults::default(), 1);
        for outage in &script.outages {
            world = world.with_outage(NodeId(outage.node), Time(outage.down_ms), Time(outage.up_ms));
        }
        for (_, spec, job) in script.job_list() {
            if let Some(after) = job.crash_after_ms {
                world = world.with_crash(spec.id, Span(after));
            }
        }
        Box::new(world)
    }

    fn beat(&self) -> Span {
        Span::from_secs(1)
    }
}
