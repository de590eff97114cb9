//! What it costs to put a job on a GPU.
//!
//! ```text
//! (7)   Cost    = w1 C_mem + w2 C_util + w3 |residents|     w3 = `tasks_weight`, 0: it would let an empty GPU always win
//! (8)   C_mem   = (used + own) / capacity                   0 where the capacity is not known
//! (9)   C_util  = 1.6 (u - 100) / 100 if u > 100, else (100 - u) / 100
//! (10)  u       = utilisation of the residents + own, in percent
//! ```
//!
//! Fill a GPU exactly, and pay 1.6 times as much for going over. The weights and the two slopes are those of the authors' simulator,
//! with the parentheses of (8) that it lacks.

use evenhand_core::{Demand, ParameterError, ParameterSpec, Parameters};

pub(super) const W1: ParameterSpec =
    ParameterSpec { name: "memory_weight", default: "1.3", summary: "what memory in use counts, w1" };
pub(super) const W2: ParameterSpec =
    ParameterSpec { name: "utilisation_weight", default: "1", summary: "what utilisation counts, w2" };
pub(super) const OVER: ParameterSpec = ParameterSpec {
    name: "over",
    default: "1.6",
    summary: "how much more utilisation above 100 % costs than what is missing to 100 %",
};
pub(super) const TASKS_WEIGHT: ParameterSpec = ParameterSpec {
    name: "tasks_weight",
    default: "0",
    summary: "what each job that is on the GPU already counts; 1 as in the authors' simulator",
};

/// The weights of eq. (7) and the slope of eq. (9).
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub memory: f64,
    pub utilisation: f64,
    pub over: f64,
    pub tasks: f64,
}

impl Cost {
    pub fn read(parameters: &Parameters) -> Result<Self, ParameterError> {
        Ok(Self {
            memory: parameters.number(&W1, 0.0, 1e6)?,
            utilisation: parameters.number(&W2, 0.0, 1e6)?,
            over: parameters.number(&OVER, 0.0, 1e6)?,
            tasks: parameters.number(&TASKS_WEIGHT, 0.0, 1e6)?,
        })
    }

    /// Eq. (7) for a job beside these residents on a GPU with this much memory, in bytes; 0 if that is not known.
    pub fn of(&self, own: &Demand, residents: &[Demand], capacity: u64) -> f64 {
        let bytes: u64 = residents.iter().chain([own]).map(|demand| demand.memory.mean.0).sum();
        let memory = if capacity == 0 { 0.0 } else { bytes as f64 / capacity as f64 };
        let u = 100.0 * (own.duty + residents.iter().map(|demand| demand.duty).sum::<f64>());
        let utilisation = if u > 100.0 { self.over * (u - 100.0) / 100.0 } else { (100.0 - u) / 100.0 };
        self.memory * memory + self.utilisation * utilisation + self.tasks * residents.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{Bytes, Estimate};

    const COST: Cost = Cost { memory: 1.3, utilisation: 1.0, over: 1.6, tasks: 0.0 };

    fn demand(duty: f64, gigabytes: u64) -> Demand {
        let memory = Estimate::exact(Bytes(gigabytes * 1_000_000_000));
        Demand { duty, memory, ..Demand::default() }
    }

    #[test]
    fn the_cost_is_that_of_the_paper_by_hand() {
        let capacity = 32_000_000_000;
        let cost = |own: Demand, residents: &[Demand]| COST.of(&own, residents, capacity);
        // An empty GPU: 1.3 x 8/32 + (100 - 40)/100.
        assert!((cost(demand(0.4, 8), &[]) - (0.325 + 0.6)).abs() < 1e-12);
        // Beside 50 %: 1.3 x (4 + 8)/32 + (100 - 90)/100. It is the better place.
        assert!((cost(demand(0.4, 8), &[demand(0.5, 4)]) - (0.4875 + 0.1)).abs() < 1e-12);
        // Beside 90 %: 1.3 x 12/32 + 1.6 x (130 - 100)/100.
        assert!((cost(demand(0.4, 8), &[demand(0.9, 4)]) - (0.4875 + 0.48)).abs() < 1e-12);
        // Exactly full costs its memory alone, from either side.
        assert!((cost(demand(0.5, 0), &[demand(0.5, 0)])).abs() < 1e-12);
        let counted = Cost { tasks: 1.0, ..COST };
        assert!((counted.of(&demand(0.5, 0), &[demand(0.5, 0)], 0) - 1.0).abs() < 1e-12);
    }
}
