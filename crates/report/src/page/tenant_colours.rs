//! Which colour each tenant has, the same in all figures of a run.

use super::parts::areas_legend;
use super::plot::COLOURS;
use crate::report::Report;

/// The tenants that have a colour of their own; all others share the last one, a grey.
pub struct TenantColours {
    /// The places of tenants, those that held the most GPU-hours; by place.
    pub named: Vec<usize>,
    /// How many tenants share the grey.
    others: usize,
}

impl TenantColours {
    /// Gives the colours of a run to those who held the most GPU-hours.
    pub fn new(report: &Report) -> Self {
        let rows = report.book.standings.rows();
        let mut named: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].jobs > 0).collect();
        let hours = |at: &usize| report.shares.total(*at).received_gpu_hours;
        named.sort_by(|a, b| hours(b).total_cmp(&hours(a)).then(a.cmp(b)));
        let others = named.len().saturating_sub(COLOURS - 1);
        named.truncate(COLOURS - 1);
        named.sort_unstable();
        Self { named, others }
    }

    /// The class of a tenant in the style sheet.
    pub fn class(&self, tenant: usize) -> String {
        let colour = self.named.iter().position(|at| *at == tenant).unwrap_or(COLOURS - 1);
        format!("c{colour}")
    }

    /// The legend of all colours in use.
    pub fn legend(&self, report: &Report) -> String {
        let rows = report.book.standings.rows();
        let others = match self.others {
            0 => None,
            1 => Some("1 other tenant".to_owned()),
            count => Some(format!("{count} other tenants")),
        };
        let named = self.named.iter().map(|at| (self.class(*at), rows[*at].name.as_str()));
        areas_legend(named.chain(others.as_deref().map(|name| (self.class(usize::MAX), name))))
    }
}
