/** Numbers, amounts and names as people read them. */

const MIB = 2 ** 20;
const GIB = 2 ** 30;
/** resource classes whose amounts are bytes: how many bytes one unit is */
const BYTES = new Map([
  ["MEMORY_MB", MIB],
  ["DISK_GB", GIB],
  ["PERSISTENT_MEMORY_MB", MIB],
]);
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const GROUPED = [0, 1, 2].map(
  (digits) => new Intl.NumberFormat("en", { maximumFractionDigits: digits }),
);

/** Return a number with a narrow space between thousands; it is whole if nothing else is said. */
export function number(value, decimals = 0) {
  return GROUPED[decimals].format(value).replaceAll(",", "\u202f");
}

/** Return whether amounts of a class are bytes, so that people read them with a unit. */
export function isSize(resourceClass) {
  return BYTES.has(resourceClass);
}

/** Return a size if the class counts bytes (`4 GiB`), else the number. */
export function amount(value, resourceClass) {
  const size = BYTES.get(resourceClass);
  return size && value ? bytes(value * size) : number(value);
}

/** Return an amount with the raw figure beside the size: `4 GiB (4 096)`. */
export function exactly(value, resourceClass) {
  const size = BYTES.get(resourceClass);
  return size && value ? `${bytes(value * size)} (${number(value)})` : number(value);
}

/** Return a number of bytes with a unit of 1024. */
export function bytes(value) {
  let unit = 0;
  let left = value;
  while (Math.abs(left) >= 1024 && unit < UNITS.length - 1) {
    left /= 1024;
    unit += 1;
  }
  const decimals = Math.abs(left) >= 100 ? 0 : Math.abs(left) >= 10 ? 1 : 2;
  return `${number(Number(left.toFixed(decimals)), decimals)}\u00a0${UNITS[unit]}`;
}

/** Return a part of a whole as percent. It is 0 % only of nothing, 100 % only of all. */
export function percent(part, whole) {
  if (whole <= 0) return part > 0 ? "over" : "–";
  const share = (100 * part) / whole;
  if (share > 0 && share < 1) return "<\u00a01\u00a0%";
  return `${number(Math.floor(share))}\u00a0%`;
}

/** Return a count with its noun: `1 host`, `2 hosts`. */
export function count(value, noun, plural = `${noun}s`) {
  return `${number(value)}\u00a0${value === 1 ? noun : plural}`;
}

/** Return a text of at most so many characters; what is left out of its middle is `…`. */
export function shortened(text, most) {
  const letters = [...text];
  if (letters.length <= most) return text;
  const begin = Math.ceil((most - 1) / 2);
  return [...letters.slice(0, begin), "…", ...letters.slice(letters.length - (most - 1 - begin))]
    .join("");
}

/** Return whether a text looks like a uuid; the service decides. */
export function mayBeUuid(text) {
  return /^[0-9a-f-]{32,36}$/i.test(text);
}

/** Compare names of resource classes: those of each host first, then by the alphabet. */
export function byClass(one, other) {
  return rank(one) - rank(other) || (one < other ? -1 : Number(one > other));
}

const FIRST = ["VCPU", "PCPU", "MEMORY_MB", "DISK_GB"];

function rank(name) {
  const place = FIRST.indexOf(name);
  return place < 0 ? FIRST.length : place;
}
