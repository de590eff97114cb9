//! Why a job ran when it did, in plain words, from the ledger alone.

use crate::page::text::{amount, duration};
use evenhand_core::{
    Ahead, AppId, Auction, Command, EndCause, Event, GpuCount, JobId, JobSpec, Lease, LeaseId, ModelIndex,
    NodeId, Note, Outcome, Party, Promised, Rate, Record, Round, Time, Work,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What people call a party.
pub fn party_name(party: Party) -> String {
    match party {
        Party::Tenant(tenant) => format!("tenant {}", tenant.0),
        Party::App(app) => format!("app {}", app.0),
        Party::Job(job) => format!("job {}", job.0),
        Party::TenantClass(tenant, class) => format!("tenant {}, class {}", tenant.0, class.0),
    }
}

/// One line of an explanation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// When, in seconds since the start.
    pub at_s: f64,
    /// What happened, and why.
    pub text: String,
    /// How many lines of this kind it stands for: the last of them is told.
    pub times: u64,
    #[serde(skip)]
    kind: Kind,
}

/// Lines of one kind that follow each other are told once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Own,
    Lost,
    NotAsked,
    Ahead,
    Promised,
    Before,
}

/// What a ledger says of one job.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The job.
    pub job: JobId,
    /// What happened to it, in order.
    pub lines: Vec<Line>,
    #[serde(skip)]
    spec: Option<Arc<JobSpec>>,
    #[serde(skip)]
    befores: BTreeSet<JobId>,
    #[serde(skip)]
    lease: Option<(LeaseId, Time)>,
    /// The names of the GPU models, and the model of each node.
    #[serde(skip)]
    models: Vec<Arc<str>>,
    #[serde(skip)]
    nodes: BTreeMap<NodeId, ModelIndex>,
    #[serde(skip)]
    ended: bool,
    #[serde(skip)]
    known: bool,
}

impl Explanation {
    /// Nothing is known of the job yet.
    pub fn new(job: JobId) -> Self {
        let (lines, befores) = (Vec::new(), BTreeSet::new());
        let (models, nodes) = (Vec::new(), BTreeMap::new());
        Self { job, lines, spec: None, befores, lease: None, models, nodes, ended: false, known: false }
    }

    fn app(&self) -> Option<AppId> {
        self.spec.as_ref()?.app
    }

    /// Whether the ledger knows the job.
    pub fn is_known(&self) -> bool {
        self.known
    }

    /// Takes one record in, in the order of the ledger.
    pub fn take(&mut self, record: &Record) {
        if self.ended {
            return;
        }
        self.event(record.now, &record.event);
        if !self.known {
            return;
        }
        if let Some(decision) = &record.decision
            && let Some(auction) = &decision.auction
        {
            self.auction(record.now, decision.round, auction);
        }
        if let Some(decision) = &record.decision
            && let Some(ahead) = &decision.ahead
        {
            self.ahead(record.now, decision.round, ahead);
        }
        let promises = record.decision.iter().flat_map(|decision| &decision.promises);
        if let Some(promised) = promises.into_iter().find(|promised| promised.job == self.job) {
            self.promised(record.now, promised);
        }
        for note in &record.notes {
            if let Note::Waits { job, reason } = note
                && *job == self.job
            {
                self.say(record.now, format!("waits: {}", reason.sentence()));
            }
            if let Note::Forsaken { job, by, outcome } = note
                && *job == self.job
            {
                let how = outcome.past();
                self.say(
                    record.now,
                    format!("{by} {how}, and this one was to run only after it had ended well"),
                );
                self.befores.clear();
            }
            if let Note::BidRefused { app, reason } = note
                && Some(*app) == self.app()
            {
                self.say(record.now, format!("the bid of its app was refused: {reason}"));
            }
        }
        for command in &record.commands {
            self.command(record.now, command);
        }
    }

