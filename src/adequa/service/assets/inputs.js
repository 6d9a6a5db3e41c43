// The texts to compare: files and pasted texts, each read by the server as the command line does.

let items = []; // in the order in which they were added
let counter = 0;
let bodyLimit = Infinity; // bytes that the server takes in one request

const ROLES = {
  hypotheses: "Translation",
  references: "Reference",
  source: "Source",
  table: "Table with everything",
};
const FIELD_NAMES = {
  "": "not used",
  mt: "translation",
  ref: "reference",
  src: "source",
  system: "name of the system",
  doc: "document",
};
const QUOTING = {
  auto: "automatic",
  rfc4180: "enclose cells, as spreadsheets write them",
  none: "are text",
};
// Usual names of columns, as the server knows them.
const USUAL = {
  mt: /^(mt|hypothesis|translation)$/,
  ref: /^(ref|reference)$/,
  src: /^(src|source)$/,
  system: /^system$/,
  doc: /^doc$/,
};

const plural = (count, word) => `${formatCount(count)} ${word}${count === 1 ? "" : "s"}`;
const stemOf = (name) => name.replace(/\.(gz|xz)$/i, "").replace(/(.)\.[^.]+$/, "$1").slice(0, 200);
const isBlank = (item) => item.area !== null && !item.area.value.trim();
const filled = () => items.filter((item) => !isBlank(item));
const ofRole = (role) => filled().filter((item) => item.role === role);

function formatOf(name) {
  const match = /\.([a-z0-9]{1,8})$/i.exec(name.replace(/\.(gz|xz)$/i, ""));
  return match ? match[1].toUpperCase() : "TXT";
}

// A name that no other system has.
function freeName(name, item) {
  const used = new Set(items.filter((each) => each !== item).map((each) => each.system.value));
  let free = name;
  for (let number = 2; used.has(free); number += 1) free = `${name}-${number}`;
  return free;
}

function addItem({ name, file = null, text = null, role = "", system = "" }) {
  counter += 1;
  const id = `item-${counter}`;
  const item = {
    id,
    name,
    file,
    role,
    payload: null, // content as it is sent
    summary: null, // what the server read
    language: null,
    notes: [], // of the server on what it read
    error: "",
    question: null,
    version: 0, // of the current reading; answers to earlier ones are dropped
    timer: 0,
    reading: Promise.resolve(),
    choices: null, // of columns and quoting, where somebody made any
    isPlain: false, // whether somebody said that a text with tabs is no table
    area: null,
  };
  item.badge = element("span", { class: "badge", "aria-hidden": "true" });
  item.title = element("strong", { class: "file-name", dir: "auto" });
  item.facts = element("span", { class: "file-facts" });
  item.remarks = element("span", { class: "file-notes" });
  item.problem = element("p", { class: "file-problem", id: `${id}-problem` });
  item.offer = element("div", { class: "row offer" });
  item.table = element("details", { class: "table-options" });
  item.select = element(
    "select",
    { id: `${id}-role` },
    Object.entries(ROLES).map(([value, label]) => option(value, label, value === role)),
  );
  item.system = element("input", { class: "system-name", autocomplete: "off", maxlength: 200, spellcheck: "false" });
  item.system.value = system;
  item.remove = element("button", { type: "button", class: "remove" }, "×");
  if (text !== null) {
    item.area = element("textarea", {
      id: `${id}-text`,
      rows: 5,
      spellcheck: "false",
      dir: "auto",
      placeholder: "one segment per line",
    });
    item.area.value = text;
  }
  item.systemPart = element("label", { class: "system-part" }, element("span", {}, "System"), item.system);
  item.node = element(
    "li",
    { class: "file card", id },
    item.badge,
    element("div", { class: "file-words" }, item.title, item.facts, item.remarks),
    element("div", { class: "file-fields" }, item.select, item.systemPart),
    item.remove,
    item.area,
    item.problem,
    item.offer,
    item.table,
  );
  items.push(item);
  byId("file-list").append(item.node);
  item.select.addEventListener("change", () => {
    item.role = item.select.value;
    readItem(item);
  });
  item.system.addEventListener("change", () => readItem(item));
  item.remove.addEventListener("click", () => removeItem(item));
  item.area?.addEventListener("input", () => {
    clearTimeout(item.timer);
    item.busy = true;
    showItem(item);
    item.timer = setTimeout(() => readItem(item), 400);
  });
  renameItem(item, name);
  if (!system) item.system.value = freeName(file ? stemOf(name) : "system", item);
  showItem(item);
  return item;
}

