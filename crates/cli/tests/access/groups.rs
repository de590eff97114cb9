//! Batches, arrays, apps and trials of a tenant among others.

use crate::server::{Ask, Server};
use serde_json::{Value, json};

#[test]
fn a_tenant_submits_batches_for_itself_alone() {
    let server = Server::start("batches", &[]);
    let vision = server.token("v", "tenant", Some("vision"));
    let other = server.submit(&server.admin, &json!({"tenant": "speech", "name": "hush"}));
    let batch = |jobs: Value| server.post("/v1/batches", &vision, &json!({"jobs": jobs}));
    let own = batch(json!([{"argv": ["true"], "name": "a"}, {"argv": ["true"], "after": ["a"]}]));
    assert_eq!((own.status, own.json()["jobs"].clone()), (201, json!([2, 3])));
    assert_eq!(batch(json!([{"argv": ["true"]}, {"argv": ["true"], "tenant": "speech"}])).status, 403);
    for path in ["/v1/batches", "/v1/dry-runs"] {
        let after = |name: Value| {
            server.post(path, &vision, &json!({"jobs": [{"argv": ["true"], "after_any": [name]}]}))
        };
        for name in [json!(other), json!("hush")] {
            let answer = after(name);
            assert!(answer.status == 422 && answer.body.contains("there is no such job"), "{answer:?}");
        }
    }
    let jobs = server.get("/v1/jobs", &vision).json()["jobs"].as_array().unwrap().len();
    assert_eq!(jobs, 2, "what was refused left nothing");
}

#[test]
fn arrays_and_apps_of_others_are_not_there() {
    let server = Server::start("arrays", &[]);
    let vision = server.token("v", "tenant", Some("vision"));
    let hidden = json!({"tenant": "speech", "name": "hush", "app": "search", "array": "0-2"});
    let array = server.submit(&server.admin, &hidden);
    for name in [array.to_string(), format!("{array}_0"), "hush".to_owned()] {
        for verb in ["cancel", "hold", "release"] {
            assert_eq!(server.post(&format!("/v1/jobs/{name}/{verb}"), &vision, &Value::Null).status, 404);
        }
        assert_eq!(server.get(&format!("/v1/jobs/{name}/explain"), &vision).status, 404);
    }
    for app in ["search", "1"] {
        assert_eq!(server.post(&format!("/v1/apps/{app}/close"), &vision, &Value::Null).status, 404);
    }
    assert_eq!(server.get("/v1/apps?all=true", &vision).json()["apps"], json!([]));
    for query in ["app=search", "array=hush"] {
        assert_eq!(server.get(&format!("/v1/jobs?{query}"), &vision).json()["jobs"], json!([]), "{query}");
    }
    // A name is each tenant's own.
    server.submit(&vision, &json!({"app": "search"}));
    let apps = server.get("/v1/apps", &vision).json();
    assert_eq!(
        (apps["apps"][0]["tenant"].clone(), apps["apps"][0]["jobs"].clone()),
        (json!("vision"), json!(1))
    );
    assert_eq!(server.get("/v1/apps", &server.admin).json()["apps"].as_array().unwrap().len(), 2);
}

#[test]
fn a_trial_does_not_name_jobs_of_others() {
    let server = Server::start("trials", &[]);
    let vision = server.token("v", "tenant", Some("vision"));
    server.submit(&server.admin, &json!({"tenant": "speech", "name": "hush", "gpus": 4}));
    let wanted = json!({"jobs": [{"argv": ["true"], "gpus": 4, "priority": 9}]});
    let answer = server.post("/v1/dry-runs", &vision, &wanted);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(!answer.body.contains("hush") && !answer.body.contains("speech"), "{answer:?}");
}

#[test]
fn a_batch_may_be_larger_than_other_requests_and_no_larger_than_that() {
    let server = Server::start("large", &[]);
    let filler = "x".repeat(10_000);
    let body = |jobs: usize| {
        let job = json!({"argv": ["true", filler]});
        Some(json!({"jobs": vec![job; jobs]}).to_string())
    };
    let ask = |path, body| {
        server.ask(&Ask { verb: "POST", path, token: Some(&server.admin), body, ..Ask::default() })
    };
    assert_eq!(ask("/v1/batches", body(100)).status, 201);
    assert_eq!(ask("/v1/batches", body(300)).status, 413);
    assert_eq!(ask("/v1/jobs", body(100)).status, 413);
    assert_eq!(ask("/v1/batches", Some(json!({"jobs": []}).to_string())).status, 422);
    let many = json!({"jobs": vec![json!({"argv": ["true"]}); 1001]}).to_string();
    assert_eq!(ask("/v1/batches", Some(many)).status, 422);
}
