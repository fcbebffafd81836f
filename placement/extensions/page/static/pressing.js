/** What somebody presses stays until it is let go: an element that is replaced meanwhile gets no click. */

let pressed = null;
/** part of the page → what draws it anew */
const waiting = new Map();

addEventListener("pointerdown", ({ target, button }) => (pressed = button === 0 ? target : null), true);
// the click comes right after; a link that is dragged away, or a finger that scrolls, ends with a cancel
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => setTimeout(letGo), true);

function letGo() {
  pressed = null;
  const draws = [...waiting.values()];
  waiting.clear();
  for (const draw of draws) draw();
}

/** Draw a part of the page: at once, or if something in it is pressed, when that is let go. */
export function onceLetGo(part, draw) {
  if (part.contains(pressed)) waiting.set(part, draw);
  else draw();
}
