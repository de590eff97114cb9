//! A tenant among others: theirs are not there.

use crate::eventually::eventually;
use crate::server::{Ask, Server};
use serde_json::{Value, json};

#[test]
fn a_tenant_cannot_read_change_or_watch_the_job_of_another() {
    let server = Server::start("tenants", &[]);
    let vision = server.token("v", "tenant", Some("vision"));
    let speech = server.token("s", "tenant", Some("speech"));
    let own = server.submit(&vision, &json!({"name": "same"}));
    let other = server.submit(&speech, &json!({"name": "same"}));
    let secret = server.submit(&speech, &json!({"name": "hush"}));
    for name in [other.to_string(), secret.to_string(), "hush".to_owned()] {
        for rest in ["", "/explain", "/output"] {
            let answer = server.get(&format!("/v1/jobs/{name}{rest}"), &vision);
            assert_eq!(
                (answer.status, answer.json()["error"]["code"].as_str()),
                (404, Some("no-job")),
                "{name}{rest}"
            );
        }
        for rest in ["/cancel", "/hold", "/release"] {
            assert_eq!(
                server.post(&format!("/v1/jobs/{name}{rest}"), &vision, &Value::Null).status,
                404,
                "{name}{rest}"
            );
        }
        let path = format!("/v1/jobs/{name}");
        assert_eq!(
            server.ask(&Ask { verb: "DELETE", path: &path, token: Some(&vision), ..Ask::default() }).status,
            404
        );
    }
    // A name is that of one's own, though another's job of that name is younger.
    assert_eq!(server.get("/v1/jobs/same", &vision).json()["id"], own);
    for query in ["", "?tenant=speech", "?name=hush", "?tenant=vision"] {
        let page = server.get(&format!("/v1/jobs{query}"), &vision).json();
        let jobs = page["jobs"].as_array().unwrap();
        assert!(jobs.iter().all(|job| job["tenant"] == "vision"), "{query}: {page}");
    }
    assert_eq!(
        server.get("/v1/jobs/same", &server.admin).json()["id"],
        other,
        "everybody's jobs are an admin's"
    );
}

#[test]
fn a_tenant_submits_for_itself_alone_and_waits_for_its_own() {
    let server = Server::start("submits", &[]);
    let vision = server.token("v", "tenant", Some("vision"));
    let other = server.submit(&server.admin, &json!({"tenant": "speech"}));
    let submit = |extra: Value| {
        let mut body = json!({"argv": ["sleep", "1000"]});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        server.post("/v1/jobs", &vision, &body)
    };
    assert_eq!(submit(json!({"tenant": "speech"})).status, 403);
    let waits = submit(json!({"after": [other]}));
    let nobody = submit(json!({"after": [9999]}));
    assert_eq!((waits.status, nobody.status), (422, 422));
    assert_eq!(waits.body.replace(&other.to_string(), "9999"), nobody.body, "nothing tells them apart");
    let own = submit(json!({})).json()["job"].as_u64().unwrap();
    assert_eq!(server.get(&format!("/v1/jobs/{own}"), &server.admin).json()["tenant"], "vision");
    assert_eq!(submit(json!({"after": [own], "tenant": "vision"})).status, 201);
}

#[test]
fn keys_are_each_tenants_own_and_a_replayed_submission_is_one_job() {
    let server = Server::start("keys", &[]);
    let vision = server.token("v", "tenant", Some("vision"));
    let speech = server.token("s", "tenant", Some("speech"));
    let submit = |token: &str, seconds: &str| {
        let headers = vec![("idempotency-key".to_owned(), "k".to_owned())];
        let body = Some(json!({"argv": ["sleep", seconds]}).to_string());
        server.ask(&Ask { verb: "POST", path: "/v1/jobs", token: Some(token), headers, body })
    };
    let first = submit(&vision, "1000");
    let again = submit(&vision, "1000");
    assert_eq!((first.status, again.status), (201, 200));
    assert_eq!(first.json()["job"], again.json()["job"]);
    assert_eq!(submit(&vision, "999").status, 409);
    assert_eq!(submit(&speech, "999").status, 201, "another's key is none of one's business");
    // A change that is replayed changes nothing more.
    let cancel = format!("/v1/jobs/{}/cancel", first.json()["job"]);
    assert_eq!(server.post(&cancel, &vision, &Value::Null).status, 200);
    eventually("it has ended", || {
        (server.get("/v1/jobs?phase=cancelled", &vision).json()["jobs"].as_array()?.len() == 1).then_some(())
    });
    assert_eq!(server.post(&cancel, &vision, &Value::Null).status, 404);
}

#[test]
fn events_tell_a_tenant_of_its_own_jobs_alone() {
    let server = Server::start("watches", &[]);
    let vision = server.token("v", "tenant", Some("vision"));
    let other = server.submit(&server.admin, &json!({"tenant": "speech", "name": "hush-hush"}));
    let own = server.submit(&vision, &json!({"name": "mine", "gpus": 4}));
    server.post(&format!("/v1/jobs/{other}/cancel"), &server.admin, &Value::Null);
    eventually("it runs", || {
        (server.get(&format!("/v1/jobs/{own}"), &vision).json()["phase"] == "running").then_some(())
    });
    let told = server.get("/v1/events?after=0", &vision).body;
    assert!(told.contains("mine") && told.contains("\"start\""), "{told}");
    let all = server.get("/v1/events?after=0", &server.admin).body;
    assert!(all.contains("hush-hush") && all.len() > told.len());
    assert!(!told.contains("hush-hush") && !told.contains("speech"), "{told}");
    let lease = server.get(&format!("/v1/jobs/{own}"), &vision).json()["lease"].as_u64().unwrap();
    for line in told.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let record: Value = serde_json::from_str(line).unwrap();
        for command in record["c"].as_array().into_iter().flatten() {
            assert!(command["start"].is_null() || command["start"]["job"] == own, "{line}");
            assert!(command["stop"].is_null() || command["stop"]["lease"] == lease, "{line}");
        }
    }
    // One who comes late hears of leases that began before.
    let last = server.get("/v1/health", "").json()["records"].as_u64().unwrap();
    server.post(&format!("/v1/jobs/{own}/cancel"), &vision, &Value::Null);
    eventually("it has ended", || {
        (server.get(&format!("/v1/jobs/{own}"), &vision).json()["phase"] == "cancelled").then_some(())
    });
    let told = server.get(&format!("/v1/events?after={last}"), &vision).body;
    assert!(told.contains("lease-ended"), "{told}");
}
