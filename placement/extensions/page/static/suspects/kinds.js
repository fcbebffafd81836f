/** Kinds of suspects, as people read them. */

const WORDS = new Map([
  ["two_roots", "instances on two hosts"],
  ["consumer_type_unknown", "consumers without a type"],
  ["over_capacity", "inventories over capacity"],
  ["empty_root", "trees without inventory"],
  ["untouched", "trees without a change for long"],
  ["duplicate_device", "devices told of twice"],
  ["burned_device", "devices not set back"],
  ["alike_names", "names alike"],
]);

/** Return the words for a kind; one that is newer than the page stays as it is. */
export function worded(kind) {
  return WORDS.get(kind) ?? kind.replaceAll("_", " ");
}
