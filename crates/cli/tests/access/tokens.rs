//! Tokens as they come and go, how fast they may ask, and who is remembered to have asked.

use crate::server::{Ask, Server, says};
use serde_json::{Value, json};

#[test]
fn tokens_come_and_go_by_folder_and_by_server_and_count_at_once() {
    let server = Server::start("tokens", &[]);
    let state = server.state.display().to_string();
    let url = format!("http://{}", server.address);
    let admin = [("EVENHAND_SERVER", url.as_str()), ("EVENHAND_TOKEN", server.admin.as_str())];
    let (_, by_folder) = says(&["token", "add", "ops", "--role", "operator", "--state", &state], &[]);
    assert_eq!(server.get("/v1/jobs", &by_folder).status, 200);
    let (_, by_server) = says(&["token", "add", "eye", "--role", "read-only"], &admin);
    assert_eq!(server.get("/v1/ledger", &by_server).status, 200);
    let (_, list) = says(&["token", "list"], &admin);
    assert!(list.contains("ops") && list.contains("eye") && list.contains("owner"), "{list}");
    assert!(!list.contains(&by_server));
    let (_, rotated) = says(&["token", "rotate", "eye", "--state", &state], &[]);
    let (content, _) = says(&["token", "rotate", "nobody", "--state", &state], &[]);
    let log = std::fs::read_to_string(server.state.join("tokens.log")).unwrap();
    let log: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<&Value> = log.iter().map(|entry| &entry["what"]).collect();
    assert_eq!((content, told), (false, vec![&json!("add token ops, operator"), &json!("rotate token eye")]));
    assert_eq!(server.get("/v1/jobs", &by_server).status, 401);
    assert_eq!(server.get("/v1/jobs", &rotated).status, 200);
    assert!(says(&["token", "revoke", "ops"], &admin).0);
    assert_eq!(server.get("/v1/jobs", &by_folder).status, 401);
    let not_admin = [("EVENHAND_SERVER", url.as_str()), ("EVENHAND_TOKEN", rotated.as_str())];
    let (content, message) = says(&["token", "add", "x", "--role", "admin"], &not_admin);
    assert!(!content && message.contains("a token of role admin is needed"), "{message}");
    let (content, message) = says(&["queue"], &[("EVENHAND_SERVER", &url), ("XDG_STATE_HOME", "/nowhere")]);
    assert!(!content && message.contains("a token is needed"), "{message}");
    let (content, _) = says(&["queue", "--server", &url, "--token", &rotated], &[]);
    assert!(content);
}

#[test]
fn ones_own_server_needs_no_words() {
    let home = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("access-home");
    let server = Server::start("home/evenhand-state", &[]);
    let folder = home.join("evenhand");
    let _ = std::fs::remove_file(&folder);
    let _ = std::fs::create_dir_all(&home);
    std::os::unix::fs::symlink(&server.state, &folder).unwrap();
    let url = format!("http://{}", server.address);
    let home = home.display().to_string();
    assert_eq!(
        says(&["queue", "--server", &url], &[("XDG_STATE_HOME", &home)]),
        (true, "no jobs".to_owned())
    );
}

#[test]
fn a_token_that_asks_too_fast_is_told_when_to_come_back_and_others_are_not() {
    let server = Server::start("fast", &["--requests-per-second", "5"]);
    let eye = server.token("eye", "read-only", None);
    let answers: Vec<_> = (0..40).map(|_| server.get("/v1/jobs", &eye)).collect();
    let refused = answers.iter().find(|answer| answer.status == 429).unwrap();
    assert!(refused.head.contains("retry-after: 1"), "{refused:?}");
    assert_eq!(refused.json()["error"]["code"], "too-fast");
    assert_eq!(server.get("/v1/jobs", &server.admin).status, 200);
}

#[test]
fn it_is_remembered_who_asked_for_what() {
    let server = Server::start("audit", &[]);
    let vision = server.token("v", "tenant", Some("vision"));
    let job = server.submit(&vision, &json!({}));
    server.post(&format!("/v1/jobs/{job}/cancel"), &server.admin, &Value::Null);
    server.post("/v1/tokens/v/rotate", &server.admin, &Value::Null);
    let revoke = |name: &str| {
        let path = format!("/v1/tokens/{name}");
        server.ask(&Ask { verb: "DELETE", path: &path, token: Some(&server.admin), ..Ask::default() }).status
    };
    assert_eq!((revoke("v"), revoke("v")), (200, 404), "what is not done is not listed");
    let asked = server.get("/v1/audit", &server.admin).json()["asked"].as_array().unwrap().clone();
    let told = |entry: &Value| (entry["who"].clone(), entry["tenant"].clone(), entry["what"].clone());
    let told: Vec<_> = asked.iter().map(told).collect();
    assert_eq!(
        told,
        [
            (json!("owner"), Value::Null, json!("add token v, tenant of \"vision\"")),
            (json!("v"), json!("vision"), json!(format!("submit job {job}"))),
            (json!("owner"), Value::Null, json!(format!("cancel job {job}"))),
            (json!("owner"), Value::Null, json!("rotate token v")),
            (json!("owner"), Value::Null, json!("revoke token v")),
        ]
    );
    assert!(asked[0]["record"].is_null() && asked[1]["record"].is_u64(), "{asked:?}");
    let document = server.get("/v1/openapi.json", &server.admin);
    let (_, printed) = says(&["serve", "--openapi"], &[]);
    assert_eq!(document.json(), serde_json::from_str::<Value>(&printed).unwrap());
}
