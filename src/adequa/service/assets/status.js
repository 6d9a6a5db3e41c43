// Status of the page: progress, problems, and the scores of a single system.

function showStatus(text) {
  byId("status").textContent = text;
}

function showProblem(text) {
  byId("problem").hidden = !text;
  byId("problem").textContent = text;
}

function setBusy(isBusy) {
  byId("go").disabled = isBusy;
  byId("cancel").hidden = !isBusy;
  byId("working").hidden = !isBusy;
  byId("bar").removeAttribute("value");
}

function showProgress(progress) {
  const { stage, scored, total } = progress;
  byId("bar").value = total ? scored / total : 0;
  showStatus(`${stage}: ${formatCount(scored)} of ${formatCount(total)} scores.`);
}

function showScores(answer, texts, notes, metrics) {
  const [[name, outputs]] = Object.entries(texts.systems);
  const headings = answer.metrics.map((metric) =>
    element("th", { scope: "col", class: "number" }, metric.name),
  );
  // A mark at the number of a metric that does not know the language; the reason is below.
  const marked = (metric) => [
    metric.warning ? element("span", { class: "mark", role: "img", "aria-label": "see the warning below" }, "⚠ ") : null,
    formatNumber(metric.systems[0].score, scoreDigits(metric.systems[0].score)),
  ];
  const { name: language, origin } = answer.language;
  byId("single-language").textContent = language ? `Language: ${language} (${origin}).` : "Language: not known.";
  replace(
    byId("single-scores"),
    element("caption", {}, "Scores of the system"),
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "System"), headings)),
    element(
      "tbody",
      {},
      element(
        "tr",
        {},
        element("th", { scope: "row" }, name),
        answer.metrics.map((metric) => element("td", { class: "number" }, ...marked(metric))),
      ),
    ),
  );
  byId("single-note").textContent =
    outputs.length > SHOWN_ROWS
      ? `The first ${SHOWN_ROWS} of ${formatCount(outputs.length)}; downloads have all.`
      : "Add a second system to compare them.";
  showSingleSegments(answer, texts, metrics);
  const warnings = answer.metrics.filter((metric) => metric.warning).map((metric) => `⚠ ${metric.warning}`);
  byId("single-remarks").hidden = !warnings.length && !notes.length;
  byId("single-remarks").classList.toggle("problem", warnings.length > 0);
  replace(byId("single-remarks"), [...warnings, ...notes].map((text) => element("p", {}, text)));
  byId("single-json").onclick = () =>
    download(new Blob([JSON.stringify(answer, null, 2)], { type: "application/json" }), "scores.json");
  byId("single-tsv").onclick = () => download(new Blob([scoresAsTsv(answer, name)]), "scores.tsv");
  byId("single").hidden = false;
}

function scoresAsTsv(answer, name) {
  const scores = answer.metrics.map((metric) => metric.systems[0].segments);
  const system = name.replace(/[\u0000-\u001f\u2028\u2029]/g, " ");
  const header = ["system", "segment", ...answer.metrics.map((metric) => metric.name)];
  const rows = scores[0].map((_, row) => [system, row + 1, ...scores.map((each) => each[row])]);
  return [header, ...rows].map((row) => `${row.join("\t")}\n`).join("");
}
