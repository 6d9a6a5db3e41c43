// Asking the server: JSON, lines as they come, and the token where it wants one.

const TOKEN = "adequa-token";

function tokenNow() {
  return byId("token").value.trim() || sessionStorage.getItem(TOKEN) || "";
}

// What went wrong, as a sentence for people.
async function sentenceOf(response) {
  try {
    return (await response.json()).error;
  } catch {
    return `The server answered with status ${response.status}.`;
  }
}

// Shows the field of the token, and says why.
function asksForToken(words) {
  byId("token-part").hidden = false;
  byId("token").focus();
  return new Error(words);
}

async function ask(path, settings = {}) {
  const token = tokenNow();
  const headers = { ...settings.headers };
  if (/[^!-~]/.test(token)) // which no header can carry
    throw asksForToken("A token has ASCII letters, digits and signs alone; enter it again.");
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(path, { ...settings, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is it still running?");
  }
  if (response.status === 401)
    throw asksForToken(
      token ? "This is not the token of this server; enter it again." : "This server wants a token; enter it above.",
    );
  if (token && response.ok) {
    sessionStorage.setItem(TOKEN, token);
    if (document.activeElement === byId("token")) byId("go").focus();
    byId("token-part").hidden = true;
  }
  if (!response.ok) throw new Error(await sentenceOf(response));
  return response;
}

// Systems in the order in which they stand: an object would put names that are numbers first.
function bodyOf({ systems, ...others }) {
  const said = [...systems].map((each) => each.map((part) => JSON.stringify(part)).join(":"));
  return `{"systems":{${said.join(",")}},${JSON.stringify(others).slice(1)}`;
}

function asking(content, signal) {
  return {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: bodyOf(content),
    signal,
  };
}

// Lines of a stream, parsed, as they come.
async function* linesOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) if (part) yield JSON.parse(part);
  }
  if (rest) yield JSON.parse(rest);
}

function download(blob, name) {
  const address = URL.createObjectURL(blob);
  const anchor = element("a", { href: address, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
