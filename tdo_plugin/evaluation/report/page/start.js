// Draws everything, then goes where the address says.

document.querySelectorAll("table[data-sort]").forEach(sortable);

const DRAWINGS = {
  heat: drawHeat,
  pair: drawPair,
  languages: drawLanguages,
  directions: drawDirections,
  examples: drawExamples,
};
for (const place of document.querySelectorAll("[data-draw]")) DRAWINGS[place.dataset.draw](place);

// Sections are visited without losing the state in the address.
for (const link of document.querySelectorAll("nav a")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const section = document.querySelector(link.hash);
    remember("at", section.id, "");
    section.scrollIntoView();
  });
}
if (STATE.has("at")) {
  history.scrollRestoration = "manual";
  document.getElementById(STATE.get("at"))?.scrollIntoView();
}
addEventListener("hashchange", () => {
  if (location.hash.includes("=")) location.reload();
});
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});
