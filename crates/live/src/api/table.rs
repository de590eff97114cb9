//! Every address there is, in one table: the router, the authorisation and the OpenAPI document all come from it, so that none of them can
//! forget one. A new route is a line here.

use super::{
    BATCH_BYTES_MAX, BODY_BYTES_MAX, Front, agents, apps, audit, change, cluster, document, events, explain,
    health, history, jobs, ledger, metrics, nodes, output, page, policies, pulse, rounds, session, submit,
    tenants, timeline, tokens, trial, whatif,
};
use crate::access::Need;
use axum::routing::{MethodFilter, MethodRouter, on};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A method of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Looks.
    Get,
    /// Makes or changes.
    Post,
    /// Puts in place.
    Put,
    /// Removes.
    Delete,
}

impl Verb {
    /// As HTTP writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }

    fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

/// What a parameter may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A whole number from 0 on, as far as the store counts.
    Count,
    /// How much a page holds.
    Page,
    /// Seconds ahead of UTC.
    Offset,
    /// Phases of jobs, separated by commas.
    Phases,
    /// A client's own name for a submission.
    Key,
}

/// A parameter in the query, or in a header.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// What it is called.
    pub name: &'static str,
    /// Whether it is a header.
    pub is_header: bool,
    /// What it may be.
    pub kind: Kind,
    /// What it is for.
    pub summary: &'static str,
}

/// What an answer is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// A JSON document of this type.
    Json(&'static str),
    /// Bytes as they are.
    Bytes,
    /// JSON, a document per line.
    Lines,
    /// Server-sent events, without end.
    Events,
    /// Text that Prometheus reads.
    Text,
    /// What a browser shows.
    Markup,
}

type Make = fn(MethodFilter) -> MethodRouter<Arc<Front>>;

/// An address, for one method.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The method.
    pub verb: Verb,
    /// The path, with its parameters in braces.
    pub path: &'static str,
    /// What it takes to use it.
    pub need: Need,
    /// What it does.
    pub summary: &'static str,
    /// The type of the body that it takes, if it takes one.
    pub takes: Option<&'static str>,
    /// What it answers.
    pub gives: Gives,
    /// Parameters besides those in the path.
    pub parameters: &'static [Parameter],
    /// The most that a request may hold, in bytes.
    pub bytes_max: usize,
    /// The statuses that mean: done.
    pub done: &'static [u16],
    make: Make,
}

impl Route {
    const fn new(verb: Verb, path: &'static str, need: Need, summary: &'static str, make: Make) -> Self {
        let (takes, gives, bytes_max) = (None, Gives::Json("Nothing"), BODY_BYTES_MAX);
        Self { verb, path, need, summary, takes, gives, parameters: &[], bytes_max, done: &[200], make }
    }

    const fn takes(self, name: &'static str) -> Self {
        Self { takes: Some(name), ..self }
    }

    const fn json(self, name: &'static str) -> Self {
        Self { gives: Gives::Json(name), ..self }
    }

    const fn gives(self, gives: Gives) -> Self {
        Self { gives, ..self }
    }

    const fn with(self, parameters: &'static [Parameter]) -> Self {
        Self { parameters, ..self }
    }

    /// Many jobs may come at a time.
    const fn large(self) -> Self {
        Self { bytes_max: BATCH_BYTES_MAX, ..self }
    }

    const fn done(self, done: &'static [u16]) -> Self {
        Self { done, ..self }
    }

    /// The statuses that mean anything else.
    pub fn errors(&self) -> BTreeSet<u16> {
        // Too fast, the service's own fault, and nothing can be recorded now.
        let mut errors = BTreeSet::from([429, 500, 503]);
        // Whoever shows something to be let in may be refused too.
        if self.need != Need::Nothing || self.takes.is_some() {
            errors.extend([401, 403]);
        }
        if self.path_parameters().next().is_some() {
            errors.extend([400, 404]);
        }
        if !self.parameters.is_empty() || self.path_parameters().next().is_some() {
            errors.insert(422);
        }
        if self.takes.is_some() {
            errors.extend([400, 409, 422]);
        }
        // Whatever is sent is read, wanted or not.
        errors.extend([408, 413, 415]);
        errors
    }

    /// What answers it.
    pub(super) fn handler(&self) -> MethodRouter<Arc<Front>> {
        (self.make)(self.verb.filter())
    }

