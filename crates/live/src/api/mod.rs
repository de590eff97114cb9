//! The service over HTTP: one file per noun, everything under `/v1`.
//!
//! Handlers never touch the engine. Whatever changes something is a [`Request`](crate::Request) that waits in the engine's inbox, of which only so many may
//! be there at a time; whatever only looks reads the store on a connection of its own.

mod error;
mod events;
mod front;
mod health;
mod jobs;
mod ledger;

pub use error::Trouble;
pub use front::Front;
pub use health::Health;
pub use jobs::Accepted;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use std::io;
use std::net::TcpListener;
use std::sync::Arc;

/// The most a request may hold, in bytes.
pub const BODY_BYTES_MAX: usize = 256 * 1024;

/// Threads that answer requests.
const THREADS: usize = 2;

/// Every address there is.
fn routes(front: Arc<Front>) -> Router {
    Router::new()
        .route("/v1/health", get(health::health))
        .route("/v1/jobs", get(jobs::list).post(jobs::submit))
        .route("/v1/jobs/{job}", get(jobs::one).delete(jobs::cancel))
        .route("/v1/jobs/{job}/cancel", post(jobs::cancel))
        .route("/v1/jobs/{job}/hold", post(jobs::hold))
        .route("/v1/jobs/{job}/release", post(jobs::release))
        .route("/v1/jobs/{job}/explain", get(jobs::explain))
        .route("/v1/jobs/{job}/output", get(jobs::output))
        .route("/v1/events", get(events::watch))
        .route("/v1/ledger", get(ledger::export))
        .fallback(error::no_such_address)
        .method_not_allowed_fallback(error::no_such_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(front)
}

/// Answers requests until the process ends. The async runtime lives here, on threads of its own.
pub fn serve(front: Arc<Front>, listener: TcpListener) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .max_blocking_threads(16)
        .thread_name("http")
        .enable_all()
        .build()?;
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        axum::serve(listener, routes(front)).await
    })
}
