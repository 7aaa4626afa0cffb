// The source-by-target heat map of one system, or of the difference of two.

// Viridis (perceptually uniform), and orange to blue over white; both safe for the colour-blind.
const VIRIDIS = [
  "440154", "482475", "414487", "355f8d", "2a788e", "21918c", "22a884", "44bf70", "7ad151", "bddf26", "fde725",
].map(channels);
const DIVERGING = [
  "b35806", "e08214", "fdb863", "fee0b6", "f7f7f7", "d1e5f0", "92c5de", "4393c3", "2166ac",
].map(channels);
const NUMBERED = 30; // with more languages numbers are off by default

function channels(hex) {
  return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

// A colour of a scale at 0 to 1, and whether text on it is black or white.
function colour(scale, at) {
  const place = Math.min(Math.max(at, 0), 1) * (scale.length - 1);
  const below = Math.min(Math.floor(place), scale.length - 2);
  const mixed = scale[below].map((low, i) => Math.round(low + (place - below) * (scale[below + 1][i] - low)));
  const linear = mixed.map((v) => (v / 255 <= 0.04045 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return { "background-color": `rgb(${mixed})`, color: luminance > 0.179 ? "#000" : "#fff" };
}

function drawHeat(place) {
  const metric = choice("metric", "Metric", metricOptions(), DATA.metrics[0].key, draw);
  const system = choice("system", "System", systemOptions(), DATA.first, draw);
  const others = [["", "nothing"], ...systemOptions()];
  const minus = choice("minus", "Minus", others, "", draw);
  const numbers = toggle("numbers", "Numbers", DATA.languages.length <= NUMBERED, draw);
  const drawn = node("div");
  place.append(controls(metric, system, ...(NAMES.length > 1 ? [minus] : []), numbers), drawn);

  function draw() {
    const { digits, name } = METRICS.get(metric.value);
    const difference = minus.value !== "" && minus.value !== system.value;
    const value = (direction) => {
      const own = score(system.value, direction, metric.value);
      const other = difference ? score(minus.value, direction, metric.value) : 0;
      return own === undefined || other === undefined ? undefined : own - other;
    };
    const scale = difference ? aroundZero(value) : ofAll(metric.value);
    const shade = (v) => {
      const at = (v - scale.low) / (scale.high - scale.low || 1);
      return colour(difference ? DIVERGING : VIRIDIS, METRICS.get(metric.value).higher ? at : 1 - at);
    };
    const write = (v) => number(v, Math.min(digits, 1), difference);
    const title = difference ? `${name}: ${system.value} minus ${minus.value}` : `${name} of ${system.value}`;
    drawn.replaceChildren(
      legend(title, scale, shade, write, difference),
      panel(`${title}, source by target`, matrix(value, shade, write, numbers.value)),
    );
  }
  draw();
}

// One scale for all systems, so that they can be compared.
function ofAll(metric) {
  const values = NAMES.flatMap((name) => DATA.directions.map((one) => score(name, one, metric)));
  const known = values.filter((value) => value !== undefined);
  return { low: Math.min(...known), high: Math.max(...known) };
}

function aroundZero(value) {
  const sizes = DATA.directions.map(value).filter((v) => v !== undefined).map(Math.abs);
  const most = Math.max(0, ...sizes) || 1;
  return { low: -most, high: most };
}

function legend(title, { low, high }, shade, write, difference) {
  const steps = Array.from({ length: 41 }, (_, i) => low + ((high - low) * i) / 40);
  const ramp = node("span", { class: "ramp", "aria-hidden": "true" });
  for (const step of steps) ramp.append(styled(node("i"), { "background-color": shade(step)["background-color"] }));
  const meaning = difference ? "blue: the first is better" : "brighter is better; one scale for all systems";
  return node(
    "p",
    { class: "legend" },
    node("bdi", { class: "what" }, title),
    node("span", {}, write(low)),
    ramp,
    node("span", {}, write(high)),
    node("span", { class: "meaning" }, meaning),
  );
}

function matrix(value, shade, write, numbered) {
  const corner = node("th", { scope: "col", class: "corner" }, "source ↓ target →");
  const targets = DATA.languages.map((code) => node("th", { scope: "col" }, node("span", {}, code)));
  const body = node("tbody");
  for (const source of DATA.languages) {
    const row = node("tr", {}, node("th", { scope: "row" }, source));
    for (const target of DATA.languages) {
      const known = value(`${source}-${target}`);
      if (known === undefined) {
        row.append(node("td", { class: "none" }));
        continue;
      }
      const title = `${named(`${source}-${target}`)}: ${write(known)}`;
      row.append(styled(node("td", { title }, numbered ? write(known) : ""), shade(known)));
    }
    body.append(row);
  }
  const kind = numbered ? "matrix" : "matrix compact";
  return node("table", { class: kind }, node("thead", {}, node("tr", {}, corner, targets)), body);
}
