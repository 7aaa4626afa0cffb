// Which pairs of languages the chosen models were trained on, told before anything is translated.

const NAMED = 6; // languages that a sentence names; it counts more than that

/** Whether some models were trained on a direction. */
function training(models, source, target) {
  if (source === target) return "the same language";
  const others = models.filter(({ directions }) => !directions.includes(`${source}-${target}`));
  if (!others.length) return "trained";
  const whose = others.length < models.length ? ` for ${others.map(({ name }) => name).join(", ")}` : "";
  return `zero-shot${whose} (no training text)`;
}

/** A sentence for each kind of training among directions with a common source or target. */
function trainingNote(models, directions) {
  const kinds = Map.groupBy(directions, ([source, target]) => training(models, source, target));
  return [...kinds].map(([kind, members]) =>
    `${listed(members.map(([source]) => source))} \u2192 ${listed(members.map(([, target]) => target))}: ${kind}.`).join(" ");
}

function listed(codes) {
  const names = [...new Set(codes)].map(languageName);
  return names.length > NAMED ? `${names.length} languages` : names.join(", ");
}
