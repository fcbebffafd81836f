/** The line of health: what is wrong, or may be, each part a link to more about it. */

import { element, show } from "../dom.js";
import { keeping } from "../keeping.js";
import { names } from "../model/names.js";
import { Pace } from "../model/pace.js";
import { asked } from "../model/query.js";
import { DISABLED, STATES } from "../model/states.js";
import { TraitRoots } from "../model/trait_roots.js";
import { addressOf } from "../place.js";
import { askMore } from "../session.js";
import { worded } from "../suspects/kinds.js";
import { number, shortened } from "../words.js";

/** the states that are told here: most trees of a new cloud are unused */
const TOLD = ["over", "disabled", "drained"];
/** suspects that are told as a state already */
const TWICE = new Set(["over_capacity"]);
const BAD = new Set(["over"]);

export class Health {
  constructor(live) {
    this.live = live;
    this.stop = new AbortController();
    const told = () => this.draw();
    this.traits = new TraitRoots(told);
    this.service = new Asked("health", this.stop.signal, told);
    this.suspects = new Asked("suspects?limit=1", this.stop.signal, told);
    // no change of a provider tells of them
    this.empty = new Asked("empty_searches", this.stop.signal, told, 30_000);
    this.node = element("ul", { class: "health", "aria-label": "Health" });
  }

  draw() {
    if (!this.live.complete) return;
    const disabled = this.traits.of(DISABLED);
    const states = TOLD.map((state) => [state, this.countOf(state, disabled)]).map(([state, found]) =>
      part(
        addressOf("trees", [], new URLSearchParams({ state })),
        `${STATES.get(state)}: ${found === null ? "…" : number(found)}`,
        found > 0 ? (BAD.has(state) ? "bad" : "some") : "",
      ),
    );
    keeping(this.node, () => show(this.node, this.servicePart(), states, this.suspectParts(), this.emptyPart(), namesPart()));
  }

  /** Return how many trees are in a state; null: not known yet. */
  countOf(state, disabled) {
    const { cloud } = this.live;
    if (state !== "disabled") return cloud.states.get(state) ?? 0;
    return disabled && [...disabled].filter((root) => cloud.hosts.has(root)).length;
  }

  servicePart() {
    const { value, error } = this.service.now();
    const wrong = Object.entries(value?.checks ?? {}).filter(([, [{ status }]]) => status !== "pass");
    const state = error ? "can't tell its state" : value ? (wrong.length ? wrong.map(([name]) => name).join(", ") : "in order") : "…";
    return part("../health", `service: ${state}`, error || wrong.length ? "bad" : "");
  }

  suspectParts() {
    const { value, error } = this.suspects.now();
    const all = addressOf("suspects");
    if (!value) return part(all, `suspects: ${error ? "can't be read" : "…"}`, "");
    const some = Object.entries(value.kinds).filter(([kind, found]) => found > 0 && !TWICE.has(kind));
    if (!some.length) return part(all, "suspects: none", "");
    return some.map(([kind, found]) =>
      part(addressOf("suspects", [], new URLSearchParams({ kind })), `${worded(kind)}: ${number(found)}`, "some"),
    );
  }

  emptyPart() {
    const { value, error } = this.empty.now();
    if (!value) return part(addressOf("why"), `empty searches: ${error ? "can't be read" : "…"}`, "");
    const { searches, queries } = value;
    if (searches === null) return null;
    // the most frequent first: of those that are as frequent none is the commonest
    const [worst, next] = queries;
    const most = worst && worst.searches > Math.max(next?.searches ?? 0, 1) ? `, ${number(worst.searches)} for ${shortened(asked(worst.query), 40)}` : "";
    return part(addressOf("why"), `empty searches of the last hour: ${number(searches)}${most}`, searches > 0 ? "some" : "");
  }

  changed() {
    this.traits.changed();
    this.suspects.changed();
    this.service.changed();
  }

  close() {
    this.stop.abort();
    this.traits.close();
  }
}

/** Say once what is wrong with the operator's names; the page goes on with ids. */
function namesPart() {
  return names.problem && element("li", { class: "some" }, names.problem);
}

function part(href, text, kind) {
  return element("li", {}, element("a", { href, class: kind }, text));
}

/** A question whose answer is asked anew when something changed, and it is time for that. */
class Asked {
  /** `keeps` is for how many milliseconds an answer is kept though nothing changed */
  constructor(path, signal, told, keeps = Infinity) {
    this.path = path;
    this.signal = signal;
    this.told = told;
    this.keeps = keeps;
    this.askedAt = 0;
    this.pace = new Pace();
    this.isStale = true;
    this.isAsking = false;
    this.answer = { value: null, error: null };
  }

  /** Return `{value, error}` as last known. */
  now() {
    const isOld = this.isStale || performance.now() - this.askedAt > this.keeps;
    if (isOld && !this.isAsking && !this.pace.rests) this.ask();
    return this.answer;
  }

  async ask() {
    this.isAsking = true;
    this.isStale = false;
    this.askedAt = performance.now();
    try {
      this.answer = { value: await this.pace.time(() => askMore(this.path, { signal: this.signal })), error: null };
    } catch (error) {
      if (this.signal.aborted) return;
      this.isStale = Boolean(error.passes);
      this.answer = { value: this.answer.value, error };
    }
    this.isAsking = false;
    this.told();
  }

  changed() {
    this.isStale = true;
  }
}
