//! Tenants and the policy as objects of the cluster: read, told to the service, and answered in their status. Where their kinds are not
//! installed, nothing comes of it.

use crate::hub::Hub;
use crate::model::short_name;
use evenhand_core::{Choice, Parameters};
use evenhand_live::{Quota, Refusal, TenantChange, Wish, system_ms};
use futures_util::StreamExt;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// An object that was refused is tried again after this: its group or GPU model may have come.
const AGAIN: Duration = Duration::from_secs(15);

/// A kind of object that says how GPUs are to be shared.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Tenant,
    Policy,
}

#[derive(Deserialize)]
struct TenantSpec {
    weight: Option<f64>,
    group: Option<String>,
    #[serde(default)]
    limit: Quota,
    #[serde(default)]
    guaranteed: Quota,
}

#[derive(Deserialize)]
struct PolicySpec {
    policy: String,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
}

impl Kind {
    fn resource(self) -> ApiResource {
        let (kind, plural) = match self {
            Self::Tenant => ("Tenant", "tenants"),
            Self::Policy => ("SchedulingPolicy", "schedulingpolicies"),
        };
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("evenhand.io", "v1alpha1", kind), plural)
    }

    /// What the service should be asked for. What an object leaves out is as if nobody had said it.
    fn wish(self, name: &str, object: &DynamicObject) -> Result<Wish, String> {
        match self {
            Self::Tenant => {
                let TenantSpec { weight, group, limit, guaranteed } = spec(object)?;
                let change = TenantChange {
                    weight: Some(weight.unwrap_or(1.0)),
                    group: Some(group),
                    limit: Some(quota(limit)),
                    guaranteed: Some(quota(guaranteed)),
                };
                Ok(Wish::ChangeTenant { name: name.to_owned(), change })
            }
            Self::Policy => {
                let PolicySpec { policy, parameters } = spec(object)?;
                Ok(Wish::ChangePolicy(Choice { name: policy, parameters: Parameters(parameters) }))
            }
        }
    }
}

fn spec<T: DeserializeOwned>(object: &DynamicObject) -> Result<T, String> {
    let spec = object.data.get("spec").cloned().unwrap_or_else(|| json!({}));
    serde_json::from_value(spec).map_err(|error| format!("spec: {error}"))
}

/// Models may be called as nodes label them.
fn quota(quota: Quota) -> Option<Quota> {
    let quota: Quota = quota.into_iter().map(|(model, count)| (short_name(&model), count)).collect();
    Some(quota).filter(|quota| !quota.is_empty())
}

/// How an object stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// The service has to be asked.
    Open,
    Accepted,
    Refused,
}

/// One object.
struct Rule {
    generation: Option<i64>,
    wish: Result<Wish, String>,
    stand: Stand,
    /// What its status says, as far as we said it.
    said: Option<(bool, String)>,
}

/// All objects of one kind, by name.
struct Rules {
    hub: Arc<Hub>,
    kind: Kind,
    api: Api<DynamicObject>,
    each: BTreeMap<String, Rule>,
}

/// Watches one kind of object for ever.
pub(crate) async fn keep(hub: Arc<Hub>, kind: Kind) {
    let api = Api::all_with(hub.client.clone(), &kind.resource());
    let config = watcher::Config::default();
    let mut events = Box::pin(watcher(api.clone(), config).default_backoff());
    let mut rules = Rules { hub, kind, api, each: BTreeMap::new() };
    loop {
        match tokio::time::timeout(AGAIN, events.next()).await {
            Ok(Some(Ok(Event::InitApply(object) | Event::Apply(object)))) => rules.see(&object),
            Ok(Some(Ok(Event::Delete(object)))) => {
                rules.each.remove(object.metadata.name.as_deref().unwrap_or_default());
            }
            // Also where the kind is not installed.
            Ok(Some(Err(_) | Ok(Event::Init | Event::InitDone))) => {}
            Ok(None) => return,
            Err(_) => rules.reopen(),
        }
        rules.settle().await;
    }
}

