//! What a policy promises, in the words of a report: reports know no policies.

use evenhand_policies::{POLICIES, Promise, find};
use evenhand_report::Summary;

/// The summary of a run, knowing what its policy promises. Of a policy that is not registered nothing is known.
pub fn with_promises(summary: Summary) -> Summary {
    let Ok(entry) = find(POLICIES, "policy", &summary.policy) else { return summary };
    let properties: Vec<&str> = entry.promises.iter().filter_map(|promise| property(*promise)).collect();
    let others: Vec<&str> = entry
        .promises
        .iter()
        .filter(|promise| property(**promise).is_none())
        .map(|promise| promise.name())
        .collect();
    summary.promising(&properties, &others)
}

/// The property of a division that is promised, if it is one.
fn property(promise: Promise) -> Option<&'static str> {
    match promise {
        Promise::EnvyFree => Some("envy_free"),
        Promise::SharingIncentive => Some("sharing_incentive"),
        Promise::ParetoEfficient => Some("pareto"),
        Promise::EqualThroughput => Some("equal_throughput"),
        // Work-conserving is not "nothing wasted": gangs that do not fit leave GPUs idle, and a division knows of none.
        Promise::WorkConserving
        | Promise::NeverPreempts
        | Promise::CarriesBalances
        | Promise::InflationProof
        | Promise::Truthful => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_fairness::division::PROPERTIES;

    #[test]
    fn every_property_that_is_promised_is_registered() {
        let promises = POLICIES.iter().flat_map(|entry| entry.promises);
        for name in promises.filter_map(|promise| property(*promise)) {
            assert!(PROPERTIES.iter().any(|property| property.name == name), "{name}");
        }
    }
}