    /// The parameters in its path.
    pub fn path_parameters(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}

const fn get(path: &'static str, need: Need, summary: &'static str, make: Make) -> Route {
    Route::new(Verb::Get, path, need, summary, make)
}

const fn post(path: &'static str, need: Need, summary: &'static str, make: Make) -> Route {
    Route::new(Verb::Post, path, need, summary, make)
}

const fn delete(path: &'static str, need: Need, summary: &'static str, make: Make) -> Route {
    Route::new(Verb::Delete, path, need, summary, make)
}

const fn text(name: &'static str, summary: &'static str) -> Parameter {
    Parameter { name, is_header: false, kind: Kind::Text, summary }
}

const fn count(name: &'static str, summary: &'static str) -> Parameter {
    Parameter { name, is_header: false, kind: Kind::Count, summary }
}

const fn page(summary: &'static str) -> Parameter {
    Parameter { name: "limit", is_header: false, kind: Kind::Page, summary }
}

const fn header(name: &'static str, kind: Kind, summary: &'static str) -> Parameter {
    Parameter { name, is_header: true, kind, summary }
}

const KEY: &[Parameter] = &[header(
    "idempotency-key",
    Kind::Key,
    "Your own name for this submission: the same again is the same one",
)];

const LISTING: &[Parameter] = &[
    Parameter {
        name: "phase",
        is_header: false,
        kind: Kind::Phases,
        summary: "Only jobs in these phases, separated by commas",
    },
    text("tenant", "Only jobs of this tenant"),
    text("name", "Only jobs of this name"),
    text("array", "Only jobs of this array, by number or name"),
    text("app", "Only jobs of this app"),
    text("search", "Only jobs whose name contains this, or whose number it is"),
    count("after", "Only jobs after this number"),
    count("before", "Only jobs before this number, the latest first"),
    page("Jobs at most"),
];

const PART: &[Parameter] = &[
    count("bytes", "Bytes at most"),
    count(
        "from",
        "What comes from this byte on, not the last; the header evenhand-output-next says where it ends",
    ),
];

const WINDOW: &[Parameter] = &[count("from", "From this node on"), page("Nodes at most, up to 256")];

const CLOCK: &[Parameter] = &[Parameter {
    name: "offset_s",
    is_header: false,
    kind: Kind::Offset,
    summary: "How far the clock of whoever looks is ahead of UTC, in seconds",
}];

const ROUNDS: &[Parameter] = &[count("before", "Only rounds before this record"), page("Rounds at most")];

const CLOSED: &[Parameter] = &[text("all", "true: closed ones too")];

const WAITING: &[Parameter] =
    &[count("wait_ms", "How long to wait for an offer, in milliseconds; 30000 at most")];

const WATCHING: &[Parameter] = &[
    count("after", "Only records after this number; only new ones if nothing is said"),
    header("last-event-id", Kind::Count, "The same, as browsers say it when they go on"),
];

const PAGING: &[Parameter] = &[count("after", "Only entries after this number"), page("Entries at most")];

/// Every route.
#[rustfmt::skip]
pub const ROUTES: &[Route] = &[
    get("/", Need::Nothing, "The dashboard", |at| on(at, page::first)).gives(Gives::Markup),
    get("/ui/{file}", Need::Nothing, "What the dashboard is made of", |at| on(at, page::file)).gives(Gives::Bytes),
    get("/v1/session", Need::Nothing, "Who asks, if that is known", |at| on(at, session::look)).json("Session"),
    post("/v1/session", Need::Nothing, "Signs a page in: its session is a cookie", |at| on(at, session::sign_in)).takes("SignIn").json("Session"),
    delete("/v1/session", Need::Nothing, "Signs a page out", |at| on(at, session::leave)).json("Session"),
    get("/v1/health", Need::Nothing, "How the service is", |at| on(at, health::health)).json("Health"),
    get("/v1/openapi.json", Need::Look, "This document", |at| on(at, document::document)).json("Anything"),
    get("/v1/jobs", Need::Look, "Lists jobs by number, a page at a time", |at| on(at, jobs::list)).with(LISTING).json("Page"),
    post("/v1/jobs", Need::Work, "Submits a job, or an array of them", |at| on(at, submit::submit)).with(KEY).takes("Wanted").json("Accepted").done(&[200, 201]),
    post("/v1/batches", Need::Work, "Submits several jobs, all or none", |at| on(at, submit::batch)).with(KEY).large().takes("WantedBatch").json("AcceptedBatch").done(&[200, 201]),
    post("/v1/dry-runs", Need::Work, "What would come of a submission, which is not made", |at| on(at, trial::dry_run)).large().takes("WantedBatch").json("Trial"),
    get("/v1/jobs/{job}", Need::Look, "One job, by number or name", |at| on(at, jobs::one)).json("JobRow"),
    delete("/v1/jobs/{job}", Need::Work, "Ends a job or array", |at| on(at, change::cancel)).json("Accepted"),
    post("/v1/jobs/{job}/cancel", Need::Work, "Ends a job or array", |at| on(at, change::cancel)).json("Accepted"),
    post("/v1/jobs/{job}/hold", Need::Work, "Stops a job or array and keeps it", |at| on(at, change::hold)).json("Accepted"),
    post("/v1/jobs/{job}/release", Need::Work, "Lets a job or array go on", |at| on(at, change::release)).json("Accepted"),
    post("/v1/jobs/{job}/retire", Need::Work, "Ends a job or array of which its tuner has seen enough; it counts as ended well", |at| on(at, change::retire)).json("Accepted"),
    get("/v1/jobs/{job}/explain", Need::Look, "What happened to a job, and why", |at| on(at, explain::explain)).json("Explanation"),
    get("/v1/jobs/{job}/timeline", Need::Look, "A job's leases, and how far it is", |at| on(at, timeline::timeline)).json("JobTimeline"),
    get("/v1/jobs/{job}/output", Need::Look, "The last of what a job printed", |at| on(at, output::output)).with(PART).gives(Gives::Bytes),
    get("/v1/apps", Need::Look, "Lists apps", |at| on(at, apps::list)).with(CLOSED).json("Apps"),
    post("/v1/apps/{app}/close", Need::Work, "Ends an app and what is left of its jobs", |at| on(at, apps::close)).json("App"),
    get("/v1/apps/{app}/offer", Need::Work, "The GPUs that an app's agent is asked to bid for; waits for an offer if there is none", |at| on(at, agents::offer)).with(WAITING).json("Offered"),
    post("/v1/apps/{app}/bid", Need::Work, "An app's agent answers an offer", |at| on(at, agents::bid)).takes("Bid").json("Anything"),
    get("/v1/events", Need::Look, "The ledger as it grows", |at| on(at, events::watch)).with(WATCHING).gives(Gives::Events),
    get("/v1/pulse", Need::Look, "That something happened, at most once a second", |at| on(at, pulse::pulse)).gives(Gives::Events),
    get("/v1/cluster", Need::Look, "The cluster at a glance; others than a tenant are told it together", |at| on(at, cluster::glance)).json("ClusterGlance"),
    get("/v1/cluster/nodes", Need::Look, "Nodes GPU by GPU, a page at a time", |at| on(at, cluster::nodes)).with(WINDOW).json("NodeWindow"),
    get("/v1/figures/{figure}", Need::Look, "A picture of what happened so far, as markup", |at| on(at, history::figure)).with(CLOCK).gives(Gives::Markup),
    get("/v1/rounds", Need::LookAround, "Lists decisions, the latest first", |at| on(at, rounds::list)).with(ROUNDS).json("RoundPage"),
    get("/v1/rounds/{record}", Need::LookAround, "One decision: its plan, its certificate, what changed", |at| on(at, rounds::one)).json("RoundSeen"),
    get("/v1/whatifs", Need::LookAround, "Lists runs of the history under other policies", |at| on(at, whatif::list)).json("WhatIfs"),
    post("/v1/whatifs", Need::Operate, "Runs the history again under other policies, in the background", |at| on(at, whatif::begin)).takes("WantedWhatIf").json("WhatIf").done(&[201]),
    get("/v1/whatifs/{whatif}", Need::LookAround, "How such a run is, and what it comes to", |at| on(at, whatif::one)).json("WhatIf"),
    get("/v1/whatifs/{whatif}/figures", Need::LookAround, "Its pictures, as markup", |at| on(at, whatif::figures)).gives(Gives::Markup),
    delete("/v1/whatifs/{whatif}", Need::Operate, "Ends such a run, or forgets it", |at| on(at, whatif::cancel)).json("WhatIf"),
    get("/v1/ledger", Need::LookAround, "The whole ledger", |at| on(at, ledger::export)).gives(Gives::Lines),
    get("/v1/nodes", Need::LookAround, "Lists nodes and what runs on them", |at| on(at, nodes::list)).json("Nodes"),
    post("/v1/nodes/{node}/drain", Need::Operate, "Lets nothing new start on a node", |at| on(at, nodes::drain)).json("Anything"),
    post("/v1/nodes/{node}/return", Need::Operate, "Lets a node be used again", |at| on(at, nodes::restore)).json("Anything"),
    get("/v1/tenants", Need::LookAround, "Lists tenants: what they may have, hold and had", |at| on(at, tenants::list)).json("Tenants"),
    post("/v1/tenants/{tenant}", Need::Operate, "Sets weight, group and quotas of a tenant", |at| on(at, tenants::change)).takes("TenantChange").json("Anything"),
    get("/v1/policies", Need::Look, "Lists policies, and which one decides", |at| on(at, policies::list)).json("Policies"),
    post("/v1/policies/{policy}/use", Need::Operate, "Lets another policy decide from now on", |at| on(at, policies::choose)).takes("PolicySettings").json("Anything"),
    post("/v1/policies/{policy}/dry-run", Need::Operate, "What another policy would change now", |at| on(at, policies::dry_run)).takes("PolicySettings").json("Anything"),
    get("/v1/metrics", Need::LookAround, "Figures for Prometheus", |at| on(at, metrics::metrics)).gives(Gives::Text),
    get("/v1/audit", Need::Operate, "Who asked for which change", |at| on(at, audit::list)).with(PAGING).json("AskedPage"),
    get("/v1/tokens", Need::Administer, "Lists tokens, without their secrets", |at| on(at, tokens::list)).json("Tokens"),
    post("/v1/tokens", Need::Administer, "Makes a token", |at| on(at, tokens::add)).takes("WantedToken").json("NewToken").done(&[201]),
    delete("/v1/tokens/{token}", Need::Administer, "Makes a token useless", |at| on(at, tokens::revoke)),
    post("/v1/tokens/{token}/rotate", Need::Administer, "Gives a token a new secret", |at| on(at, tokens::rotate)).json("NewToken"),
];
