// The sentence on a data set's page: is it allowed, before the click?

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
      const answer = await fetch(`${form.dataset.check}?${asked}`);
      const found = await answer.json();
      verdict.hidden = !answer.ok;
      if (!answer.ok) return;
      const cells = found.cells.toLocaleString(document.documentElement.lang);
      verdict.textContent = found.allowed ? form.dataset.allowed.replace("{n}", cells) : form.dataset.refused;
      verdict.classList.toggle("refused", !found.allowed);
    } catch {
      verdict.hidden = true;
    }
  };
  form.addEventListener("change", check);
  check();
}
