// Explanations that the page asks the server for: of a segment of a comparison, or of one system.

let metricSpecifications = []; // of the shown comparison, with the settings of each metric

const languageField = ({ code }) => (code ? { language: code } : {});
const sourceField = (source) => (source === null || source === undefined ? {} : { src: source });

async function requestExplanation(content) {
  return (await callApi("/v1/explain", postOptions(content))).json();
}

// A metric that looks at a whole corpus gives a segment another score where it stands alone.
function checkScores(segments, expected, metric, decimals) {
  const tolerance = 2 * 10 ** -decimals;
  const isOther = ({ score }, place) => Math.abs(score - expected[place]) > tolerance;
  if (segments.some(isOther))
    throw new Error(`${metric} scores a segment by the whole test set, and cannot explain it alone.`);
}

// A segment of the shown comparison for all of its systems, by the selected metric.
async function explainComparedSegment(row) {
  const { source, references, hypotheses } = segmentTexts(row);
  const { metric } = selection;
  const { name, decimals } = data.metrics[metric];
  const rows = hypotheses.map((text, system) => ({
    system: data.systems[system],
    mt: text,
    ...(references.length ? { ref: references } : {}),
    ...sourceField(source),
  }));
  const scores = details.scores[metric];
  const { segments } = await requestExplanation({
    rows,
    metric: metricSpecifications[metric],
    ...languageField(data.language),
  });
  if (scores) checkScores(segments, scores.map((column) => column[row]), name, decimals);
  return { metric: name, segments };
}

// The segments of a single system

const SHOWN_ROWS = 200; // segments of one system; a comparison has a browser for all
const single = { answer: null, texts: null, metrics: [], explained: new Map() };

const scoreDigits = (score) => (Math.abs(score) > 2 ? 2 : 4);
const singleKey = (row, metric) => `${metric} ${row}`;

async function explainSingleSegment(row, metric) {
  const { answer, texts, metrics } = single;
  const [outputs] = Object.values(texts.systems);
  const content = { mt: outputs[row], ref: texts.references[row], ...sourceField(texts.sources?.[row]) };
  const { segments } = await requestExplanation({
    rows: [content],
    metric: metrics[metric],
    ...languageField(answer.language),
  });
  const { name, systems } = answer.metrics[metric];
  const score = systems[0].segments[row];
  checkScores(segments, [score], name, scoreDigits(score));
  if (answer === single.answer) single.explained.set(singleKey(row, metric), segments[0]);
}

// The table of pieces of a segment, in a row of its own.
function singlePieces(row, metric, { pieces, reference }) {
  const { name, systems } = single.answer.metrics[metric];
  const against = reference ? `reference ${reference}` : "the reference";
  const label = `Differences of segment ${row + 1} from ${against}, and what each costs in ${name}`;
  const table = pieceTable(pieces, scoreDigits(systems[0].score), label);
  const attributes = { class: "detail", tabindex: "0", role: "region", "aria-label": label };
  const content = pieces.length
    ? element("div", attributes, table)
    : element("p", { class: "quiet", tabindex: "-1" }, `No differences from ${against}.`);
  return element("tr", { class: "explanation" }, element("td", { colspan: "100" }, content));
}

function singleRow(row, metric) {
  const { answer, texts, explained: all } = single;
  const text = Object.values(texts.systems)[0][row];
  const explanation = all.get(singleKey(row, metric));
  const digits = scoreDigits(answer.metrics[metric].systems[0].score);
  const output = explanation ? [...markedOutput(text, explanation.pieces, digits).childNodes] : [text];
  const redraw = () => {
    if (!node.isConnected) return;
    const drawn = singleRow(row, metric);
    node.replaceWith(...drawn);
    drawn.at(-1).querySelector("[tabindex]").focus({ preventScroll: true });
  };
  const work = () => explainSingleSegment(row, metric).then(redraw);
  const controls = explanation ? [] : explainControls(work, { "aria-label": `Explain segment ${row + 1}` });
  const node = element(
    "tr",
    {},
    element("th", { scope: "row" }, String(row + 1)),
    element(
      "td",
      { class: "output" },
      element("div", { dir: "auto", class: explanation ? "explained" : null }, output),
      controls,
    ),
    answer.metrics.map(({ systems }) => {
      const score = systems[0].segments[row];
      return element("td", { class: "number" }, formatNumber(score, scoreDigits(score)));
    }),
  );
  return explanation ? [node, singlePieces(row, metric, explanation)] : [node];
}

function drawSingleSegments() {
  const metric = Number(byId("single-metric").value);
  const { answer, texts } = single;
  const [outputs] = Object.values(texts.systems);
  const heading = (text, attributes) => element("th", { scope: "col", ...attributes }, text);
  replace(
    byId("single-segments"),
    element("caption", {}, "Scores of segments"),
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        heading("Segment"),
        heading("Output"),
        answer.metrics.map(({ name }) => heading(name, { class: "number" })),
      ),
    ),
    element("tbody", {}, outputs.slice(0, SHOWN_ROWS).flatMap((_, row) => singleRow(row, metric))),
  );
}

// Show the segments of a system; `metrics` are those of the request, with their settings.
function showSingleSegments(answer, texts, metrics) {
  Object.assign(single, { answer, texts, metrics, explained: new Map() });
  replace(
    byId("single-metric"),
    answer.metrics.map(({ name }, index) => option(index, name, index === 0)),
  );
  byId("single-metric-choice").hidden = metrics.length < 2;
  replace(byId("single-legend"), severityLegend());
  drawSingleSegments();
}

function prepareExplanations() {
  explainOnDemand.load = explainComparedSegment;
  byId("single-metric").addEventListener("change", drawSingleSegments);
}
