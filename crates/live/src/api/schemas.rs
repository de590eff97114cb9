//! The types of the OpenAPI document, by hand: they are few, and the tests hold them to what is really sent.

use serde_json::{Value, json};

/// A type that nobody described may be anything.
pub(super) fn of(name: &str) -> Value {
    let described = SCHEMAS.iter().find(|(known, _)| *known == name).map(|(_, schema)| schema);
    described
        .map_or_else(|| json!({}), |schema| serde_json::from_str(schema).expect("a test reads every schema"))
}

/// Every type that is described.
pub(super) const SCHEMAS: &[(&str, &str)] = &[
    (
        "Error",
        r#"{"type": "object", "required": ["error"], "properties": {"error": {"type": "object", "required": ["code", "message"],
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}}}}}"#,
    ),
    ("Nothing", r#"{"type": "object", "additionalProperties": false}"#),
    ("Anything", r#"{"type": "object"}"#),
    (
        "Health",
        r#"{"type": "object", "required": ["status", "records", "commits", "jobs", "version"], "properties": {
            "status": {"type": "string", "enum": ["ok", "mending"]}, "records": {"type": "integer", "minimum": 0},
            "commits": {"type": "integer", "minimum": 0},
            "jobs": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}, "version": {"type": "string"}}}"#,
    ),
    (
        "Wanted",
        r#"{"type": "object", "required": ["argv"], "additionalProperties": false, "properties": {
            "name": {"type": ["string", "null"], "minLength": 1, "maxLength": 128, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\u0000-\\u001f\\u007f-\\u009f0-9+][^\\u0000-\\u001f\\u007f-\\u009f]*$"},
            "tenant": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]+$"},
            "gpus": {"type": "integer", "minimum": 1, "maximum": 4294967295}, "models": {"type": "array", "items": {"type": "string"}},
            "priority": {"type": "integer", "minimum": -2147483648, "maximum": 2147483647},
            "steps": {"type": ["number", "null"], "minimum": 0.001, "maximum": 1e12},
            "steps_per_second": {"type": ["number", "null"], "minimum": 1e-6, "maximum": 1e9},
            "after": {"type": "array", "items": {"type": ["integer", "string"], "minimum": 0}},
            "after_any": {"type": "array", "items": {"type": ["integer", "string"], "minimum": 0}},
            "app": {"type": ["string", "null"], "minLength": 1, "maxLength": 128}, "agent": {"type": "string", "enum": ["inside", "outside"]}, "deadline": {"type": ["string", "null"]}, "array": {"type": ["string", "null"]},
            "argv": {"type": "array", "minItems": 1, "prefixItems": [{"type": "string", "minLength": 1, "pattern": "^[^\\u0000]*$"}],
                "items": {"type": "string", "pattern": "^[^\\u0000]*$"}},
            "environment": {"type": "object", "propertyNames": {"minLength": 1, "pattern": "^[^=\\u0000]+$"},
                "additionalProperties": {"type": "string", "pattern": "^[^\\u0000]*$"}},
            "folder": {"type": ["string", "null"], "pattern": "^/"},
            "limits": {"type": "object", "additionalProperties": false, "properties": {
                "memory_bytes": {"type": ["integer", "null"], "minimum": 0}, "cpu_s": {"type": ["integer", "null"], "minimum": 0},
                "open_files": {"type": ["integer", "null"], "minimum": 0}, "job_memory_bytes": {"type": ["integer", "null"], "minimum": 0},
                "job_processes": {"type": ["integer", "null"], "minimum": 1},
                "job_cpus": {"type": ["integer", "null"], "minimum": 1, "maximum": 4294967295}}}}}"#,
    ),
    (
        "Accepted",
        r#"{"type": "object", "required": ["job", "created"], "properties": {
            "job": {"type": "integer", "minimum": 0}, "created": {"type": "boolean"},
            "jobs": {"type": "array", "items": {"type": "integer"}}}}"#,
    ),
    (
        "WantedBatch",
        r##"{"type": "object", "required": ["jobs"], "additionalProperties": false, "properties": {
            "jobs": {"type": "array", "minItems": 1, "maxItems": 1000, "items": {"$ref": "#/components/schemas/Wanted"}}}}"##,
    ),
    (
        "AcceptedBatch",
        r#"{"type": "object", "required": ["jobs", "created"], "properties": {
            "jobs": {"type": "array", "items": {"type": "integer"}}, "created": {"type": "boolean"}}}"#,
    ),
    (
        "Outlook",
        r#"{"type": "object", "required": ["jobs", "stops", "stops_of_others"], "properties": {"jobs": {"type": "array", "items": {
            "type": "object", "required": ["when_left", "why"], "properties": {"name": {"type": "string"}, "gpus": {},
            "models": {"type": "array", "items": {"type": "string"}}, "when_left": {"type": "boolean"}, "why": {"type": "string"}}}},
            "stops": {"type": "array", "items": {"type": "object"}}, "stops_of_others": {"type": "integer"},
            "troubles": {"type": "array", "items": {"type": "string"}}}}"#,
    ),
    (
        "Trial",
        r##"{"type": "object", "allOf": [{"$ref": "#/components/schemas/Outlook"}], "properties": {
            "at_round": {"$ref": "#/components/schemas/Outlook"}}}"##,
    ),
    (
        "App",
        r#"{"type": "object", "required": ["id", "tenant", "opened_ms", "active", "jobs"], "properties": {"id": {"type": "integer"},
            "name": {"type": "string"}, "tenant": {"type": "string"}, "opened_ms": {"type": "integer"}, "closed_ms": {"type": "integer"},
            "active": {"type": "integer"}, "jobs": {"type": "integer"}}}"#,
    ),
    (
        "Apps",
        r##"{"type": "object", "required": ["apps"], "properties": {
            "apps": {"type": "array", "items": {"$ref": "#/components/schemas/App"}}}}"##,
    ),
    (
        "Offered",
        r#"{"type": "object", "required": ["app"], "properties": {"app": {"type": "integer"}, "offer": {"type": "object",
            "required": ["version", "round", "lease_ms", "reply_by_unix_ms", "models", "nodes"], "properties": {"version": {"type": "integer"},
            "round": {"type": "integer"}, "lease_ms": {"type": "integer"}, "reply_by_unix_ms": {"type": "integer"},
            "models": {"type": "array", "items": {"type": "string"}}, "nodes": {"type": "array", "items": {"type": "object",
            "required": ["node", "rack", "model", "gpus"]}}}}}}"#,
    ),
    (
        "Bid",
        r#"{"type": "object", "required": ["version", "round", "rows"], "properties": {"version": {"type": "integer", "minimum": 1, "maximum": 1},
            "round": {"type": "integer", "minimum": 0}, "rows": {"type": "array", "minItems": 1, "maxItems": 64, "items": {"type": "object",
            "required": ["rho"], "properties": {"rho": {"type": "number", "exclusiveMinimum": 0}, "parts": {"type": "array", "maxItems": 16,
            "items": {"type": "object", "required": ["model", "gang", "gangs", "span"], "properties": {"model": {"type": "integer", "minimum": 0},
            "gang": {"type": "integer", "minimum": 1}, "gangs": {"type": "integer", "minimum": 1},
            "span": {"type": "string", "enum": ["socket", "node", "rack", "cluster"]}}}}}}}}}"#,
    ),
    (
        "JobRow",
        r#"{"type": "object", "required": ["id", "tenant", "priority", "gpus", "phase", "submitted_ms", "starts", "crashes", "steps", "attained_ms"],
            "properties": {"id": {"type": "integer"}, "name": {"type": "string"}, "tenant": {"type": "string"},
            "priority": {"type": "integer"}, "gpus": {"type": "integer"}, "phase": {"type": "string", "enum": ["queued", "held",
            "starting", "running", "stopping", "finished", "failed", "cancelled", "retired"]}, "submitted_ms": {"type": "integer"},
            "started_ms": {"type": "integer"}, "ended_ms": {"type": "integer"}, "lease": {"type": "integer"}, "held": {},
            "starts": {"type": "integer"}, "crashes": {"type": "integer"}, "steps": {"type": "number"},
            "attained_ms": {"type": "integer"}, "why": {"type": "string"}, "array": {"type": "integer"}, "array_index": {"type": "integer"},
            "app": {"type": "string"}, "deadline_ms": {"type": "integer"}, "after": {"type": "array", "items": {"type": "integer"}}}}"#,
    ),
    (
        "Page",
        r##"{"type": "object", "required": ["jobs"], "properties": {
            "jobs": {"type": "array", "items": {"$ref": "#/components/schemas/JobRow"}}, "next_after": {"type": "integer"}, "next_before": {"type": "integer"}}}"##,
    ),
    (
        "Explanation",
        r#"{"type": "object", "required": ["job", "lines", "epoch_ms"], "properties": {"job": {"type": "integer"}, "is_array": {"type": "boolean"}, "has_ended": {"type": "boolean"}, "epoch_ms": {"type": "integer"},
            "now": {"type": "object", "required": ["tenant", "standing", "needs", "usable", "free", "before", "holders_count", "holders", "shares"],
            "properties": {"name": {"type": "string"}, "tenant": {"type": "string"}, "standing": {"type": "string", "enum": ["queued", "after",
            "no-turn", "retries", "held", "promised", "runs", "stopping"]}, "why": {"type": "string"}, "unblocks": {"type": "string"}, "needs": {"type": "integer"},
            "usable": {"type": "integer"}, "free": {"type": "integer"}, "start": {"type": "object"}, "finish": {"type": "object"},
            "promised_s": {"type": "number"}, "before": {"type": "integer"}, "holders_count": {"type": "integer"},
            "holders": {"type": "array", "items": {"type": "object", "required": ["job", "gpus", "why"]}},
            "shares": {"type": "array", "items": {"type": "object", "required": ["tenant", "held", "share"]}}}}, "told": {"type": "array", "items": {"type": "object", "required": ["label", "words"]}}, "lines": {"type": "array",
            "items": {"type": "object", "required": ["at_s", "text", "times"], "properties": {"at_s": {"type": "number"},
            "text": {"type": "string"}, "times": {"type": "integer"}}}}}}"#,
    ),
    (
        "SignIn",
        r#"{"type": "object", "required": ["token"], "additionalProperties": false, "properties": {"token": {"type": "string"}}}"#,
    ),
    (
        "Session",
        r#"{"type": "object", "required": ["signed_in"], "properties": {"signed_in": {"type": "boolean"}, "name": {"type": "string"},
            "role": {"type": "string", "enum": ["read-only", "tenant", "operator", "admin"]}, "tenant": {"type": "string"}}}"#,
    ),
    (
        "ClusterGlance",
        r#"{"type": "object", "required": ["record", "epoch_ms", "now_ms", "status", "version", "policy", "jobs", "gpus", "held", "shared", "free",
            "closed", "models", "tenants", "nodes", "groups", "by_rack"], "properties": {"record": {"type": "integer"}, "epoch_ms": {"type": "integer"},
            "now_ms": {"type": "integer"}, "status": {"type": "string", "enum": ["ok", "mending"]}, "version": {"type": "string"}, "policy": {"type": "object"},
            "jobs": {"type": "object", "additionalProperties": {"type": "integer"}}, "gpus": {"type": "integer"}, "held": {"type": "integer"},
            "shared": {"type": "integer"}, "free": {"type": "integer"}, "closed": {"type": "integer"}, "models": {"type": "array", "items": {"type": "object"}},
            "tenants": {"type": "array", "items": {"type": "object", "required": ["name", "colour", "held", "share", "running", "waiting"]}},
            "nodes": {"type": "integer"}, "by_rack": {"type": "boolean"}, "groups": {"type": "array", "items": {"type": "object",
            "required": ["name", "first", "nodes", "models", "closed_nodes", "gpus", "held", "shared", "free", "closed", "holders"]}}}}"#,
    ),
    (
        "NodeWindow",
        r#"{"type": "object", "required": ["record", "tenants", "nodes"], "properties": {"record": {"type": "integer"}, "next_from": {"type": "integer"},
            "tenants": {"type": "array", "items": {"type": "string"}}, "nodes": {"type": "array", "items": {"type": "object",
            "required": ["node", "name", "rack", "model", "health", "gpus", "jobs"]}}}}"#,
    ),
    (
        "JobTimeline",
        r##"{"type": "object", "required": ["epoch_ms", "now_ms", "job", "leases", "regimes", "neighbours"], "properties": {
            "epoch_ms": {"type": "integer"}, "now_ms": {"type": "integer"}, "job": {"$ref": "#/components/schemas/JobRow"},
            "steps_total": {"type": "number"}, "leases": {"type": "array", "items": {"type": "object",
            "required": ["lease", "from_ms", "gpus", "gpus_count", "models", "why"]}}, "regimes": {"type": "array", "items": {"type": "object"}},
            "neighbours": {"type": "array", "items": {"type": "object", "required": ["gpus"]}}}}"##,
    ),
    (
        "RoundRow",
        r#"{"type": "object", "required": ["record", "round", "at_ms", "occasion", "active", "running", "kept", "due", "starts", "stops", "quality",
            "troubled"], "properties": {"record": {"type": "integer"}, "round": {"type": "integer"}, "at_ms": {"type": "integer"},
            "occasion": {"type": "string", "enum": ["regular", "early", "bids"]}, "quality": {"type": "string"}, "troubled": {"type": "boolean"}}}"#,
    ),
    (
        "RoundPage",
        r##"{"type": "object", "required": ["epoch_ms", "rounds"], "properties": {"epoch_ms": {"type": "integer"},
            "rounds": {"type": "array", "items": {"$ref": "#/components/schemas/RoundRow"}}, "next_before": {"type": "integer"}}}"##,
    ),
    (
        "RoundSeen",
        r##"{"type": "object", "allOf": [{"$ref": "#/components/schemas/RoundRow"}], "required": ["epoch_ms", "event", "started", "stopped", "waits",
            "owed", "promises", "promises_in_time", "troubles"]}"##,
    ),
    (
        "WantedWhatIf",
        r#"{"type": "object", "required": ["policies"], "additionalProperties": false, "properties": {
            "policies": {"type": "array", "minItems": 1, "maxItems": 12, "items": {"type": "string"}},
            "since_s": {"type": ["integer", "null"], "minimum": 1, "maximum": 9223372036854775}}}"#,
    ),
    (
        "WhatIf",
        r#"{"type": "object", "required": ["id", "state", "policies", "who", "asked_ms", "progress", "command", "told"], "properties": {
            "id": {"type": "integer"}, "state": {"type": "string", "enum": ["waits", "runs", "done", "failed", "cancelled"]},
            "policies": {"type": "array", "items": {"type": "string"}}, "since_s": {"type": "integer"}, "who": {"type": "string"},
            "asked_ms": {"type": "integer"}, "progress": {"type": "number"}, "command": {"type": "string"},
            "told": {"type": "array", "items": {"type": "string"}}, "runs": {"type": "array"}}}"#,
    ),
    (
        "WhatIfs",
        r##"{"type": "object", "required": ["whatifs"], "properties": {"whatifs": {"type": "array", "items": {"$ref": "#/components/schemas/WhatIf"}}}}"##,
    ),
    (
        "TenantChange",
        r#"{"type": "object", "additionalProperties": false, "properties": {"weight": {"type": ["number", "null"], "exclusiveMinimum": 0},
            "group": {"type": ["string", "null"], "minLength": 1},
            "limit": {"type": ["object", "null"], "additionalProperties": {"type": "integer", "minimum": 0}},
            "guaranteed": {"type": ["object", "null"], "additionalProperties": {"type": "integer", "minimum": 0}}}}"#,
    ),
    (
        "PolicySettings",
        r#"{"type": "object", "additionalProperties": false, "properties": {
            "parameters": {"type": "object", "additionalProperties": {"type": "string"}}}}"#,
    ),
    (
        "Nodes",
        r#"{"type": "object", "required": ["nodes"], "properties": {"nodes": {"type": "array", "items": {"type": "object"}}}}"#,
    ),
    (
        "Tenants",
        r#"{"type": "object", "required": ["tenants"], "properties": {"tenants": {"type": "array", "items": {"type": "object"}}}}"#,
    ),
    (
        "Policies",
        r#"{"type": "object", "required": ["policies"], "properties": {"policies": {"type": "array", "items": {"type": "object"}}}}"#,
    ),
    (
        "Asked",
        r#"{"type": "object", "required": ["number", "at_ms", "who", "what"], "properties": {"number": {"type": "integer"},
            "at_ms": {"type": "integer"}, "record": {"type": "integer"}, "who": {"type": "string"}, "tenant": {"type": "string"},
            "what": {"type": "string"}}}"#,
    ),
    (
        "AskedPage",
        r##"{"type": "object", "required": ["asked"], "properties": {
            "asked": {"type": "array", "items": {"$ref": "#/components/schemas/Asked"}}}}"##,
    ),
    (
        "Token",
        r#"{"type": "object", "required": ["name", "role", "made_ms"], "properties": {"name": {"type": "string"},
            "role": {"type": "string", "enum": ["read-only", "tenant", "operator", "admin"]}, "tenant": {"type": "string"},
            "user": {"type": "string"}, "made_ms": {"type": "integer"}}}"#,
    ),
    (
        "Tokens",
        r##"{"type": "object", "required": ["tokens"], "properties": {
            "tokens": {"type": "array", "items": {"$ref": "#/components/schemas/Token"}}}}"##,
    ),
    (
        "WantedToken",
        r#"{"type": "object", "required": ["name", "role"], "additionalProperties": false, "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z0-9_-]+$"},
            "role": {"type": "string", "enum": ["read-only", "tenant", "operator", "admin"]},
            "tenant": {"type": ["string", "null"], "minLength": 1, "maxLength": 128, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]+$"},
            "user": {"type": ["string", "null"], "minLength": 1}},
            "allOf": [
                {"if": {"properties": {"role": {"const": "tenant"}}}, "then": {"required": ["tenant"], "properties": {"tenant": {"type": "string"}}}},
                {"if": {"properties": {"role": {"enum": ["operator", "admin"]}}}, "then": {"properties": {"tenant": {"type": "null"}}}},
                {"if": {"properties": {"role": {"const": "read-only"}}}, "then": {"properties": {"user": {"type": "null"}}}}]}"#,
    ),
    (
        "NewToken",
        r#"{"type": "object", "required": ["name", "secret"], "properties": {"name": {"type": "string"}, "secret": {"type": "string"}}}"#,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The fields that a schema knows.
    fn fields(name: &str) -> BTreeSet<String> {
        of(name)["properties"].as_object().into_iter().flat_map(|fields| fields.keys().cloned()).collect()
    }

    #[test]
    fn a_submission_with_everything_in_it_has_just_the_fields_of_its_schema() {
        let full = r#"{"name": "n", "tenant": "t", "gpus": 1, "models": ["m"], "priority": 1, "steps": 1, "steps_per_second": 1, "after": [1],
            "after_any": ["x"], "app": "a", "agent": "outside", "deadline": "2h", "array": "0-9",
            "argv": ["x"], "environment": {"A": "b"}, "folder": "/", "limits": {"memory_bytes": 1, "cpu_s": 1, "open_files": 1}}"#;
        let wanted: crate::Wanted = serde_json::from_str(full).unwrap();
        let written = serde_json::to_value(&wanted).unwrap();
        let written: BTreeSet<String> = written.as_object().unwrap().keys().cloned().collect();
        assert_eq!(written, fields("Wanted"));
    }

    #[test]
    fn every_schema_can_be_read() {
        assert!(SCHEMAS.iter().all(|(name, _)| of(name)["type"] == "object"));
    }
}
