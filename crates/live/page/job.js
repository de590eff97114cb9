// One job: how it stands and why, its leases, how far it is, what it printed.

import * as api from "./api.js";
import { h, number, plural, say, show } from "./dom.js";
import { badge } from "./jobs.js";
import * as time from "./time.js";

const ENDED = ["finished", "failed", "cancelled", "retired"];

export function job(name) {
  let root;
  let output = null;
  const path = `jobs/${encodeURIComponent(name)}`;
  return {
    name: "jobs",
    title: `Job ${name}`,
    begin(main) { root = main; },
    async read() {
      const [line, told] = await Promise.all([api.get(path + "/timeline"), api.get(path + "/explain")]);
      if (output !== null) output = await api.text(path + "/output?bytes=16384").catch(() => output);
      return { line, told };
    },
    show({ line, told }, context) {
      const own = line.job;
      const open = async (event) => {
        if (!event.target.open) { output = null; return; }
        output = "";
        context.look();
      };
      show(root,
        h("div.crumbs", null,
          h("h1", null, h("a", { href: "#/jobs" }, "Jobs"), h("span", { "aria-hidden": "true" }, " / "), `${own.id}${own.name ? " " + own.name : ""}`),
          badge(own.phase), context.mayWork() && !ENDED.includes(own.phase) ? actions(own, path, context) : null),
        h("div.columns", null,
          h("section.panel", { "aria-labelledby": "stands" }, h("h2", { id: "stands" }, "How it stands"), stands(own, told)),
          h("section.panel", { "aria-labelledby": "facts" }, h("h2", { id: "facts" }, "What it is"), facts(line))),
        h("section.panel", { "aria-labelledby": "line" }, h("h2", { id: "line" }, "Its leases"), leases(line, told)),
        h("div.columns.even", null,
          h("section.panel", { "aria-labelledby": "far" }, h("h2", { id: "far" }, "So far"),
            h("ol.story", { id: "story", tabindex: "0", "aria-label": "What happened to it" }, told.lines.map((one, at) => h("li", { "data-key": String(at) },
              h("time", { datetime: time.machine(one.at_s * 1000) }, time.at(one.at_s * 1000)), " ",
              h("span", null, one.text + (one.times > 1 ? ` (${one.times} times, this is the last)` : "")))))),
          h("details.panel", { ontoggle: open }, h("summary", null, h("h2", null, "What it printed")),
            h("pre.output", { tabindex: "0", "aria-label": "Output" }, output === "" ? "Nothing yet." : output ?? ""))));
    },
  };
}

function actions(own, path, context) {
  const change = (verb, word) => async () => {
    if (verb === "cancel" && !confirm(`Cancel job ${own.id}?`)) return;
    try {
      await api.send("POST", `${path}/${verb}`);
      say(`Job ${own.id} ${word}.`);
    } catch (trouble) {
      alert(trouble.message);
    }
    context.look();
  };
  return h("span.actions", null,
    own.phase === "held" ? h("button", { type: "button", "data-key": "release", onclick: change("release", "released") }, "Release")
      : h("button", { type: "button", "data-key": "hold", onclick: change("hold", "held") }, "Hold"),
    h("button.danger", { type: "button", "data-key": "cancel", onclick: change("cancel", "cancelled") }, "Cancel"));
}

// The words of `evenhand explain`.
const text = (told) => told.words.map((word) => (typeof word === "number" ? time.at(word * 1000) : word)).join("");

function stands(own, told) {
  const lines = told.told ?? [];
  if (!lines.length) return h("p", { id: "told" }, told.has_ended ? `job ${own.id} has ended` : `job ${own.id}: how it stands cannot be told now`);
  return h("div", { id: "told" }, h("p.first", null, text(lines[0])),
    h("dl.told", null, lines.slice(1).map((line, at) => [h("dt", { "data-key": `t${at}` }, line.label), h("dd", { "data-key": `d${at}` }, text(line))])));
}

