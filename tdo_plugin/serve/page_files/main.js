// The page as a whole: a form in front of a server, or explanations that were written into it.

const AUTO = "auto"; // the source that the server detects
const PAUSE = 400; // ms without a key until what was typed is detected

function showEmbedded({ explanations, models, made_by: madeBy }) {
  const panel = byId("inside");
  byId("about").textContent = explanations[0].text;
  byId("about").dir = "auto";
  byId("status").textContent = `Made by ${madeBy}.`;
  explainScore(models[0]);
  const targets = [...new Set(explanations.map(({ target }) => target))];
  for (const target of targets) {
    const members = explanations.filter((explanation) => explanation.target === target);
    const section = panel.cloneNode();
    section.removeAttribute("id");
    const title = directionTitle(members[0].source, target);
    section.setAttribute("aria-label", title);
    showViews(section, members, title);
    panel.before(section);
  }
}

function explainScore(model) {
  byId("meaning").textContent = scoreMeaning(model);
  byId("meaning").hidden = false;
}

class TranslationPage {
  constructor({ models, limits }) {
    this.models = new Map(models.map((model) => [model.name, model]));
    this.pending = new Map();
    this.answers = [];
    this.found = {};
    byId("text").maxLength = limits.characters;
    const names = [...this.models.keys()].map((name) => [name, name]);
    fill(byId("first"), names);
    fill(byId("second"), [["", "none"], ...names]);
    byId("beside").hidden = names.length < 2;
    if (names.length > 1) byId("second").value = names[1][0];
    for (const id of ["source", "targets", "first", "second"]) {
      byId(id).addEventListener("change", () => this.changed());
    }
    byId("text").addEventListener("input", () => this.changed(PAUSE));
    byId("example").addEventListener("click", () => this.tryExample());
    byId("ask").addEventListener("submit", (event) => {
      event.preventDefault();
      this.translate();
    });
    byId("text").addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.translate();
    });
    byId("inside").addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
    this.fillLanguages();
    byId("ask").hidden = false;
    byId("text").focus();
  }

  /** The names of the one or two chosen models. */
  chosen() {
    const names = [byId("first").value, byId("second").value];
    return [...new Set(names.filter(Boolean))];
  }

  /** Show what the form's choices and text mean, and detect the text's language after a pause. */
  changed(pause = 0) {
    this.fillLanguages();
    this.stopDetecting();
    const text = byId("text").value;
    if (byId("source").value !== AUTO || !text.trim()) return;
    const { signal } = this.detecting = new AbortController();
    this.pause = setTimeout(() => this.sourceOf(text, signal).catch(({ name, message }) => {
      if (name !== "AbortError") byId("pairs").textContent = message;
    }), pause);
  }

  stopDetecting() {
    clearTimeout(this.pause);
    this.detecting?.abort();
  }

  /** The language of a text, as chosen or as the server detects it. */
  async sourceOf(text, signal) {
    if (byId("source").value !== AUTO) return byId("source").value;
    const [model] = this.chosen();
    if (this.found.text === text && this.found.model === model) return this.found.source;
    try {
      this.found = { text, ...await ask("api/detect", { model, text }, signal) };
    } catch (error) {
      if (error.name !== "AbortError") this.found = {};
      throw error;
    } finally {
      this.fillLanguages();
    }
    return this.found.source;
  }

  fillLanguages() {
    const models = this.chosen().map((name) => this.models.get(name));
    const [first, ...others] = models;
    const languages = first.languages.filter((code) => others.every((other) => other.languages.includes(code)));
    const named = languages.map((code) => [code, `${languageName(code)} (${code})`]);
    named.sort((one, two) => one[1].localeCompare(two[1], "en"));
    const detected = byId("text").value.trim() ? this.found.source : undefined;
    const auto = detected ? `${languageName(detected)} (detected)` : "detect language";
    fill(byId("source"), [...(first.detector ? [[AUTO, auto]] : []), ...named]);

    const chosen = byId("source").value;
    const source = chosen === AUTO ? detected : chosen;
    const possible = (from, to) => from !== to && models.every((model) =>
      model.zero_shot || model.directions.includes(`${from}-${to}`));
    // what was detected changes no choice of the user
    const kept = (code) => chosen === AUTO && code === byId("targets").value;
    const targets = named.filter(([code]) => !source || possible(source, code) || kept(code));
    fill(byId("targets"), [["all", "all others"],
      ...targets.map(([code, name]) => [code, name, source && training(models, source, code)])]);

    const into = byId("targets").value;
    const sources = source ? [source] : languages.filter((code) => into !== "all" && possible(code, into));
    byId("pairs").textContent = trainingNote(models, sources.flatMap((from) =>
      targets.filter(([code]) => into === "all" || code === into).map(([code]) => [from, code])));
    byId("example").hidden = !this.exampleLanguages().length;
  }

  /** The languages of the examples that the form's choices allow. */
  exampleLanguages() {
    const source = byId("source").value;
    const models = this.chosen().map((name) => this.models.get(name));
    return Object.keys(models[0].examples).filter((code) =>
      (source === AUTO ? code !== byId("targets").value : code === source)
      && models.every(({ languages }) => languages.includes(code)));
  }

  /** Translate an example, of the next language where the language is to be detected. */
  tryExample() {
    const languages = this.exampleLanguages();
    this.shown = languages[(languages.indexOf(this.shown) + 1) % languages.length];
    byId("text").value = this.models.get(byId("first").value).examples[this.shown];
    return this.translate();
  }

  fail(message) {
    byId("error").textContent = message;
    byId("error").hidden = !message;
  }

  /** Show what another section waits for, or else a text. */
  say(text) {
    const [waiting] = this.pending.values();
    byId("status").textContent = waiting ? waiting.text : text;
  }

  /** End the task of a section, if there is one. */
  abort(section) {
    this.pending.get(section)?.controller.abort();
    this.pending.delete(section);
    section.removeAttribute("aria-busy");
  }

  /** Run a task of a section, which the section's next one replaces; show its state and errors. */
  async during(section, text, task) {
    this.abort(section);
    const pending = { controller: new AbortController(), text };
    this.pending.set(section, pending);
    this.fail("");
    byId("status").textContent = text;
    section.setAttribute("aria-busy", "true");
    let said = "", failure = "";
    try {
      said = await task(pending.controller.signal);
    } catch (error) {
      failure = error.message;
    }
    if (this.pending.get(section) !== pending) return; // aborted
    this.abort(section);
    this.say(said);
    if (failure) this.fail(failure);
  }

  translate() {
    const text = byId("text").value;
    if (!text.trim()) {
      this.fail("Type a sentence first.");
      byId("text").focus();
      return;
    }
    this.stopDetecting();
    const detects = byId("source").value === AUTO;
    const into = byId("targets").value;
    const targets = into === "all" ? "all" : [into];
    const models = this.chosen();
    return this.during(byId("answers"), "Translating\u2026", async (signal) => {
      const source = await this.sourceOf(text, signal);
      this.answers = await Promise.all(
        models.map((model) => ask("api/translate", { model, text, source, targets }, signal)));
      // it explains the answers before
      this.abort(byId("inside"));
      byId("inside").hidden = true;
      this.showAnswers();
      const seconds = this.answers.reduce((sum, answer) => sum + answer.seconds, 0);
      const off = this.answers.flatMap(({ translations }) => translations).filter(({ off_target: off }) => off).length;
      const from = detects ? ` from ${languageName(source)}` : "";
      return `Translated${from} in ${seconds.toFixed(seconds < 1 ? 2 : 1)} s.` + (off ? ` ${off} off target.` : "");
    });
  }

  showAnswers() {
    const { source } = this.answers[0];
    explainScore(this.models.get(this.answers[0].model));
    byId("answers").classList.toggle("compared", this.answers.length > 1);
    const common = this.answers[0].translations.map(({ target }) => target).filter((target) =>
      this.answers.every(({ translations }) => translations.some((translation) => translation.target === target)));
    byId("answers").replaceChildren(...common.map((target) => answerCard(target,
      this.answers.map(({ model, translations }) => ({
        model, translation: translations.find((translation) => translation.target === target),
      })), (place) => this.look(source, place))));
  }

  /** Open the panel at a piece of one model's translation; the other model's stands beside it. */
  look(source, { target, model, sentence, piece, event }) {
    this.opener = event.currentTarget;
    const panel = byId("inside");
    const { answers } = this;
    return this.during(panel, "Reading the model\u2026", async (signal) => {
      const { sentences } = answers[0].translations.find((translation) => translation.target === target);
      const text = sentences[sentence].source;
      const explanations = await Promise.all(
        answers.map((answer) => ask("api/explain", { model: answer.model, text, source, target }, signal)));
      signal.throwIfAborted();
      const more = [this.sentenceChoice(sentences, sentence, (number) =>
        this.look(source, { target, model, sentence: number, piece: 0, event: { currentTarget: this.opener } })),
      element("button", { type: "button", class: "quiet", click: () => this.close() }, "Close")];
      const views = showViews(panel, explanations, directionTitle(source, target), more);
      const number = answers.findIndex((answer) => answer.model === model);
      const { target_pieces: pieces } = explanations[number];
      // a forced tag comes before the pieces of the text
      const forced = TAG.test(pieces[0]) ? 1 : 0;
      views[number].select("target", Math.min(piece + forced, pieces.length - 1), true);
      panel.scrollIntoView({ block: "nearest" });
      return "";
    });
  }

  /** A choice among several sentences. */
  sentenceChoice(sentences, current, change) {
    if (sentences.length < 2) return null;
    const select = element("select", { change: () => change(Number(select.value)) },
      sentences.map(({ source }, number) => option(String(number), `${number + 1}. ${source.slice(0, 60)}`)));
    select.value = String(current);
    return element("label", { class: "field" }, "Sentence ", select);
  }

  close() {
    this.abort(byId("inside"));
    this.say("");
    byId("inside").hidden = true;
    this.opener?.focus();
  }
}

async function begin() {
  const embedded = JSON.parse(byId("embedded").textContent);
  if (embedded) {
    showEmbedded(embedded);
    return;
  }
  try {
    new TranslationPage(await ask("api/models"));
  } catch (error) {
    byId("error").textContent = error.message;
    byId("error").hidden = false;
  }
}

begin();