    fn event(&mut self, now: Time, event: &Event) {
        match event {
            Event::Submitted(spec) if spec.id == self.job && !self.known => {
                (self.known, self.spec) = (true, Some(spec.clone()));
                self.befores = spec.befores().collect();
                self.say(now, submitted(now, spec));
            }
            Event::LeaseStarted(lease) if self.holds(*lease) => self.say(now, "runs".into()),
            Event::LeaseEnded { lease, cause, .. } if self.holds(*lease) => {
                let held = self.lease.take().map_or(0.0, |(_, since)| now.since(since).seconds());
                let why = match cause {
                    EndCause::Finished { .. } => "its work is done",
                    EndCause::Stopped => "it has stopped",
                    EndCause::Crashed => "it crashed",
                    EndCause::OutOfMemory => "it ran out of memory beside others",
                    EndCause::NodeLost => "a node was lost",
                    EndCause::Expired => "it was not renewed in time",
                };
                self.say(now, format!("gives its GPUs back after {}: {why}", duration(held)));
            }
            Event::ModelAdded(model) => self.models.push(model.name.as_str().into()),
            Event::NodeUp(node) => {
                self.nodes.insert(node.id, node.model);
            }
            Event::Held(job) if *job == self.job => self.say(now, "is put on hold".into()),
            Event::Released(job) if *job == self.job => self.say(now, "may go on".into()),
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.spec.as_ref()?.deadline
    }

    /// Whether an expected finish is before the deadline, in words.
    fn against(&self, expected: Time, at_most: Time) -> &'static str {
        match self.deadline() {
            None => "",
            Some(by) if at_most <= by => ", before its deadline",
            Some(by) if expected <= by => ", perhaps after its deadline",
            Some(_) => ", after its deadline",
        }
    }

    /// Adds how a job that has not ended stands to its deadline, now that so much of it is done.
    pub fn hold_to_deadline(&mut self, now: Time, done: Work) {
        let Some((spec, by)) = self.spec.as_ref().and_then(|spec| Some((spec, spec.deadline?))) else {
            return;
        };
        if self.ended {
            return;
        }
        let left = duration(by.since(now).seconds());
        let speed = spec.speed_row().values().map(Rate::get).fold(0.0, f64::max);
        let needs =
            spec.work.filter(|_| speed > 0.0).map(|work| (work.steps() - done.steps()).max(0.0) / speed);
        let text = match needs {
            _ if by <= now => {
                format!("its deadline passed {} ago: it is missed", duration(now.since(by).seconds()))
            }
            None => format!("{left} to its deadline; how long it takes is not known"),
            Some(needs) if needs > by.since(now).seconds() => {
                format!(
                    "{left} to its deadline, and {} of work at its declared speed: it will be missed",
                    duration(needs)
                )
            }
            Some(needs) if self.lease.is_some() => {
                format!(
                    "{left} to its deadline, and {} of work at its declared speed: it is met if it runs on",
                    duration(needs)
                )
            }
            Some(needs) => {
                format!(
                    "{left} to its deadline, and {} of work at its declared speed once it runs",
                    duration(needs)
                )
            }
        };
        self.add_line(now, text);
    }

    /// Adds a line that is not in the ledger.
    pub fn add_line(&mut self, at: Time, text: String) {
        self.say(at, text);
    }

    fn holds(&self, lease: LeaseId) -> bool {
        self.lease.is_some_and(|(held, _)| held == lease)
    }

    fn command(&mut self, now: Time, command: &Command) {
        match command {
            Command::Start(lease) if lease.job == self.job => self.start(now, lease),
            Command::Stop { lease, reason, .. } if self.holds(*lease) => {
                self.say(now, format!("is asked to stop: {}", reason.sentence()));
            }
            Command::End { job, outcome, .. } if self.befores.remove(job) && *job != self.job => {
                let rest = if self.befores.is_empty() { "; it waits for no other job" } else { "" };
                let text = format!("{job} {}{rest}", outcome.past());
                self.add(Line { at_s: now.seconds(), text, times: 1, kind: Kind::Before });
            }
            Command::End { job, outcome, attained } if *job == self.job => {
                let how = match outcome {
                    Outcome::Finished => "finished",
                    Outcome::Failed => "failed",
                    Outcome::Cancelled => "cancelled",
                    Outcome::Retired => "retired by its tuner",
                };
                let kept = self.deadline().map_or_else(String::new, |by| match outcome {
                    Outcome::Finished if now <= by => ", before its deadline".to_owned(),
                    Outcome::Finished => {
                        format!(", {} after its deadline", duration(now.since(by).seconds()))
                    }
                    _ => String::new(),
                });
                self.say(now, format!("{how}, with {} GPU-hours{kept}", amount(attained.hours())));
                self.ended = true;
            }
            _ => {}
        }
    }

