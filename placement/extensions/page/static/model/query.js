/** Queries for allocation candidates: their parameters, and what they become by a relaxation. */

/** The parameters of a group that the form has fields for. All others stand in one field. */
const OF_GROUP = /^(resources|required|member_of)(|[1-9][0-9]*|_[A-Za-z0-9_-]+)$/;

/** Return `[[name, value], …]` of a query, in its order. */
export function parametersOf(query) {
  return [...new URLSearchParams(query)];
}

/** Return the text of parameters, as people read it. */
export function written(parameters) {
  const spelled = new URLSearchParams(parameters).toString();
  return spelled.replaceAll("%3A", ":").replaceAll("%2C", ",").replaceAll("%21", "!");
}

/** Return a search as people read it: without `limit`, which changes nothing of what fits. */
export function asked(query) {
  return written(parametersOf(query).filter(([name]) => name !== "limit"));
}

/**
 * Return what stands in the fields.
 * @returns {{groups: Array<{suffix, resources: [[class, amount]], traits, aggregates}>, policy, more}}
 *   the first group is that without a suffix
 */
export function fieldsOf(query) {
  const parameters = parametersOf(query);
  const groups = new Map([["", emptyGroup("")]]);
  const rest = [];
  let policy = "";
  for (const [key, value] of parameters) {
    const [, kind, suffix] = OF_GROUP.exec(key) ?? [];
    // several values of `required` and `member_of` mean more than one field can say
    const isOnly = parameters.filter(([other]) => other === key).length === 1;
    if (kind && !groups.has(suffix)) groups.set(suffix, emptyGroup(suffix));
    const group = groups.get(suffix);
    if (kind === "resources") group.resources.push(...amountsOf(value));
    else if (kind === "required" && isOnly) group.traits = value;
    else if (kind === "member_of" && isOnly) group.aggregates = value;
    else if (key === "group_policy" && isOnly && ["none", "isolate"].includes(value)) policy = value;
    else rest.push([key, value]);
  }
  return { groups: [...groups.values()], policy, more: written(rest) };
}

export function emptyGroup(suffix) {
  return { suffix, resources: [], traits: "", aggregates: "" };
}

/** Return `[class, amount]` of each part of a parameter `resources`. */
export function amountsOf(value) {
  return value
    .split(",")
    .filter(Boolean)
    .map((part) => {
      const at = part.lastIndexOf(":");
      return at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
    });
}

/** Return the query of what stands in the fields. */
export function queryOf({ groups, policy, more }) {
  const parameters = groups.flatMap(({ suffix, resources, traits, aggregates }) => {
    const amounts = resources.filter(([name]) => name).map(([name, amount]) => `${name}:${amount}`);
    return [
      [`resources${suffix}`, amounts.join(",")],
      [`required${suffix}`, traits],
      [`member_of${suffix}`, aggregates],
    ];
  });
  parameters.push(["group_policy", policy]);
  return written([...parameters.filter(([, value]) => value), ...parametersOf(more)]);
}

/**
 * Return the query after a relaxation.
 * @param {string} query
 * @param {{drop: string, add: string|undefined}|{to: number, group: string|undefined}} change
 *   the second has the class as `lower` or `raise`
 */
export function relaxed(query, change) {
  const parameters = parametersOf(query);
  if (change.drop === undefined) return written(withAmount(parameters, change));
  const left = without(parameters, change.drop);
  return written(change.add ? [...left, ...parametersOf(change.add)] : left);
}

function withAmount(parameters, { lower, raise, to, group = "" }) {
  const name = lower ?? raise;
  return parameters.map(([key, value]) => {
    if (key !== `resources${group}`) return [key, value];
    const parts = value.split(",").map((part) => (part.split(":")[0] === name ? `${name}:${to}` : part));
    return [key, parts.join(",")];
  });
}

function without(parameters, drop) {
  const at = drop.indexOf("=");
  const [name, gone] = [drop.slice(0, at), drop.slice(at + 1)];
  const whole = parameters.findIndex(([key, value]) => key === name && value === gone);
  if (whole >= 0) return parameters.filter((_, place) => place !== whole);
  let left = true;
  return parameters
    .map(([key, value]) => {
      const parts = value.split(",");
      if (!left || key !== name || !parts.includes(gone)) return [key, value];
      left = false;
      return [key, parts.filter((part) => part !== gone).join(",")];
    })
    .filter(([, value]) => value !== "");
}
