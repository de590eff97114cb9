// Questions to the service, relative to where this page is: it may be behind any path.

export class Trouble extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch("v1/" + path, { credentials: "same-origin", cache: "no-store", redirect: "error", ...options });
  } catch {
    throw new Trouble(0, "unreachable", "The service cannot be reached.");
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  if (answer.status === 401) dispatchEvent(new Event("signed-out"));
  throw new Trouble(answer.status, told.error?.code ?? "", told.error?.message ?? `The service says ${answer.status}.`);
}

export const get = async (path) => (await ask(path)).json();
export const text = async (path) => (await ask(path)).text();

// What changes something says that it comes from this page, which no other site's page can.
export async function send(method, path, body) {
  const headers = { "evenhand-page": "1" };
  if (body !== undefined) headers["content-type"] = "application/json";
  const answer = await ask(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  return answer.json();
}

export const query = (fields) => {
  const said = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return said.length ? "?" + new URLSearchParams(said) : "";
};
