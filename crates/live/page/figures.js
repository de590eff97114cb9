// Pictures that the service draws: the same as in a report. Each is asked for when it comes into sight, and again when something happened.

import * as api from "./api.js";
import { h } from "./dom.js";
import * as time from "./time.js";

// The least time between two looks at one picture: it changes slowly, and costs more than the rest of the page.
const PAUSE_MS = 5000;

const sight = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    entry.target.inSight = entry.isIntersecting;
    if (entry.isIntersecting) refresh(entry.target);
  }
});

// A place for a picture, by its name.
export function figure(name, label) {
  const place = h("div.report.figure", { "data-own": "", "data-key": "figure-" + name, "data-figure": name, "aria-busy": "true" },
    h("figure.waiting", null, h("figcaption", null, h("b", null, label))));
  sight.observe(place);
  return place;
}

// Looks at those in sight again.
export function refreshAll(root) {
  for (const place of root.querySelectorAll("[data-figure]")) if (place.inSight) refresh(place);
}

async function refresh(place) {
  if (place.asking || performance.now() - (place.asked ?? -PAUSE_MS) < PAUSE_MS) return;
  place.asking = true;
  try {
    const markup = await api.text(`figures/${place.dataset.figure}?offset_s=${time.offset()}`);
    if (markup !== place.markup) {
      const scrolled = place.querySelector(".scroll")?.scrollLeft;
      put(place, markup);
      if (scrolled) place.querySelector(".scroll").scrollLeft = scrolled;
    }
  } catch (trouble) {
    if (!place.markup) place.replaceChildren(h("p.soft", null, trouble.message));
  } finally {
    place.asked = performance.now();
    place.asking = false;
    place.removeAttribute("aria-busy");
  }
}

// Puts markup of the service into a place: text in it is escaped there, and no script in it would run.
export function put(place, markup) {
  place.markup = markup;
  place.innerHTML = markup;
  for (const scroll of place.querySelectorAll(".scroll, .table")) {
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "group");
    const title = scroll.closest("figure")?.querySelector("figcaption b")?.textContent;
    scroll.setAttribute("aria-label", title ?? scroll.querySelector("th")?.textContent ?? "table");
  }
  for (const own of place.querySelectorAll("figure")) fade(own);
}

// Pointing at a name in a legend fades the others, as in a report.
function fade(own) {
  const curves = [...own.querySelectorAll("[data-run]")];
  for (const name of own.querySelectorAll(".legend [data-key]")) {
    name.onmouseenter = () => curves.forEach((curve) => curve.classList.toggle("fade", curve.dataset.run !== name.dataset.key));
    name.onmouseleave = () => curves.forEach((curve) => curve.classList.remove("fade"));
  }
}
