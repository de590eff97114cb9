//! Writes a workload as a native trace.

use crate::{ClusterSpec, Workload};
use evenhand_core::ModelIndex;
use std::io::{self, Write};

/// Writes a workload as a native trace, with the speeds it has on the models of this cluster.
pub fn write_native(workload: &Workload, cluster: &ClusterSpec, to: &mut dyn Write) -> io::Result<()> {
    write!(to, "job_id,submit_s,gpus,duration_s,tenant")?;
    let mixed = cluster.models.len() > 1;
    for model in cluster.models.iter().filter(|_| mixed) {
        write!(to, ",speed:{}", model.name)?;
    }
    writeln!(to)?;
    for job in &workload.jobs {
        let spec = &job.truth;
        let reference = spec.speed(ModelIndex(0)).get();
        let duration = spec.work.map_or(0.0, |work| work.steps() / reference);
        let tenant = workload.tenants.get(spec.tenant.index()).map_or("", |tenant| tenant.name.as_str());
        write!(to, "{},{},{},{duration},{tenant}", spec.name(), job.submit.seconds(), spec.gpus.min.0)?;
        for model in (0..cluster.models.len() as u16).filter(|_| mixed) {
            write!(to, ",{}", spec.speed(ModelIndex(model)).get() / reference)?;
        }
        writeln!(to)?;
    }
    to.flush()
}
