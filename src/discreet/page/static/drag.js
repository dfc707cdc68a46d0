// Dragging is extra: every move is also a button.

export function dragging(act) {
  let dragged = null;
  document.addEventListener("pointerdown", (event) => {
    const card = event.target.closest(".card, .variables li[data-variable]");
    const control = event.target.closest("button, select, summary, input, a, p");
    if (card) card.draggable = !control;
  });
  document.addEventListener("dragstart", (event) => {
    const card = event.target.closest && event.target.closest("[data-variable]");
    if (!card) return;
    dragged = card;
    card.classList.add("lifted");
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", card.dataset.variable);
  });
  document.addEventListener("dragend", () => {
    if (dragged) dragged.classList.remove("lifted");
    dragged = null;
    over(null);
  });
  document.addEventListener("dragover", (event) => {
    const zone = event.target.closest && event.target.closest("[data-drop]");
    over(dragged && zone);
    if (dragged && zone) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    const zone = event.target.closest && event.target.closest("[data-drop]");
    if (!dragged || !zone) return;
    event.preventDefault();
    const variable = dragged.dataset.variable;
    act(`move:${variable}:${zone.dataset.drop}`, { focus: `move-${variable}` });
  });
}

function over(zone) {
  for (const one of document.querySelectorAll("[data-drop].over")) {
    if (one !== zone) one.classList.remove("over");
  }
  if (zone) zone.classList.add("over");
}
