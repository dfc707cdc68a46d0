// Everything here makes a page that works without scripts quicker to use.
import { builder } from "./builder.js";
import { result } from "./result.js";
import { recent } from "./recent.js";
import { sentence } from "./sentence.js";

builder(document.querySelector("form[data-live]"));
result(document.querySelector(".result"));
sentence(document.querySelector("[data-sentence]"));
recent(document.querySelector("[data-recent]"), document.querySelector(".result"));

// A menu or an explanation that is open closes when one goes elsewhere.
document.addEventListener("click", (event) => {
  for (const open of document.querySelectorAll("details.move[open], details.what[open], details.pick[open]")) {
    if (!open.contains(event.target)) open.open = false;
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const open = document.activeElement.closest("details.move[open], details.what[open], details.pick[open]");
  if (open) {
    open.open = false;
    open.querySelector("summary").focus();
  }
});
