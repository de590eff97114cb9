// What is wrong with a page for those who do not see it, do not point at it, or see colours otherwise. Gives a list of complaints.
(() => {
  const complaints = [];
  const say = (what, element) => complaints.push(`${what}: ${element?.outerHTML?.slice(0, 160) ?? ""}`);
  const visible = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && element.getClientRects().length > 0;

  if (!document.documentElement.lang) say("no language");
  if (!document.title) say("no title");
  if (document.querySelectorAll("main").length !== 1) say("not one main part");
  if (document.querySelectorAll("body > header").length !== 1) say("not one header");
  for (const nav of document.querySelectorAll("nav")) if (!nav.getAttribute("aria-label")) say("navigation without a name", nav);

  const headings = [...document.querySelectorAll("main h1, main h2, main h3, main h4")].filter((one) => one.checkVisibility());
  if (headings.filter((one) => one.tagName === "H1").length !== 1) say(`${headings.filter((one) => one.tagName === "H1").length} first headings`);
  let before = 0;
  for (const heading of headings) {
    const level = Number(heading.tagName[1]);
    if (level > before + 1) say(`a heading of level ${level} after ${before}`, heading);
    before = level;
  }

  const ids = new Set();
  for (const { id } of document.querySelectorAll("[id]")) {
    if (ids.has(id)) say(`two elements are called ${id}`);
    ids.add(id);
  }
  for (const name of ["aria-labelledby", "aria-describedby", "for"]) {
    for (const element of document.querySelectorAll(`[${name}]`)) {
      for (const id of element.getAttribute(name).split(" ")) if (!ids.has(id)) say(`${name} leads nowhere`, element);
    }
  }
  for (const table of document.querySelectorAll("table")) if (!table.querySelector("th")) say("a table without heads", table);
  for (const own of document.querySelectorAll("[role=list]")) {
    for (const item of own.children) if (item.getAttribute("role") !== "listitem") say("a list with something else in it", item);
  }
  for (const list of document.querySelectorAll("ul, ol")) {
    for (const item of list.children) if (item.tagName !== "LI") say("a list with something else in it", item);
  }
  // What scrolls can be scrolled by keys.
  for (const element of document.querySelectorAll("main *")) {
    const style = getComputedStyle(element);
    const scrolls = /auto|scroll/.test(style.overflowX + style.overflowY) &&
      (element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1);
    if (scrolls && visible(element) && element.tabIndex < 0 && !element.querySelector("a[href], button, input, select, [tabindex='0']")) say("scrolls, but not by keys", element);
  }

  // Text must stand out from what is behind it: 4.5 to 1, or 3 to 1 where it is large (WCAG 2.2, 1.4.3).
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const read = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
  const light = (colour) => {
    const [r, g, b] = colour.map((value) => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const colour = read(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("title, script, noscript, .unseen, .skip, :disabled, option") || !visible(element)) continue;
    texts += 1;
    const style = getComputedStyle(element);
    const ground = behind(element);
    const ink = over(read(element.closest("svg") ? style.fill : style.color), ground);
    const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    if (ratio < least) say(`contrast ${ratio.toFixed(2)} of "${node.data.trim().slice(0, 40)}" (${style.color} on ${ground.slice(0, 3).map(Math.round)})`, element);
  }
  if (texts < 5) say("hardly any text");

  const wide = document.scrollingElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 1) say(`${wide} pixels too wide`);
  return complaints;
})()
