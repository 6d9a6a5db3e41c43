// What people are told while they wait and after: progress, problems, and scores of one system.

function told(words) {
  byId("status").textContent = words;
}

function problem(words) {
  byId("problem").hidden = !words;
  byId("problem").textContent = words;
}

function busy(now) {
  byId("go").disabled = now;
  byId("cancel").hidden = !now;
  byId("working").hidden = !now;
  byId("bar").removeAttribute("value");
}

function showProgress(progress) {
  const { stage, scored, total } = progress;
  byId("bar").value = total ? scored / total : 0;
  told(`${stage}: ${whole(scored)} of ${whole(total)} scores.`);
}

const SHOWN_ROWS = 200; // segments of one system; a comparison has a browser for all

function showSingle(found, asked, notes) {
  const [[name, said]] = asked.systems;
  const headings = found.metrics.map((metric) =>
    element("th", { scope: "col", class: "number" }, metric.name),
  );
  const digits = (score) => fixed(score, Math.abs(score) > 2 ? 2 : 4);
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
        found.metrics.map((metric) =>
          element("td", { class: "number" }, digits(metric.systems[0].score)),
        ),
      ),
    ),
  );
  const rows = said.slice(0, SHOWN_ROWS).map((text, row) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, String(row + 1)),
      element("td", { dir: "auto" }, text),
      found.metrics.map((metric) =>
        element("td", { class: "number" }, digits(metric.systems[0].segments[row])),
      ),
    ),
  );
  byId("single-note").textContent =
    said.length > SHOWN_ROWS
      ? `The first ${SHOWN_ROWS} of ${whole(said.length)}; downloads have all.`
      : "Add a second system to compare them.";
  replace(
    byId("single-segments"),
    element("caption", {}, "Scores of segments"),
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        element("th", { scope: "col" }, "Segment"),
        element("th", { scope: "col" }, "Output"),
        headings.map((node) => node.cloneNode(true)),
      ),
    ),
    element("tbody", {}, rows),
  );
  byId("single-remarks").hidden = !notes.length;
  byId("single-remarks").textContent = notes.join(" ");
  byId("single-json").onclick = () =>
    download(new Blob([JSON.stringify(found, null, 2)], { type: "application/json" }), "scores.json");
  byId("single-tsv").onclick = () => download(new Blob([singleRows(found, name)]), "scores.tsv");
  byId("single").hidden = false;
}

function singleRows(found, name) {
  const scores = found.metrics.map((metric) => metric.systems[0].segments);
  const shown = name.replace(/[\u0000-\u001f\u2028\u2029]/g, " ");
  const header = ["system", "segment", ...found.metrics.map((metric) => metric.name)];
  const rows = scores[0].map((_, row) => [shown, row + 1, ...scores.map((each) => each[row])]);
  return [header, ...rows].map((row) => `${row.join("\t")}\n`).join("");
}
