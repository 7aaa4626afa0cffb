// Translations side by side, and the panel that opens below them.

/** Put the views of one sentence's explanations into a panel. */
function showViews(panel, explanations, title, more = []) {
  const views = explanations.map((explanation) => new ExplanationView(explanation,
    `${explanation.model}${explanation.zero_shot ? " (zero-shot)" : ""}`));
  panel.replaceChildren(
    element("header", {}, element("h2", {}, title), ...more),
    element("div", { class: "views" }, views.map((view) => view.root)));
  panel.hidden = false;
  return views;
}

function directionTitle(source, target) {
  return `${languageName(source)} \u2192 ${languageName(target)}`;
}

/** A card for a target language, with the translation of each model. */
function answerCard(target, answers, open) {
  const zeroShot = answers.filter(({ translation }) => translation.zero_shot);
  const some = zeroShot.length < answers.length ? `zero-shot: ${zeroShot.map(({ model }) => model).join(", ")}` : "zero-shot";
  return element("article", { class: "card", "aria-label": languageName(target) },
    element("header", {},
      element("h2", {}, languageName(target), " ", element("span", { class: "code" }, target)),
      zeroShot.length ? element("span", { class: "mark", title: "a direction without training data" }, some) : null),
    element("div", { class: "versions" }, answers.map(({ model, translation }) => element("div", { class: translation.off_target ? "version stray" : "version" },
      answers.length > 1 ? element("p", { class: "model" }, model) : null,
      translationText(translation, target, (sentence, piece, event) => open({ target, model, sentence, piece, event })),
      facts(translation, element("button", {
        type: "button", class: "quiet", "aria-label": `Look inside: ${languageName(target)}, ${model}`,
        click: (event) => open({ target, model, sentence: 0, piece: 0, event }),
      }, "Look inside"))))));
}

/** The text, in whose sentences each piece can be clicked where pieces make up the text. */
function translationText(translation, target, open) {
  const { sentences, text } = translation;
  const language = translation.off_target ? translation.detected : target;
  const paragraph = element("p", {
    class: "translation", role: "group", dir: writing(text), lang: languageTag(language),
    "aria-label": `Words in ${languageName(target)}`, keydown: moveAmongWords,
  });
  if (!text.trim()) paragraph.append(element("span", { class: "code" }, "(no words)"));
  let rest = text;
  sentences.forEach((sentence, number) => {
    const at = rest.indexOf(sentence.text);
    paragraph.append(rest.slice(0, at));
    rest = rest.slice(at + sentence.text.length);
    const words = joined(sentence.pieces) === sentence.text ? sentence.pieces : [sentence.text];
    words.forEach((piece, place) => {
      const shownText = piece.replaceAll(WORD_START, place ? " " : "");
      if (!shownText.trim()) {
        paragraph.append(shownText); // there is nothing to point at
        return;
      }
      const start = words === sentence.pieces ? place : 0;
      paragraph.append(element("span", {
        class: "word", role: "button", tabindex: "-1",
        focus: (event) => stopAt(event.currentTarget),
        click: (event) => {
          event.currentTarget.focus();
          open(number, start, event);
        },
      }, shownText));
    });
  });
  paragraph.append(rest);
  paragraph.querySelector(".word")?.setAttribute("tabindex", "0");
  return paragraph;
}

/** Make a word the one of its translation at which the tab key stops. */
function stopAt(word) {
  for (const other of word.parentElement.querySelectorAll(".word")) other.tabIndex = other === word ? 0 : -1;
}

/** The arrow keys move along the words of a translation; Enter and space open the word. */
function moveAmongWords(event) {
  const words = [...event.currentTarget.querySelectorAll(".word")];
  const at = words.indexOf(event.target);
  if (event.key === "Enter" || event.key === " ") event.target.click();
  else {
    const place = placesFrom(at, words.length, event.currentTarget.dir)[event.key];
    if (place === undefined) return;
    words[place].focus();
  }
  event.preventDefault();
}
