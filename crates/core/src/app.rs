//! Apps: several jobs with one goal.

use crate::job::default;
use crate::{AgentSeat, AppId, JobId, TenantId, Time, Work};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// When an app is finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// When its first job reaches the target: the others are then of no use.
    FirstToTarget,
    /// When all its jobs have ended.
    #[default]
    AllJobs,
}

/// Several jobs with one goal, such as a hyper-parameter search; a tuner may stop some early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct App {
    /// Its number.
    pub id: AppId,
    /// What its owner calls it, if not by its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Arc<str>>,
    /// Who owns it.
    pub tenant: TenantId,
    /// When it is finished.
    pub goal: Goal,
    /// Where its agent lives.
    #[serde(default, skip_serializing_if = "default")]
    pub agent: AgentSeat,
    /// When it appeared.
    #[serde(default, skip_serializing_if = "default")]
    pub opened: Time,
    /// Its active jobs, in order of number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobId>,
    /// Its jobs that have ended, in the order of their ends, and the work that each had done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<(JobId, Work)>,
}

impl App {
    /// An app without jobs yet, with its agent inside.
    pub fn new(id: AppId, tenant: TenantId, goal: Goal) -> Self {
        Self {
            id,
            label: None,
            tenant,
            goal,
            agent: AgentSeat::Inside,
            opened: Time::ZERO,
            jobs: Vec::new(),
            ended: Vec::new(),
        }
    }
}
