// One explained translation: what a piece read, the candidates, and the preference by layer.

/** Attention weights of all heads, (heads, rows, columns), as the server packs them. */
class Weights {
  constructor({ shape, units }) {
    [this.heads, this.rows, this.columns] = shape;
    this.units = Uint8Array.from(atob(units), (character) => character.charCodeAt(0));
  }

  /** One row's weights: of a head, or the mean of all heads. */
  row(head, row) {
    const heads = head === "mean" ? [...Array(this.heads).keys()] : [Math.min(head, this.heads - 1)];
    const sums = new Array(this.columns).fill(0);
    for (const number of heads) {
      const start = (number * this.rows + row) * this.columns;
      for (let column = 0; column < this.columns; column++) sums[column] += this.units[start + column];
    }
    return sums.map((sum) => sum / heads.length / 255);
  }
}

function meanOf(rows) {
  return rows[0].map((_, column) => rows.reduce((sum, row) => sum + row[column], 0) / rows.length);
}

const KINDS = {
  joint: "One softmax over source and translation so far.",
  cross: "Cross-attention to the source and self-attention to the translation so far, a softmax each.",
  merged: "A softmax over the source; of the translation so far the mean is added, without weights.",
};

class ExplanationView {
  constructor(explanation, title) {
    this.given = explanation;
    this.source = explanation.source_attention.map(({ layer, source }) => ({ layer, source: new Weights(source) }));
    this.target = explanation.target_attention.map(({ layer, kind, source, target }) => ({
      layer, kind, source: new Weights(source), target: new Weights(target),
    }));
    this.side = "target";
    this.index = 0;
    this.layer = element("select", { change: () => this.show() });
    this.head = element("select", { change: () => this.show() });
    this.strips = { target: this.strip("target"), source: this.strip("source") };
    this.sum = element("p", { class: "caption", "aria-live": "polite" });
    this.candidates = element("div", { class: "candidates" });
    this.root = element("article", { class: "view", "aria-label": title },
      element("h3", {}, title),
      facts(explanation),
      element("div", { class: "controls" },
        element("label", { class: "field" }, "Layer", this.layer),
        element("label", { class: "field" }, "Head", this.head)),
      element("h4", {}, "Translation"), this.strips.target,
      element("h4", {}, "Source"), this.strips.source,
      this.sum,
      element("div", { class: "charts" }, this.candidates, preferenceTable(explanation)));
    this.fillChoices();
    this.show();
  }

  /** A row of pieces; the translation's begins with the symbol that is read before it. */
  strip(side) {
    const { begin, target_pieces: target, source_pieces: source } = this.given;
    const pieces = side === "target" ? [begin, ...target] : source;
    const text = joined(pieces.filter((piece) => !shown(piece).special));
    const language = this.given[side];
    const list = element("div", {
      class: "strip", role: "listbox", dir: writing(text), lang: languageTag(language),
      "aria-label": side === "target" ? "Pieces of the translation" : "Pieces of the source",
      keydown: (event) => this.move(event, side),
    });
    pieces.forEach((piece, number) => {
      const { text, first, special } = shown(piece);
      const fixed = side === "target" && number === 0;
      const index = side === "target" ? number - 1 : number;
      list.append(element("span", {
        class: ["piece", first && "first", special && "special", fixed && "fixed"].filter(Boolean).join(" "),
        role: "option", "aria-disabled": fixed ? "true" : null,
        click: () => fixed || this.select(side, index, true),
      }, element("span", {}, fixed ? "begin" : text), element("span", { class: "share", "aria-hidden": "true" })));
    });
    return list;
  }

  fillChoices() {
    const layers = this.side === "target" ? this.target : this.source;
    const numbered = layers.map(({ layer }, number) => [String(number), `layer ${layer}`]);
    fill(this.layer, [["mean", "mean of layers"], ...numbered]);
    const heads = layers[0].source.heads;
    const each = heads === 1 ? [] : [...Array(heads).keys()].map((head) => [String(head), `head ${head + 1}`]);
    fill(this.head, [["mean", "mean of heads"], ...each]);
  }

  select(side, index, focus = false) {
    this.side = side;
    this.index = index;
    this.fillChoices();
    this.show();
    if (focus) this.chosen().focus();
  }

  chosen() {
    return this.strips[this.side].children[this.side === "target" ? this.index + 1 : this.index];
  }

  move(event, side) {
    const count = (side === "target" ? this.given.target_pieces : this.given.source_pieces).length;
    const places = placesFrom(this.side === side ? this.index : 0, count, this.strips[side].dir);
    const other = { ArrowDown: "source", ArrowUp: "target" }[event.key];
    if (event.key in places) this.select(side, places[event.key], true);
    else if (other && other !== side) this.select(other, 0, true);
    else if ((event.key === "Enter" || event.key === " ") && this.side !== side) this.select(side, 0, true);
    else return;
    event.preventDefault();
  }

  /** Weights over the source and over [begin; translation] of the selected piece. */
  weights() {
    const layers = this.side === "target" ? this.target : this.source;
    const chosen = this.layer.value === "mean" ? layers : [layers[Number(this.layer.value)]];
    const head = this.head.value === "mean" ? "mean" : Number(this.head.value);
    const source = meanOf(chosen.map((layer) => layer.source.row(head, this.index)));
    const target = this.side === "target" ? meanOf(chosen.map((layer) => layer.target.row(head, this.index))) : [];
    // a source that sees the first target symbol has one key more
    const length = this.given.source_pieces.length;
    return { source: source.slice(0, length), target: [...source.slice(length), ...target] };
  }

