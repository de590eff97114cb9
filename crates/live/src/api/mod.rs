//! The service over HTTP: one file per noun, everything but the dashboard under `/v1`, every address in one [table](ROUTES).
//!
//! Handlers never touch the engine. Whatever changes something is a [`Request`](crate::Request) that waits in the engine's inbox, of which only so many may
//! be there at a time; whatever only looks reads the store on a connection of its own. Before a handler sees a request, its gate has asked who it is.

mod agents;
mod apps;
mod audit;
mod change;
mod cluster;
mod document;
mod error;
mod events;
mod explain;
mod front;
mod gate;
mod health;
mod history;
mod jobs;
mod ledger;
mod listen;
mod metrics;
mod nodes;
mod output;
mod page;
mod policies;
mod pulse;
mod rounds;
mod scene;
mod schemas;
mod session;
mod submit;
mod table;
mod tenants;
mod timeline;
mod tls;
mod tokens;
mod trial;
mod whatif;
mod words;

pub use crate::request::{Quota, TenantChange};
pub use agents::{AgentOffer, Offered};
pub use apps::AppList;
pub use audit::AskedPage;
pub use document::openapi;
pub use error::Trouble;
pub use explain::{Explained, HolderRow, Interval, Now, ShareRow};
pub use front::Front;
pub use health::Health;
pub use nodes::{NodeList, NodeRow};
pub use output::NEXT_HEADER;
pub use policies::{Change, DryRun, ParameterRow, PolicyList, PolicyRow, PolicySettings};
pub use submit::{Accepted, AcceptedBatch, WantedBatch};
pub use table::{Gives, Kind, Parameter, ROUTES, Route, Verb};
pub use tenants::{TenantList, TenantRow};
pub use tls::{Tls, TlsError, read_certificates};
pub use tokens::{Nothing, TokenList};
pub use trial::{Outlook, Trial, TrialJob};
pub use words::{Told, Word, told};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;

/// The most a request may hold, in bytes.
pub const BODY_BYTES_MAX: usize = 256 * 1024;

/// The same where many jobs come at a time.
pub const BATCH_BYTES_MAX: usize = 2 << 20;
/// The most that a page of a list may hold.
const PAGE_MAX: usize = 1000;

/// Threads that answer requests.
const THREADS: usize = 2;

/// Every route of the table, each behind its gate.
fn routes(front: Arc<Front>) -> Router {
    let add = |router: Router<Arc<Front>>, route: &'static Route| {
        let gate = gate::Gate { front: front.clone(), route };
        let handler = route.handler().route_layer(from_fn_with_state(gate, gate::pass));
        router.route(route.path, handler.layer(DefaultBodyLimit::max(route.bytes_max)))
    };
    ROUTES
        .iter()
        .fold(Router::new(), add)
        .fallback(error::no_such_address)
        .method_not_allowed_fallback(error::no_such_method)
        .layer(from_fn_with_state(front.clone(), metrics::count))
        .with_state(front)
}

/// A number that the store can hold: it counts to 2^63.
fn within_store(field: &str, number: Option<u64>) -> Result<Option<u64>, Trouble> {
    match number {
        Some(number) if i64::try_from(number).is_err() => {
            Err(Trouble::invalid(format!("{field} is {number}: at most {} is allowed", i64::MAX)))
        }
        number => Ok(number),
    }
}

/// Answers requests until the process ends, over TLS if there is a certificate. The async runtime lives here, on threads of its own.
pub fn serve(front: Arc<Front>, listener: TcpListener, tls: Option<Tls>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .max_blocking_threads(16)
        .thread_name("http")
        .enable_all()
        .build()?;
    front.speaks_tls(tls.is_some());
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        listen::listen(listener, tls, routes(front)).await
    })
}
