// The cluster: racks, nodes and GPUs as a heat map, who has how much, and use and queue over time.

import * as api from "./api.js";
import { h, number, plural, show } from "./dom.js";
import { figure } from "./figures.js";

// Clusters of no more GPUs and nodes than this are shown GPU by GPU at once.
const GPUS_AT_ONCE = 384;
const NODES_AT_ONCE = 64;

// #/cluster, or #/cluster/nodes/FIRST/COUNT.
export function cluster(parts) {
  const zoomed = parts[0] === "nodes" ? { from: Number(parts[1]) || 0, limit: Math.min(Number(parts[2]) || 16, 256) } : null;
  let root;
  return {
    name: "cluster",
    title: zoomed ? `Nodes ${zoomed.from}–${zoomed.from + zoomed.limit - 1}` : "Cluster",
    begin(main) { root = main; },
    async read(context) {
      if (zoomed) return { window: await api.get("cluster/nodes" + api.query(zoomed)) };
      const known = context.glance ?? await api.get("cluster");
      const small = known.gpus <= GPUS_AT_ONCE && known.nodes <= NODES_AT_ONCE;
      return { window: small ? await api.get("cluster/nodes" + api.query({ from: 0, limit: NODES_AT_ONCE })) : null };
    },
    show({ window }, context) {
      const glance = context.glance;
      const around = context.mayLookAround();
      show(root,
        zoomed ? crumbs(zoomed) : h("h1.unseen", null, "Cluster"),
        zoomed ? null : cards(glance, around),
        h("div.columns", null,
          h("section.panel", { "aria-labelledby": "map" },
            h("div.head", null, h("h2", { id: "map" }, window ? "Nodes" : glance.by_rack ? "Racks" : "Nodes in groups"), legend(glance)),
            window ? nodes(window, glance) : groups(glance)),
          h("section.panel.side", { "aria-labelledby": "who" }, h("h2", { id: "who" }, "Who holds what"), tenants(glance), models(glance))),
        zoomed ? null : h("div.pair", null, figure("use", "GPUs in use over time"), figure("queue", "Jobs waiting over time")),
        zoomed || !around ? null : figure("leases", "Who held which GPU when"));
    },
  };
}

function crumbs({ from, limit }) {
  return h("div.crumbs", null, h("h1", null, h("a", { href: "#/cluster" }, "Cluster"), h("span", { "aria-hidden": "true" }, " / "),
    `nodes ${from}–${from + limit - 1}`));
}

const waiting = (jobs) => (jobs.queued ?? 0) + (jobs.held ?? 0);
const running = (jobs) => (jobs.starting ?? 0) + (jobs.running ?? 0) + (jobs.stopping ?? 0);
const percent = (part, all) => (all ? `${Math.round((100 * part) / all)} %` : "–");

function cards(glance, around) {
  const short = glance.tenants.filter((tenant) => tenant.waiting > 0 && tenant.held < Math.floor(tenant.share + 1e-6));
  const lacks = short.length
    ? short.map((tenant) => `${tenant.name} ${number(tenant.held - tenant.share, 1)}`).slice(0, 3).join(", ") + (short.length > 3 ? ", …" : "")
    : "nobody who waits holds less than its share";
  const ended = ["finished", "failed", "cancelled", "retired"].map((phase) => glance.jobs[phase] ?? 0).reduce((a, b) => a + b);
  return h("dl.cards", null,
    card("GPUs in use", percent(glance.held, glance.gpus), `${number(glance.held)} of ${number(glance.gpus)}` +
      (glance.shared ? `, ${number(glance.shared)} shared` : "") + (glance.closed ? `, ${number(glance.closed)} closed` : ""),
      h("div.meter", { "aria-hidden": "true" }, h("i", { css: { width: percent(glance.held, glance.gpus).replace(" ", "") } }))),
    card("Running", number(running(glance.jobs)), around ? "jobs that hold GPUs" : "of your jobs"),
    card("Waiting", number(waiting(glance.jobs)), around ? "jobs without GPUs" : "of your jobs"),
    around ? card("Below their share", number(short.length), lacks) : card("Ended", number(ended), "of your jobs"));
}

function card(name, value, remark, extra) {
  return h("div.card", { "data-key": name }, h("dt", null, name), h("dd", null, h("b", null, value), h("span.soft", null, remark), extra));
}

function legend(glance) {
  return h("ul.legend", { "aria-label": "Colours" },
    glance.tenants.slice(0, 8).map((tenant) => h("li", { "data-key": tenant.name }, h("i.swatch", { class: tenant.colour }), tenant.name)),
    h("li", null, h("i.swatch.free"), "free"),
    glance.closed ? h("li", null, h("i.swatch.closed"), "closed") : null,
    glance.shared ? h("li", null, h("i.swatch.shared.c0"), "shared") : null);
}

