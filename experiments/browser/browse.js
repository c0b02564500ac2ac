// Pages of a run that is still going on follow it: parts marked data-live are fetched again and replaced.
// Everything works without this file.
"use strict";

const main = document.querySelector("main[data-every-s]");
const news = document.getElementById("news");

async function follow() {
  if (document.hidden) return;
  let page;
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    news.textContent = "not up to date: experiments.browse does not answer";
    return;
  }
  for (const part of document.querySelectorAll("[data-live]")) {
    const fresh = page.getElementById(part.id);
    const holdsFocus = part.contains(document.activeElement);
    if (fresh && !holdsFocus && fresh.innerHTML !== part.innerHTML) part.innerHTML = fresh.innerHTML;
  }
  news.textContent = `up to date at ${new Date().toLocaleTimeString()}`;
}

if (main) setInterval(follow, 1000 * Number(main.dataset.everyS));

// "/" goes to the filter, as in many programs; never while something is being typed.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea");
  const filter = document.querySelector("input[type=search]");
  if (event.key === "/" && !typing && filter && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    filter.focus();
  }
});

// How many runs are ticked, and whether that is enough to compare.
const ticks = document.querySelectorAll("input[type=checkbox][data-tick]");
const told = document.getElementById("ticked");
function count() {
  const chosen = [...ticks].filter((tick) => tick.checked).length;
  told.textContent = `${chosen} chosen`;
}
if (told && ticks.length) {
  for (const tick of ticks) tick.addEventListener("change", count);
  count();
}
