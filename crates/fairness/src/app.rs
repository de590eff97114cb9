//! Finish-time fairness of apps: how long an app takes against what a private part of the cluster would have taken
//! (Mahajan et al., Themis, NSDI 2020).
//!
//! ```text
//! rho        = T_sh / T_id
//! T_sh       = time from the app's start to its finish, met or foretold
//! T_id       = T(M) N                as printed: the whole cluster's time, N times over
//!            or T(M / N)             on a private part of it: the same if the app can use all M GPUs, else smaller
//! T(G)       = max( max_j t_j ,  sum_j t_j g_j / min(G, sum_j g_j) )          goal: all jobs
//!              min_j t_j max(1, g_j / G)                                      goal: the first job
//! ```
//!
//! M GPUs in the cluster, N the mean number of apps while the app lived, t_j the time of job j alone on its gang of g_j
//! GPUs in one place. T(G) is what G GPUs of its own would take an app at least: no shorter than its longest job, and
//! no shorter than its GPU-time spread over the GPUs that it can use.

use evenhand_core::Goal;

/// A job of an app: all of it, or what is left of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AppJob {
    /// Seconds alone on its gang, in one place.
    pub alone_s: f64,
    /// GPUs of its gang.
    pub gang: f64,
}

/// What the ideal of an app is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ideal {
    /// As printed: the whole cluster's time, as many times over as there are apps.
    Paper,
    /// The time on a private part of the cluster.
    Share,
}

/// T(G): seconds that these jobs take on `gpus` GPUs of their own, at least. Infinite without GPUs, zero without jobs.
pub fn app_seconds(goal: Goal, jobs: &[AppJob], gpus: f64) -> f64 {
    let gpu_seconds: f64 = jobs.iter().map(|job| job.alone_s * job.gang).sum();
    if gpu_seconds <= 0.0 {
        return 0.0;
    }
    match goal {
        Goal::AllJobs => {
            let longest = jobs.iter().map(|job| job.alone_s).fold(0.0, f64::max);
            let demand: f64 = jobs.iter().map(|job| job.gang).sum();
            longest.max(gpu_seconds / gpus.min(demand))
        }
        Goal::FirstToTarget => {
            let alone = |job: &AppJob| job.alone_s * (job.gang / gpus).max(1.0);
            jobs.iter().map(alone).fold(f64::INFINITY, f64::min)
        }
    }
}

/// T_id: seconds that these jobs should take in a cluster of `gpus` GPUs that `apps_mean` apps share.
pub fn ideal_seconds(ideal: Ideal, goal: Goal, jobs: &[AppJob], gpus: f64, apps_mean: f64) -> f64 {
    let apps = apps_mean.max(1.0);
    match ideal {
        Ideal::Paper => app_seconds(goal, jobs, gpus) * apps,
        Ideal::Share => app_seconds(goal, jobs, gpus / apps),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    fn jobs(jobs: &[(f64, f64)]) -> Vec<AppJob> {
        jobs.iter().map(|(alone_s, gang)| AppJob { alone_s: *alone_s, gang: *gang }).collect()
    }

    #[test]
    fn an_app_takes_as_long_as_its_longest_job_or_its_gpu_time() {
        let app = jobs(&[(100.0, 1.0), (300.0, 2.0)]);
        close(app_seconds(Goal::AllJobs, &app, 64.0), 300.0);
        close(app_seconds(Goal::AllJobs, &app, 2.0), 350.0);
        close(app_seconds(Goal::AllJobs, &app, 1.0), 700.0);
        close(app_seconds(Goal::FirstToTarget, &app, 1.0), 100.0);
        close(app_seconds(Goal::FirstToTarget, &app, 0.5), 200.0);
        close(app_seconds(Goal::AllJobs, &[], 4.0), 0.0);
        assert!(app_seconds(Goal::AllJobs, &app, 0.0).is_infinite());
    }

    #[test]
    fn the_printed_ideal_is_lenient_towards_apps_with_a_small_demand() {
        let (small, large) = (jobs(&[(100.0, 2.0)]), jobs(&[(100.0, 16.0)]));
        for app in [&small, &large] {
            close(ideal_seconds(Ideal::Paper, Goal::AllJobs, app, 16.0, 4.0), 400.0);
        }
        close(ideal_seconds(Ideal::Share, Goal::AllJobs, &large, 16.0, 4.0), 400.0);
        // Its part of the cluster is four GPUs, and it can only use two: nobody is in its way.
        close(ideal_seconds(Ideal::Share, Goal::AllJobs, &small, 16.0, 4.0), 100.0);
    }
}
