/** Answers to a view's question: only the last one asked is shown. */

import { element, show } from "./dom.js";
import { failure, notice } from "./links.js";

/** Shows in `node` what an answer says, or why there is none. */
export class Asking {
  constructor(node) {
    this.node = node;
    this.stop = new AbortController();
  }

  /**
   * Ask, and show the answer.
   * @param {function(AbortSignal): Promise} question
   * @param {function(object): Array<Node>} drawn returns what the answer says
   */
  async show(question, drawn) {
    this.close();
    this.stop = new AbortController();
    const { signal } = this.stop;
    show(this.node, notice("The service is asked."));
    try {
      const answer = await question(signal);
      if (!signal.aborted) show(this.node, drawn(answer));
    } catch (error) {
      if (signal.aborted || error.status === 401) return;
      const again = () => this.show(question, drawn);
      const button = element("button", { type: "button", class: "plain", click: again }, "Try again");
      show(this.node, failure(error, error.passes && button));
    }
  }

  /** Show nothing of what was asked. */
  say(...texts) {
    this.close();
    show(this.node, notice(...texts));
  }

  close() {
    this.stop.abort();
  }
}
