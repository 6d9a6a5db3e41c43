// What all parts use: the data, what is chosen, elements, and numbers as people write them.
// Text of users becomes text nodes and nothing else: no part of the page is ever made from a string.

let data = null; // what is shown before any segment
let details = null; // segments, once they are unpacked
const chosen = { metric: 0, a: 0, b: 1 };
const views = []; // functions that show what is chosen

const byId = (id) => document.getElementById(id);

function show() {
  for (const view of views) view();
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) node.style.setProperty(name, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

function element(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function picture(width, height, label, ...children) {
  const box = { viewBox: `0 0 ${width} ${height}`, width, height };
  if (!label) return drawn("svg", { ...box, "aria-hidden": "true" }, ...children);
  return drawn("svg", { ...box, role: "img", "aria-label": label }, ...children);
}

function replace(node, ...children) {
  node.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

function option(value, text, selected) {
  return element("option", { value, selected }, text);
}

function fixed(value, decimals) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const shown = value.toFixed(decimals);
  return Number(shown) === 0 ? shown.replace("-", "") : shown.replace("-", "−");
}

function signed(value, decimals) {
  if (value === null || value === undefined) return "–";
  const shown = fixed(value, decimals);
  return Number(shown) > 0 ? `+${shown}` : shown;
}

function probability(p) {
  if (p === null || p === undefined) return "–";
  if (data.alpha < 0.0001 && p < 0.0001) return p.toPrecision(2);
  if (p < 0.00005) return "<0.0001";
  // More digits where fewer would put it on the other side of alpha.
  for (let digits = p < 0.0095 ? 4 : 3; digits < 17; digits += 1) {
    const shown = p.toFixed(digits);
    if (Number(shown) <= data.alpha === p <= data.alpha) return shown;
  }
  return String(p);
}

const percent = (share, decimals = 0) => `${(100 * share).toFixed(decimals)}%`;
// A level as it was asked for: 99.5% is not 100%.
const level = (share) => `${Number((100 * share).toPrecision(12))}%`;
const whole = (count) => count.toLocaleString("en");
const metricNow = () => data.metrics[chosen.metric];
const signOf = (metric) => (metric.higher ? 1 : -1);

function listed(words) {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

// The pair of two systems under a metric, told from the side of `b`.
function pairOf(metric, a, b) {
  const found = metric.pairs.find(
    (pair) => (pair.a === a && pair.b === b) || (pair.a === b && pair.b === a),
  );
  if (!found || found.a === a) return found || null;
  const turned = (value) => (value === null ? null : -value);
  return {
    ...found,
    a,
    b,
    difference: turned(found.difference),
    gain: turned(found.gain),
    effect: turned(found.effect),
    low: turned(found.high),
    high: turned(found.low),
    wins: found.losses,
    losses: found.wins,
  };
}

// What is computed of segments, by what it is computed from; a few results are kept.
const computed = new Map();

function once(key, compute) {
  if (!computed.has(key)) {
    if (computed.size >= 32) computed.clear();
    computed.set(key, compute());
  }
  return computed.get(key);
}

// By how much system b is better than a, segment by segment; null where there are no such scores.
// What is rounding is zero.
function gainsOf(place, a, b) {
  const scores = details && details.scores[place];
  if (!scores) return null;
  const sign = signOf(data.metrics[place]);
  const rounding = details.rounding[place];
  return once(`gains ${place} ${a} ${b}`, () =>
    scores[b].map((score, row) => {
      const gain = sign * (score - scores[a][row]);
      return Math.abs(gain) <= rounding ? 0 : gain;
    }),
  );
}

function scale(from, to, low, high) {
  const width = to - from || 1;
  return (value) => low + ((value - from) / width) * (high - low);
}

function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? [0, 1] : [low, high];
}

// Round numbers across a range, about so many of them.
function ticks(low, high, about) {
  const rough = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((each) => each >= rough) || rough;
  const found = [];
  for (let place = Math.ceil(low / step); place * step <= high + step * 1e-9; place += 1) {
    found.push(place * step);
  }
  return found;
}

const tickText = (value) => String(Number(value.toPrecision(6))).replace("-", "−");
