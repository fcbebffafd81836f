/** One question in three forms: a query, a command, and the extra specs of a flavor. */

import { amountsOf, parametersOf, written } from "./query.js";
import { quoted } from "./plan.js";

const COMMAND = "openstack allocation candidate explain";
const GROUPED = /^(resources|required|member_of|in_tree)(|[1-9][0-9]*|_.+)$/;
const ASKING = /^--(resource|group|group-policy|required|forbidden|member-of|in-tree|same-subtree|root-required|limit)(=|$)/;
const OPTIONS = { root_required: "--root-required", same_subtree: "--same-subtree", group_policy: "--group-policy" };

/** Return `{text, left}` of a query as a command; `left` are the parameters that it can't say. */
export function asCommand(query) {
  const options = [];
  const left = [];
  let group = "";
  const parameters = parametersOf(query).map(([key, value]) => [key, value, GROUPED.exec(key)?.[2]]);
  const suffixes = [...new Set(parameters.map(([, , suffix]) => suffix).filter((suffix) => suffix !== undefined))];
  suffixes.sort((one, other) => Number(one !== "") - Number(other !== ""));
  const add = (name, value) => options.push(`${name} ${quoted(value)}`);
  for (const suffix of suffixes) {
    if (suffix !== group) add("--group", (group = suffix));
    for (const [key, value, own] of parameters) {
      if (own !== suffix) continue;
      const pairs = grouped(GROUPED.exec(key)[1], value);
      if (pairs) for (const [name, text] of pairs) add(name, text);
      else left.push(key);
    }
  }
  for (const [key, value, suffix] of parameters) {
    if (suffix !== undefined) continue;
    if (OPTIONS[key]) add(OPTIONS[key], value);
    else left.push(key);
  }
  return { text: options.length ? [COMMAND, ...options].join(" ") : "", left };
}

/** Return the options of a parameter of a group; null if there are none. */
function grouped(kind, value) {
  if (kind === "resources") return amountsOf(value).map(([name, amount]) => ["--resource", `${name}=${amount}`]);
  if (kind === "in_tree") return [["--in-tree", value]];
  if (kind === "required") {
    if (value.startsWith("in:")) return [["--required", value.slice(3)]];
    return value.split(",").map((name) => (name.startsWith("!") ? ["--forbidden", name.slice(1)] : ["--required", name]));
  }
  if (value.startsWith("!in:")) return null;
  return [["--member-of", value.replace(/^in:/, "")]];
}

/** Return the query of a command; throws an error that says what isn't understood. */
export function ofCommand(text) {
  const words = [...text.matchAll(/(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+/gs)].map(([word]) => unquoted(word));
  const begin = words.findIndex((word) => ASKING.test(word));
  if (!words.some((word) => /^--resource(=|$)/.test(word))) throw new Error("This command has no --resource.");
  const parts = words.slice(begin).flatMap((word) => (/^--[a-z-]+=/.test(word) ? [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)] : [word]));
  const parameters = [];
  const amounts = new Map();
  let suffix = "";
  const any = (value) => (value.includes(",") ? `in:${value}` : value);
  for (let at = 0; at < parts.length; at += 2) {
    const [option, value] = [parts[at], parts[at + 1]];
    if (value === undefined) throw new Error(`${option} has no value.`);
    if (option === "--group") suffix = suffixOf(value);
    else if (option === "--resource") addTo(amounts, suffix, value.replace("=", ":"));
    else if (option === "--required") parameters.push([`required${suffix}`, any(value)]);
    else if (option === "--forbidden") parameters.push([`required${suffix}`, `!${value}`]);
    else if (option === "--member-of") parameters.push([`member_of${suffix}`, any(value)]);
    else if (option === "--in-tree") parameters.push([`in_tree${suffix}`, value]);
    else if (option === "--same-subtree") parameters.push(["same_subtree", value.split(",").map(suffixOf).join(",")]);
    else if (option === "--root-required" || option === "--group-policy") parameters.push([option.slice(2).replace("-", "_"), value]);
    else if (option === "--limit") parameters.push(["limit", value]);
    else throw new Error(`“${option}” isn't an option of this question.`);
  }
  return joined(amounts, parameters);
}

function suffixOf(group) {
  return !group || /^\d+$/.test(group) || group.startsWith("_") ? group : `_${group}`;
}

