/** Answers to a view's question: the last one asked is shown, and follows the cloud. */

import { element, show } from "./dom.js";
import { keeping } from "./keeping.js";
import { failure, notice } from "./links.js";
import { Pace } from "./model/pace.js";

/** Shows in `node` what an answer says, or why there is none. */
export class Asking {
  constructor(node) {
    this.node = node;
    this.stop = new AbortController();
    /** what is shown, as text; null while a question is open, or was refused */
    this.shown = null;
    this.isStale = false;
    /** what stops the question that is open; null if none is */
    this.open = null;
    this.pace = new Pace();
  }

  /** Return the view that has this question alone; `go` asks it of a place. */
  view(title, node, go) {
    return { title, node, go, changed: () => this.changed(), status: () => this.refresh(), close: () => this.close() };
  }

  /**
   * Ask, and show the answer.
   * @param {function(AbortSignal, function(object)): Promise} question may tell a first answer, which
   * is shown until the whole one is there
   * @param {function(object): Array<Node>} drawn returns what the answer says
   */
  async show(question, drawn) {
    this.close();
    this.stop = new AbortController();
    this.question = question;
    this.drawn = drawn;
    this.shown = null;
    this.isStale = false;
    show(this.node, notice("The service is asked."));
    await this.ask((error) => this.fail(error));
  }

  /** Ask again, because something changed: at once, or when the last answer is a while ago. */
  changed() {
    this.isStale = true;
    this.refresh();
  }

  /** Ask again what changed meanwhile, if it is time for that. What is shown stays until then. */
  async refresh() {
    if (!this.isStale || this.shown === null || this.open || this.pace.rests) return;
    this.isStale = false;
    await this.ask((error) => {
      // the top of the page says that the service is away
      if (error.passes) this.isStale = true;
      else this.fail(error);
    });
  }

  async ask(failed) {
    const { signal } = (this.open = this.stop);
    try {
      // what is shown already stays: it may be whole
      const first = (answer) => !signal.aborted && this.shown === null && this.tell(answer);
      const answer = await this.pace.time(() => this.question(signal, first));
      if (!signal.aborted) this.tell(answer);
    } catch (error) {
      if (!signal.aborted && error.status !== 401) failed(error);
    } finally {
      if (this.open?.signal === signal) this.open = null;
    }
  }

  /** Show an answer, unless it is what is shown. */
  tell(answer) {
    const text = JSON.stringify(answer, (_, value) => (value instanceof Map ? [...value] : value));
    if (text === this.shown) return;
    this.shown = text;
    // while somebody presses something of it, it waits: meanwhile another question may be asked
    keeping(this.node, () => this.shown === text && show(this.node, this.drawn(answer)));
  }

  fail(error) {
    this.shown = null;
    const again = () => this.show(this.question, this.drawn);
    const button = element("button", { type: "button", class: "plain", click: again }, "Try again");
    show(this.node, failure(error, error.passes && button));
  }

  /** Show nothing of what was asked. */
  say(...texts) {
    this.close();
    this.shown = null;
    show(this.node, notice(...texts));
  }

  close() {
    this.stop.abort();
  }
}
