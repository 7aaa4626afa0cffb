// Which languages the hypotheses are in, as stacked bars.

const SHARES = [
  ["target", "target"],
  ["english", "English"],
  ["source", "source"],
  ["other", "other"],
  ["undetectable", "undetectable"],
];
const LABELS_SHOWN = 5;

function drawLanguages(place) {
  const groups = groupOptions().filter(([name]) => members(name).some(hasShares));
  const options = [["", "means of groups"], ...groups.map(([name, text]) => [name || "*", text])];
  const view = choice("view", "Directions", options, "", draw);
  const order = choice("rank", "Order", [["name", "as tested"], ["off", "most off-target first"]], "name", draw);
  const find = search("target", "Direction", "de, en-de, → ar", draw);
  const wrong = toggle("wrong", "Off-target part only", false, draw);
  const key = SHARES.map(([name, text]) => node("span", { class: "key" }, node("i", { class: name }), text));
  const drawn = node("div");
  place.append(controls(view, order, find, wrong), node("p", { class: "legend" }, key), drawn);

  function draw() {
    const means = view.value === "";
    for (const one of [order, find]) one.field.hidden = means;
    const inside = members(view.value === "*" ? "" : view.value);
    const wanted = arrow(find.value.toLowerCase());
    const blocks = means
      ? Object.keys(DATA.groups).map((group) => [DATA.groupLabels[group], (system) => meanShares(system, members(group))])
      : inside
          .filter((one) => hasShares(one) && arrow(one).toLowerCase().includes(wanted))
          .map((one) => [arrow(one), (system) => system.shares[one], (system) => identified(system, one)]);
    if (!means && order.value === "off") blocks.sort((x, y) => mostOff(y[1]) - mostOff(x[1]));
    const most = wrong.value ? Math.max(0, ...blocks.map((block) => mostOff(block[1]))) || 1 : 100;
    const part = stacks(wrong.value ? SHARES.slice(1) : SHARES, most);
    const bodies = blocks.map((block) => shareRows(part, ...block)).filter((body) => body.rows.length);
    const table = node("table", { class: "shares" }, node("thead", {}, sharesHead(means, most)), bodies);
    drawn.replaceChildren(panel("Languages of the hypotheses", table));
  }
  draw();
}

function sharesHead(means, most) {
  const head = (text, kind = false) => node("th", { scope: "col", class: kind }, text);
  const scale = node("div", { class: "ends" }, node("span", {}, "0"), node("span", {}, `${number(most, 0)} %`));
  const first = [head(means ? "group" : "direction"), head("system"), head(scale, "track"), head("off-target %", "number")];
  return node("tr", {}, first, means ? null : head("identified as"));
}

const hasShares = (direction) => DATA.systems.some((system) => system.shares[direction]);

function mostOff(sharesOf) {
  return Math.max(...DATA.systems.map((system) => 100 - (sharesOf(system)?.target ?? 100)));
}

function meanShares(system, directions) {
  const known = directions.map((one) => system.shares[one]).filter(Boolean);
  if (!known.length) return undefined;
  const mean = ([name]) => [name, known.reduce((sum, one) => sum + (one[name] ?? 0), 0) / known.length];
  return Object.fromEntries([...SHARES, ["confused"]].map(mean));
}

function identified(system, direction) {
  const found = Object.entries(system.languages[direction] ?? {}).sort((x, y) => y[1] - x[1]);
  const shown = found.slice(0, LABELS_SHOWN).map(([label, count]) => `${label} ${count}`);
  return shown.join(" · ") + (found.length > LABELS_SHOWN ? ` · ${found.length - LABELS_SHOWN} more` : "");
}

function shareRows(stack, name, sharesOf, textOf) {
  const known = DATA.systems.filter((system) => sharesOf(system));
  const rows = known.map((system, index) => {
    const shares = sharesOf(system);
    const label = index ? null : node("th", { scope: "rowgroup", rowspan: known.length }, name);
    return node(
      "tr",
      {},
      label,
      node("th", { scope: "row" }, node("bdi", {}, system.name)),
      node("td", { class: "track" }, stack(shares)),
      node("td", { class: "number" }, number(100 - shares.target, 1)),
      textOf ? node("td", { class: "labels" }, textOf(system)) : null,
    );
  });
  return node("tbody", {}, rows);
}

// Draws some of the shares as one bar, whose full width is `most` percent.
function stacks(drawn, most) {
  return (shares) => {
    const words = SHARES.filter(([name]) => shares[name] > 0).map(([name, text]) => `${text} ${number(shares[name], 1)} %`);
    if (shares.confused > 0) words.push(`of other, the target's neighbour ${number(shares.confused, 1)} %`);
    const bars = drawn
      .filter(([name]) => shares[name] > 0)
      .map(([name]) => styled(node("i", { class: name }), { width: `${(100 * shares[name]) / most}%` }));
    return node("div", { class: "stack", role: "img", title: words.join(", "), "aria-label": words.join(", ") }, bars);
  };
}
