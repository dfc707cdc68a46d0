// The sentence on a data set's page: what would one get, before the click?
import { answered, noAnswer } from "./answer.js";

const LONGEST = 15000;
const tones = { released: "ok", sums: "ok", free: "ok", look: "part" };

export function sentence(form) {
  if (!form) return;
  const verdict = document.getElementById("sentence-verdict");
  const check = async () => {
    const data = new FormData(form);
    const by = [data.get("first"), data.get("second")].filter(Boolean);
    const where = [data.get("who"), data.get("place")].filter(Boolean).join(",");
    const asked = new URLSearchParams({ by: [...new Set(by)].join(",") });
    if (where) asked.set("where", where);
    try {
      const answer = await fetch(`${form.dataset.check}?${asked}`, { signal: AbortSignal.timeout(LONGEST) });
      const found = await answer.json();
      answered();
      verdict.hidden = !answer.ok;
      if (!answer.ok) return;
      const cells = found.cells.toLocaleString(document.documentElement.lang);
      const said = form.dataset.foreseen.replace("{what}", form.dataset[found.state]).replace("{n}", cells);
      verdict.textContent = found.allowed ? said : form.dataset.barred;
      verdict.dataset.tone = tones[found.state] || "no";
    } catch {
      verdict.hidden = true;
      noAnswer(form.dataset.dead, check);
    }
  };
  form.addEventListener("change", check);
  check();
}
