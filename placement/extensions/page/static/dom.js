/** Make elements. Texts become text nodes and nothing else, so no name of a provider is markup. */

/**
 * Return an element of HTML.
 * @param {string} tag
 * @param {Object<string, unknown>} [properties] attributes; a function listens to the event of that
 *   name; `undefined`, `null` and `false` leave one out
 * @param {...(Node|string|number|null|undefined|Array)} children
 */
export function element(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** Return an element of SVG; see `element`. */
export function drawn(tag, properties = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function filled(made, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") {
      made.addEventListener(name, value);
    } else if (value !== undefined && value !== null && value !== false) {
      made.setAttribute(name, value === true ? "" : String(value));
    }
  }
  made.append(...nodes(children));
  return made;
}

let ids = 0;

/** Return an id that no other element has. */
export function newId(kind) {
  return `${kind}-${(ids += 1)}`;
}

/** Replace what a node contains. */
export function show(node, ...children) {
  node.replaceChildren(...nodes(children));
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}
