//! The real world: the scheduler as a service, which runs jobs for real, against the wall clock.
//!
//! [`Service`] is the whole: it owns the engine, the [`store`] and the [`World`], in one thread. The world is one [`Backend`] for every
//! [`Runner`]; [`LocalRunner`] runs jobs as processes of this machine, each under a supervisor that outlives the server, and
//! [`SlurmRunner`] runs them in Slurm.
//!
//! [`Backend`]: evenhand_core::Backend

pub mod access;
mod account;
pub mod api;
mod array;
mod clock;
mod deadline;
mod gauges;
mod leave;
mod local;
mod old_output;
mod program;
mod promised;
mod request;
mod runner;
mod service;
pub mod shadow;
mod slurm;
pub mod store;
mod world;

pub use account::{Account, AccountError, is_root, own_user};
pub use clock::{Clock, Stopwatch, system_ms};
pub use gauges::{Gauge, GaugeSource, Gauged, GpuName, NvmlGauges, watch_gauges};
pub use leave::leave_on_signals;
pub use local::{
    ABILITIES as LOCAL_ABILITIES, Cgroups, Devices, FoundGpus, GpuError, LocalRunner, NoCgroups, SUPERVISE,
    SupervisorCommand, barred, find_gpus, output_file, supervise,
};
pub use old_output::remove_old_output;
pub use program::{PROGRAM_BYTES_MAX, Program, ProgramLimits};
pub use promised::with_promises;
pub use request::{
    Answer, Asker, Called, DEFAULT_TENANT, Found, JobVerb, Quota, Refusal, Request, TenantChange, Tried,
    Wanted, Wish, Work,
};
pub use runner::{Ending, LiveJob, Report, Runner, Seen};
pub use service::{
    DURATION_BOUNDS_US, Durations, Fleet, MakeEngine, MakeRunner, Service, ServiceConfig, ServiceError,
    Terms, Vitals,
};
pub use slurm::{ABILITIES as SLURM_ABILITIES, Log, SlurmConfig, SlurmEyes, SlurmRunner};
pub use world::{Arrival, EXPIRY_GRACE, Far, FoundNode, Mail, Readiness, Remembered, Setting, World};
