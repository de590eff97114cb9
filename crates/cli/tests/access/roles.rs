//! Every role at every route of the table, so that no route can be forgotten.

use crate::server::{Ask, Server};
use evenhand_live::access::{Need, Role};
use evenhand_live::api::ROUTES;

/// What the table means, written down a second time.
fn may(role: Role, need: Need) -> bool {
    match role {
        Role::Admin => true,
        Role::Operator => need != Need::Administer,
        Role::ReadOnly => matches!(need, Need::Nothing | Need::Look | Need::LookAround),
        Role::Tenant => matches!(need, Need::Nothing | Need::Look | Need::Work),
    }
}

#[test]
fn every_role_is_let_in_where_the_table_says_and_nowhere_else() {
    let server = Server::start("roles", &[]);
    let tokens = Role::ALL
        .map(|(name, role)| (role, server.token(name, name, (role == Role::Tenant).then_some("vision"))));
    for route in ROUTES {
        let named = |part: &'static str| if part.starts_with('{') { "nobody" } else { part };
        let path = route.path.split('/').map(named).collect::<Vec<_>>().join("/");
        let body = route.takes.map(|_| "{}".to_owned());
        let ask =
            |token| Ask { verb: route.verb.name(), path: &path, token, body: body.clone(), ..Ask::default() };
        let (verb, need) = (route.verb.name(), route.need);
        for token in [None, Some(""), Some("evenhand_0"), Some("\u{e9}")] {
            let answer = server.ask(&ask(token));
            assert_eq!(answer.status == 401, need != Need::Nothing, "{verb} {path}: {answer:?}");
            assert!(answer.status != 401 || answer.head.contains("www-authenticate: bearer"), "{answer:?}");
        }
        for (role, token) in &tokens {
            let answer = server.ask(&ask(Some(token)));
            assert_eq!(answer.status != 403, may(*role, need), "{role} at {verb} {path}: {answer:?}");
            assert!(answer.status != 401 && answer.status < 500, "{role} at {verb} {path}: {answer:?}");
        }
    }
}

#[test]
fn whoever_only_reads_for_a_tenant_sees_that_tenant_alone() {
    let server = Server::start("reads", &[]);
    let reads = server.token("reads", "read-only", Some("vision"));
    let job = server.submit(&server.admin, &serde_json::json!({"tenant": "speech"}));
    assert_eq!(server.get(&format!("/v1/jobs/{job}"), &reads).status, 404);
    assert_eq!(server.get("/v1/ledger", &reads).status, 403);
    assert_eq!(server.get("/v1/jobs", &reads).json()["jobs"], serde_json::json!([]));
}
