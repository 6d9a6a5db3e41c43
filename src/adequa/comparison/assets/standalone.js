// A comparison that lies in the page itself, as in a report.

// Segments come compressed; a browser unpacks them without asking anyone.
async function unpackDetails() {
  const packed = atob(byId("details").textContent.trim());
  const bytes = Uint8Array.from(packed, (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

prepareTheme();
showComparison(JSON.parse(byId("summary").textContent), unpackDetails);
