/** Queries for allocation candidates: their parameters, and what they become by a relaxation. */

/** The parameters that the form has fields for. All others stand in one field. */
const OWN = new Set(["resources", "required", "member_of"]);

/** Return `[[name, value], …]` of a query, in its order. */
export function parametersOf(query) {
  return [...new URLSearchParams(query)];
}

/** Return the text of parameters, as people read it. */
export function written(parameters) {
  const spelled = new URLSearchParams(parameters).toString();
  return spelled.replaceAll("%3A", ":").replaceAll("%2C", ",").replaceAll("%21", "!");
}

/** Return what stands in the fields: `{resources: [[class, amount]], traits, aggregates, more}`. */
export function fieldsOf(query) {
  const parameters = parametersOf(query);
  const values = (name) => parameters.filter(([key]) => key === name).map(([, value]) => value);
  // several values of `required` and `member_of` mean more than one field can say
  const traits = values("required");
  const aggregates = values("member_of");
  const more = parameters.filter(
    ([key]) =>
      !OWN.has(key) ||
      (key === "required" && traits.length > 1) ||
      (key === "member_of" && aggregates.length > 1),
  );
  return {
    resources: values("resources")
      .flatMap((value) => value.split(","))
      .filter(Boolean)
      .map((part) => {
        const at = part.lastIndexOf(":");
        return at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
      }),
    traits: traits.length === 1 ? traits[0] : "",
    aggregates: aggregates.length === 1 ? aggregates[0] : "",
    more: written(more),
  };
}

/** Return the query of what stands in the fields. */
export function queryOf({ resources, traits, aggregates, more }) {
  const parameters = [];
  const amounts = resources.filter(([name]) => name).map(([name, amount]) => `${name}:${amount}`);
  if (amounts.length) parameters.push(["resources", amounts.join(",")]);
  if (traits) parameters.push(["required", traits]);
  if (aggregates) parameters.push(["member_of", aggregates]);
  return written([...parameters, ...parametersOf(more)]);
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
