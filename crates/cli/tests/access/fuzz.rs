//! Asks whatever the OpenAPI document allows, and much that it does not, at random; nothing may come back as the server's own fault, or with a
//! status that the document does not tell of.
//!
//! `EVENHAND_FUZZ_REQUESTS` says how many requests, `EVENHAND_FUZZ_SEED` which.

use crate::server::{Ask, Server};
use evenhand_core::Random;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::Write;

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

fn one<'a, T>(random: &mut Random, among: &'a [T]) -> &'a T {
    &among[random.below(among.len() as u64) as usize]
}

/// Makes values for schemas of a document.
struct Maker<'a> {
    document: &'a Value,
    random: Random,
}

impl Maker<'_> {
    fn chance(&mut self, in_: u64) -> bool {
        self.random.below(in_) == 0
    }

    fn text(&mut self) -> String {
        let odd = [
            "",
            "a",
            "same",
            "1",
            "2",
            "0",
            "-1",
            "9223372036854775807",
            "18446744073709551615",
            "1e9",
            "\u{0}",
            "\n",
            "é",
            "🦀",
            "../..",
            "'; DROP TABLE job; --",
            "%",
            "_",
            "null",
            "queued",
            "queued,held",
            "running",
            "v100",
            "default",
            "true",
        ];
        if self.chance(20) {
            return "x".repeat(self.random.below(2000) as usize);
        }
        (*one(&mut self.random, &odd)).to_owned()
    }

    fn number(&mut self) -> Value {
        let odd = [
            json!(0),
            json!(1),
            json!(2),
            json!(4),
            json!(5),
            json!(100),
            json!(-1),
            json!(0.5),
            json!(1e300),
            json!(-1e300),
            json!(1e-300),
            json!(i64::MAX),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(u32::MAX),
            json!(4_294_967_296_u64),
            json!(1000),
            json!(1001),
        ];
        one(&mut self.random, &odd).clone()
    }

    fn anything(&mut self) -> Value {
        match self.random.below(7) {
            0 => Value::Null,
            1 => json!(true),
            2 => json!([]),
            3 => json!({}),
            4 => json!(self.text()),
            5 => json!([self.text(), 1]),
            _ => self.number(),
        }
    }

    /// A value of a schema; now and then one that is not.
    fn value(&mut self, schema: &Value) -> Value {
        if let Some(reference) = schema["$ref"].as_str() {
            let at = reference.trim_start_matches('#');
            return self.value(&self.document.pointer(at).unwrap().clone());
        }
        if self.chance(15) {
            return self.anything();
        }
        if let Some(values) = schema["enum"].as_array() {
            return one(&mut self.random, values).clone();
        }
        match schema["type"].as_str() {
            Some("object") => self.object(schema),
            Some("array") => {
                let length = self.random.below(4);
                (0..length).map(|_| self.value(&schema["items"])).collect()
            }
            Some("string") => json!(self.text()),
            Some("integer") if !self.chance(3) => json!(self.random.below(6)),
            Some("integer" | "number") => self.number(),
            Some("boolean") => json!(self.chance(2)),
            _ => self.anything(),
        }
    }

    fn object(&mut self, schema: &Value) -> Value {
        let mut object = Map::new();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let is_required = required.iter().any(|required| required == name);
            if if is_required { !self.chance(30) } else { self.chance(3) } {
                object.insert(name.clone(), self.value(field));
            }
        }
        if schema["additionalProperties"].is_object() || self.chance(40) {
            object.insert(self.text(), self.value(&schema["additionalProperties"].clone()));
        }
        // What it runs should be short, whatever else it is.
        if object.contains_key("argv") && !self.chance(4) {
            object.insert("argv".to_owned(), json!(["true"]));
        }
        Value::Object(object)
    }
}

/// Something that can be asked, as the document describes it.
struct Operation {
    path: String,
    verb: String,
    described: Value,
}

/// A question, made up.
struct Question {
    address: String,
    headers: Vec<(String, String)>,
    body: Option<String>,
}

/// All that the document knows, but for what never ends.
fn operations(document: &Value) -> Vec<Operation> {
    let mut found = Vec::new();
    for (path, verbs) in document["paths"].as_object().unwrap() {
        for (verb, described) in verbs.as_object().unwrap() {
            let is_endless = described["responses"]["200"]["content"].get("text/event-stream").is_some();
            if !is_endless {
                let (path, verb) = (path.clone(), verb.to_uppercase());
                found.push(Operation { path, verb, described: described.clone() });
            }
        }
    }
    found
}

impl Maker<'_> {
    fn question(&mut self, operation: &Operation) -> Question {
        let (mut address, mut query, mut headers) = (operation.path.clone(), Vec::new(), Vec::new());
        for parameter in operation.described["parameters"].as_array().unwrap() {
            let name = parameter["name"].as_str().unwrap();
            let place = parameter["in"].as_str().unwrap();
            if place != "path" && self.chance(2) {
                continue;
            }
            let value = match self.value(&parameter["schema"]) {
                Value::String(text) => text,
                other => other.to_string(),
            };
            // Tokens that the test needs are left alone.
            let value = if name == "token" { format!("x{value}") } else { value };
            match place {
                "path" => address = address.replace(&format!("{{{name}}}"), &escaped(&value)),
                "query" => query.push(format!("{name}={}", escaped(&value))),
                _ => headers.push((name.to_owned(), value.replace(['\u{0}', '\n'], " "))),
            }
        }
        if !query.is_empty() {
            address = format!("{address}?{}", query.join("&"));
        }
        let schema = operation.described.pointer("/requestBody/content/application~1json/schema");
        let body = schema.map(|schema| self.value(schema).to_string());
        Question { address, headers, body }
    }
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat()
}

#[test]
fn nothing_that_is_asked_at_random_is_the_servers_fault() {
    let (requests, seed) = (setting("EVENHAND_FUZZ_REQUESTS", 4000), setting("EVENHAND_FUZZ_SEED", 1));
    let mut server = Server::start("fuzz", &["--requests-per-second", "1000000"]);
    let vision = server.token("vision", "tenant", Some("vision"));
    let document = server.get("/v1/openapi.json", &server.admin).json();
    let operations = operations(&document);
    let mut maker = Maker { document: &document, random: Random::stream(seed, "fuzz") };
    let mut statuses = BTreeMap::<u16, u64>::new();
    for number in 0..requests {
        let operation = one(&mut maker.random, &operations);
        let Question { address, headers, body } = maker.question(operation);
        let token = if maker.chance(3) { &vision } else { &server.admin };
        let ask = Ask { verb: &operation.verb, path: &address, token: Some(token), headers, body };
        let answer = server.ask(&ask);
        let is_told = operation.described["responses"].get(answer.status.to_string()).is_some();
        assert!(is_told && answer.status < 500, "seed {seed}, request {number}: {ask:?}: {answer:?}");
        *statuses.entry(answer.status).or_default() += 1;
    }
    assert!(server.is_alive());
    assert!(statuses.contains_key(&201) && statuses.contains_key(&422), "{statuses:?}");
    // For whoever asked for more than usual.
    writeln!(std::io::stderr(), "{requests} requests, seed {seed}: {statuses:?}").unwrap();
}
