// The texts to compare: boxes for references, the source and systems, filled by hand or from files.

let boxes = []; // in the order in which they were added
let counter = 0;

const KINDS = {
  reference: { title: "Reference", place: "references" },
  source: { title: "Source", place: "references" },
  system: { title: "System", place: "systems" },
};

const ofKind = (kind) => boxes.filter((box) => box.kind === kind);

// The lines of a text; a line break at the end starts no further line.
function textLines(text) {
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/);
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

// The lowest number that no box of a kind has, nor any name.
function freeNumber(kind) {
  const others = ofKind(kind);
  for (let number = 1; ; number += 1)
    if (!others.some((box) => box.number === number || box.field.value === `system-${number}`)) return number;
}

function addBox(kind, name = "", text = "") {
  counter += 1;
  const id = `box-${counter}`;
  const { title, place } = KINDS[kind];
  const number = freeNumber(kind);
  const label = kind === "source" || (kind === "reference" && number === 1) ? title : `${title} ${number}`;
  const area = element("textarea", {
    id,
    rows: 6,
    spellcheck: "false",
    dir: "auto",
    placeholder: "one segment per line",
    "aria-describedby": `${id}-count`,
  });
  const field = element("input", {
    class: "name",
    id: `${id}-name`,
    "aria-label": `Name of ${label.toLowerCase()}`,
    autocomplete: "off",
    maxlength: 200,
  });
  field.value = name || `system-${number}`;
  const file = element("input", { type: "file", "aria-label": `File of ${label.toLowerCase()}` });
  const count = element("small", { class: "quiet", id: `${id}-count` }, "empty");
  const remove = element("button", { type: "button", "aria-label": `Remove ${label.toLowerCase()}` }, "Remove");
  const node = element(
    "div",
    { class: "card box" },
    element("div", { class: "row" }, element("label", { for: id }, label), kind === "system" ? field : null, count),
    area,
    element("div", { class: "row" }, file, remove),
  );
  const box = { kind, number, node, area, field, count };
  boxes.push(box);
  byId(place).append(node);
  area.addEventListener("input", () => countLines(box));
  file.addEventListener("change", async () => {
    if (file.files[0]) await fillBox(box, file.files[0]);
  });
  remove.addEventListener("click", () => removeBox(box));
  area.value = text;
  countLines(box);
  return box;
}

function removeBox(box) {
  boxes = boxes.filter((each) => each !== box);
  box.node.remove();
  byId(`add-${box.kind}`).focus();
  showAdding();
}

function showAdding() {
  byId("add-source").disabled = ofKind("source").length > 0;
}

const lineCount = (count) => `${formatCount(count)} ${count === 1 ? "line" : "lines"}`;

function countLines(box) {
  const count = textLines(box.area.value).length;
  box.count.textContent = count ? lineCount(count) : "empty";
}

async function fillBox(box, file) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    return showProblem(`${file.name} is not text in UTF-8.`);
  }
  box.area.value = text;
  if (box.kind === "system") box.field.value = stemOf(file.name);
  countLines(box);
  showStatus(`${file.name} was read.`);
}

const stemOf = (name) => name.replace(/\.[^.]+$/, "").slice(0, 200) || name;
const isEmpty = (box) => !box.area.value.trim();

// Which box a dropped file goes to, by its name.
function kindOf(name) {
  if (/^ref/i.test(name)) return "reference";
  if (/^(src|source)/i.test(name)) return "source";
  return "system";
}

const hasFiles = (event) => event.dataTransfer.types.includes("Files");

// Files may be dropped anywhere, since a browser that is left to itself would open them in place of
// the page; a text only into a field, where the browser puts it.
function dragFiles(event) {
  const form = byId("inputs");
  if (!hasFiles(event) && event.target.closest?.("textarea, input")) return;
  if (hasFiles(event) && !form.hidden) form.classList.add("over");
  else event.dataTransfer.dropEffect = "none";
  event.preventDefault();
}

async function dropFiles(event) {
  const form = byId("inputs");
  form.classList.remove("over");
  if (!hasFiles(event)) return;
  event.preventDefault();
  if (form.hidden) return;
  const files = [...event.dataTransfer.files];
  const box = boxes.find((each) => each.node.contains(event.target));
  if (box && files.length === 1) return fillBox(box, files[0]);
  for (const file of files) {
    const kind = kindOf(file.name);
    const free = ofKind(kind).find(isEmpty) || (kind === "source" && ofKind(kind)[0]);
    await fillBox(free || addBox(kind), file);
  }
  showAdding();
}

function prepareInputs() {
  addBox("reference");
  addBox("system");
  addBox("system");
  for (const kind of Object.keys(KINDS))
    byId(`add-${kind}`).addEventListener("click", () => {
      addBox(kind).area.focus();
      showAdding();
    });
  addEventListener("dragover", dragFiles);
  addEventListener("dragleave", () => byId("inputs").classList.remove("over"));
  addEventListener("drop", dropFiles);
  byId("example").addEventListener("click", fillExample);
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

function fillExample() {
  for (const box of boxes) box.node.remove();
  boxes = [];
  for (const [name, texts] of Object.entries(EXAMPLE))
    addBox(name === "reference" ? "reference" : "system", name, `${texts.join("\n")}\n`);
  showAdding();
  showStatus("The example is filled in.");
  byId("go").focus();
}

// The texts of all boxes, in the shape of the API; an error if something is missing.
function texts() {
  const [references, systems] = ["reference", "system"].map((kind) =>
    ofKind(kind).filter((box) => !isEmpty(box)),
  );
  if (!references.length) throw new Error("There is no reference: paste it, or drop a file.");
  if (!systems.length) throw new Error("There is no system: paste its output, or drop a file.");
  const columns = references.map((box) => textLines(box.area.value));
  const count = columns[0].length;
  const source = ofKind("source").find((box) => !isEmpty(box));
  const columnOf = new Map();
  for (const box of systems) {
    const name = box.field.value.trim() || "system";
    if (columnOf.has(name)) throw new Error(`Two systems are named ${name}; give each its own name.`);
    columnOf.set(name, textLines(box.area.value));
  }
  const all = [...columnOf, ...columns.map((column, place) => [`Reference ${place + 1}`, column])];
  if (source) all.push(["The source", textLines(source.area.value)]);
  for (const [name, column] of all)
    if (column.length !== count)
      throw new Error(
        `${name} has ${lineCount(column.length)}, and the reference has ${lineCount(count)}: ` +
          "every line must be the same segment in all of them.",
      );
  return {
    systems: columnOf,
    references: columns[0].map((_, row) => columns.map((column) => column[row])),
    ...(source ? { sources: textLines(source.area.value) } : {}),
  };
}