function renameItem(item, name) {
  item.name = name;
  item.badge.textContent = item.area ? "TEXT" : formatOf(name);
  item.title.textContent = name;
  item.select.setAttribute("aria-label", `What ${name} holds`);
  item.system.setAttribute("aria-label", `Name of the system in ${name}`);
  item.remove.setAttribute("aria-label", `Remove ${name}`);
  item.area?.setAttribute("aria-label", name);
}

function removeItem(item) {
  const place = items.indexOf(item);
  items = items.filter((each) => each !== item);
  item.version += 1;
  item.node.remove();
  showOverview();
  showLanguage();
  (items[place] ?? items[place - 1])?.remove.focus();
  if (!items.length) byId("choose").focus();
}

// What the chip of a file shows.
function showItem(item) {
  const { summary } = item;
  const systems = summary?.systems ?? [];
  item.node.classList.toggle("wrong", Boolean(item.error));
  item.node.classList.toggle("busy", item.busy === true);
  item.select.value = item.role || "hypotheses";
  item.systemPart.hidden = (item.role || "hypotheses") !== "hypotheses" || systems.length > 1;
  item.problem.hidden = !item.error;
  item.problem.textContent = item.error;
  let facts = summary ? summary.text.slice(summary.name.length + 2) : "";
  if (systems.length > 1) facts += `: ${joinNames(systems)}`;
  if (item.busy) facts = "Reading …";
  if (item.error) facts = "";
  item.facts.textContent = facts || (isBlank(item) ? "empty" : "");
  item.remarks.hidden = !summary || item.busy || !item.notes.length;
  item.remarks.textContent = item.notes.join(" ");
  showOffer(item);
  showTableOptions(item);
  showOverview();
}

function choose(item, changes) {
  Object.assign(item, changes);
  readItem(item);
}

// Buttons that answer what the server asks.
function showOffer(item) {
  const { question } = item;
  const button = (label, action) => {
    const node = element("button", { type: "button" }, label);
    node.addEventListener("click", action);
    return node;
  };
  const buttons = [];
  if (question?.kind === "format")
    buttons.push(
      button(`Read it as ${question.ending}`, () => {
        renameItem(item, `${item.area ? item.name : stemOf(item.name)}${question.ending}`);
        choose(item, { role: "" }); // to be guessed anew
      }),
    );
  if (question?.kind === "format" && question.ending === ".tsv")
    buttons.push(
      button("It is plain text", () => choose(item, { isPlain: true, role: item.role || question.role })),
    );
  if (question?.kind === "quoting")
    for (const [value, label] of [
      ["rfc4180", "Quotation marks enclose cells"],
      ["none", "Quotation marks are text"],
    ])
      buttons.push(button(label, () => choose(item, { choices: { ...item.choices, quoting: value } })));
  item.offer.hidden = !buttons.length;
  replace(item.offer, buttons);
}

// Which column of a table holds what, and how its cells are quoted.
function showTableOptions(item) {
  const columns = item.columns ?? [];
  const quoted = /^(TSV|CSV)$/.test(formatOf(item.name));
  item.table.hidden = item.role !== "table" || (!columns.length && !quoted);
  if (item.table.hidden || item.table.dataset.columns === JSON.stringify([item.name, columns])) {
    if (item.question?.kind === "columns") item.table.open = true;
    return;
  }
  item.table.dataset.columns = JSON.stringify([item.name, columns]);
  const fieldOf = (column) =>
    item.choices?.fields?.[column] ??
    (Object.entries(USUAL).find(([, pattern]) => pattern.test(column)) ?? [""])[0];
  const selects = columns.map((column) =>
    element(
      "label",
      {},
      element("span", { class: "column-name", dir: "auto" }, column),
      element(
        "select",
        { "data-column": column },
        Object.entries(FIELD_NAMES).map(([value, label]) => option(value, label, value === fieldOf(column))),
      ),
    ),
  );
  const quoting = element(
    "select",
    {},
    Object.entries(QUOTING).map(([value, label]) =>
      option(value, label, value === (item.choices?.quoting ?? "auto")),
    ),
  );
  quoting.addEventListener("change", () => choose(item, { choices: { ...item.choices, quoting: quoting.value } }));
  for (const label of selects)
    label.lastChild.addEventListener("change", () => {
      const fields = Object.fromEntries(
        selects.map((each) => [each.lastChild.dataset.column, each.lastChild.value]),
      );
      choose(item, { choices: { ...item.choices, fields } });
    });
  replace(
    item.table,
    element("summary", {}, "Columns"),
    element(
      "p",
      { class: "quiet" },
      "What each column holds. Where several hold translations, each is a system.",
    ),
    element("div", { class: "column-list" }, selects),
    quoted ? element("label", { class: "quoting" }, element("span", {}, "Quotation marks"), quoting) : null,
  );
  if (item.question?.kind === "columns") item.table.open = true;
}

