// A server that does not answer is said, with a way to try again.

export function noAnswer(text, again) {
  const box = document.querySelector("[data-no-answer]");
  box.querySelector("p").textContent = text;
  box.hidden = false;
  box.querySelector("[data-retry]").onclick = () => {
    box.hidden = true;
    again();
  };
}

export function answered() {
  document.querySelector("[data-no-answer]").hidden = true;
}
