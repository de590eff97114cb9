//! Partial allocation: the Nash division, of which everybody keeps the part that makes lying useless.
//!
//! ```text
//! kappa_i = ( prod_{l != i} ( u_l(X*) / u_l(X*_-i) )^pi_l )^(1/pi_i)        i is owed kappa_i of its Nash bundle
//! ```
//!
//! Truthful in both directions: no report of speedups, larger or smaller, brings more than the truth. The price is high, and
//! this page states it: everybody is owed at least 1/e and typically half of its Nash bundle, and the rest idles. Given back to
//! those who report, it would be worth a lie; `lend=true` does so all the same, and gives up the promise.

use crate::division::Dividing;
use crate::fill::PREEMPT_AT_ROUNDS;
use crate::registry::{DivideError, Entry, Promise};
use evenhand_core::ParameterSpec;
use evenhand_solve::{Division, Effort, Market, partial};

const LEND: ParameterSpec = ParameterSpec {
    name: "lend",
    default: "false",
    summary: "whether GPUs that nobody may claim go to whoever can use them",
};

pub(crate) const ENTRY: Entry = Entry {
    name: "partial-allocation",
    summary: "Part of the Nash division, so that no report of speedups pays but the truth.",
    paper: "Cole, Gkatzelis and Goel, EC 2013",
    promises: &[Promise::CarriesBalances, Promise::Truthful],
    parameters: &[PREEMPT_AT_ROUNDS, LEND],
    divide: Some(|market, _| rule(market, &Effort::default())),
    build: |parameters| {
        let lends = parameters.read(&LEND, "it is true or false")?;
        Ok(Box::new(Dividing::by(rule, parameters)?.lending(lends)))
    },
};

fn rule(market: &Market, effort: &Effort) -> Result<Division, DivideError> {
    Ok(partial(market, effort)?)
}