// Fields of a request that follow from the chosen columns.
function columnChoices({ choices }) {
  const { fields = null, quoting = "auto" } = choices ?? {};
  const settings = quoting === "auto" ? {} : { quoting };
  if (!fields) return settings;
  const columns = {};
  for (const [column, field] of Object.entries(fields))
    if (field) columns[field] = [...(columns[field] ?? []), column];
  if (columns.mt?.length > 1) {
    settings.systems = columns.mt;
    delete columns.mt;
  }
  return { ...settings, columns };
}

function toBase64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}

// The content of a file as a request holds it: text where it is some, base64 for the rest.
async function contentOf(item) {
  if (item.area) return { text: item.area.value };
  if (item.payload) return item.payload;
  if (item.file.size > bodyLimit)
    throw new Error(
      `${item.name} has ${formatCount(item.file.size)} bytes, and this server takes ${formatCount(bodyLimit)} in one request.`,
    );
  let bytes;
  try {
    bytes = await item.file.arrayBuffer();
  } catch {
    throw new Error(`${item.name} cannot be read: is it a folder, or was it moved?`);
  }
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    item.payload = { text: decoder.decode(bytes) };
  } catch {
    item.payload = { base64: await toBase64(item.file) };
  }
  return item.payload;
}

async function requestFile(item) {
  const file = { name: item.name, ...(await contentOf(item)) };
  if (item.role) file.role = item.role;
  const several = (item.summary?.systems ?? []).length > 1;
  if ((item.role || "hypotheses") === "hypotheses" && !several && item.system.value.trim())
    file.system = item.system.value.trim();
  return file;
}

// Sentences of the server name fields of a request, where the page has columns to choose from.
function sentenceOf({ message, question }, item) {
  if (question?.kind !== "columns" || !question.columns.length) return message;
  return `Which columns of ${item.name} hold translations and references? Choose them below.`;
}

// A pasted text with as many tabs in every line is a table, unless somebody says otherwise.
function refuseTable(item) {
  if (!item.area || item.isPlain || item.role === "table" || /\.\w+$/.test(item.name)) return;
  const tabs = new Set(item.area.value.trim().split("\n").map((line) => line.split("\t").length - 1));
  if (tabs.size !== 1 || tabs.has(0)) return;
  const error = new Error(`${item.name} has the same number of tabs in every line: is it a table?`);
  throw Object.assign(error, { question: { kind: "format", ending: ".tsv" } });
}

// Let the server read a file by itself, and show what it read.
function readItem(item) {
  clearTimeout(item.timer);
  item.timer = 0;
  item.reading = readNow(item);
  return item.reading;
}

async function readNow(item) {
  item.version += 1;
  const { version } = item;
  Object.assign(item, { error: "", question: null });
  if (isBlank(item)) {
    Object.assign(item, { summary: null, busy: false });
    return showItem(item);
  }
  item.busy = true;
  showItem(item);
  let changes;
  try {
    refuseTable(item);
    const file = await requestFile(item);
    const content = { files: [file], texts: false, ...columnChoices(item), ...languageChoice() };
    const { files, columns, language, notes } = await (await callApi("/v1/read", postOptions(content))).json();
    changes = { summary: files[0], role: files[0].role, columns, language, notes };
  } catch (error) {
    changes = { summary: null, language: null, error: sentenceOf(error, item), question: error.question ?? null };
    changes.columns = error.question?.columns ?? item.columns;
    if (error.question && error.question.kind !== "format") changes.role = item.role || "table";
  }
  if (version !== item.version) return;
  Object.assign(item, changes, { busy: false });
  showItem(item);
  showLanguage();
}

const readAll = () => Promise.all(items.map(readItem));

function addFiles(files) {
  const added = files.map((file) => addItem({ name: file.name, file }));
  showStatus("");
  showProblem("");
  added.forEach(readItem);
  added[0]?.node.scrollIntoView({ block: "nearest" });
}

function addText(role, name, text = "", system = "") {
  const item = addItem({ name, text, role, system });
  if (text) readItem(item);
  return item;
}

// A role that is still missing: a reference first, then translations.
function pasteText() {
  const role = ofRole("references").length ? "hypotheses" : "references";
  const empty = items.find(isBlank);
  const number = items.filter((item) => item.area).length + 1;
  const item = empty ?? addText(role, `Pasted text ${number}`);
  item.area.focus();
}

const hasFiles = (event) => event.dataTransfer.types.includes("Files");

// Files may be dropped anywhere, since a browser that is left to itself would open them in place of
// the page; a text only into a field, where the browser puts it.
function dragFiles(event) {
  if (!hasFiles(event) && event.target.closest?.("textarea, input")) return;
  const accepted = hasFiles(event) && !byId("inputs").hidden;
  byId("drop-veil").hidden = !accepted;
  if (!accepted) event.dataTransfer.dropEffect = "none";
  event.preventDefault();
}

