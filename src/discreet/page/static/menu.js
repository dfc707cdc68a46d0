// The move menu by keys: arrows walk, letters send, Esc closes (in page.js).

export function menus() {
  document.addEventListener("keydown", (event) => {
    const menu = event.target.closest("details.move");
    if (!menu || !menu.open || event.ctrlKey || event.metaKey || event.altKey) return;
    const buttons = [...menu.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      buttons[(at + step + buttons.length) % buttons.length].focus();
      return;
    }
    const wanted = event.key.length === 1 ? event.key.toUpperCase() : event.key;
    const button = buttons.find((one) => one.dataset.key === wanted);
    if (button) {
      event.preventDefault();
      button.click();
    }
  });
  document.addEventListener("toggle", (event) => {
    const menu = event.target;
    if (!(menu instanceof HTMLDetailsElement) || !menu.matches("details.move")) return;
    if (menu.open) menu.querySelector("button").focus();
  }, true);
}
