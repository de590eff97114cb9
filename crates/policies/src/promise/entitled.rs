//! What everybody is entitled to: a part of the GPUs for each job, for each app, or for each tenant.
//!
//! ```text
//! between jobs       x_k = min(G_k, l w_k G_k)                       k: jobs of one weight, G_k the GPUs they ask for
//! between apps       x_a = min(G_a, l w_a)                           a job without an app is one by itself
//! between tenants    x_t = min(d_t, max(f_t, l w_t)) ,  d_t = min(limit_t, what t and those in it ask for) ,  f_t = min(guaranteed_t, d_t)
//!                    by groups: what a group is given is divided in the same way among those in it
//! ```

use evenhand_core::{AppId, GpuCount, PerModel, Tenant, TenantId, Tenants};
use evenhand_fairness::water_fill;

/// Whom promises are between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Between {
    /// Every job is promised the same, times the weight of its tenant.
    Jobs,
    /// Every app is promised the same, times the weight of its tenant, and to be done as a whole. A job without an app is one by itself.
    Apps,
    /// Every tenant is promised the same, times its weight within its group, and divides it equally among its jobs.
    Tenants,
}

/// Jobs that progress alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Party {
    /// Jobs whose tenants have this weight, by its bits.
    Weight(u64),
    /// Jobs of one gang without an app, whose tenants have this weight.
    Alone(u64, u32),
    /// Those of an app.
    App(AppId),
    /// Those of a tenant.
    Tenant(TenantId),
}

/// What a party asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub party: Party,
    /// A tenant in it.
    pub tenant: TenantId,
    pub jobs: usize,
    /// All gangs together.
    pub gpus: f64,
}

/// What parties are entitled to.
pub(super) struct Entitled<'a> {
    tenants: &'a Tenants,
    between: Between,
}

impl<'a> Entitled<'a> {
    pub fn new(tenants: &'a Tenants, between: Between) -> Self {
        Self { tenants, between }
    }

    /// Whether an app is promised to be done as a whole.
    pub fn is_between_apps(&self) -> bool {
        self.between == Between::Apps
    }

    /// With whom a job progresses alike.
    pub fn party(&self, tenant: TenantId, app: Option<AppId>, gang: u32) -> Party {
        let weight = || self.tenants.weight(tenant).get().to_bits();
        match (self.between, app) {
            (Between::Jobs, _) => Party::Weight(weight()),
            (Between::Apps, Some(app)) => Party::App(app),
            (Between::Apps, None) => Party::Alone(weight(), gang),
            (Between::Tenants, _) => Party::Tenant(tenant),
        }
    }

    /// GPUs for each party.
    pub fn shares(&self, asked: &[Asked], gpus: f64) -> Vec<f64> {
        if self.between == Between::Tenants {
            let mut shares = vec![0.0; asked.len()];
            let everybody: Vec<usize> = (0..asked.len()).collect();
            self.divide(None, &everybody, asked, gpus, &mut shares);
            return shares;
        }
        let claim = |asked: &Asked| {
            let parts = match asked.party {
                Party::App(_) => 1.0,
                Party::Alone(..) => asked.jobs as f64,
                Party::Weight(_) | Party::Tenant(_) => asked.gpus.max(1e-9),
            };
            (self.tenants.weight(asked.tenant).get() * parts, asked.gpus)
        };
        water_fill(&asked.iter().map(claim).collect::<Vec<_>>(), gpus)
    }

    /// Divides what a group has among those in it, and what a group in it has among its own.
    fn divide(
        &self,
        group: Option<TenantId>,
        within: &[usize],
        asked: &[Asked],
        gpus: f64,
        shares: &mut [f64],
    ) {
        let mut children: Vec<(Option<TenantId>, Vec<usize>)> = Vec::new();
        for at in within {
            let child = self.child(group, asked[*at].tenant);
            match children.iter_mut().find(|(known, _)| *known == child) {
                Some((_, list)) => list.push(*at),
                None => children.push((child, vec![*at])),
            }
        }
        let parties: Vec<Claim> =
            children.iter().map(|(child, list)| self.claim(*child, list, asked)).collect();
        for ((child, list), share) in children.iter().zip(fill(&parties, gpus)) {
            match (child, &list[..]) {
                (None, only) => only.iter().for_each(|at| shares[*at] = share / only.len() as f64),
                (Some(_), _) => self.divide(*child, list, asked, share, shares),
            }
        }
    }

    /// Through whom a tenant belongs to a group; `None` if it is the group itself, whose own jobs are one of those in it.
    fn child(&self, group: Option<TenantId>, tenant: TenantId) -> Option<TenantId> {
        let lineage: Vec<TenantId> = self.tenants.lineage(tenant).map(|tenant| tenant.id).collect();
        let at = group.map_or(lineage.len(), |group| {
            lineage.iter().position(|id| *id == group).unwrap_or(lineage.len())
        });
        at.checked_sub(1).and_then(|at| lineage.get(at)).copied()
    }

