// Names of languages, directions of writing, and pieces as readers see them.

const displayNames = new Intl.DisplayNames(["en"], { type: "language", fallback: "none" });

/** "French" for "fr", "Portuguese (Brazil)" for "pt_BR"; the code itself for others. */
function languageName(code) {
  try {
    return displayNames.of(code.replaceAll("_", "-")) || code;
  } catch {
    return code;
  }
}

/** A value for the attribute `lang`, or null. */
function languageTag(code) {
  try {
    return new Intl.Locale(code.replaceAll("_", "-")).toString();
  } catch {
    return null;
  }
}

const RIGHT_TO_LEFT = /^[^\p{L}]*[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

function writing(text) {
  return RIGHT_TO_LEFT.test(text) ? "rtl" : "ltr";
}

const WORD_START = "\u2581";
const TAG = /^__(.+)__$/;

/** How a piece is shown: its text, whether it begins a word, and whether it is text at all. */
function shown(piece) {
  if (piece === "</s>") return { text: "end", first: true, special: true };
  if (piece === "<s>") return { text: "begin", first: true, special: true };
  if (piece === "<unk>") return { text: "unknown", first: true, special: true };
  const tag = piece.match(TAG);
  if (tag) return { text: `\u2192 ${tag[1]}`, first: true, special: true };
  const first = piece.startsWith(WORD_START);
  const text = piece.replaceAll(WORD_START, first ? "" : " ");
  return { text: text || "\u2423", first, special: false };
}

/** Pieces as running text. */
function joined(pieces) {
  return pieces.join("").replaceAll(WORD_START, " ").trim();
}
