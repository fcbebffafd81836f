/** The four questions of plans: what their forms ask for, what is asked, and what the answers say. */

import { evacuateKind } from "./evacuate.js";
import { roomKind } from "./room.js";
import { survivesKind } from "./survives.js";
import { whatIfKind } from "./what_if.js";

/**
 * Each has `title`, `tab`, `lead`, `go` (what its button says), `takesQuery`, `fields`, `isAsked`
 * (whether an address asks something), `ask` and `drawn`.
 */
export const KINDS = new Map([
  ["room", roomKind],
  ["evacuate", evacuateKind],
  ["whatif", whatIfKind],
  ["survives", survivesKind],
]);
