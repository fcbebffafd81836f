/** Flavors as people write them, and how many trees have room for how many of one. */

/** so many are counted beside each other */
export const MOST_FLAVORS = 8;
/** so many bars a histogram has at most */
const BARS = 10;

/** Return the query of what somebody writes as a flavor: amounts, or a whole query. */
export function queryOfFlavor(text) {
  if (text.includes("=")) return text;
  return new URLSearchParams({ resources: text.replaceAll(/\s*,\s*/g, ",") }).toString();
}

/** Return `{name, query}` of a line such as `m1.large VCPU:4,MEMORY_MB:8192`; the name may be missing. */
export function flavorOf(line) {
  // a name is no amount, so that none of several amounts is taken for one
  const [, name, text] = /^([^\s:=]+)\s+(\S.*)$/.exec(line.trim()) ?? [null, line.trim(), line.trim()];
  return { name, query: queryOfFlavor(text) };
}

/**
 * Return `{from, to, trees}` of each bar, the fewest first: into so many trees so many fit.
 * @param {Array<number>} counts how many fit into each tree
 */
export function histogram(counts) {
  const most = counts.reduce((found, count) => Math.max(found, count), 0);
  const least = counts.reduce((found, count) => Math.min(found, count), most);
  const width = Math.max(Math.ceil((most - least + 1) / BARS), 1);
  const bars = [];
  for (let from = least; from <= most; from += width) bars.push({ from, to: Math.min(from + width - 1, most), trees: 0 });
  for (const count of counts) bars[Math.floor((count - least) / width)].trees += 1;
  return counts.length ? bars : [];
}
