// Signing in with a token.

import * as api from "./api.js";
import { h, show } from "./dom.js";

export function login(root, done) {
  const problem = h("p.problem", { role: "alert", id: "problem" });
  const field = h("input", { id: "token", type: "password", name: "token", required: true, autocomplete: "current-password",
    spellcheck: "false", autocapitalize: "off", "aria-describedby": "problem" });
  const submit = async (event) => {
    event.preventDefault();
    problem.textContent = "";
    try {
      const session = await api.send("POST", "session", { token: field.value.trim() });
      field.value = "";
      done(session);
    } catch (trouble) {
      problem.textContent = trouble.status === 403 ? "This token is not known here. It may have been revoked or rotated." : trouble.message;
      field.focus();
    }
  };
  show(root, h("section.login", { "data-key": "login", "data-own": "" },
    h("h1", null, "Sign in"),
    h("p.soft", null, "See what runs, what waits and why, and whether everybody gets their share."),
    h("form", { onsubmit: submit },
      // For password managers, which want to know whose it is.
      h("input.unseen", { type: "text", name: "username", value: "evenhand", autocomplete: "username", tabindex: "-1", "aria-hidden": "true", readonly: true }),
      h("label", { for: "token" }, "Token"), field, problem,
      h("button.primary", { type: "submit" }, "Sign in")),
    h("details", null, h("summary", null, "Where do I get a token?"),
      h("p", null, "Whoever runs the service has one in its state folder, in the file ", h("code", null, "token"), ":"),
      h("pre", null, "cat ~/.local/state/evenhand/token"),
      h("p", null, "and makes others with"),
      h("pre", null, "evenhand token add NAME --role tenant --tenant TEAM"))));
  field.focus();
}
