/** What a plan is taken away as: JSON, and commands. */

import { element } from "../dom.js";
import { copyText } from "../links.js";
import { commandsOf } from "../model/plan.js";
import { count } from "../words.js";

/** so many lines of commands are shown; the file has all of them */
const LINES = 200;

/**
 * Return how to take a plan away.
 * @param {object} answer what the service answered
 * @param {Array} moves in their order
 */
export function exported(answer, moves) {
  const plan = `${JSON.stringify({ ...answer, moves }, null, 2)}\n`;
  return element(
    "section",
    { class: "panel" },
    element("h2", {}, "Take it along"),
    moves.length ? asCommands(plan, commandsOf(moves)) : element("p", {}, file("plan.json", "application/json", plan)),
  );
}

function asCommands(plan, commands) {
  const lines = commands.split("\n");
  const shown = element("pre", { tabindex: 0, role: "group", "aria-label": "Commands" }, lines.slice(0, LINES).join("\n"));
  return [
    element(
      "p",
      { class: "along" },
      file("plan.json", "application/json", plan),
      file("plan.sh", "text/x-shellscript", commands),
      copyText("Copy the commands", commands, shown),
    ),
    shown,
    lines.length > LINES && element("p", { class: "quiet" }, `${count(lines.length - LINES, "line")} more are in the file.`),
    element(
      "p",
      { class: "quiet" },
      "Each command waits until its server has moved. They name the trees: where a host of nova has another name than its tree, write that. Nova's own filters weren't asked.",
    ),
  ];
}

function file(name, type, text) {
  const save = () => {
    const href = `data:${type};charset=utf-8,${encodeURIComponent(text)}`;
    element("a", { download: name, href }).click();
  };
  return element("button", { type: "button", class: "plain", click: save }, `Save ${name}`);
}
