// Making elements, and asking the server.

/** An element; functions among the attributes are listeners, `vars` are custom properties. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(key, value);
    else if (key === "vars") for (const [property, set] of Object.entries(value)) made.style.setProperty(property, set);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

const byId = (id) => document.getElementById(id);

function option(value, text) {
  return element("option", { value }, text);
}

/** Fill a select, keeping its choice if that is still there; options in groups have their label third. */
function fill(select, options) {
  const before = select.value;
  const groups = Map.groupBy(options, ([, , label]) => label);
  select.replaceChildren(...[...groups].flatMap(([label, members]) => {
    const made = members.map(([value, text]) => option(value, text));
    return label ? [element("optgroup", { label }, made)] : made;
  }));
  if (options.some(([value]) => value === before)) select.value = before;
}

/** Where the arrow keys, Home and End lead from a place in a row of several. */
function placesFrom(at, count, direction) {
  const [forward, backward] = direction === "rtl" ? ["ArrowLeft", "ArrowRight"] : ["ArrowRight", "ArrowLeft"];
  return { [forward]: Math.min(count - 1, at + 1), [backward]: Math.max(0, at - 1), Home: 0, End: count - 1 };
}

const percent = (share) => `${Math.round(100 * share)}\u202f%`;

/** The JSON of an answer; throws an Error with the server's own message. */
async function ask(path, body, signal) {
  const options = body === undefined ? { signal } : {
    signal,
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  let response, content;
  try {
    response = await fetch(path, options);
    content = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is tdo serve still running?");
  }
  if (response.ok) return content;
  const wait = response.headers.get("Retry-After");
  throw new Error(content.error.message.replaceAll("`", "") + (wait ? ` Try again in ${wait} s.` : ""));
}
