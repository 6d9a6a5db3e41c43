// Which words of two texts differ: the longest common run of words is alike, the rest is marked.

const PIECE =
  /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]\p{M}*|[\p{L}\p{M}\p{N}]+(?:['’.,:\/-][\p{L}\p{M}\p{N}]+)*|\S\p{M}*/gu;
const LONGEST = 1500; // pieces; beyond them the comparison would take too long

function piecesOf(text) {
  return Array.from(text.matchAll(PIECE), (match) => ({
    start: match.index,
    end: match.index + match[0].length,
    word: match[0].toLowerCase(),
  }));
}

// For each piece of the one text, whether it is in the longest common subsequence with the other.
function alike(mine, other) {
  const found = new Array(mine.length).fill(false);
  if (mine.length > LONGEST || other.length > LONGEST) return found.fill(true);
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
      found[i] = true;
      i += 1;
      j += 1;
    } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return found;
}

// A text as pieces {text, same} that add up to it.
function differing(text, other) {
  const mine = piecesOf(text);
  const same = alike(mine, piecesOf(other));
  const found = [];
  const add = (part, is) => {
    if (!part) return;
    const last = found[found.length - 1];
    if (last && last.same === is) last.text += part;
    else found.push({ text: part, same: is });
  };
  let done = 0;
  mine.forEach((piece, place) => {
    add(text.slice(done, piece.start), !(place && !same[place - 1] && !same[place]));
    add(text.slice(piece.start, piece.end), same[place]);
    done = piece.end;
  });
  add(text.slice(done), true);
  return found;
}

// A piece of text as nodes, with what was searched for marked.
function withHits(text, query) {
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
  const pieces = other === null ? [{ text, same: true }] : differing(text, other);
  const nodes = pieces.map((piece) => {
    const inner = withHits(piece.text, query);
    return piece.same ? inner : [element("mark", { class: "differs" }, ...inner)];
  });
  return element("dd", { dir: "auto" }, ...nodes.flat());
}