    fn claim(&self, child: Option<TenantId>, within: &[usize], asked: &[Asked]) -> Claim {
        let gpus: f64 = within.iter().map(|at| asked[*at].gpus).sum();
        let tenant = child.and_then(|child| self.tenants.get(child));
        let sum = |quota: PerModel<GpuCount>| quota.0.iter().map(|gpus| f64::from(gpus.0)).sum::<f64>();
        let limit = tenant.and_then(|tenant| tenant.limit).map_or(f64::INFINITY, sum);
        let floor = tenant.and_then(|tenant| tenant.guaranteed).map_or(0.0, sum);
        let demand = gpus.min(limit);
        let weight = tenant.map_or(1.0, |tenant: &Tenant| tenant.weight.get());
        Claim { weight, demand, floor: floor.min(demand) }
    }
}

/// What a party may ask for.
struct Claim {
    weight: f64,
    demand: f64,
    /// What it can always have.
    floor: f64,
}

/// Weighted max-min shares in which nobody is below its floor, unless all floors together are too much.
fn fill(parties: &[Claim], gpus: f64) -> Vec<f64> {
    let floors: f64 = parties.iter().map(|party| party.floor).sum();
    let scale = if floors > gpus { gpus / floors } else { 1.0 };
    let mut fixed: Vec<Option<f64>> = vec![None; parties.len()];
    loop {
        let open: Vec<usize> = (0..parties.len()).filter(|at| fixed[*at].is_none()).collect();
        let rest = gpus - fixed.iter().flatten().sum::<f64>();
        let claims: Vec<(f64, f64)> =
            open.iter().map(|at| (parties[*at].weight, parties[*at].demand)).collect();
        let shares = water_fill(&claims, rest.max(0.0));
        let below =
            open.iter().zip(&shares).filter(|(at, share)| **share < scale * parties[**at].floor - 1e-9);
        let below: Vec<usize> = below.map(|(at, _)| *at).collect();
        if below.is_empty() {
            for (at, share) in open.into_iter().zip(shares) {
                fixed[at] = Some(share);
            }
            return fixed.into_iter().flatten().collect();
        }
        for at in below {
            fixed[at] = Some(scale * parties[at].floor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::Weight;

    fn quota(gpus: u32) -> PerModel<GpuCount> {
        let mut quota = PerModel::all(GpuCount::ZERO);
        quota.0[0] = GpuCount(gpus);
        quota
    }

    fn asks(id: u32, gpus: f64) -> Asked {
        Asked { party: Party::Tenant(TenantId(id)), tenant: TenantId(id), jobs: 1, gpus }
    }

    #[test]
    fn an_app_has_as_much_as_a_job_without_one_however_many_are_in_it() {
        let tenants = Tenants::default();
        let entitled = Entitled::new(&tenants, Between::Apps);
        let asked = [
            Asked { party: Party::App(AppId(0)), tenant: TenantId(0), jobs: 40, gpus: 40.0 },
            Asked { party: entitled.party(TenantId(0), None, 8), tenant: TenantId(0), jobs: 2, gpus: 16.0 },
            Asked { party: entitled.party(TenantId(0), None, 1), tenant: TenantId(0), jobs: 3, gpus: 3.0 },
        ];
        // The three take one each; the app and the two gangs have an equal part of the others.
        let shares = entitled.shares(&asked, 18.0);
        assert!(
            shares.iter().zip([5.0, 10.0, 3.0]).all(|(one, other)| (one - other).abs() < 1e-9),
            "{shares:?}"
        );
    }

    #[test]
    fn groups_divide_what_they_have_and_quotas_hold() {
        let tenant = |id: u32, parent: Option<u32>| Tenant {
            parent: parent.map(TenantId),
            ..Tenant::new(TenantId(id), &id.to_string())
        };
        let mut tenants = Tenants::default();
        // A group of weight 3 with two members, and a tenant on its own.
        tenants.put(Tenant { weight: Weight::new(3.0).unwrap(), ..tenant(0, None) });
        for row in [tenant(1, Some(0)), tenant(2, Some(0)), tenant(3, None)] {
            tenants.put(row);
        }
        let asked = [1, 2, 3].map(|id| asks(id, 100.0));
        let shares = |tenants: &Tenants| Entitled::new(tenants, Between::Tenants).shares(&asked, 16.0);
        assert_eq!(shares(&tenants), [6.0, 6.0, 4.0]);
        tenants.put(Tenant { limit: Some(quota(2)), ..tenant(1, Some(0)) });
        assert_eq!(shares(&tenants), [2.0, 10.0, 4.0]);
        tenants.put(Tenant { guaranteed: Some(quota(10)), ..tenant(3, None) });
        assert_eq!(shares(&tenants), [2.0, 4.0, 10.0]);
    }

    #[test]
    fn the_jobs_of_a_group_itself_are_one_of_those_in_it() {
        let mut tenants = Tenants::default();
        tenants.put(Tenant::new(TenantId(0), "group"));
        tenants.put(Tenant { parent: Some(TenantId(0)), ..Tenant::new(TenantId(1), "member") });
        let asked = [asks(0, 8.0), asks(1, 8.0)];
        assert_eq!(Entitled::new(&tenants, Between::Tenants).shares(&asked, 8.0), [4.0, 4.0]);
    }
}
