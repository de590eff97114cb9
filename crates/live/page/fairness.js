// Fairness: what everybody is owed and has, how jobs fared, who envies whom, what held in which round, and the rounds themselves.

import * as api from "./api.js";
import { tenants } from "./cluster.js";
import { h, number, show } from "./dom.js";
import { figure } from "./figures.js";
import * as time from "./time.js";

const PAGE = 30;

export function fairness() {
  let root;
  let pages = 1;
  return {
    name: "fairness",
    title: "Fairness",
    begin(main) { root = main; },
    async read(context) {
      if (!context.mayLookAround()) return { rounds: null };
      const rounds = [];
      let before;
      for (let page = 0; page < pages; page++) {
        const next = await api.get("rounds" + api.query({ limit: PAGE, before }));
        rounds.push(...next.rounds);
        before = next.next_before;
        if (!before) break;
      }
      return { rounds, more: before !== undefined };
    },
    show({ rounds, more }, context) {
      const around = context.mayLookAround();
      show(root,
        h("h1", null, "Fairness"),
        h("div.columns.even", null,
          h("section.panel", { "aria-labelledby": "now" }, h("h2", { id: "now" }, "Shares now"),
            h("p.soft", null, "A bar is what a tenant holds, the stroke its share by weight among those who have work."), tenants(context.glance)),
          figure("finish-time-fairness", "Fairness ratios")),
        h("h2", null, around ? "Owed and received" : "What you were owed and received"),
        h("p.soft", null, "Filled: GPUs a tenant held. Dashed: its fair share at that moment."),
        figure("shares", "Owed and received over time"),
        h("h2", null, "What held, and what GPUs are worth"),
        figure("properties", "What held in which rounds"),
        h("div.pair", null, figure("prices", "What a GPU of each model is worth"), figure("completion", "Completion times")),
        around ? [figure("envy", "Who envies whom"), h("h2", null, "What each tenant got"), figure("tenants", "Tenants")] : null,
        rounds ? list(rounds, more, () => { pages += 1; context.look(); }) : null,
        around ? h("details.panel", { "data-key": "audit" }, h("summary", null, h("h2", null, "The audit of all that happened")), figure("audit", "The audit")) : null);
    },
  };
}

function list(rounds, more, show_more) {
  const row = (one) => h("tr", { "data-key": "round-" + one.record },
    h("td.id", { "data-label": "round" }, h("a", { href: `#/rounds/${one.record}` }, String(one.round))),
    h("td", { "data-label": "when" }, h("time", { datetime: time.machine(one.at_ms) }, time.at(one.at_ms))),
    h("td", { "data-label": "occasion" }, one.occasion),
    h("td.count", { "data-label": "jobs" }, number(one.active)), h("td.count", { "data-label": "run" }, number(one.running)),
    h("td.count", { "data-label": "started" }, one.starts ? number(one.starts) : "–"), h("td.count", { "data-label": "stopped" }, one.stops ? number(one.stops) : "–"),
    h("td", { "data-label": "certificate" }, one.troubled ? h("span.badge.bad", null, "trouble") : null, one.quality));
  return h("section.panel", { "aria-labelledby": "rounds", "data-key": "rounds" }, h("h2", { id: "rounds" }, "Rounds"),
    h("p.soft", null, "Every decision, the latest first. Open one to see its plan, how good it is known to be, and what changed."),
    h("div.list", null, h("table.jobs.rounds", null, h("thead", null, h("tr", null, [["round"], ["when"], ["occasion"], ["jobs", 1], ["run", 1], ["started", 1], ["stopped", 1], ["certificate"]]
      .map(([title, right]) => h("th", { scope: "col", class: right ? "count" : null }, title)))), h("tbody", null, rounds.map(row)))),
    more ? h("p.more", null, h("button", { type: "button", onclick: show_more }, "Show more")) : null);
}
