// Which words of two texts differ: those outside their longest common subsequence.

const WORD_PATTERN =
  /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]\p{M}*|[\p{L}\p{M}\p{N}]+(?:['’.,:\/-][\p{L}\p{M}\p{N}]+)*|\S\p{M}*/gu;
const MAX_PIECES = 1500; // pieces; beyond them the comparison would take too long

function splitPieces(text) {
  return Array.from(text.matchAll(WORD_PATTERN), (match) => ({
    start: match.index,
    end: match.index + match[0].length,
    word: match[0].toLowerCase(),
  }));
}

// For each piece of the one text, whether it is in the longest common subsequence with the other.
function commonPieces(mine, other) {
  const common = new Array(mine.length).fill(false);
  if (mine.length > MAX_PIECES || other.length > MAX_PIECES) return common.fill(true);
  const width = other.length + 1;
  const longest = new Uint16Array((mine.length + 1) * width);
  for (let i = mine.length - 1; i >= 0; i -= 1) {
    for (let j = other.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] =
        mine[i].word === other[j].word
          ? longest[(i + 1) * width + j + 1] + 1
          : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  let i = 0;
  let j = 0;
  while (i < mine.length && j < other.length) {
    if (mine[i].word === other[j].word) {
      common[i] = true;
      i += 1;
      j += 1;
    } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return common;
}

// A text as pieces {text, same} that add up to it.
function compareWords(text, other) {
  const mine = splitPieces(text);
  const same = commonPieces(mine, splitPieces(other));
  const pieces = [];
  const add = (part, is) => {
    if (!part) return;
    const last = pieces[pieces.length - 1];
    if (last && last.same === is) last.text += part;
    else pieces.push({ text: part, same: is });
  };
  let done = 0;
  mine.forEach((piece, index) => {
    add(text.slice(done, piece.start), !(index && !same[index - 1] && !same[index]));
    add(text.slice(piece.start, piece.end), same[index]);
    done = piece.end;
  });
  add(text.slice(done), true);
  return pieces;
}

// A piece of text as nodes, with what was searched for marked.
function highlightQuery(text, query) {
  if (!query) return [document.createTextNode(text)];
  const lower = text.toLowerCase();
  // Letters whose small form is longer would shift the places.
  if (lower.length !== text.length) return [document.createTextNode(text)];
  const nodes = [];
  let done = 0;
  for (let at = lower.indexOf(query); at >= 0; at = lower.indexOf(query, at + query.length)) {
    nodes.push(document.createTextNode(text.slice(done, at)));
    nodes.push(element("mark", { class: "hit" }, text.slice(at, at + query.length)));
    done = at + query.length;
  }
  nodes.push(document.createTextNode(text.slice(done)));
  return nodes;
}

// A text as the cell of a list, the words that another does not have marked.
function textCell(text, other, query) {
  if (!text.trim()) return element("dd", { class: "empty" }, "(empty)");
  const pieces = other === null ? [{ text, same: true }] : compareWords(text, other);
  const nodes = pieces.map((piece) => {
    const inner = highlightQuery(piece.text, query);
    return piece.same ? inner : [element("mark", { class: "differs" }, ...inner)];
  });
  return element("dd", { dir: "auto" }, ...nodes.flat());
}
