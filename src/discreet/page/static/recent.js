// Tables made in this browser: kept here and nowhere else.
const NAME = "discreet.recent";
const MOST = 8;

export function recent(list, page) {
  const kept = read();
  if (page) {
    const here = new URL(document.getElementById("permalink").href);
    const entry = { title: page.dataset.title, scope: page.dataset.scope, href: here.pathname + here.search };
    write([entry, ...kept.filter((one) => one.title !== entry.title || one.scope !== entry.scope)].slice(0, MOST));
  }
  if (list) show(list, kept);
}

function show(list, kept) {
  list.hidden = kept.length === 0;
  const items = kept.map((one) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    const scope = document.createElement("span");
    link.href = one.href;
    link.textContent = one.title;
    scope.textContent = one.scope;
    scope.className = "soft";
    item.append(link, scope);
    return item;
  });
  list.querySelector("ul").replaceChildren(...items);
  list.querySelector("[data-clear]").onclick = () => {
    write([]);
    show(list, []);
  };
}

function read() {
  try {
    const found = JSON.parse(localStorage.getItem(NAME) || "[]");
    // Only addresses of this site: what is stored may have been tampered with.
    return found.filter((one) => typeof one.href === "string" && /^(\/[\w.~-]+)*\/datasets\//.test(one.href));
  } catch {
    return [];
  }
}

function write(entries) {
  try {
    localStorage.setItem(NAME, JSON.stringify(entries));
  } catch {
    // A browser that keeps nothing: then there is no list.
  }
}
