//! The service is killed at random moments, and its jobs and their supervisors too; whatever it acknowledged comes true exactly once.
//!
//! `EVENHAND_KILLS` says how many kills under each policy, `EVENHAND_KILL_JOBS` how many jobs, `EVENHAND_KILL_POLICIES` which policies; the
//! seed is printed, and `EVENHAND_KILL_SEED` repeats the sequence of kills, though not the instants at which they hit.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod clients;
mod server;
mod verdict;

use clients::{Clients, Load};
use evenhand_core::Random;
use evenhand_live::Clock;
use server::Server;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// After so long something is stuck.
const PATIENCE: Duration = Duration::from_secs(120);

fn setting<T: std::str::FromStr>(name: &str, usual: T) -> T {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

#[test]
fn whatever_is_killed_every_acknowledged_job_ends_exactly_once() {
    let policies: String = setting("EVENHAND_KILL_POLICIES", "las".to_owned());
    for policy in policies.split(',') {
        storm(policy, setting("EVENHAND_KILLS", 20), setting("EVENHAND_KILL_JOBS", 24));
    }
}

fn storm(policy: &str, kills: u32, jobs: u32) {
    let seed = setting("EVENHAND_KILL_SEED", 1);
    let mut random = Random::stream(seed, policy);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kill-{}-{policy}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let clock = Clock::start();
    let mut server = Server::start(&folder, policy);
    let clients = Clients::start(&folder, Load { jobs, kills, seed });
    let mut counts = [0_u32; 3];
    for _ in 0..kills {
        thread::sleep(Duration::from_millis(20 + random.below(300)));
        match random.below(10) {
            0 | 1 => counts[1] += u32::from(server.kill_a_job(&mut random)),
            2 => counts[2] += u32::from(server.kill_a_supervisor(&mut random)),
            way => {
                // Some are asked to leave and save everything; the next begins from what they saved.
                match way {
                    3 => server.leave(),
                    _ => server.kill(),
                }
                thread::sleep(Duration::from_millis(random.below(150)));
                server = Server::start(&folder, policy);
                server.until_ledger_and_processes_agree(PATIENCE);
                counts[0] += 1;
            }
        }
    }
    let acknowledged = clients.finish(PATIENCE);
    assert_eq!(acknowledged.len() as u32, jobs);
    server.until_all_jobs_ended(PATIENCE);
    // Once more, so that the end is seen through a restart too.
    server.kill();
    let server = Server::start(&folder, policy);
    clients::same_keys_are_the_same_jobs(&folder, &acknowledged, Load { jobs, kills, seed });
    let verdict = verdict::of(&server.ledger(), &acknowledged);
    assert_eq!(std::fs::read_to_string(folder.join("violations")).unwrap_or_default(), "");
    assert_eq!(server.supervisors(), [], "nothing runs any more");
    let [servers, programs, supervisors] = counts;
    let told = format!(
        "{policy}, seed {seed}: {jobs} jobs, killed {servers} servers, {programs} jobs, {supervisors} supervisors; {verdict} in {:.0} s\n",
        clock.now().seconds()
    );
    // For whoever asked for more than usual.
    std::io::stderr().write_all(told.as_bytes()).unwrap();
    drop(server);
    std::fs::remove_dir_all(&folder).unwrap();
}
