//! The OpenAPI document, made from the table of routes.

use super::PAGE_MAX;
use super::schemas::{SCHEMAS, of};
use super::submit::KEY_MAX;
use super::table::{Gives, Kind, Parameter, ROUTES, Route};
use crate::access::Need;
use crate::store::Phase;
use axum::Json;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// `GET /v1/openapi.json`.
pub(super) async fn document() -> Json<Value> {
    Json(openapi())
}

/// The document: everything that can be asked, for people and for generators of clients.
pub fn openapi() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.verb.name().to_lowercase()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Evenhand", "version": env!("CARGO_PKG_VERSION"), "license": {"name": "Apache-2.0"}},
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

/// Every type that a route names or that such a type refers to.
fn schemas() -> Map<String, Value> {
    let named = ROUTES.iter().flat_map(|route| {
        let gives = if let Gives::Json(name) = route.gives { Some(name) } else { None };
        route.takes.into_iter().chain(gives)
    });
    let known = SCHEMAS.iter().map(|(name, _)| *name);
    let names: BTreeSet<&str> = named.chain(known).collect();
    names.into_iter().map(|name| (name.to_owned(), of(name))).collect()
}

fn operation(route: &Route) -> Value {
    let in_path = route.path_parameters().map(
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}}),
    );
    let parameters: Vec<Value> = in_path.chain(route.parameters.iter().map(parameter)).collect();
    let mut operation = json!({
        "summary": route.summary,
        "description": format!("Needs {}.", route.need.told()),
        "operationId": operation_id(route),
        "parameters": parameters,
        "responses": responses(route),
        "security": if route.need == Need::Nothing { json!([]) } else { json!([{"token": []}]) },
    });
    if let Some(name) = route.takes {
        operation["requestBody"] =
            json!({"required": true, "content": {"application/json": {"schema": reference(name)}}});
    }
    operation
}

/// Every status that it can answer with.
fn responses(route: &Route) -> Map<String, Value> {
    let error = json!({"description": "What went wrong", "content": {"application/json": {"schema": reference("Error")}}});
    let done = json!({"description": "Done", "content": content(route.gives)});
    let done = route.done.iter().map(|status| (status.to_string(), done.clone()));
    done.chain(route.errors().iter().map(|status| (status.to_string(), error.clone()))).collect()
}

/// Its method and the words of its path.
fn operation_id(route: &Route) -> String {
    let letters = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let words: String = route.path.chars().filter(|letter| !"{}".contains(*letter)).map(letters).collect();
    format!("{}{}", route.verb.name().to_lowercase(), words)
}

fn parameter(parameter: &Parameter) -> Value {
    let schema = match parameter.kind {
        Kind::Text => json!({"type": "string"}),
        Kind::Count => json!({"type": "integer", "minimum": 0, "maximum": i64::MAX}),
        Kind::Phases => {
            json!({"type": "string", "pattern": format!("^(({})?(,|$))*$", Phase::names().join("|"))})
        }
        Kind::Key => json!({"type": "string", "minLength": 1, "maxLength": KEY_MAX}),
        Kind::Offset => json!({"type": "integer", "minimum": -57600, "maximum": 57600}),
        Kind::Page => json!({"type": "integer", "minimum": 1, "maximum": PAGE_MAX}),
    };
    let place = if parameter.is_header { "header" } else { "query" };
    json!({"name": parameter.name, "in": place, "description": parameter.summary, "schema": schema})
}

fn content(gives: Gives) -> Value {
    match gives {
        Gives::Json(name) => json!({"application/json": {"schema": reference(name)}}),
        Gives::Bytes => json!({"application/octet-stream": {}}),
        Gives::Lines => json!({"application/x-ndjson": {}}),
        Gives::Events => json!({"text/event-stream": {}}),
        Gives::Text => json!({"text/plain": {}}),
        Gives::Markup => json!({"text/html": {}}),
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_in_the_document_once_and_every_reference_leads_somewhere() {
        let document = openapi();
        let operations: usize =
            document["paths"].as_object().unwrap().values().map(|path| path.as_object().unwrap().len()).sum();
        assert_eq!(operations, ROUTES.len(), "two routes have one method and path");
        let text = document.to_string();
        for part in text.split("#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
        }
    }
}
