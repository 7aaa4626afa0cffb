"use strict";

// What the page carries, and small means that all drawings share. Text only ever becomes text
// nodes: nothing from the data is parsed as HTML.

const DATA = JSON.parse(document.getElementById("data").textContent);
const METRICS = new Map(DATA.metrics.map((metric) => [metric.key, metric]));
const SYSTEMS = new Map(DATA.systems.map((system) => [system.name, system]));
const NAMES = DATA.systems.map((system) => system.name);

// The state of every control, kept in the address so that a view can be shared.
const STATE = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");

function remember(key, value, standard) {
  if (value === standard) STATE.delete(key);
  else STATE.set(key, value);
  history.replaceState(null, "", `#${STATE}`);
}

function node(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

function styled(made, properties) {
  for (const [key, value] of Object.entries(properties)) made.style.setProperty(key, value);
  return made;
}

const arrow = (direction) => direction.replace("-", " → ");
const named = (direction) => direction.split("-").map((code) => DATA.languageNames[code]).join(" → ");

// As in the tables: what rounds to zero has no sign.
function number(value, digits, signed = false) {
  const text = value.toFixed(digits);
  if (Number(text) === 0) return (0).toFixed(digits);
  return (signed && value > 0 ? "+" : "") + text.replace("-", "−");
}

const pValue = (p) => (p < 0.001 ? "< 0.001" : p.toFixed(3));

function score(system, direction, metric) {
  return SYSTEMS.get(system).scores[direction]?.[metric];
}

// Positive where the first number is the better one.
function better(metric, difference) {
  return METRICS.get(metric).higher ? difference : -difference;
}

// Directions of a group; of all of them where the group is "".
const members = (group) => (group ? DATA.groups[group] : DATA.directions);

const metricOptions = () => DATA.metrics.map((metric) => [metric.key, metric.name]);
const systemOptions = () => NAMES.map((name) => [name, name]);
const groupOptions = () => [
  ["", `all (${DATA.directions.length})`],
  ...Object.entries(DATA.groups)
    .filter(([name]) => name !== "all")
    .map(([name, directions]) => [name, `${DATA.groupLabels[name]} (${directions.length})`]),
];

// A labelled list to choose from; `value` is the chosen one, also from the address.
function choice(key, label, options, standard, changed) {
  const known = options.some(([value]) => value === STATE.get(key));
  const list = node("select", { "data-key": key });
  for (const [value, text] of options) list.append(node("option", { value }, text));
  list.value = known ? STATE.get(key) : standard;
  list.addEventListener("change", () => {
    remember(key, list.value, standard);
    changed();
  });
  return { field: node("label", {}, node("span", {}, label), list), get value() { return list.value; } };
}

function search(key, label, hint, changed) {
  const input = node("input", { type: "search", "data-key": key, placeholder: hint, dir: "auto" });
  input.value = STATE.get(key) ?? "";
  input.addEventListener("input", () => {
    remember(key, input.value, "");
    changed();
  });
  return { field: node("label", {}, node("span", {}, label), input), get value() { return input.value.trim(); } };
}

function toggle(key, label, standard, changed) {
  const box = node("input", { type: "checkbox", "data-key": key });
  box.checked = (STATE.get(key) ?? (standard ? "yes" : "no")) === "yes";
  box.addEventListener("change", () => {
    remember(key, box.checked ? "yes" : "no", standard ? "yes" : "no");
    changed();
  });
  return { field: node("label", { class: "toggle" }, box, node("span", {}, label)), get value() { return box.checked; } };
}

const controls = (...made) => node("div", { class: "controls" }, made.map((one) => one.field));

function panel(label, ...children) {
  return node("div", { class: "panel", tabindex: "0", role: "region", "aria-label": label }, children);
}