impl Rules {
    fn see(&mut self, object: &DynamicObject) {
        let Some(name) = object.metadata.name.clone() else { return };
        // Of policies, that of this scheduler counts.
        if matches!(self.kind, Kind::Policy) && name != self.hub.books().scheduler {
            return;
        }
        let generation = object.metadata.generation;
        // Our own words in its status are no news.
        if self.each.get(&name).is_some_and(|rule| rule.generation == generation) {
            return;
        }
        let wish = self.kind.wish(&name, object);
        self.each.insert(name, Rule { generation, wish, stand: Stand::Open, said: None });
    }

    fn reopen(&mut self) {
        for rule in self.each.values_mut().filter(|rule| rule.stand == Stand::Refused) {
            rule.stand = Stand::Open;
        }
    }

    /// Asks for whatever is open, and says what came of it. What was refused may make sense once others were accepted.
    async fn settle(&mut self) {
        let mut is_news = true;
        while std::mem::take(&mut is_news) {
            for (name, rule) in self.each.iter_mut().filter(|(_, rule)| rule.stand == Stand::Open) {
                let answer = match &rule.wish {
                    Ok(wish) => ask(&self.hub, wish.clone()).await,
                    Err(message) => Err(Refusal::Invalid(message.clone())),
                };
                let said = match answer {
                    Ok(()) => (true, "it holds".to_owned()),
                    Err(Refusal::Invalid(message)) => (false, message),
                    // It is not the object's fault; it stays open.
                    Err(_) => continue,
                };
                is_news |= said.0;
                rule.stand = if said.0 { Stand::Accepted } else { Stand::Refused };
                if rule.said.as_ref() != Some(&said)
                    && say(&self.api, name, rule.generation, &said).await.is_ok()
                {
                    rule.said = Some(said);
                }
            }
            if is_news {
                self.reopen();
            }
        }
    }
}

async fn ask(hub: &Hub, wish: Wish) -> Result<(), Refusal> {
    let (reply, answer) = oneshot::channel();
    // Whoever asked may have stopped waiting.
    hub.ask(wish, move |answer| drop(reply.send(answer)));
    answer.await.unwrap_or(Err(Refusal::Stopping)).map(drop)
}

async fn say(
    api: &Api<DynamicObject>,
    name: &str,
    generation: Option<i64>,
    (accepted, message): &(bool, String),
) -> Result<(), kube::Error> {
    let now = Timestamp::from_millisecond(system_ms() as i64).unwrap_or(Timestamp::UNIX_EPOCH);
    let condition = json!({
        "type": "Accepted",
        "status": if *accepted { "True" } else { "False" },
        "reason": if *accepted { "Accepted" } else { "Refused" },
        "message": message,
        "lastTransitionTime": now.to_string(),
    });
    let status = json!({ "observedGeneration": generation, "conditions": [condition] });
    let patch = Patch::Merge(json!({ "status": status }));
    api.patch_status(name, &PatchParams::default(), &patch).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(spec: &serde_json::Value) -> DynamicObject {
        DynamicObject::new("robots", &Kind::Tenant.resource()).data(json!({ "spec": spec }))
    }

    #[test]
    fn what_a_tenant_leaves_out_is_taken_away() {
        let made = object(&json!({ "limit": { "NVIDIA-A100-SXM4-80GB": 4 } }));
        let Ok(Wish::ChangeTenant { name, change }) = Kind::Tenant.wish("robots", &made) else {
            panic!("it makes sense");
        };
        assert_eq!((name.as_str(), change.weight, change.group), ("robots", Some(1.0), Some(None)));
        assert_eq!(change.limit, Some(Some(Quota::from([("a100-sxm4-80gb".to_owned(), 4)]))));
        assert_eq!(change.guaranteed, Some(None));
    }

    #[test]
    fn a_policy_without_a_name_is_refused_in_words() {
        let error = Kind::Policy.wish("evenhand", &object(&json!({}))).unwrap_err();
        assert!(error.contains("missing field `policy`"), "{error}");
    }
}
