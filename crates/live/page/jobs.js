// The jobs: a table with filters, the latest first, a page at a time.

import * as api from "./api.js";
import { h, number, plural, show } from "./dom.js";
import * as time from "./time.js";

const PAGE = 50;
const LATEST = "9223372036854775807";

const GROUPS = [
  ["all", "All", ""],
  ["waiting", "Waiting", "queued,held"],
  ["running", "Running", "starting,running,stopping"],
  ["ended", "Ended", "finished,failed,cancelled,retired"],
];

// #/jobs?show=waiting&tenant=T&search=S
export function jobs(asked) {
  let root;
  let shown = asked.get("show") ?? "all";
  let tenant = asked.get("tenant") ?? "";
  let search = asked.get("search") ?? "";
  let pages = 1;
  let later = 0;
  const change = (context) => {
    pages = 1;
    const hash = "#/jobs" + api.query({ show: shown === "all" ? "" : shown, tenant, search });
    // The address tells the filter, without a step in the history for every letter.
    history.replaceState(null, "", hash);
    context.look();
  };
  return {
    name: "jobs",
    title: "Jobs",
    begin(main) { root = main; },
    async read(context) {
      const phase = GROUPS.find(([name]) => name === shown)?.[2];
      const found = [];
      let before = LATEST;
      for (let page = 0; page < pages && before; page++) {
        const next = await api.get("jobs" + api.query({ phase, tenant, search, before, limit: PAGE }));
        found.push(...next.jobs);
        before = next.next_before;
      }
      const tenants = context.mayLookAround() ? (await api.get("tenants")).tenants.map((row) => row.name) : [];
      return { found, more: before !== undefined && before !== LATEST, tenants };
    },
    show({ found, more, tenants }, context) {
      const counts = context.glance.jobs;
      const count = (phases) => (phases ? phases.split(",") : Object.keys(counts)).reduce((sum, phase) => sum + (counts[phase] ?? 0), 0);
      const choose = (name) => () => { shown = name; change(context); };
      show(root,
        h("h1", null, "Jobs"),
        h("form.filters", { role: "search", onsubmit: (event) => event.preventDefault() },
          h("div.choice", { role: "group", "aria-label": "Which jobs" }, GROUPS.map(([name, title, phases]) =>
            h("button", { type: "button", "data-key": name, "aria-pressed": String(shown === name), onclick: choose(name) }, title,
              tenant || search ? null : h("span.count", null, number(count(phases)))))),
          h("label.field", null, h("span.unseen", null, "Search by name or number"), h("input", { type: "search", placeholder: "Name or number", value: search,
            oninput: (event) => { search = event.target.value.trim(); clearTimeout(later); later = setTimeout(() => change(context), 250); } })),
          context.mayLookAround() ? h("label.field", null, h("span.unseen", null, "Tenant"), h("select", {
            onchange: (event) => { tenant = event.target.value; change(context); } },
            h("option", { value: "", selected: tenant === "" }, "Every tenant"),
            tenants.map((name) => h("option", { value: name, selected: tenant === name }, name)))) : null),
        found.length ? table(found, context) : h("p.empty.soft", null, "No job matches."),
        more ? h("p.more", null, h("button", { type: "button", onclick: () => { pages += 1; context.look(); } }, "Show more")) : null);
    },
  };
}

export const badge = (phase) => h("span.badge." + phase, null, phase);

function table(found, context) {
  const colour = (name) => context.glance.tenants.find((tenant) => tenant.name === name)?.colour ?? "c7";
  const row = (job) => {
    const ran = job.started_ms === undefined ? "" : time.span((job.ended_ms ?? time.nowMs()) - job.started_ms);
    const waited = time.span((job.started_ms ?? job.ended_ms ?? time.nowMs()) - job.submitted_ms);
    return h("tr", { "data-key": "job-" + job.id },
      h("td.id", { "data-label": "job" }, h("a", { href: `#/jobs/${job.id}` }, String(job.id))),
      h("td.name", { "data-label": "name" }, h("a", { href: `#/jobs/${job.id}`, tabindex: "-1" }, job.name ?? "–")),
      h("td", { "data-label": "tenant" }, h("i.swatch", { class: colour(job.tenant) }), job.tenant),
      h("td", { "data-label": "phase" }, badge(job.phase)),
      h("td.count", { "data-label": "GPUs" }, String(job.gpus)),
      h("td.count", { "data-label": "waited" }, waited),
      h("td.count", { "data-label": "since first run" }, ran),
      h("td.count", { "data-label": "submitted" }, h("time", { datetime: time.machine(job.submitted_ms) }, time.at(job.submitted_ms))),
      h("td.why", { "data-label": "why" }, job.why ?? ""));
  };
  const head = [["job"], ["name"], ["tenant"], ["phase"], ["GPUs", 1], ["waited", 1], ["since first run", 1], ["submitted", 1], ["why"]];
  return h("div.panel.list", null, h("table.jobs", null, h("caption.unseen", null, plural(found.length, "job")),
    h("thead", null, h("tr", null, head.map(([title, right]) => h("th", { scope: "col", class: right ? "count" : null }, title)))),
    h("tbody", null, found.map(row))));
}