  show() {
    const { source, target } = this.weights();
    const joint = this.side === "source" || this.target[0].kind === "joint";
    const most = (weights) => Math.max(0, ...(joint ? [...source, ...target] : weights));
    this.heat("source", source, most(source));
    this.heat("target", target, most(target));
    this.sum.textContent = this.sentence(source, target);
    this.candidates.replaceChildren(this.side === "target" ? candidateTable(this.given, this.index) : "");
  }

  heat(side, weights, most) {
    [...this.strips[side].children].forEach((piece, number) => {
      const index = side === "target" ? number - 1 : number;
      const selected = this.side === side && this.index === index;
      const share = weights[number] ?? 0;
      const later = this.side === "target" && side === "target" && index > this.index;
      piece.setAttribute("aria-selected", String(selected));
      // one stop for the tab key in each row of pieces
      const stop = this.side === side ? selected : index === 0;
      if (!piece.hasAttribute("aria-disabled")) piece.tabIndex = stop ? 0 : -1;
      piece.style.setProperty("--w", most ? share / most : 0);
      piece.classList.toggle("warm", most > 0 && share / most > 0.4);
      piece.classList.toggle("later", later);
      piece.lastChild.textContent = share >= 0.005 ? Math.round(100 * share) : "";
      piece.setAttribute("aria-label", `${piece.firstChild.textContent}, read ${percent(share)}`);
    });
  }

  sentence(source, target) {
    const pieces = this.side === "target" ? this.given.target_pieces : this.given.source_pieces;
    const name = shown(pieces[this.index]).text;
    const total = (weights) => weights.reduce((sum, weight) => sum + weight, 0);
    if (this.side === "source") {
      return `Numbers are percent of what \u201c${name}\u201d, a piece of the source, reads in the source.`;
    }
    const { kind } = this.target[0];
    const share = Math.round(100 * total(source) / (total(source) + total(target)));
    const split = kind === "joint" ? ` ${share}\u202f% from the source, ${100 - share}\u202f% from the translation so far.` : "";
    return `Numbers are percent of what the model reads to predict \u201c${name}\u201d.${split} ${KINDS[kind]}`;
  }
}

/** Detected language, marks and score of a translation or explanation. */
function facts(answer, ...more) {
  const detected = answer.detected === null ? "language not detected" : `detected: ${languageName(answer.detected)}`;
  return element("p", { class: "facts" },
    element("span", {}, detected),
    answer.off_target ? element("span", { class: "off" }, "off target") : null,
    element("span", {}, `score ${answer.score.toFixed(2).replace("-", "\u2212")}`),
    ...more);
}

/** What the score of `facts` means. */
function scoreMeaning({ length_penalty: penalty }) {
  const scale = penalty === 1
    ? "mean log\u2082 probability of a piece; 0 is certain, \u22121 one chance in two"
    : `log\u2082 probability divided by the number of pieces to the power ${penalty}; 0 is certain`;
  return `Score: how sure the model is of its translation (not how good it is), as the ${scale}.`;
}

function candidateTable({ steps, target_pieces: pieces }, index) {
  const { top, probability, rank } = steps[index];
  const rows = top.map(([piece, share], place) => [place + 1, piece, share]);
  if (!top.some(([piece]) => piece === pieces[index])) rows.push([rank, pieces[index], probability]);
  return element("table", {},
    element("caption", {}, element("h4", {}, "Candidates at this step")),
    element("tbody", {}, rows.map(([place, piece, share]) => element("tr",
      { class: piece === pieces[index] ? "chosen" : null },
      element("td", { class: "number" }, String(place)),
      element("td", { class: "name", dir: "auto" }, shown(piece).text),
      element("td", {}, element("div", { class: "bar", vars: { "--w": share } })),
      element("td", { class: "number" }, `${(100 * share).toFixed(1)}\u202f%`)))));
}

function preferenceTable(explanation) {
  const { preference, no_preference: reason, source, target, target_attention: reads } = explanation;
  const heading = element("h4", {}, "Which language the source states resemble");
  if (!preference.length) {
    return element("div", {}, heading, element("p", { class: "caption" }, `Not measured: ${reason}.`));
  }
  const entered = reads[0].kind === "joint" && reads[0].layer > 1 ? reads[0].layer : null;
  const dot = (share, kind) => share === null ? null : element("span", { class: `dot ${kind}`, vars: { "--w": share } });
  const key = (language, kind) => element("span", { class: "key" },
    element("span", { class: `dot ${kind}` }), languageName(language));
  return element("div", {}, heading,
    element("p", { class: "facts" }, "Similarity (0 to 1) to the sentence in",
      key(source, "to-source"), key(target, "to-target")),
    element("table", {},
      element("thead", {}, element("tr", {}, element("th", { class: "layer", scope: "col" }, "layer"), element("td"),
        element("th", { class: "number", scope: "col" }, "s"))),
      element("tbody", {}, preference.map((layer) => element("tr", { class: layer.layer === entered ? "stage" : null },
        element("th", { class: "layer", scope: "row" }, String(layer.layer)),
        element("td", {}, element("div", { class: "track", "aria-hidden": "true" },
          dot(layer.similarity_to_source, "to-source"), dot(layer.similarity_to_target, "to-target"))),
        element("td", { class: "number" }, layer.score === null ? "\u2013" : layer.score.toFixed(2)))))),
    element("p", { class: "caption" }, "Above 0.5, the source\u2019s states are more similar to the model\u2019s own "
      + "translation than to the source in its own language."
      + (explanation.off_target ? " The translation is off target, so this compares with a sentence in another language." : "")
      + (entered ? ` From layer ${entered} on, below the dashed line, the translation reads them.` : "")));
}