function dropFiles(event) {
  byId("drop-veil").hidden = true;
  if (!hasFiles(event)) return;
  event.preventDefault();
  if (!byId("inputs").hidden) addFiles([...event.dataTransfer.files]);
}

function prepareInputs() {
  const input = byId("file-input");
  byId("choose").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    addFiles([...input.files]);
    input.value = ""; // so that the same file can be chosen again
  });
  byId("paste").addEventListener("click", pasteText);
  byId("example").addEventListener("click", fillExample);
  addEventListener("dragover", dragFiles);
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) byId("drop-veil").hidden = true;
  });
  addEventListener("drop", dropFiles);
}

const EXAMPLE = {
  reference: [
    "The council will vote on the new budget next week.",
    "She had never seen the sea before that summer.",
    "Heavy rain closed three roads in the north of the country.",
    "The museum opens at nine and closes at six.",
    "He asked whether the train had already left.",
    "Scientists found water under the surface of the moon.",
  ],
  literal: [
    "The council will next week over the new budget vote.",
    "She had never the sea seen before that summer.",
    "Strong rain closed three streets in north of the country.",
    "The museum opens itself at nine and closes at six.",
    "He asked, if the train already was left.",
    "Scientists found water under the surface of moon.",
  ],
  fluent: [
    "The council will vote on the new budget next week.",
    "She had never seen the sea until that summer.",
    "Heavy rains closed three roads in the north of the country.",
    "The museum opens at nine and shuts at six.",
    "He asked if the train had already left.",
    "Scientists found water beneath the surface of the moon.",
  ],
};

async function fillExample() {
  for (const item of items) item.node.remove();
  items = [];
  const added = Object.entries(EXAMPLE).map(([name, texts]) =>
    addText(name === "reference" ? "references" : "hypotheses", `Example: ${name}`, `${texts.join("\n")}\n`, name),
  );
  byId("go").focus();
  await Promise.all(added.map((item) => item.reading));
  showStatus("The example is filled in.");
}

// All files as a request holds them; an error if something is missing or could not be read.
async function allFiles() {
  for (const item of items) if (item.timer) readItem(item); // what was typed a moment ago
  await Promise.all(items.map((item) => item.reading));
  const given = filled();
  const wrong = given.find((item) => item.error);
  if (wrong) {
    wrong.node.scrollIntoView({ block: "nearest" });
    throw new Error(wrong.error);
  }
  const table = ofRole("table")[0];
  if (!given.length) throw new Error("There is nothing to compare yet: drop files, or paste texts.");
  if (table && given.length > 1)
    throw new Error(
      `${table.name} is a table with everything, and there are other files; remove it or them, or change what it holds.`,
    );
  if (!table && !ofRole("references").length && !ofRole("source").length)
    throw new Error("There is no reference: drop its file, or paste it.");
  if (!table && !ofRole("hypotheses").length)
    throw new Error("There is no translation: drop its file, or paste it.");
  const names = ofRole("hypotheses").flatMap((item) => item.summary.systems);
  const twice = names.find((name, place) => names.indexOf(name) < place);
  if (twice !== undefined) throw new Error(`Two systems are named ${twice}; give each its own name.`);
  return { files: await Promise.all(given.map(requestFile)), ...(table ? columnChoices(table) : {}) };
}

// Whether there are references and sources; a table may hold either, as the server will say.
const givenParts = () => ({
  reference: ofRole("references").length + ofRole("table").length > 0,
  source: ofRole("table").length > 0 || filled().some((item) => item.role === "source" || item.summary?.sources),
});

// The number of systems in all files.
const systemCount = () => filled().reduce((sum, item) => sum + (item.summary?.systems.length ?? 0), 0);

// One line on all files together.
function showOverview() {
  const read = filled().filter((item) => item.summary);
  const sizes = [...new Set(read.map((item) => item.summary.segments))];
  const references = read.reduce((sum, item) => sum + (item.summary.references ?? 0), 0);
  const parts = [];
  if (systemCount()) parts.push(plural(systemCount(), "system"));
  if (references) parts.push(plural(references, "reference"));
  if (sizes.length === 1) parts.push(plural(sizes[0], "segment"));
  if (sizes.length > 1) parts.push(`different numbers of segments: ${joinNames(sizes.map(formatCount))}`);
  byId("overview-line").textContent = parts.join(", ");
  byId("overview-line").classList.toggle("wrong", sizes.length > 1);
  byId("go").textContent = systemCount() === 1 ? "Score" : "Compare";
  byId("drop").classList.toggle("small", items.length > 0);
}
