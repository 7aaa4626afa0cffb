// Sentences with what the systems made of them: a random sample, or those with the largest differences.

const SHOWN = 20;

function drawExamples(place) {
  const directions = [...new Set(DATA.examples.map((one) => one.direction))];
  const any = [["", `all (${directions.length})`], ...directions.map((one) => [one, arrow(one)])];
  const pairs = [["", "any two systems"]];
  NAMES.forEach((a, i) => NAMES.slice(i + 1).forEach((b) => pairs.push([`${i}:${NAMES.indexOf(b)}`, `${a}, ${b}`])));
  const text = search("text", "Text", "source, reference or output", again);
  const direction = choice("direction", "Direction", any, "", again);
  const pair = choice("differ", "Largest difference of", pairs, "", again);
  const striking = NAMES.length > 1 ? "largest differences" : "lowest scores";
  const kinds = [["random", "random sample"], ["striking", striking]].filter(([kind]) => DATA.examples.some(isOf(kind)));
  const kind = choice("sentences", "Sentences", kinds, kinds[0][0], again);
  const count = node("p", { class: "count", "aria-live": "polite" });
  const list = node("ol", { class: "examples" });
  const more = node("button", { type: "button", class: "more" }, "Show more");
  const folded = DATA.examples.map((one) => fold([one.source ?? "", one.reference, ...Object.values(one.hypotheses)].join("\n")));
  let limit = SHOWN;
  more.addEventListener("click", () => {
    limit += SHOWN;
    draw();
  });
  place.append(controls(kind, text, direction, ...(NAMES.length > 2 ? [pair] : [])), count, list, more);

  function again() {
    limit = SHOWN;
    draw();
  }

  function draw() {
    const wanted = fold(text.value);
    const inOrder = kind.value === "random";
    pair.field.hidden = inOrder;
    const chosen = pair.value && !inOrder ? pair.value.split(":").map((index) => NAMES[index]) : [];
    const found = DATA.examples
      .filter((one, i) => folded[i].includes(wanted) && (!direction.value || one.direction === direction.value))
      .filter(isOf(kind.value))
      .filter((one) => chosen.every((name) => name in one.hypotheses))
      .map((one) => [spread(one, chosen.length ? chosen : NAMES), one])
      .sort((x, y) => (inOrder ? 0 : y[0] - x[0]));
    list.replaceChildren(...found.slice(0, limit).map(([gap, one]) => example(one, gap)));
    more.hidden = found.length <= limit;
    count.textContent = `${found.length} of ${DATA.examples.filter(isOf(kind.value)).length} sentences`;
  }
  draw();
}

const isOf = (kind) => (example) => example.random === (kind === "random");

const fold = (text) => text.normalize("NFC").toLowerCase();

// The gap in sentence chrF++ between the best and the worst of some systems.
function spread(one, names) {
  const known = names.map((name) => one.chrf[name]).filter((value) => value !== undefined);
  return known.length > 1 ? Math.max(...known) - Math.min(...known) : 0;
}

function example(one, gap) {
  const [source, target] = one.direction.split("-");
  const line = (label, text, lang, value) => [
    node("dt", {}, node("bdi", {}, label), value === undefined ? null : node("span", { class: "chrf" }, value.toFixed(1))),
    node("dd", { dir: "auto", lang: text ? lang : "en", class: text ? false : "empty" }, text || "(empty)"),
  ];
  const title = [named(one.direction), `sentence ${one.number}`];
  if (gap > 0) title.push(`chrF++ differs by ${gap.toFixed(1)}`);
  return node(
    "li",
    {},
    node("h3", {}, title.join(" · ")),
    node(
      "dl",
      {},
      one.source === null ? null : line("source", one.source, source),
      line("reference", one.reference, target),
      Object.entries(one.hypotheses).map(([name, text]) => line(name, text, target, one.chrf[name])),
    ),
  );
}