function facts(line) {
  const own = line.job;
  const row = (name, ...value) => [h("dt", { "data-key": "t" + name }, name), h("dd", { "data-key": "d" + name }, ...value)];
  const when = (ms) => h("time", { datetime: time.machine(ms) }, time.at(ms));
  const done = line.steps_total ? Math.min(1, own.steps / line.steps_total) : null;
  return h("dl.told", null,
    row("tenant", own.tenant), row("GPUs", String(own.gpus)), row("submitted", when(own.submitted_ms)),
    own.started_ms === undefined ? null : row("first ran", when(own.started_ms), ` after ${time.span(own.started_ms - own.submitted_ms)}`),
    own.ended_ms === undefined ? null : row("ended", when(own.ended_ms), ` after ${time.span(own.ended_ms - own.submitted_ms)}`),
    row("progress", done === null ? `${number(own.steps, 1)} steps` : h("span.progress", null,
      h("progress", { max: "1", value: String(done), "aria-label": "Steps done" }), ` ${number(own.steps)} of ${number(line.steps_total)} steps`)),
    row("leases", `${own.starts}`, own.crashes ? `, ${plural(own.crashes, "crash", "crashes")}` : ""),
    own.priority ? row("priority", String(own.priority)) : null,
    own.app ? row("app", own.app) : null,
    own.array === undefined ? null : row("array", `${own.array}_${own.array_index}`),
    own.deadline_ms === undefined ? null : row("wanted by", when(own.deadline_ms)),
    own.after?.length ? row("after", own.after.map((other) => [h("a", { href: `#/jobs/${other}` }, String(other)), " "])) : null,
    line.regimes.length ? row("regimes", line.regimes.map((one) => `from step ${number(one.from_steps)} batch ${one.batch || "unknown"}, ${number(one.speed, 2)} times as fast`).join("; ")) : null,
    line.neighbours.length ? row("beside it", line.neighbours.map((other) => [other.job === undefined ? "somebody else's job" :
      h("a", { href: `#/jobs/${other.job}` }, `job ${other.job}${other.name ? " " + other.name : ""}`), ` on ${plural(other.gpus, "GPU")} `])) : null);
}

// From submission to now or to the predicted finish: waiting, leases, and how each ended.
function leases(line, told) {
  const own = line.job;
  const begin = own.submitted_ms;
  const now = own.ended_ms ?? Math.max(line.now_ms, begin + 1000);
  const finish = told.now?.finish;
  const latest = finish ? (finish.latest_s ?? finish.earliest_s) * 1000 : 0;
  // A little room after the last mark.
  const end = begin + 1.02 * (Math.max(now, Math.min(latest, now + 3 * (now - begin) + 60000)) - begin);
  const place = (ms) => `${(100 * (Math.min(Math.max(ms, begin), end) - begin)) / (end - begin)}%`;
  const width = (from, to) => `${(100 * (Math.min(to, end) - Math.min(from, end))) / (end - begin)}%`;
  const block = (one) => {
    const to = one.to_ms ?? now;
    const words = `${time.at(one.from_ms)} to ${one.to_ms === undefined ? "now" : time.at(to)}: ${one.gpus_count} × ${one.models.join(", ")}` +
      (one.ended ? `, ${one.ended}` : "");
    return h("i.lease", { "data-key": String(one.lease), class: one.ended ?? "going", title: words, css: { left: place(one.from_ms), width: width(one.from_ms, to) } });
  };
  const marks = [
    own.ended_ms === undefined ? h("i.now", { "data-key": "now", title: "now", css: { left: place(now) } }) : null,
    finish ? h("i.finish", { "data-key": "finish", title: "predicted finish", css: { left: place(finish.earliest_s * 1000), width: width(finish.earliest_s * 1000, Math.max(latest, finish.earliest_s * 1000)) } }) : null,
    told.now?.promised_s && told.now.promised_s * 1000 < end ? h("i.promised", { "data-key": "promised", title: "promised", css: { left: place(told.now.promised_s * 1000) } }) : null,
  ];
  const row = (one) => h("tr", { "data-key": "lease-" + one.lease },
    h("td", { "data-label": "from" }, h("time", { datetime: time.machine(one.from_ms) }, time.at(one.from_ms))),
    h("td", { "data-label": "for" }, time.span((one.to_ms ?? now) - one.from_ms)),
    h("td", { "data-label": "GPUs" }, `${one.gpus_count} × ${one.models.join(", ")}`), h("td", { "data-label": "on" }, one.gpus),
    h("td", { "data-label": "why" }, one.why),
    h("td", { "data-label": "ended" }, one.ended ? h("span.badge." + one.ended, null, one.ended) : one.asked_ms ? h("span.badge.stopping", null, "asked to stop") : h("span.badge.running", null, "goes on")));
  return [
    h("div.line", { role: "img", "aria-label": `${plural(line.leases.length, "lease")} since ${time.at(begin)}` }, line.leases.map(block), marks),
    h("div.ends", { "aria-hidden": "true" }, h("span", null, time.at(begin)), h("span", null, time.at(end))),
    h("ul.legend", { "aria-hidden": "true" }, [["going", "holds GPUs"], ["preempted", "gave them up for others"], ["finished", "finished"], ["crashed", "crashed"]]
      .filter(([name]) => name === "going" || line.leases.some((one) => one.ended === name))
      .map(([name, words]) => h("li", { "data-key": name }, h("i.swatch", { class: name }), words)),
      finish ? h("li", null, h("i.swatch.finish"), "predicted finish") : null,
      told.now?.promised_s ? h("li", null, h("i.swatch.promised"), "promised") : null),
    line.leases.length ? h("div.list", null, h("table.jobs.leases", null, h("thead", null, h("tr", null,
      ["from", "for", "GPUs", "on", "why", "ended"].map((title) => h("th", { scope: "col" }, title)))),
      h("tbody", null, [...line.leases].reverse().slice(0, 100).map(row)))) : h("p.soft", null, "It has had none."),
  ];
}
