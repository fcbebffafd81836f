/** Requests to the service. The token is in this module's memory only, and ends with the page. */

const API = new URL("../../../", document.baseURI);
const EXTENSIONS = new URL("../", document.baseURI);
const VERSION = "placement 1.39";
const JSON_TYPE = "application/json";
const LINES_TYPE = "application/x-ndjson";
/** milliseconds until an answer must be there */
const PATIENCE = 60_000;

let token = null;
let refusedToken = () => {};

/** A request that the service refused, or that didn't reach it (status 0). */
export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }

  /** whether the same request may succeed in a while */
  get passes() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** Return how callers are known here: `{auth, keystone, dashboard}`. */
export async function settings() {
  const answer = await reached(new URL("session.json", document.baseURI), { cache: "no-store" });
  if (!answer.ok) throw new Refused(answer.status, `The service answers ${answer.status} for session.json.`);
  const { auth, keystone = null, dashboard = null } = (await read(answer)) ?? {};
  const isKnown = typeof auth === "string" && (keystone === null || /^https?:\/\//.test(keystone));
  if (!isKnown) throw new Refused(0, "The service doesn't say how it knows callers: session.json isn't its own.");
  return { auth, keystone, dashboard };
}

/** Use a token from now on; null forgets it. */
export function useToken(value) {
  token = value;
}

export function hasToken() {
  return token !== null;
}

/** Call `listener` when the service refuses the token that a request had. */
export function onRefusedToken(listener) {
  refusedToken = listener;
}

/** Ask the standard API; the path has no slash at its begin. */
export const ask = (path, more) => json(new URL(path, API), more);

/** Ask what Berth offers, below /berth/v1/. */
export const askMore = (path, more) => json(new URL(path, EXTENSIONS), more);

/** Return the lines of an answer below /berth/v1/, each of which is JSON: see `parsed`. */
export async function askLines(path, { signal } = {}) {
  const bounded = within(PATIENCE, signal);
  return (await textOf(await asked(new URL(path, EXTENSIONS), { signal: bounded, accept: LINES_TYPE }))).split("\n").filter(Boolean);
}

async function json(url, { signal, body } = {}) {
  const bounded = within(PATIENCE, signal);
  return read(await asked(url, { signal: bounded, body, accept: JSON_TYPE }));
}

/** Return the JSON of an answer, which may end early, or be of something between. */
async function read(answer) {
  return parsed(await textOf(answer));
}

async function textOf(answer) {
  try {
    return await answer.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw unreachable();
  }
}

/** Return the value of a text that should be JSON. */
export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refused(0, "The answer isn't JSON. Something between this page and the service may have sent it.");
  }
}

function within(milliseconds, signal) {
  const end = AbortSignal.timeout(milliseconds);
  return signal ? AbortSignal.any([signal, end]) : end;
}

async function asked(url, { signal, body, accept }) {
  const sent = token;
  const headers = { "X-Auth-Token": sent, "OpenStack-API-Version": VERSION, Accept: accept };
  if (body !== undefined) headers["Content-Type"] = JSON_TYPE;
  const answer = await reached(url, {
    method: body === undefined ? "GET" : "POST",
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store",
    signal,
  });
  if (answer.ok) return answer;
  if (answer.status === 401) {
    if (sent === token) refusedToken();
    throw new Refused(401, "The service doesn't accept this token. It may have expired.");
  }
  throw await refusal(answer);
}

async function reached(url, request) {
  try {
    // the service redirects nobody: who does, would get the token
    return await fetch(url, { ...request, redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw unreachable();
  }
}

function unreachable() {
  return new Refused(0, "The service can't be reached.");
}

async function refusal(answer) {
  const standard = `${answer.status} ${answer.statusText}`;
  try {
    const [error] = (await answer.json()).errors;
    return new Refused(answer.status, error.detail || error.title || standard);
  } catch {
    return new Refused(answer.status, `The service answers ${standard}.`);
  }
}

/**
 * Return a token of keystone for a user and a password. Nothing of them is kept.
 * @param {string} keystone its address
 */
export async function logIn(keystone, { user, userDomain, password, project, projectDomain }) {
  const body = {
    auth: {
      identity: {
        methods: ["password"],
        password: { user: { name: user, domain: { name: userDomain }, password } },
      },
      scope: { project: { name: project, domain: { name: projectDomain } } },
    },
  };
  let answer;
  try {
    answer = await fetch(`${keystone.replace(/\/+(v3\/*)?$/, "")}/v3/auth/tokens`, {
      method: "POST",
      headers: { "Content-Type": JSON_TYPE },
      body: JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
  } catch {
    throw new Refused(
      0,
      `Keystone at ${keystone} can't be asked from this page: it is out of reach, or its option ` +
        "[cors]allowed_origin doesn't name this page's origin. Paste a token instead.",
    );
  }
  if (answer.status === 401) throw new Refused(401, "Keystone refuses this user and password.");
  const found = answer.headers.get("X-Subject-Token");
  if (answer.ok && found) return found;
  if (answer.ok) {
    throw new Refused(
      answer.status,
      "Keystone doesn't let this page read the token: its option [cors]expose_headers must name " +
        "X-Subject-Token. Paste a token instead.",
    );
  }
  throw new Refused(answer.status, `Keystone answers ${answer.status} ${answer.statusText}.`);
}
