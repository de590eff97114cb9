//! The columns of apps and of losses.

use super::Cells;
use crate::traces::{Trace, TraceApp};
use crate::{Curve, InputError, tuners};
use evenhand_core::{AppId, Choice, Goal, JobSpec, Loss, TenantId, Work};
use std::collections::BTreeMap;

/// How a goal is written.
pub(in crate::traces) const GOALS: [(&str, Goal); 2] =
    [("all-jobs", Goal::AllJobs), ("first-to-target", Goal::FirstToTarget)];

/// The apps that were named so far.
#[derive(Default)]
pub(super) struct Apps {
    by_name: BTreeMap<String, (AppId, TenantId)>,
}

impl Apps {
    /// The app of a row, if it names one. What is said of an app must be the same in all its rows.
    pub fn of(
        &mut self,
        cells: &Cells<'_>,
        tenant: TenantId,
        trace: &mut Trace,
    ) -> Result<Option<AppId>, InputError> {
        let (goal, tuner) = (goal(cells)?, tuner(cells)?);
        let Some(name) = cells.text("app") else {
            let stray =
                ["app_goal", "app_tuner"].iter().find_map(|column| Some((column, cells.text(column)?)));
            return stray.map_or(Ok(None), |(column, text)| {
                Err(InputError::field(cells.line, column, text, "the job names no app it could be about"))
            });
        };
        if let Some((id, owner)) = self.by_name.get(name) {
            let app = &trace.apps[id.0 as usize];
            let other = |column: &str, value: String| {
                let allowed =
                    format!("rows above give app {name} another one; all rows of an app must agree");
                Err(InputError::field(cells.line, column, value, allowed))
            };
            if *owner != tenant {
                return other("tenant", cells.text("tenant").unwrap_or_default().to_owned());
            }
            if app.goal != goal {
                return other("app_goal", cells.text("app_goal").unwrap_or_default().to_owned());
            }
            if app.tuner != tuner {
                return other("app_tuner", tuners::text(&tuner));
            }
            return Ok(Some(*id));
        }
        let id = AppId(trace.apps.len() as u64);
        trace.apps.push(TraceApp { name: name.to_owned(), goal, tuner });
        self.by_name.insert(name.to_owned(), (id, tenant));
        Ok(Some(id))
    }
}

fn goal(cells: &Cells<'_>) -> Result<Goal, InputError> {
    let Some(text) = cells.text("app_goal") else { return Ok(Goal::default()) };
    let found = GOALS.iter().find(|(word, _)| *word == text);
    let wrong = || InputError::field(cells.line, "app_goal", text, "it is all-jobs or first-to-target");
    found.map(|(_, goal)| *goal).ok_or_else(wrong)
}

fn tuner(cells: &Cells<'_>) -> Result<Choice, InputError> {
    let text = cells.text("app_tuner").unwrap_or(tuners::DEFAULT_TUNER);
    tuners::parse(text).map_err(|error| InputError::field(cells.line, "app_tuner", text, error.to_string()))
}

/// The loss at which a job is finished.
pub(super) fn target(cells: &Cells<'_>) -> Result<Option<Loss>, InputError> {
    let number = cells.number("loss_target", 0.0, "a number of at least 0")?;
    Ok(number.and_then(|number| Loss::new(number).ok()))
}

/// The loss of a job, if the row says how it falls: all of it, or nothing.
pub(super) fn curve(cells: &Cells<'_>, spec: &JobSpec) -> Result<Option<Curve>, InputError> {
    let needed = ["loss_start", "loss_floor", "loss_scale", "loss_power", "epoch_steps"];
    if needed.iter().chain(&["loss_noise"]).all(|column| cells.text(column).is_none()) {
        return Ok(None);
    }
    let start =
        cells.needed("loss_start", 0.0, "a number of at least 0, as for every job that reports a loss")?;
    let floor =
        cells.needed("loss_floor", 0.0, "a number of at least 0, as for every job that reports a loss")?;
    if floor > start {
        let allowed = format!("it must be at most loss_start, {start}");
        return Err(InputError::field(cells.line, "loss_floor", floor, allowed));
    }
    let positive = "a number of at least 0.001, as for every job that reports a loss";
    Ok(Some(Curve {
        start,
        floor,
        scale: cells.needed("loss_scale", 0.001, positive)?,
        power: cells.needed("loss_power", 0.001, positive)?,
        epoch: Work::from_steps(cells.needed("epoch_steps", 0.001, positive)?),
        noise: cells.number("loss_noise", 0.0, "a number of at least 0")?.unwrap_or(0.0),
        limit: spec.work.unwrap_or_default(),
    }))
}

#[cfg(test)]
mod tests {
    use crate::traces::{Sides, read};

    const HEAD: &str = "job_id,submit_s,gpus,duration_s,tenant,app,app_goal,app_tuner,loss_start,loss_floor,\
        loss_scale,loss_power,epoch_steps,loss_target\n";

    fn error(rows: &str) -> String {
        let text = format!("{HEAD}{rows}");
        read(&mut text.as_bytes(), "x.csv", &Sides::default()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_with_an_app_is_told_with_its_place() {
        for (rows, says) in [
            (
                "1,0,1,9,a,x,first,,,,,,,\n",
                "line 2: app_goal is `first`, but it is all-jobs or first-to-target",
            ),
            ("1,0,1,9,a,x,,hyperdriv,,,,,,\n", "line 2: app_tuner is `hyperdriv`, but there is no tuner"),
            ("1,0,1,9,a,,,hyperdrive,,,,,,\n", "line 2: app_tuner is `hyperdrive`, but the job names no app"),
            (
                "1,0,1,9,a,x,,,,,,,,\n2,0,1,9,b,x,,,,,,,,\n",
                "line 3: tenant is `b`, but rows above give app x another",
            ),
            (
                "1,0,1,9,a,x,,hyperband,,,,,,\n2,0,1,9,a,x,,,,,,,,\n",
                "line 3: app_tuner is `none`, but rows above give app x another one",
            ),
            ("1,0,1,9,a,x,,,2,,5,1,1,\n", "line 2: loss_floor is ``, but it must be a number"),
            ("1,0,1,9,a,x,,,2,3,5,1,1,\n", "line 2: loss_floor is `3`, but it must be at most loss_start, 2"),
            (
                "1,0,1,9,a,x,,,2,1,0,1,1,\n",
                "line 2: loss_scale is `0`, but it must be a number of at least 0.001",
            ),
            ("1,0,1,9,a,x,,,2,1,5,1,1,-1\n", "line 2: loss_target is `-1`"),
        ] {
            let error = error(rows);
            assert!(error.contains(says), "{error}");
        }
    }
}