    fn start(&mut self, now: Time, lease: &Lease) {
        self.lease = Some((lease.id, now));
        let (gpus, nodes) =
            (many(lease.gpus.count().0, "GPU"), many(lease.gpus.seats().len() as u32, "node"));
        let until = duration(lease.expires.since(now).seconds());
        let (models, why) = (self.models_of(lease), lease.reason.sentence());
        self.say(now, format!("is given {gpus}{models} on {nodes} for {until}: {why}"));
    }

    /// Of which models the GPUs of a lease are, where there are several.
    fn models_of(&self, lease: &Lease) -> String {
        if self.models.len() < 2 {
            return String::new();
        }
        let of = lease.gpus.seats().iter().filter_map(|seat| self.nodes.get(&seat.node));
        let found: BTreeSet<ModelIndex> = of.copied().collect();
        let names: Vec<&str> =
            found.iter().filter_map(|model| Some(&**self.models.get(usize::from(model.0))?)).collect();
        if names.is_empty() { String::new() } else { format!(" ({})", names.join(" and ")) }
    }

    fn auction(&mut self, now: Time, round: Round, auction: &Auction) {
        let own = self.app().map_or(Party::Job(self.job), Party::App);
        let Some((kind, text)) = verdict(own, round, auction) else { return };
        // A job that has GPUs need not hear what its app got or did not get on top.
        if self.lease.is_some() {
            return;
        }
        self.add(Line { at_s: now.seconds(), text, times: 1, kind });
    }

    /// What the job was promised, and what it waits for.
    fn promised(&mut self, now: Time, promised: &Promised) {
        let within = |at: Time| duration(at.since(now).seconds());
        let by = if promised.by > now {
            format!("promised within {} (its fair share alone would have it done then)", within(promised.by))
        } else {
            "its fair share would have it done by now".to_owned()
        };
        let (least, most) = (within(promised.expected), within(promised.at_most));
        let expected = if least == most { least } else { format!("{least} to {most}") };
        let waits = match promised.behind {
            0 => String::new(),
            jobs => {
                let (jobs, hold) = (many(jobs, "job"), if jobs == 1 { "holds" } else { "hold" });
                let until = within(promised.until);
                format!("; waits because {jobs} {hold} the GPUs that it could use, for another {until} or so")
            }
        };
        let text = format!(
            "{by}; expected in {expected}{}{waits}",
            self.against(promised.expected, promised.at_most)
        );
        self.add(Line { at_s: now.seconds(), text, times: 1, kind: Kind::Promised });
    }

    /// When a job without GPUs is to run, as far as is planned; of a job that was planned before and is not named, nothing is.
    fn ahead(&mut self, now: Time, round: Round, ahead: &Ahead) {
        if self.lease.is_some() {
            return;
        }
        let foreseen = ahead.of(self.job);
        let first = foreseen.and_then(|foreseen| foreseen.turns.first());
        if first.is_some_and(|turns| turns.first == 0) {
            return;
        }
        let turn = first.map_or_else(
            || format!("has no turn for it in the next {} rounds", ahead.rounds),
            |turns| format!("has it run {} rounds from now", turns.first),
        );
        let done = foreseen.map_or_else(String::new, |foreseen| {
            format!(", and done in {}", duration(foreseen.finish.since(now).seconds()))
        });
        let text = format!("round {}: the plan ahead {turn}{done}", round.0);
        self.add(Line { at_s: now.seconds(), text, times: 1, kind: Kind::Ahead });
    }

