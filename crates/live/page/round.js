// One round: its plan, its certificate, and what changed.

import * as api from "./api.js";
import { h, number, plural, show } from "./dom.js";
import * as time from "./time.js";

export function round(record) {
  let root;
  return {
    name: "fairness",
    title: `Round in record ${record}`,
    begin(main) { root = main; },
    read: () => api.get(`rounds/${encodeURIComponent(record)}`),
    show(one) {
      const near = (to, word) => (to ? h("a.button", { href: `#/rounds/${to}`, "data-key": word }, word) : null);
      show(root,
        h("div.crumbs", null, h("h1", null, h("a", { href: "#/fairness" }, "Fairness"), h("span", { "aria-hidden": "true" }, " / "), `round ${one.round}`),
          h("span.actions", null, near(one.before, "Before"), near(one.after, "After"))),
        h("div.columns.even", null,
          h("section.panel", { "aria-labelledby": "decision" }, h("h2", { id: "decision" }, "The decision"), h("dl.told", null,
            row("when", time.at(one.at_ms)), row("occasion", `${one.occasion}, after ${one.event}`),
            row("jobs", `${plural(one.active, "job")} could have been given GPUs, ${number(one.running)} hold some or will`),
            row("leases", `${number(one.kept)} of ${number(one.due)} that were up stayed as they were`))),
          h("section.panel", { "aria-labelledby": "certificate" }, h("h2", { id: "certificate" }, "Its certificate"), h("dl.told", null,
            row("quality", one.quality),
            one.promises.length ? row("promises", `${number(one.promises_in_time)} of ${number(one.promises.length)} finishes that were promised anew are expected in time`) : null,
            one.troubles.map((trouble, at) => row(at ? "" : "trouble", trouble))))),
        h("section.panel", { "aria-labelledby": "changed" }, h("h2", { id: "changed" }, "What changed"),
          jobs("Given GPUs", one.started, true), jobs("Asked to stop", one.stopped), jobs("Wait for another reason than before", one.waits),
          one.started.length + one.stopped.length + one.waits.length ? null : h("p.soft", null, "Nothing: everybody went on as before.")),
        one.owed.length ? h("section.panel", { "aria-labelledby": "owed" }, h("h2", { id: "owed" }, "Shares owed, as they changed"), owed(one.owed)) : null,
        one.promises.length ? h("section.panel", { "aria-labelledby": "promised" }, h("h2", { id: "promised" }, "Promised anew"), promised(one.promises)) : null);
    },
  };
}

const row = (name, ...value) => [h("dt", { "data-key": "t" + name }, name), h("dd", { "data-key": "d" + name }, ...value)];
const link = (job) => h("a", { href: `#/jobs/${job.job}` }, `${job.job}${job.name ? " " + job.name : ""}`);

const table = (head, rows) => h("div.list", null, h("table.jobs", null, h("thead", null, h("tr", null, head.map((title) => h("th", { scope: "col" }, title)))), h("tbody", null, rows)));

const places = (gpus) => gpus.map(([node, mask]) => {
  const ordinals = [];
  for (let bits = BigInt(mask), at = 0; bits; bits >>= 1n, at++) if (bits & 1n) ordinals.push(at);
  return `node ${node}: ${ordinals.join(", ")}`;
}).join("; ");

function jobs(title, found, with_gpus) {
  if (!found.length) return null;
  return [h("h3", { "data-key": title }, `${title} (${number(found.length)})`), table(["job", "tenant", ...(with_gpus ? ["on"] : []), "why"], found.map((job) => h("tr", { "data-key": String(job.job) },
    h("td", { "data-label": "job" }, link(job)), h("td", { "data-label": "tenant" }, job.tenant),
    with_gpus ? h("td", { "data-label": "on" }, places(job.gpus ?? [])) : null, h("td", { "data-label": "why" }, job.why))))];
}

function owed(rows) {
  const models = [...new Set(rows.flatMap((one) => Object.keys(one.gpus)))];
  return table(["who", ...models], rows.map((one, at) => h("tr", { "data-key": String(at) }, h("td", { "data-label": "who" }, one.party),
    models.map((model) => h("td", { "data-label": model }, one.gpus[model] === undefined ? "–" : number(one.gpus[model], 2))))));
}

function promised(rows) {
  return table(["job", "by", "expected", "one in ten later than"], rows.map((one) => h("tr", { "data-key": String(one.job) },
    h("td", { "data-label": "job" }, link(one)), h("td", { "data-label": "by" }, time.at(one.by_ms)),
    h("td", { "data-label": "expected", class: one.expected_ms > one.by_ms ? "late" : null }, time.at(one.expected_ms)),
    h("td", { "data-label": "one in ten later than" }, time.at(one.at_most_ms)))));
}