// Racks, or nodes next to each other: who holds how much of each.
function groups(glance) {
  const tile = (group) => {
    const parts = group.holders.map((part) => [glance.tenants[part.tenant]?.colour ?? "c7", part.gpus]);
    const told = parts.reduce((sum, [, gpus]) => sum + gpus, 0);
    if (group.held > told) parts.push(["c7", group.held - told]);
    const whole = Math.max(group.gpus, told);
    const most = glance.tenants[group.holders[0]?.tenant]?.name;
    const words = `${group.name}: ${group.held} of ${group.gpus} GPUs held` + (most ? `, most by ${most}` : "") +
      (group.closed_nodes ? `, ${plural(group.closed_nodes, "node")} closed` : "");
    return h("a.tile", { "data-key": group.name, href: `#/cluster/nodes/${group.first}/${group.nodes}`, "aria-label": words, title: words },
      h("span.stack", { "aria-hidden": "true" },
        parts.map(([colour, gpus]) => h("i", { class: colour, css: { height: `${(100 * gpus) / whole}%` } })),
        group.closed ? h("i.closed", { css: { height: `${(100 * group.closed) / whole}%` } }) : null),
      h("span.name", { "aria-hidden": "true" }, group.name.replace(/^(rack|nodes) /, "").replace(/–.*/, "")));
  };
  return h("div.tiles", null, glance.groups.map(tile));
}

// Nodes, GPU by GPU.
function nodes(window, glance) {
  const colour = (place) => glance.tenants.find((tenant) => tenant.name === window.tenants[place])?.colour ?? "c7";
  return h("div.nodes", null, window.nodes.map((node) => {
    const on = Array.from({ length: node.gpus }, () => []);
    for (const job of node.jobs) for (const gpu of job.gpus) on[gpu]?.push(job);
    const state = node.health === "up" ? null : h("span.badge.bad", null, node.health);
    return h("div.node", { "data-key": "node-" + node.node },
      h("div.title", null, h("b", null, node.name), h("span.soft", null, node.model), state),
      h("div.gpus", { role: "list" }, on.map((jobs, gpu) => cell(node, gpu, jobs, colour, window))));
  }));
}

function cell(node, gpu, jobs, colour, window) {
  const place = { role: "listitem", "data-key": `gpu-${gpu}` };
  if (!jobs.length) {
    const word = node.health === "up" ? "free" : "closed";
    return h("span", place, h("span.gpu." + word, { title: `GPU ${gpu}: ${word}`, role: "img", "aria-label": `GPU ${gpu}: ${word}` }));
  }
  const one = (job) => `${job.job === undefined ? "a job" : `job ${job.job}${job.name ? " " + job.name : ""}`} of ${window.tenants[job.tenant]}, ${job.phase}` +
    (job.busy === undefined ? "" : `, ${percent(job.busy, 1)} busy, ${number(job.memory_bytes / 2 ** 30, 1)} GiB`);
  const words = `GPU ${gpu}: ` + jobs.map(one).join("; ");
  const known = jobs.find((job) => job.job !== undefined);
  const parts = jobs.map((job) => h("i", { class: `${colour(job.tenant)} ${job.phase}` }));
  const busy = jobs.length === 1 ? jobs[0].busy : undefined;
  const level = busy === undefined ? null : h("b.busy", { "aria-hidden": "true" }, h("i", { css: { width: percent(busy, 1).replace(" ", "") } }));
  const inside = [parts, level, known ? h("span.job", { "aria-hidden": "true" }, jobs.length > 1 ? `${jobs.length}×` : known.job) : null];
  const held = { title: words, "aria-label": words, "data-job": known?.job };
  return h("span", place, known
    ? h("a.gpu.held", { ...held, href: `#/jobs/${known.job}` }, inside)
    : h("span.gpu.held", { ...held, role: "img" }, inside));
}

// What each tenant holds, against its share.
export function tenants(glance) {
  if (!glance.tenants.length) return h("p.soft", null, "Nobody has work.");
  const most = Math.max(1, ...glance.tenants.map((tenant) => Math.max(tenant.held, tenant.share)));
  const row = (tenant) => h("tr", { "data-key": tenant.name },
    h("th", { scope: "row" }, h("i.swatch", { class: tenant.colour }), tenant.name),
    h("td.wide", null, h("span.level", { title: `holds ${tenant.held}, its share is ${number(tenant.share, 2)}` },
      h("i", { class: tenant.colour, css: { width: `${(100 * tenant.held) / most}%` } }),
      tenant.share ? h("b", { css: { left: `${(100 * tenant.share) / most}%` } }) : null)),
    h("td", null, number(tenant.held)), h("td", null, number(tenant.share, 1)), h("td", null, number(tenant.waiting)));
  return h("div.scroll", { tabindex: "0", role: "group", "aria-label": "Tenants" }, h("table.tight", null,
    h("thead", null, h("tr", null, h("th", { scope: "col" }, "tenant"), h("td"), h("th", { scope: "col" }, "holds"), h("th", { scope: "col" }, "share"),
      h("th", { scope: "col" }, "waits"))),
    h("tbody", null, glance.tenants.map(row))));
}

function models(glance) {
  return h("div.models", null, h("h3", null, "GPU models"), h("ul", null, glance.models.map((model) => h("li", { "data-key": model.model },
    h("span", null, h("b", null, model.model), h("span.soft", null, `${number(model.held)} of ${number(model.gpus)} held` + (model.closed ? `, ${number(model.closed)} closed` : ""))),
    h("div.meter", { "aria-hidden": "true" }, h("i", { css: { width: `${model.gpus ? (100 * model.held) / model.gpus : 0}%` } }))))));
}
