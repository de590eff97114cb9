// The page: who is there, what is to be seen, and when to look again.

import * as api from "./api.js";
import { cluster } from "./cluster.js";
import { h, number, say, show } from "./dom.js";
import { refreshAll } from "./figures.js";
import * as time from "./time.js";

// The least time between two looks; one that took long to show is followed by a longer pause.
const PAUSE_MS = 1000;
const COST_TIMES = 10;

const VIEWS = [
  { name: "cluster", title: "Cluster", icon: "M3 4h18v6H3zM3 14h18v6H3zM7 7h.01M7 17h.01" },
  { name: "jobs", title: "Jobs", icon: "M4 6h16M4 12h16M4 18h10" },
  { name: "fairness", title: "Fairness", icon: "M12 3v18M5 7h14M5 7l-3 7h6zM19 7l-3 7h6z" },
  { name: "whatif", title: "What if", icon: "M4 18l5-6 4 3 7-9M15 6h5v5" },
];

const main = document.getElementById("main");
const bar = document.getElementById("bar");
let session = { signed_in: false };
let glance = null;
let view = null;
let link = "connecting";
let source = null;
let wait = 1000;
let looking = false;
let again = false;
let mayLookAt = 0;

// What views are told: who looks, and the cluster as it was last seen.
const context = {
  get session() { return session; },
  get glance() { return glance; },
  mayLookAround: () => !session.tenant,
  mayWork: () => session.role && session.role !== "read-only",
  mayOperate: () => session.role === "operator" || session.role === "admin",
  look,
};

async function begin() {
  addEventListener("hashchange", open);
  addEventListener("signed-out", signedOut);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
  try {
    session = await api.get("session");
  } catch {
    link = "lost";
    draw();
    setTimeout(begin, 2000);
    return;
  }
  if (session.signed_in) await enter();
  else await ask();
}

async function ask() {
  draw();
  document.title = "Sign in · Evenhand";
  const { login } = await import("./login.js");
  login(main, async (known) => {
    session = known;
    await enter();
  });
}

async function enter() {
  draw();
  listen();
  await open();
}

async function leave() {
  await api.send("DELETE", "session").catch(() => {});
  signedOut();
}

function signedOut() {
  if (!session.signed_in) return;
  session = { signed_in: false };
  glance = null;
  view = null;
  source?.close();
  main.replaceChildren();
  ask();
}

// Hears that something happened; after a break, asks again and again until the service is back.
function listen() {
  source?.close();
  const own = new EventSource("v1/pulse");
  source = own;
  own.onopen = () => {
    wait = 1000;
    connect("live");
  };
  own.addEventListener("pulse", (event) => {
    const pulse = JSON.parse(event.data);
    connect(pulse.mending ? "mending" : "live");
    if (glance && pulse.version !== glance.version) location.reload();
    look();
  });
  own.onerror = () => {
    if (source !== own) return;
    own.close();
    connect("lost");
    setTimeout(async () => {
      if (source !== own) return;
      // A session that is over is no break.
      const known = await api.get("session").catch(() => null);
      if (known && !known.signed_in) signedOut();
      else listen();
    }, wait);
    wait = Math.min(wait * 2, 10000);
  };
}

function connect(state) {
  if (state === link) return;
  if (state === "lost") say("The connection to the service is lost; trying again.");
  if (state === "live" && link === "lost") say("Connected again.");
  link = state;
  draw();
}

// Looks again, not too often, and never twice at a time.
async function look() {
  if (document.hidden || !session.signed_in) return;
  if (looking) {
    again = true;
    return;
  }
  const early = mayLookAt - performance.now();
  if (early > 0) {
    if (!again) setTimeout(() => { again = false; look(); }, early);
    again = true;
    return;
  }
  looking = true;
  again = false;
  let cost = 0;
  try {
    const own = view;
    const [seen, data] = await Promise.all([api.get("cluster"), own?.read?.(context)]);
    const began = performance.now();
    glance = seen;
    time.set(seen.epoch_ms, seen.now_ms);
    draw();
    if (view === own && own?.show) {
      // What was there before stays until there is something to show.
      if (!main.dataset.shown) main.replaceChildren();
      own.show(data, context);
      main.dataset.shown = location.hash;
    }
    refreshAll(main);
    cost = performance.now() - began;
    performance.measure("evenhand-update", { start: began, duration: cost });
  } catch (trouble) {
    if (trouble.status !== 0 && trouble.status !== 401) problem(trouble);
  } finally {
    looking = false;
    mayLookAt = performance.now() + Math.max(PAUSE_MS, cost * COST_TIMES);
    if (again) {
      again = false;
      look();
    }
  }
}

