//! Connections: so many at a time, with TLS or without, and none that dawdles over its handshake or its headers.

use super::Tls;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Connections that may be open at a time; others wait until one is closed. A process may often have 1024 files open, and jobs and the
/// store need theirs.
const CONNECTIONS_MAX: usize = 512;

/// How long a handshake may take, how long the headers of a request may take to arrive, and how long a connection may be idle.
const HEADER_TIME_MAX: Duration = Duration::from_secs(10);

/// The most that the headers of a request may hold, in bytes.
const HEADER_BYTES_MAX: usize = 64 * 1024;

/// How long to wait when no connection can be taken, as when there are no more file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers on every connection until the process ends.
pub(super) async fn listen(listener: TcpListener, tls: Option<Tls>, routes: Router) -> io::Result<()> {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let place = room.clone().acquire_owned().await.map_err(io::Error::other)?;
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Answers are small: they should not wait for company.
        let _ = stream.set_nodelay(true);
        let (tls, routes) = (tls.clone(), routes.clone());
        tokio::spawn(async move {
            match tls {
                Some(tls) => shake_hands(stream, &tls, routes).await,
                None => answer(stream, routes).await,
            }
            drop(place);
        });
    }
}

/// Answers those who speak TLS and begin soon.
async fn shake_hands(stream: TcpStream, tls: &Tls, routes: Router) {
    let handshake = tokio::time::timeout(HEADER_TIME_MAX, tls.acceptor.accept(stream));
    // Whoever speaks something else was told so as TLS tells it.
    if let Ok(Ok(stream)) = handshake.await {
        answer(stream, routes).await;
    }
}

/// Answers whatever is asked on one connection.
async fn answer(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, routes: Router) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME_MAX)
        .max_buf_size(HEADER_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    // Whoever broke it off knows.
    let _ = connection.await;
}
