// The builder: the same requests as without scripts, fetched and put in place.
import { menus } from "./menu.js";
import { dragging } from "./drag.js";
import { answered, noAnswer } from "./answer.js";

const WAIT = 300;
const LONGEST = 15000;
let latest = 0;
let shown = "";

export function builder(form) {
  if (!form) return;
  document.addEventListener("submit", submitted);
  document.addEventListener("change", changed);
  document.addEventListener("input", typed);
  document.addEventListener("click", clicked);
  shown = plain(location.href);
  window.addEventListener("popstate", () => {
    // Going to another place of this page is no other question.
    if (plain(location.href) !== shown) load(location.href, {});
  });
  window.addEventListener("pageshow", () => ready());
  menus();
  dragging(act);
}

function plain(url) {
  return url.split("#")[0];
}

function current() {
  return document.querySelector("form[data-live]");
}

function ready() {
  const get = document.getElementById("get");
  if (get && get.dataset.text) {
    get.textContent = get.dataset.text;
    get.removeAttribute("aria-disabled");
  }
}

function address(form, action) {
  const data = new FormData(form);
  if (action) data.set("do", action);
  else if (!data.has("do")) data.set("do", "update:");
  return `${form.getAttribute("action")}?${new URLSearchParams(data)}`;
}

function submitted(event) {
  const form = event.target;
  if (!form.matches("form[data-live]")) return;
  const button = event.submitter;
  if (button && button.hasAttribute("formaction")) {
    // Pressed twice, it would be asked for twice.
    if (button.getAttribute("aria-disabled")) return event.preventDefault();
    // The table is a page of its own; say that it is on its way.
    button.dataset.text = button.textContent;
    button.setAttribute("aria-disabled", "true");
    button.textContent = form.dataset.making;
    say(form.dataset.making);
    setTimeout(() => {
      if (button.isConnected) noAnswer(form.dataset.dead, () => { ready(); button.click(); });
    }, 2 * LONGEST);
    return;
  }
  event.preventDefault();
  act(button && button.name === "do" ? button.value : "update:", {
    focus: button && (button.dataset.focus || button.id),
    done: button && button.dataset.done,
  });
}

function changed(event) {
  const field = event.target;
  if (!field.closest("form[data-live]")) return;
  if (field.name.startsWith("level.") || field.name.startsWith("keep.")) {
    act("update:", { focus: field.id });
  }
}

let timer = 0;
function typed(event) {
  const field = event.target;
  if (field.matches("[data-filter]")) filter(field.value);
  if (field.matches("[data-search]")) {
    clearTimeout(timer);
    timer = setTimeout(() => load(address(current()), { only: field.dataset.search }), WAIT);
  }
}

function clicked(event) {
  const button = event.target.closest("[data-untick]");
  if (!button) return;
  for (const box of button.closest(".panel").querySelectorAll("input[type=checkbox]")) box.checked = false;
  for (const branch of button.closest(".panel").querySelectorAll("details.branch")) branch.open = true;
  button.closest(".panel").querySelector("input[type=checkbox]").focus();
}

function filter(text) {
  const wanted = text.trim().toLowerCase();
  let shown = 0;
  for (const entry of document.querySelectorAll(".variables li[data-names]")) {
    entry.hidden = !entry.dataset.names.includes(wanted);
    if (!entry.hidden) shown += 1;
  }
  document.getElementById("no-match").hidden = shown > 0;
}

export function act(action, after) {
  return load(address(current(), action), after || {});
}

async function load(url, after) {
  const form = current();
  const mine = ++latest;
  const slow = setTimeout(() => {
    form.classList.add("busy");
    say(form.dataset.checking);
  }, WAIT);
  let why = form.dataset.dead;
  try {
    // A server that is gone may keep a request for ever.
    const answer = await fetch(url, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(LONGEST) });
    if (mine !== latest) return;
    if (!answer.ok) {
      why = [429, 503].includes(answer.status) ? form.dataset.busy : form.dataset.failed;
      throw new Error(String(answer.status));
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== latest) return;
    put(page, answer.url, after);
  } catch {
    if (mine !== latest) return;
    form.classList.remove("busy");
    say("");
    noAnswer(why, () => load(url, after));
  } finally {
    clearTimeout(slow);
  }
}

function put(page, url, after) {
  if (after.only) {
    document.getElementById(after.only).replaceWith(page.getElementById(after.only));
    answered();
    form_ready();
    return;
  }
  const open = [...document.querySelectorAll(".group")].map((group) => group.open);
  const branches = [...document.querySelectorAll("details.branch[open] > summary")].map((s) => s.firstChild.textContent);
  const find = document.getElementById("find").value;
  const kept = after.focus || (document.activeElement && document.activeElement.id);
  document.title = page.title;
  document.querySelector("header.site").replaceWith(page.querySelector("header.site"));
  document.getElementById("main").replaceChildren(...page.getElementById("main").childNodes);
  if (plain(url) !== plain(location.href)) history.pushState({}, "", url);
  shown = plain(url);
  document.querySelectorAll(".group").forEach((group, i) => {
    if (i in open) group.open = open[i];
  });
  for (const summary of document.querySelectorAll("details.branch > summary")) {
    if (branches.includes(summary.firstChild.textContent)) summary.parentElement.open = true;
  }
  const field = document.getElementById("find");
  field.value = find;
  if (find) filter(find);
  focus(kept);
  const line = document.getElementById("verdict-line");
  say([after.done, line && line.textContent].filter(Boolean).join(" "));
}

function form_ready() {
  current().classList.remove("busy");
}

function focus(id) {
  const target = (id && document.getElementById(id)) || document.getElementById("main");
  target.focus({ preventScroll: target.id === "main" });
  // What a search hides cannot have the focus.
  if (document.activeElement !== target) document.getElementById("main").focus({ preventScroll: true });
  if (id === "panel") target.scrollIntoView({ block: "nearest" });
}

function say(text) {
  document.getElementById("say").textContent = text || "";
}
