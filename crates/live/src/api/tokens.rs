//! Tokens: list, make, rotate, revoke.

use super::{Front, Trouble};
use crate::access::{
    NewToken, Token, TokenChange, TokenError, Tokens, WantedToken, Who, add_token, revoke_token, rotate_token,
};
use crate::request::Wish;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Tokens, without their secrets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TokenList {
    /// In the order in which they were made.
    pub tokens: Vec<Token>,
}

/// That it was done, where there is nothing else to say.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Nothing {}

impl From<TokenError> for Trouble {
    fn from(error: TokenError) -> Self {
        let (status, code) = match error {
            TokenError::Invalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
            TokenError::Taken(_) => (StatusCode::CONFLICT, "token-taken"),
            TokenError::Unknown(_) => (StatusCode::NOT_FOUND, "no-token"),
            TokenError::File { .. } => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        };
        Self::new(status, code, error.to_string())
    }
}

/// Works on the file where waiting for the disk harms nobody.
async fn on_file<T: Send + 'static>(
    front: Arc<Front>,
    work: impl FnOnce(&std::path::Path) -> Result<T, TokenError> + Send + 'static,
) -> Result<T, Trouble> {
    let done = tokio::task::spawn_blocking(move || work(front.state())).await;
    Ok(done.map_err(|_| crate::request::Refusal::Stopping)??)
}

/// `GET /v1/tokens`.
pub(super) async fn list(State(front): State<Arc<Front>>) -> Result<Json<TokenList>, Trouble> {
    let tokens = on_file(front, |state| Ok(Tokens::read(state)?.list().cloned().collect())).await?;
    Ok(Json(TokenList { tokens }))
}

/// Makes a change that could be made, once it is noted who asked for it.
async fn change<T: Send + 'static>(
    front: Arc<Front>,
    who: &Who,
    change: TokenChange,
    make: impl FnOnce(&std::path::Path) -> Result<T, TokenError> + Send + 'static,
) -> Result<T, Trouble> {
    let checked = change.clone();
    on_file(front.clone(), move |state| checked.check(state)).await?;
    front.ask(who, Wish::NoteToken(Box::new(change))).await?;
    on_file(front, make).await
}

/// `POST /v1/tokens`.
pub(super) async fn add(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    body: Result<Json<WantedToken>, JsonRejection>,
) -> Result<(StatusCode, Json<NewToken>), Trouble> {
    let Json(wanted) = body.map_err(|error| Trouble::new(error.status(), "invalid", error.body_text()))?;
    let noted = TokenChange::Add(wanted.clone());
    let made = change(front, &who, noted, |state| add_token(state, wanted)).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

/// `DELETE /v1/tokens/{token}`.
pub(super) async fn revoke(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
) -> Result<Json<Nothing>, Trouble> {
    let noted = TokenChange::Revoke(name.clone());
    change(front, &who, noted, move |state| revoke_token(state, &name)).await?;
    Ok(Json(Nothing {}))
}

/// `POST /v1/tokens/{token}/rotate`.
pub(super) async fn rotate(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
) -> Result<Json<NewToken>, Trouble> {
    let noted = TokenChange::Rotate(name.clone());
    change(front, &who, noted, move |state| rotate_token(state, &name)).await.map(Json)
}
