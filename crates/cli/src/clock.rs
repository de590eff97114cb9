//! The clocks of this process: for progress and benchmarks, never for decisions.

use rustix::time::{ClockId, clock_gettime};

/// Seconds on the wall clock, from some fixed instant.
pub fn wall_s() -> f64 {
    seconds(ClockId::Monotonic)
}

/// Seconds since 1970.
pub fn since_1970_s() -> f64 {
    seconds(ClockId::Realtime)
}

/// Processor time of this thread, in seconds.
pub fn thread_cpu_s() -> f64 {
    seconds(ClockId::ThreadCPUTime)
}

/// Processor time of this process so far, in seconds.
pub fn whole_cpu_s() -> f64 {
    seconds(ClockId::ProcessCPUTime)
}

/// What it costs to look at [`thread_cpu_s`], in seconds: to be taken off short measurements.
pub fn look_s() -> f64 {
    const LOOKS: u32 = 10_000;
    let before = thread_cpu_s();
    for _ in 0..LOOKS {
        std::hint::black_box(thread_cpu_s());
    }
    (thread_cpu_s() - before) / f64::from(LOOKS)
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