function unquoted(word) {
  return word.replace(/\\(.)|'([^']*)'|"((?:[^"\\]|\\.)*)"/gs, (_, one, plain, double) => one ?? plain ?? double.replace(/\\(.)/gs, "$1"));
}

function addTo(amounts, suffix, part) {
  if (!amounts.has(suffix)) amounts.set(suffix, []);
  amounts.get(suffix).push(part);
}

/** Traits of a group that are single ones stand in one parameter. */
function joined(amounts, parameters) {
  const found = [...amounts].map(([suffix, parts]) => [`resources${suffix}`, parts.join(",")]);
  for (const [key, value] of parameters) {
    const same = found.find(([other, before]) => other === key && key.startsWith("required") && !before.startsWith("in:"));
    if (same && !value.startsWith("in:")) same[1] += `,${value}`;
    else found.push([key, value]);
  }
  return written(found);
}

/** Return `{text, left}` of a query as extra specs of a flavor, one in each line. */
export function asSpecs(query) {
  const lines = [];
  const left = [];
  for (const [key, value] of parametersOf(query)) {
    const [, kind, suffix] = GROUPED.exec(key) ?? [];
    if (kind === "resources") lines.push(...amountsOf(value).map(([name, amount]) => `resources${suffix}:${name}=${amount}`));
    else if (kind === "required" && !value.startsWith("in:")) lines.push(...value.split(",").map((name) => trait(suffix, name)));
    else if (key === "group_policy") lines.push(`group_policy=${value}`);
    else left.push(key);
  }
  return { text: lines.join("\n"), left };
}

function trait(suffix, name) {
  return name.startsWith("!") ? `trait${suffix}:${name.slice(1)}=forbidden` : `trait${suffix}:${name}=required`;
}

/** the rows of `openstack flavor show` that ask for resources */
const OF_FLAVOR = { vcpus: "VCPU", ram: "MEMORY_MB", disk: "DISK_GB" };
/** its other rows, which say nothing of where a server fits */
const ROWS = /^(properties|id|name|description|swap|rxtx_factor|access_project_ids|OS-FLV-DISABLED:disabled|OS-FLV-EXT-DATA:ephemeral|os-flavor-access:is_public)$/;
/** what looks like the name of an extra spec, wherever it is written */
const NAMED = /(?<![\w.:-])([A-Za-z_][\w.:-]*)(?:=|["']\s*:|:\s)/g;

/** Return `{query, left}` of extra specs, also as `openstack flavor show` prints them; `left` are those that placement isn't asked. */
export function ofSpecs(text) {
  const amounts = new Map([["", new Map()]]);
  const parameters = [];
  const known = new Set();
  for (const [, key, value] of text.matchAll(/([A-Za-z_][\w:-]*)["']?\s*[=|:]\s*["']?([\w.-]+)(?![\w.:-])/g)) {
    const [, kind, suffix, name] = /^(resources|trait)(|[1-9][0-9]*|_[\w-]+?):(\w+)$/.exec(key) ?? [];
    if (OF_FLAVOR[key] && Number(value) > 0) setDefault(amounts, "", OF_FLAVOR[key], value);
    else if (kind === "resources") (amounts.get(suffix) ?? amounts.set(suffix, new Map()).get(suffix)).set(name, value);
    else if (kind === "trait") parameters.push([`required${suffix}`, value === "forbidden" ? `!${name}` : name]);
    else if (key === "group_policy") parameters.push([key, value]);
    else continue;
    known.add(key);
  }
  if (!known.size) throw new Error("There is no line like resources:VCPU=4 or trait:NAME=required in it.");
  // an amount of 0 takes away what the flavor itself asks for
  const parts = [...amounts].map(([suffix, some]) => [suffix, [...some].filter(([, value]) => value !== "0").map(([name, value]) => `${name}:${value}`)]);
  const left = [...text.matchAll(NAMED)].map(([, name]) => name).filter((name) => !known.has(name) && !OF_FLAVOR[name] && !ROWS.test(name));
  return { query: joined(new Map(parts.filter(([, some]) => some.length)), parameters), left: [...new Set(left)] };
}

function setDefault(amounts, suffix, name, value) {
  if (!amounts.get(suffix).has(name)) amounts.get(suffix).set(name, value);
}
