/** The page: who is asking, which view is shown, and how fresh it is. */

import { capacityView } from "./capacity/view.js";
import { cloudView } from "./cloud/view.js";
import { consumerView } from "./consumer/view.js";
import { element, show } from "./dom.js";
import { failure, notice, reasonOf, useDashboard } from "./links.js";
import { logInForm } from "./log_in.js";
import { Live } from "./model/live.js";
import { names } from "./model/names.js";
import { placeOf } from "./place.js";
import { plansView } from "./plans/view.js";
import { reshapeView } from "./reshape/view.js";
import { hasToken, onRefusedToken, settings, useToken } from "./session.js";
import { suspectsView } from "./suspects/view.js";
import { treesView } from "./trees/view.js";
import { whyView } from "./why/view.js";
import { number } from "./words.js";

/** Each takes a place and the cloud, and returns `{title, node, go?, changed?, status?, close?}`. */
const VIEWS = new Map([
  ["cloud", cloudView],
  ["trees", treesView],
  ["consumer", consumerView],
  ["why", whyView],
  ["capacity", capacityView],
  ["plans", plansView],
  ["suspects", suspectsView],
  ["reshape", reshapeView],
]);
/** what a view without questions to the service needs no token for */
const OPEN = new Set(["reshape"]);
const LOCAL = new Set(["localhost", "127.0.0.1", "[::1]"]);

const main = document.getElementById("main");
const freshness = document.getElementById("freshness");
const leave = document.getElementById("leave");
const live = new Live();
let shown = null;
let known = null;

function route() {
  const place = placeOf(location.hash);
  const view = VIEWS.get(place.view);
  for (const link of document.querySelectorAll("header nav a")) {
    const here = link.getAttribute("href") === `#/${place.view}`;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!view) {
    replace(null, element("h1", {}, "There is no such view"), notice("Choose one above."));
    document.title = "Placement";
    return;
  }
  if (!hasToken() && !OPEN.has(place.view)) {
    askForToken();
    return;
  }
  if (shown?.view === place.view && shown.made.go?.(place)) {
    document.title = `${shown.made.title} · Placement`;
    return;
  }
  const made = view(place, live);
  replace({ view: place.view, made }, made.node);
  document.title = `${made.title} · Placement`;
}

function replace(next, ...nodes) {
  shown?.made.close?.();
  const moved = shown !== null;
  shown = next;
  show(main, ...nodes);
  // who listens to the page hears where they are; who has just come begins at its top
  if (moved && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
  if (moved) scrollTo(0, 0);
}

function askForToken(said) {
  replace(
    null,
    logInForm(known, said, (token) => {
      useToken(token);
      names.read();
      leave.hidden = false;
      route();
    }),
  );
}

function loggedOut(said) {
  useToken(null);
  names.forget();
  live.end();
  leave.hidden = true;
  // what needs no token, such as a rehearsal somebody looks at, stays
  if (shown && OPEN.has(shown.view)) return;
  askForToken(said);
  main.focus({ preventScroll: true });
}

function tellFreshness() {
  const { state, read, asOf, error } = live;
  const time = asOf?.toLocaleTimeString("en-GB");
  const texts = {
    idle: ["", ""],
    reading: ["Reading the trees", read ? `${number(read)} so far` : ""],
    live: ["Live", time],
    refused: [`${live.wantsTrees ? "The trees" : "Changes"} can't be read.`, ""],
    late: [`${error ? reasonOf(error) : ""} Trying again.`, asOf ? `This is how it was at ${time}.` : ""],
  };
  // readers of screens hear that it is live, not each time at which it is
  texts[state].forEach((text, place) => {
    const part = freshness.children[place];
    if (part.textContent !== text) show(part, text);
  });
  freshness.className = state;
}

live.addEventListener("status", () => {
  tellFreshness();
  shown?.made.status?.();
});
live.addEventListener("change", () => shown?.made.changed?.());
names.addEventListener("change", () => shown?.made.changed?.());
onRefusedToken(() => loggedOut("The service doesn't accept this token. It may have expired."));
leave.addEventListener("click", () => loggedOut());
// before it is known how callers are known there is nothing to show
addEventListener("hashchange", () => known && route());

async function begin() {
  try {
    known = await settings();
    useDashboard(known.dashboard);
  } catch (error) {
    const again = element("button", { type: "button", class: "plain", click: begin }, "Try again");
    replace(null, failure(error, again));
    return;
  }
  // without any check of tokens there is nobody to ask on this machine
  if (known.auth === "noauth2" && LOCAL.has(location.hostname)) {
    useToken("admin");
    names.read();
  }
  leave.hidden = true;
  route();
}

begin();
