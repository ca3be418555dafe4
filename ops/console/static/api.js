// Requests to the console's own server, and to nothing else. The token is kept for this tab alone.

import { queryOf } from "/cluster.js";

const TOKEN = "shareq-token";

export class Failure extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function token() {
  return sessionStorage.getItem(TOKEN);
}

export function keepToken(value) {
  if (value) sessionStorage.setItem(TOKEN, value);
  else sessionStorage.removeItem(TOKEN);
}

function headers() {
  return token() ? { Authorization: `Bearer ${token()}` } : {};
}

async function answer(request) {
  let response;
  try {
    response = await request;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, "the console does not answer");
  }
  let body = {};
  try {
    body = await response.json();
  } catch {
    throw new Failure(response.status, `the console answered with status ${response.status}`);
  }
  if (!response.ok) throw new Failure(response.status, body.error);
  return body;
}

export function get(name, parameters = {}, signal = undefined) {
  const query = queryOf(parameters);
  return answer(fetch(`/api/${name}${query.size ? `?${query}` : ""}`, { headers: headers(), signal }));
}

export function post(name, body) {
  const all = { ...headers(), "Content-Type": "application/json" };
  const query = queryOf();
  return answer(fetch(`/api/${name}${query.size ? `?${query}` : ""}`, { method: "POST", headers: all, body: JSON.stringify(body) }));
}
