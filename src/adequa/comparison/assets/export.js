// The segments that are shown, all pages of them, as a file. It is made in the page: nothing is sent.

// A cell by RFC 4180, with tabs in place of commas.
function delimitedCell(value) {
  const text = String(value);
  return /["\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function exportHeader() {
  const references = Math.max(...details.texts.map((_, row) => segmentTexts(row).references.length));
  const scored = data.metrics.map((_, index) => index).filter((index) => details.scores[index]);
  return {
    references,
    scored,
    names: [
      "segment",
      ...(documentOf(0) === null ? [] : ["doc"]),
      ...(details.has_source ? ["src"] : []),
      ...Array.from({ length: references }, (_, index) => (index ? `ref_${index + 1}` : "ref")),
      ...data.systems,
      ...scored.flatMap((index) => data.systems.map((name) => `${data.metrics[index].name} ${name}`)),
    ],
  };
}

// The name of a segment's document; null where there are none.
function documentOf(row) {
  const number = details.dimensions.findIndex((dimension) => dimension.by === "document");
  if (number < 0) return null;
  return details.dimensions[number].buckets[details.bucket_of[number][row]].name;
}

function exportRow(row, { references, scored }) {
  const texts = segmentTexts(row);
  const name = documentOf(row);
  return [
    row + 1,
    ...(name === null ? [] : [name]),
    ...(details.has_source ? [texts.source] : []),
    ...Array.from({ length: references }, (_, index) => texts.references[index] ?? ""),
    ...texts.hypotheses,
    ...scored.flatMap((index) => details.scores[index].map((scores) => scores[row])),
  ];
}

function exportText(rows) {
  const header = exportHeader();
  const lines = [header.names, ...rows.map((row) => exportRow(row, header))];
  return lines.map((cells) => `${cells.map(delimitedCell).join("\t")}\r\n`).join("");
}

function exportSegments() {
  const content = new Blob([exportText(browserState.rows)], { type: "text/tab-separated-values" });
  const address = URL.createObjectURL(content);
  const link = element("a", { href: address, download: "segments.tsv" });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

function prepareExport() {
  byId("export").addEventListener("click", exportSegments);
}

function showExport() {
  const count = browserState.rows.length;
  const segments = count === 1 ? "this segment" : `these ${formatCount(count)} segments`;
  byId("export").disabled = !count;
  byId("export").textContent = count ? `Download ${segments} (TSV)` : "Nothing to download";
}
