/** Where the reader is: a view, what it shows, and its question. It stands in the address. */

/**
 * Return `{view, path: string[], query: URLSearchParams}` of an address' part after `#`.
 * @param {string} hash such as `#/trees/<uuid>?q=gpu`
 */
export function placeOf(hash) {
  const [path, query = ""] = split(hash.replace(/^#\/?/, ""));
  const [view, ...rest] = path.split("/").map(decoded);
  return { view: view || "cloud", path: rest.filter(Boolean), query: new URLSearchParams(query) };
}

function split(text) {
  const at = text.indexOf("?");
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Return the address of a place, relative to the page. */
export function addressOf(view, path = [], query = "") {
  const words = [view, ...path].map(encodeURIComponent).join("/");
  const question = query.toString();
  return `#/${words}${question ? `?${question}` : ""}`;
}

/** Change the address without a new entry in the history. */
export function refine(address) {
  if (address !== location.hash) history.replaceState(null, "", address);
}

/** Go to an address. If the reader is there already, only `look` again. */
export function lead(address, look) {
  if (address === location.hash) look();
  else location.hash = address;
}
