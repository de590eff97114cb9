// Elements, and changing what is shown into what should be with as few changes as possible: focus, scrolling and selections stay.

// h("a.c0", {href: "#/"}, "text", ...): properties that begin with "on" are handlers, the rest attributes; null and false are left out.
export function h(what, properties, ...children) {
  const [tag, ...classes] = what.split(".");
  const element = SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element[name] = value;
    else if (name === "css") for (const [key, size] of Object.entries(value)) element.style.setProperty(key, size);
    else if (name === "class") element.setAttribute("class", [element.getAttribute("class"), value].filter(Boolean).join(" "));
    else if (name === "markup") element.innerHTML = value;
    else if (name === "value") { element.value = value; element.setAttribute("value", value); }
    else element.setAttribute(name, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

const SVG = new Set(["svg", "path", "circle", "rect"]);
const HANDLERS = ["onclick", "onsubmit", "oninput", "onchange", "ontoggle"];

function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child);
  }
}

// Makes the children of a place look like these.
export function show(place, ...children) {
  const wanted = document.createElement("div");
  add(wanted, children);
  match(place, wanted);
}

function match(old, fresh) {
  let at = old.firstChild;
  for (let next = fresh.firstChild; next; ) {
    const following = next.nextSibling;
    if (!at) old.append(next);
    else if (alike(at, next)) {
      change(at, next);
      at = at.nextSibling;
    } else {
      const found = next.dataset?.key ? byKey(at, next.dataset.key) : null;
      if (found && alike(found, next)) {
        old.insertBefore(found, at);
        change(found, next);
      } else old.insertBefore(next, at);
    }
    next = following;
  }
  while (at) {
    const following = at.nextSibling;
    at.remove();
    at = following;
  }
}

function byKey(from, key) {
  for (let at = from; at; at = at.nextSibling) if (at.dataset?.key === key) return at;
  return null;
}

function alike(one, other) {
  return one.nodeType === other.nodeType && one.nodeName === other.nodeName && one.dataset?.key === other.dataset?.key;
}

function change(old, fresh) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  // What another part of the program fills is left to it.
  if (old.dataset.own !== undefined) return;
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) {
      if (name === "style") old.style.cssText = value;
      else old.setAttribute(name, value);
    }
  }
  for (const name of HANDLERS) old[name] = fresh[name];
  if (old.nodeName === "INPUT" || old.nodeName === "SELECT") {
    if (document.activeElement !== old && old.value !== fresh.value) old.value = fresh.value;
  }
  match(old, fresh);
}

// Says something to those who do not see it.
export function say(text) {
  document.getElementById("said").textContent = text;
}

export const plural = (count, one, many = one + "s") => `${number(count)} ${count === 1 ? one : many}`;

export function number(value, decimals = 0) {
  return value.toLocaleString("en", { maximumFractionDigits: decimals, minimumFractionDigits: 0 });
}
