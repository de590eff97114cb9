// What if another policy had decided: choose, run in the background, compare.

import * as api from "./api.js";
import { policy } from "./app.js";
import { h, say, show } from "./dom.js";
import { put } from "./figures.js";
import * as time from "./time.js";

const SPANS = [["", "All of it"], ["3600", "The last hour"], ["21600", "The last 6 hours"], ["86400", "The last day"], ["604800", "The last week"], ["2592000", "The last 30 days"]];

// Policies that people ask for first.
const FIRST = ["promise", "las", "fifo", "equal-share", "themis", "oef-cooperative", "shockwave", "srtf"];

const word = (since) => SPANS.find(([value]) => value === String(since ?? ""))?.[1] ?? `The last ${time.span(since * 1000)}`;

export function whatif(id) {
  let root;
  let since = "";
  let chosen = new Set();
  let timer = 0;
  let drawn = null;
  let problem = "";
  const view = {
    name: "whatif",
    title: "What if",
    begin(main) { root = main; },
    async read() {
      if (id) return { one: await api.get(`whatifs/${encodeURIComponent(id)}`) };
      const [known, runs] = await Promise.all([api.get("policies"), api.get("whatifs")]);
      return { known, runs: runs.whatifs };
    },
    show(data, context) {
      const going = (data.one ? [data.one] : data.runs).some((run) => run.state === "runs" || run.state === "waits");
      clearTimeout(timer);
      // Nothing need happen in the ledger while it runs.
      if (going) timer = setTimeout(context.look, 1000);
      if (data.one) shown(data.one, context);
      else form(data, context);
    },
    close() { clearTimeout(timer); },
  };
  return view;

  function form({ known, runs }, context) {
    const rank = (name) => (FIRST.indexOf(name) + 100) % 100 || (name === FIRST[0] ? 0 : 100);
    const policies = [...known.policies].sort((a, b) => rank(a.name) - rank(b.name));
    const begin = async (event) => {
      event.preventDefault();
      problem = "";
      try {
        const run = await api.send("POST", "whatifs", { policies: [...chosen], since_s: since ? Number(since) : null });
        say("The run has begun.");
        location.hash = `#/whatif/${run.id}`;
      } catch (trouble) {
        problem = trouble.message;
        form({ known, runs }, context);
      }
    };
    const box = (one) => h("label.check", { "data-key": one.name },
      h("input", { type: "checkbox", name: "policy", value: one.name, checked: chosen.has(one.name),
        onchange: (event) => { event.target.checked ? chosen.add(one.name) : chosen.delete(one.name); form({ known, runs }, context); } }),
      h("span", null, h("b", null, one.name), h("small.soft", null, one.summary)));
    const current = policies.find((one) => one.name === known.current.name);
    const others = policies.filter((one) => one !== current);
    const command = ["evenhand whatif", ...[...chosen].map((name) => `--policy ${name}`), since ? `--since ${since % 86400 ? since / 3600 + "h" : since / 86400 + "d"}` : ""].filter(Boolean).join(" ");
    show(root,
      h("h1", null, "What if another policy had decided?"),
      h("p.soft", null, `The jobs of this service, submitted when they were and as long as they really took, run again under ${policy(known.current)}, which decides now, and under those you choose. `,
        "It runs in the background and gives way to everything else."),
      h("form.panel.whatif", { onsubmit: begin },
        h("label.field.row", null, h("span", null, "History"), h("select", { onchange: (event) => { since = event.target.value; form({ known, runs }, context); } },
          SPANS.map(([value, title]) => h("option", { value, selected: value === since }, title)))),
        h("fieldset", null, h("legend", null, "Policies to try"),
          h("div.checks", null, others.slice(0, 8).map(box)),
          h("details", null, h("summary", null, `${others.length - 8} more`), h("div.checks", null, others.slice(8).map(box)))),
        h("div.row", null, context.mayOperate()
          ? h("button.primary", { type: "submit", disabled: !chosen.size }, "Run")
          : h("p.soft", null, "An operator's token is needed to run it here; anybody who may read the ledger can run it in a terminal."),
          chosen.size ? terminal(command) : null),
        h("p.problem", { role: "alert" }, problem)),
      runs.length ? h("section.panel", { "aria-labelledby": "runs" }, h("h2", { id: "runs" }, "Runs"), h("ul.runs", null, runs.map((run) => h("li", { "data-key": String(run.id) },
        h("a", { href: `#/whatif/${run.id}` }, run.policies.join(", ")), h("span.soft", null, `${word(run.since_s)}, asked ${time.at(run.asked_ms)} by ${run.who}`), state(run))))) : null);
  }

  function shown(run, context) {
    const end = async () => {
      await api.send("DELETE", `whatifs/${run.id}`).catch((trouble) => alert(trouble.message));
      if (run.state === "runs" || run.state === "waits") context.look();
      else location.hash = "#/whatif";
    };
    const going = run.state === "runs" || run.state === "waits";
    show(root,
      h("div.crumbs", null, h("h1", null, h("a", { href: "#/whatif" }, "What if"), h("span", { "aria-hidden": "true" }, " / "), run.policies.join(", ")),
        state(run), context.mayOperate() ? h("span.actions", null, h("button", { type: "button", onclick: end }, going ? "Stop" : "Forget")) : null),
      h("section.panel", { "aria-labelledby": "comes" }, h("h2", { id: "comes" }, going ? "How far it is" : "What it comes to"),
        h("p.soft", null, `${word(run.since_s)}; asked at ${time.at(run.asked_ms)} by ${run.who}.`),
        going ? h("p", null, h("progress.large", { max: "1", value: run.state === "runs" ? String(run.progress) : null, "aria-label": "How far the run is" }), ` ${Math.round(run.progress * 100)} %`) : null,
        run.told.map((line, at) => h("p.sentence", { "data-key": String(at), class: run.state === "failed" ? "problem" : null }, line)),
        terminal(run.command)),
      run.state === "done" ? h("div.report", { "data-own": "", "data-key": "figures", id: "figures" }) : null);
    if (run.state === "done" && drawn !== run.id) {
      drawn = run.id;
      api.text(`whatifs/${run.id}/figures`).then((markup) => put(document.getElementById("figures"), markup), () => { drawn = null; });
      say("The run is done.");
    }
  }
}

const KINDS = { waits: "queued", runs: "running", done: "finished", failed: "failed", cancelled: "cancelled" };

const state = (run) => h("span.badge." + KINDS[run.state], null, run.state === "runs" ? `runs, ${Math.round(run.progress * 100)} %` : run.state);

function terminal(command) {
  const copy = async (event) => {
    await navigator.clipboard?.writeText(command).catch(() => {});
    event.target.textContent = "Copied";
    say("Copied.");
  };
  return h("div.terminal", null, h("span.soft", null, "In a terminal"), h("code", null, command), h("button", { type: "button", onclick: copy }, "Copy"));
}
