// Two systems against each other, direction by direction, with intervals where there are any.

function drawPair(place) {
  const baseline = DATA.comparisons[0]?.baseline ?? NAMES[0];
  const other = DATA.first === baseline ? NAMES.find((name) => name !== baseline) : DATA.first;
  const first = choice("a", "System", systemOptions(), other, draw);
  const second = choice("b", "Against", systemOptions(), baseline, draw);
  const metric = choice("by", "Metric", metricOptions(), DATA.metrics[0].key, draw);
  const group = choice("of", "Group", groupOptions(), "", draw);
  const order = choice("order", "Order", [["size", "by difference"], ["name", "as tested"]], "size", draw);
  const drawn = node("div");
  place.append(controls(first, second, metric, group, order), drawn);

  function draw() {
    const rows = differences(first.value, second.value, metric.value, members(group.value));
    if (order.value === "size") rows.sort((x, y) => y.gain - x.gain);
    if (!rows.length) {
      drawn.replaceChildren(node("p", { class: "count" }, "The two have no direction in common."));
      return;
    }
    const axis = axisOf(rows);
    const { digits } = METRICS.get(metric.value);
    drawn.replaceChildren(
      verdict(rows),
      panel(
        `${first.value} against ${second.value} by direction`,
        node(
          "table",
          { class: "bars" },
          barsHead(first.value, second.value, axis),
          node("tbody", {}, rows.map((row) => barsRow(row, axis, digits))),
        ),
      ),
    );
  }
  draw();
}

function differences(system, baseline, metric, directions) {
  const found = intervals(system, baseline, metric);
  return directions.flatMap((direction) => {
    const [a, b] = [system, baseline].map((name) => score(name, direction, metric));
    if (a === undefined || b === undefined) return [];
    const [difference, low, high, p] = found[direction] ?? [a - b];
    return [{ direction, a, b, difference, low, high, p, gain: better(metric, difference) }];
  });
}

// The bootstrap's intervals of two systems, whichever of them was the baseline.
function intervals(system, baseline, metric) {
  for (const one of DATA.comparisons) {
    if (one.metric !== metric) continue;
    if (one.system === system && one.baseline === baseline) return one.directions;
    if (one.system === baseline && one.baseline === system) {
      const turned = Object.entries(one.directions).map(([key, [d, low, high, p]]) => [key, [-d, -high, -low, p]]);
      return Object.fromEntries(turned);
    }
  }
  return {};
}

function verdict(rows) {
  const count = (test) => rows.filter(test).length;
  const tested = rows.some((row) => row.p !== undefined);
  const part = (word, test) => {
    const sure = tested ? ` (${count((row) => test(row) && row.p < 0.05)} at p < 0.05)` : "";
    return `${word} on ${count(test)}${sure}`;
  };
  const parts = [part("Better", (row) => row.gain > 0), part("worse", (row) => row.gain < 0)];
  const hint = tested
    ? "Bars: difference; whiskers: 95 % interval of the paired bootstrap; pale: p ≥ 0.05."
    : "No intervals: these two were not compared by bootstrap.";
  return node("p", { class: "count", "aria-live": "polite" }, `${parts.join(", ")} of ${rows.length} directions. ${hint}`);
}

function axisOf(rows) {
  const ends = rows.flatMap((row) => [row.difference, row.low ?? 0, row.high ?? 0, 0]);
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const rough = (most - least || 1) / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const low = Math.floor(least / step) * step;
  const high = Math.max(Math.ceil(most / step) * step, low + step);
  const ticks = Array.from({ length: Math.round((high - low) / step) + 1 }, (_, i) => low + i * step);
  return { at: (value) => (100 * (value - low)) / (high - low), ticks, digits: Math.max(0, -Math.floor(Math.log10(step))) };
}

function barsHead(system, baseline, axis) {
  const marks = axis.ticks.map((tick) => {
    const mark = node("span", {}, number(tick, axis.digits, true));
    return styled(mark, { left: `${axis.at(tick)}%` });
  });
  return node(
    "thead",
    {},
    node(
      "tr",
      {},
      node("th", { scope: "col" }, "direction"),
      [baseline, system].map((name) => node("th", { scope: "col", class: "number" }, node("bdi", {}, name))),
      node("th", { scope: "col", class: "track" }, node("div", { class: "axis", "aria-hidden": "true" }, marks)),
      ["difference", "95 % interval", "p"].map((name) => node("th", { scope: "col", class: "number" }, name)),
    ),
  );
}

function barsRow(row, axis, digits) {
  const cell = (text) => node("td", { class: "number" }, text);
  const write = (value) => number(value, digits, true);
  const interval = row.low === undefined ? "" : `[${write(row.low)}, ${write(row.high)}]`;
  return node(
    "tr",
    {},
    node("th", { scope: "row" }, arrow(row.direction)),
    cell(number(row.b, digits)),
    cell(number(row.a, digits)),
    node("td", { class: "track" }, node("div", { "aria-hidden": "true" }, barParts(row, axis))),
    cell(write(row.difference)),
    cell(interval),
    cell(row.p === undefined ? "" : pValue(row.p)),
  );
}

function barParts(row, axis) {
  const [zero, end] = [axis.at(0), axis.at(row.difference)];
  const doubtful = row.p >= 0.05 ? " doubtful" : "";
  const kind = (row.gain > 0 ? "better" : "worse") + doubtful;
  const place = (from, to) => ({ left: `${Math.min(from, to)}%`, width: `${Math.abs(to - from)}%` });
  return [
    ...axis.ticks.map((tick) => styled(node("s"), { left: `${axis.at(tick)}%` })),
    styled(node("b", { class: kind }), place(zero, end)),
    styled(node("s", { class: "zero" }), { left: `${zero}%` }),
    row.low === undefined ? null : styled(node("u"), place(axis.at(row.low), axis.at(row.high))),
  ];
}
