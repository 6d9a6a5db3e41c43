// Requests to the server: JSON, streams of lines, and the token if the server needs one.

const TOKEN = "adequa-token";

function currentToken() {
  return byId("token").value.trim() || sessionStorage.getItem(TOKEN) || "";
}

// The error of an answer: one sentence, and what a person could decide.
async function errorOf(response) {
  try {
    const { error, question } = await response.json();
    return Object.assign(new Error(error), { question });
  } catch {
    return new Error(`The server answered with status ${response.status}.`);
  }
}

// Shows the field for the token; the error says why.
function tokenError(message) {
  byId("token-part").hidden = false;
  byId("token").focus();
  return new Error(message);
}

async function callApi(path, options = {}) {
  const token = currentToken();
  const headers = { ...options.headers };
  if (/[^!-~]/.test(token)) // which no header can carry
    throw tokenError("A token consists of ASCII letters, digits and punctuation; enter it again.");
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is it still running?");
  }
  if (response.status === 401)
    throw tokenError(
      token ? "This is not the token of this server; enter it again." : "This server needs a token; enter it above.",
    );
  if (token && response.ok) {
    sessionStorage.setItem(TOKEN, token);
    if (document.activeElement === byId("token")) byId("go").focus();
    byId("token-part").hidden = true;
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

function postOptions(content, signal) {
  return {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify(content),
    signal,
  };
}

// The lines of a stream, parsed, as they arrive.
async function* readLines(response) {
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