    /// Adds a line, or puts it in the place of one of its kind.
    fn add(&mut self, line: Line) {
        let kind = line.kind;
        match self.lines.last_mut() {
            Some(last) if last.kind == kind && kind != Kind::Own => {
                *last = Line { times: last.times + 1, ..line };
            }
            _ => self.lines.push(line),
        }
    }

    fn say(&mut self, now: Time, text: String) {
        self.lines.push(Line { at_s: now.seconds(), text, times: 1, kind: Kind::Own });
    }
}

/// What was asked for, in a line.
fn submitted(now: Time, spec: &JobSpec) -> String {
    let app = spec.app.map_or_else(String::new, |app| format!(" for app {}", app.0));
    let array =
        spec.array.map_or_else(String::new, |member| format!(" as {}_{}", member.array.0, member.index));
    let mut parts = vec![format!("submitted{array}{app}, {}", many(spec.gpus.min.0, "GPU"))];
    for (jobs, how) in [(&spec.after_ok, "ended well"), (&spec.after, "ended")] {
        match jobs.as_slice() {
            [] => {}
            [only] => parts.push(format!("to run when {only} has {how}")),
            [first, rest @ ..] => {
                parts
                    .push(format!("to run when {first} and {} have {how}", many(rest.len() as u32, "other")));
            }
        }
    }
    parts.extend(spec.deadline.map(|by| format!("wanted within {}", duration(by.since(now).seconds()))));
    parts.join("; ")
}

/// `1 GPU`, `2 GPUs`.
fn many(count: u32, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// What an auction came to for one party, in a sentence; nothing if it has nothing to do with it.
fn verdict(own: Party, round: Round, auction: &Auction) -> Option<(Kind, String)> {
    let gpus = |count: GpuCount| many(count.0, "GPU");
    let who = if matches!(own, Party::App(_)) { "its app" } else { "it" };
    let (round, offered) = (round.0, gpus(auction.offered));
    let gift = auction.gifts.iter().find(|(party, _)| *party == own).map(|(_, gift)| *gift);
    let given = gift.map_or_else(String::new, |gift| format!("; {} left over came on top", gpus(gift)));
    let Some(bidder) = auction.bidders.iter().find(|bidder| bidder.party == own) else {
        if let Some(gift) = gift {
            return Some((Kind::Own, format!("round {round}: {who} was given {} left over", gpus(gift))));
        }
        let worst = auction.bidders.first()?;
        let asked = many(auction.bidders.len() as u32, "app");
        let (party, rho) = (party_name(worst.party), amount(worst.before.get()));
        let text = format!(
            "round {round}: of {offered}, {asked} worse off were asked first, {party} at rho {rho} before all"
        );
        return Some((Kind::NotAsked, text));
    };
    let (before, best) = (amount(bidder.before.get()), amount(bidder.best.get()));
    if bidder.won == GpuCount::ZERO {
        let winners = auction.bidders.iter().filter(|bidder| bidder.won > GpuCount::ZERO);
        let lost_to = winners.max_by_key(|bidder| bidder.before.key()).map_or_else(String::new, |winner| {
            format!(", lost to {} at rho {}", party_name(winner.party), amount(winner.before.get()))
        });
        let bid = if bidder.wanted == GpuCount::ZERO {
            "could not use any".to_owned()
        } else {
            format!("bid rho {best} (without: {before}){lost_to}")
        };
        let kind = if gift.is_some() { Kind::Own } else { Kind::Lost };
        return Some((kind, format!("round {round}: {who} was offered {offered}, {bid}{given}")));
    }
    let (won, kept, after) = (gpus(bidder.won), bidder.kept.0, amount(bidder.after.get()));
    let text = format!(
        "round {round}: {who} was offered {offered}, won {won} and kept {kept}{given}; its rho goes from {before} to {after}"
    );
    Some((Kind::Own, text))
}
