//! Pages of many runs: means over seeds, runs that were not kept, sweeps of parameters.

#[expect(dead_code, reason = "most of the story is for other tests")]
mod story;

use evenhand_core::Parameters;
use evenhand_report::{Average, Costs, DRAWN_MAX, Report, Summary, groups, html_with};
use story::{report, two_tenants};

/// A run of this policy that differs from the story of two tenants in what it says of itself.
fn run(of: &Report, policy: &str, set: &[(&str, &str)], seed: u64, jct_mean_s: f64) -> Summary {
    let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let parameters = Parameters(set.collect());
    Summary { policy: policy.into(), parameters, seed, jct_mean_s, ..of.summary(&Costs::default()) }
}

#[test]
fn runs_that_differ_in_nothing_but_their_seeds_are_one_row() {
    let kept = report(&two_tenants());
    let runs = [
        run(&kept, "las", &[], 1, 100.0),
        run(&kept, "las", &[], 2, 140.0),
        run(&kept, "fifo", &[], 1, 200.0),
        run(&kept, "fifo", &[("backfill", "true")], 1, 150.0),
        run(&kept, "fifo", &[], 2, 200.0),
    ];
    let all: Vec<&Summary> = runs.iter().collect();
    assert_eq!(groups(&all), [vec![0, 1], vec![2, 4], vec![3]]);
    let page = html_with("seeds", &all, &[(&kept, &runs[0]), (&kept, &runs[2]), (&kept, &runs[3])]);
    // 100 and 140 s are 120 s on average, give or take 12.7 times 20 s.
    let average = Average::of([100.0, 140.0]);
    assert!((average.half - 12.7062 * 20.0).abs() < 1e-6);
    assert!(page.contains(">2 min<") && page.contains("± 4.2 min"));
    assert!(page.contains("means over up to 2 seeds") && page.contains("those of seed 1"));
    assert_eq!(page.matches("<details>").count(), 3, "one run of each row is told");
    assert!(!page.contains("<h2>Sweep</h2>") && !page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn one_seed_says_nothing_of_chance() {
    let kept = report(&two_tenants());
    let runs = [run(&kept, "las", &[], 1, 100.0), run(&kept, "fifo", &[], 1, 140.0)];
    let page = html_with("one", &[&runs[0], &runs[1]], &[(&kept, &runs[0]), (&kept, &runs[1])]);
    assert!(!page.contains('±') && !page.contains("those of seed"));
}

#[test]
fn a_sweep_is_drawn_with_a_line_for_each_value_of_the_second_parameter() {
    let kept = report(&two_tenants());
    let mut runs = Vec::new();
    for f in ["0", "0.5", "1"] {
        for lease in ["5m", "1h"] {
            for seed in [1, 2] {
                runs.push(run(&kept, "themis", &[("f", f), ("lease", lease)], seed, 100.0 * seed as f64));
            }
        }
    }
    let page = html_with("sweep", &runs.iter().collect::<Vec<_>>(), &[]);
    let from = page.find("<h2>Sweep</h2>").expect("there is a sweep");
    let section = &page[from..page.find("<h2>Fast and fair</h2>").expect("it comes before the scatter")];
    assert_eq!(section.matches("<figure>").count(), 4);
    assert_eq!(section.matches("<circle").count(), 4 * 6);
    // Nothing but the mean completion differs between the seeds.
    assert_eq!(section.matches("line thin").count(), 6);
    assert!(section.find("lease=5m") < section.find("lease=1h"), "times are in order");
}

#[test]
fn rows_beyond_what_can_be_told_apart_are_only_counted() {
    let kept = report(&two_tenants());
    let values: Vec<String> = (0..=DRAWN_MAX).map(|at| at.to_string()).collect();
    let runs: Vec<Summary> = values.iter().map(|value| run(&kept, "a", &[("x", value)], 1, 1.0)).collect();
    let all: Vec<&Summary> = runs.iter().collect();
    let drawn: Vec<(&Report, &Summary)> = runs.iter().map(|run| (&kept, run)).collect();
    let page = html_with("many", &all, &drawn);
    assert_eq!(page.matches("<details>").count(), DRAWN_MAX);
    assert!(page.contains("of the first 40 rows"));
}
