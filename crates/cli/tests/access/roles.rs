//! Every role at every route of the table, so that no route can be forgotten.

use crate::server::{Ask, Server};
use evenhand_live::access::{Need, Role};
use evenhand_live::api::{ROUTES, Verb};

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

#[test]
fn no_route_tells_a_tenant_of_another() {
    let server = Server::start("tells", &[]);
    let vision = server.token("v", "tenant", Some("vision"));
    server.submit(&vision, &serde_json::json!({}));
    let other = server.submit(&server.admin, &serde_json::json!({"tenant": "speech", "name": "hush-hush"}));
    for route in ROUTES.iter().filter(|route| route.verb == Verb::Get) {
        // By name and by number; what is not a job's is not found, which is as well.
        for name in ["hush-hush", &other.to_string(), "0", "speech"] {
            let part =
                |part: &'static str| if part.starts_with('{') { name.to_owned() } else { part.to_owned() };
            let path = route.path.split('/').map(part).collect::<Vec<_>>().join("/");
            for query in ["", "?after=0"] {
                let answer = server.get(&format!("{path}{query}"), &vision);
                // A refusal may repeat what was asked for.
                let is_told = answer.status < 300
                    && ["hush-hush", "speech"].iter().any(|word| answer.body.contains(word));
                assert!(!is_told, "{path}{query}: {answer:?}");
            }
        }
    }
}