function problem(trouble) {
  view = { name: view?.name };
  main.replaceChildren();
  main.dataset.shown = location.hash;
  show(main, h("section.empty", { "data-key": "problem" },
    h("h1", null, trouble.status === 404 ? "Nothing to see here" : "That did not work"),
    h("p.soft", null, trouble.message),
    h("p", null, h("a", { href: "#/cluster" }, "To the cluster"))));
}

// Shows what the address says.
async function open() {
  const [path, after] = location.hash.replace(/^#\/?/, "").split("?");
  if (location.hash === "#main") return;
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  const asked = new URLSearchParams(after);
  if (!session.signed_in) return;
  const made = await make(parts, asked);
  view?.close?.();
  view = made;
  document.title = `${made.title} · Evenhand`;
  made.begin?.(main, context);
  delete main.dataset.shown;
  scrollTo(0, 0);
  mayLookAt = 0;
  again = false;
  draw();
  await look();
}

async function make(parts, asked) {
  switch (parts[0] ?? "cluster") {
    case "jobs":
      return parts[1] ? (await import("./job.js")).job(parts[1]) : (await import("./jobs.js")).jobs(asked);
    case "fairness":
      return (await import("./fairness.js")).fairness();
    case "rounds":
      return (await import("./round.js")).round(parts[1]);
    case "whatif":
      return (await import("./whatif.js")).whatif(parts[1]);
    default:
      return cluster(parts.slice(1));
  }
}

const icon = (path) => h("svg.icon", { viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" }, h("path", { d: path }));

const LINKS = {
  live: ["good", "Live"],
  connecting: ["soft", "Connecting"],
  mending: ["bad", "Nothing can be recorded"],
  lost: ["bad", "Connection lost, trying again"],
};

function draw() {
  const [kind, words] = LINKS[link];
  const entry = ({ name, title, icon: path }) => h("a", { href: "#/" + name, "aria-current": view?.name === name ? "page" : null },
    icon(path), h("span", null, title));
  const seen = VIEWS.filter(({ name }) => name !== "whatif" || context.mayLookAround());
  show(bar,
    h("a.brand", { href: "#/cluster", "aria-label": "Evenhand" }, h("svg.mark", { viewBox: "0 0 32 32", "aria-hidden": "true" },
      h("rect", { width: 32, height: 32, rx: 8, class: "ground" }), h("rect", { x: 7, y: 8, width: 18, height: 4, rx: 2 }),
      h("rect", { x: 7, y: 14, width: 18, height: 4, rx: 2 }), h("rect", { x: 7, y: 20, width: 18, height: 4, rx: 2 })), h("b", null, "Evenhand")),
    session.signed_in && h("nav", { "aria-label": "Views" }, seen.map(entry)),
    h("div.end", null,
      session.signed_in && h("span.link." + kind, null, h("i", { "aria-hidden": "true" }), h("span", null, words)),
      session.signed_in && glance && h("span.policy", { title: "The policy that decides" }, policy(glance.policy), h("span", null, " decides")),
      h("button.plain", { type: "button", onclick: turn, "aria-label": `Look: ${look_()}. Change` , title: `Look: ${look_()}` }, icon(LOOKS[look_()])),
      session.signed_in && h("span.who", { title: `${session.role}${session.tenant ? " of " + session.tenant : ""}` }, session.name),
      session.signed_in && h("button.plain", { type: "button", onclick: leave, "aria-label": "Sign out", title: "Sign out" },
        icon("M15 4h4v16h-4M10 8l-4 4 4 4M6 12h9"))));
}

export const policy = (choice) => {
  const set = Object.entries(choice.parameters ?? {}).map(([name, value]) => ` ${name}=${value}`);
  return choice.name + set.join("");
};

// Light, dark, or as the system says.
const LOOKS = {
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  light: "M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2",
  dark: "M20 14a8 8 0 01-10-10 8 8 0 1010 10z",
};

const look_ = () => document.documentElement.dataset.theme ?? "system";

function turn() {
  const order = Object.keys(LOOKS);
  const next = order[(order.indexOf(look_()) + 1) % order.length];
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  try {
    if (next === "system") localStorage.removeItem("evenhand-theme");
    else localStorage.setItem("evenhand-theme", next);
  } catch {
    // Then it is as it was next time.
  }
  say(`Look: ${next}`);
  draw();
}

begin();
