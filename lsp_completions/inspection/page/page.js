// The page: told of requests by server-sent events, and of the last 30 days now and then.

import { axis, bar, clock, days, spanOf, told, waits } from "./drawing.js";

const MOST_ROWS = 150;
const RENEW = 20000; // milliseconds between two looks at the statistics, which servers write slowly
const PASSING = new Set(["superseded", "cancelled", "movedOn"]);
const TROUBLE = new Set(["providerFailed", "backingOff", "tooSlow", "noProvider", "contextFiltersUnknown"]);
const FATES = {
  accepted: ["✓", "accepted", "good"],
  "accepted in part": ["◐", "accepted in part", "good"],
  "typed as suggested": ["→", "typed as suggested", "good"],
  "passed over": ["○", "passed over", ""],
  "nothing yet": ["●", "suggested", ""],
};

const requests = new Map();
const rows = new Map();
let chosen = null, showsCode = false, drawing = false, perDay = [], arrived = false;

const at = (id) => document.getElementById(id);

function made(name, attributes = {}, ...inside) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...inside);
  return element;
}

// ---- what is told

function listen() {
  const events = new EventSource("events");
  events.addEventListener("open", () => connection("live", "live"));
  events.addEventListener("error", () => connection("lost", "the page's command has ended"));
  events.addEventListener("all", (event) => {
    requests.clear();
    for (const row of rows.values()) row.remove();
    rows.clear();
    take(JSON.parse(event.data));
    arrived = true;
  });
  events.addEventListener("news", (event) => take(JSON.parse(event.data)));
}

function connection(kind, words) {
  at("connection").className = kind;
  at("connection").textContent = words;
}

function take(news) {
  if (news.servers) showServers(news.servers);
  for (const request of news.requests ?? []) {
    requests.set(request.id, request);
    rows.get(request.id)?.setAttribute("data-stale", "");
  }
  if (chosen !== null && news.requests?.some((each) => each.id === chosen)) showDetails(requests.get(chosen));
  draw();
}

function draw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    drawAll();
  });
}

// ---- servers

function showServers(servers) {
  at("servers").replaceChildren(...servers.map((server) => {
    const name = [server.editor || "An editor", server.editorVersion].filter(Boolean).join(" ");
    const folder = (server.workspace ?? []).map((each) => each.split(/[\\/]/).filter(Boolean).at(-1)).join(", ");
    const item = made("li", {}, made("b", {}, name));
    if (folder) item.append(made("span", {}, ` in ${folder}`));
    const state = server.status;
    if (state?.message) {
      const bad = ["error", "warning", "keptBack"].includes(state.state);
      item.append(made("span", { class: bad ? "bad" : "" }, ` – ${state.message}`));
    } else if (state?.model) item.append(made("span", {}, `, ${state.model}`));
    return item;
  }));
  if (!servers.length) at("servers").append(made("li", {}, made("span", {}, "No server runs.")));
}

// ---- requests

function wanted() {
  const words = at("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  const passing = at("passing").checked;
  return [...requests.values()].sort((a, b) => b.at - a.at).filter((each) => {
    if (!passing && PASSING.has(each.reason)) return false;
    const text = `${each.path} ${each.language} ${each.model} ${each.message ?? ""} ${each.fate ?? ""} ${each.how ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  }).slice(0, MOST_ROWS);
}

function drawAll() {
  const shown = wanted(), span = spanOf(shown), list = at("requests");
  at("empty").hidden = shown.length > 0;
  at("empty").textContent = requests.size
    ? "None of the requests is like that."
    : "Nothing yet. Type in an editor whose server runs, and its requests appear here.";
  const kept = new Set(shown.map((each) => each.id));
  for (const [id, row] of rows) if (!kept.has(id)) { row.remove(); rows.delete(id); }
  shown.forEach((request, number) => {
    let row = rows.get(request.id);
    if (!row || row.hasAttribute("data-stale")) {
      const fresh = rowOf(request, !row && arrived);
      if (row) {
        const focused = row.contains(document.activeElement);
        row.replaceWith(fresh);
        if (focused) fresh.firstChild.focus();
      }
      row = fresh;
      rows.set(request.id, row);
    }
    if (list.children[number] !== row) list.insertBefore(row, list.children[number] ?? null);
  });
  axis(at("axis"), span);
  for (const request of shown) bar(rows.get(request.id).querySelector("svg"), request, span);
  waits(at("waits"), [...requests.values()]);
  days(at("days"), perDay);
}

function rowOf(request, isFresh) {
  const [mark, words, kind] = outcome(request);
  const where = made("span", { class: "where", title: request.path }, shortened(request.path));
  where.append(made("small", {}, `:${request.line}`));
  const button = made("button", { type: "button", class: isFresh ? "row fresh" : "row", "aria-expanded": String(request.id === chosen) },
    made("span", { class: "time" }, clock(request.at)),
    where,
    document.createElementNS("http://www.w3.org/2000/svg", "svg"),
    made("span", { class: "number" }, told(request.times.answered)),
    made("span", { class: `what ${kind}`, title: words }, made("span", { class: `mark ${kind}` }, mark), words),
  );
  button.querySelector("svg").setAttribute("aria-hidden", "true");
  button.addEventListener("click", () => (chosen === request.id ? close() : open(request.id)));
  const item = made("li", {}, button);
  item.dataset.id = request.id;
  return item;
}

function shortened(path) {
  const parts = path.split("/");
  return parts.length > 3 ? `…/${parts.slice(-2).join("/")}` : path;
}

function outcome(request) {
  if (request.reason !== null) return ["×", request.message ?? request.reason, TROUBLE.has(request.reason) ? "trouble" : "nothing"];
  const [mark, words, kind] = FATES[request.fate] ?? ["●", request.fate, ""];
  const size = request.lines > 1 ? `${request.lines} lines` : `${request.characters} characters`;
  const how = request.how === null || request.how === "asked anew" ? "" : `, ${request.how}`;
  return [mark, `${size} ${words}${how}`, kind];
}

// ---- one request

function open(id) {
  chosen = id;
  for (const [each, row] of rows) row.firstChild.setAttribute("aria-expanded", String(each === id));
  document.querySelector(".both").classList.add("has-details");
  showDetails(requests.get(id));
  draw();
}

function close() {
  const row = rows.get(chosen);
  chosen = null;
  row?.firstChild.setAttribute("aria-expanded", "false");
  document.querySelector(".both").classList.remove("has-details");
  at("details").hidden = true;
  row?.firstChild.focus();
  draw();
}

const TIMES = [
  ["gate", "allowed to be sent"],
  ["prompt", "prompt made"],
  ["sent", "model asked"],
  ["firstEvent", "model says anything"],
  ["firstText", "first text"],
  ["answered", "editor has the answer"],
];

function showDetails(request) {
  const details = at("details");
  const shut = made("button", { type: "button", class: "close", "aria-label": "Close" }, "×");
  shut.addEventListener("click", close);
  const list = made("dl");
  const fact = (name, value) => list.append(made("dt", {}, name), made("dd", {}, value));
  fact("asked by", `${request.byHand ? "hand" : "the editor"}, for ${request.method === "menu" ? "its menu" : "ghost text"}, at ${clock(request.at)}`);
  if (request.language) fact("language", request.language);
  if (request.provider) fact("who answers", [request.provider, request.model].filter(Boolean).join(", "));
  if (request.how) fact("where it came from", request.how);
  if (request.excerpts !== null) fact("code from elsewhere", request.excerpts === 1 ? "1 excerpt" : `${request.excerpts} excerpts`);
  for (const [key, name] of TIMES) {
    const time = request.times[key];
    if (time !== null) fact(name, time < 0 ? `${told(-time)} before this request` : `after ${told(time)}`);
  }
  if (request.reason === null) {
    fact("suggestions", String(request.candidates));
    if (request.taken) fact("taken", `${request.taken} of ${request.characters} characters`);
    if (request.settled !== null) fact("settled", `${told(request.settled)} later`);
  }
  const [, words] = outcome(request);
  const code = made("div", { id: "code" });
  details.replaceChildren(shut, made("h2", {}, `${request.path}:${request.line}`), made("p", {}, words), list, code);
  details.hidden = false;
  if (showsCode) showCode(request, code);
  else code.append(made("p", { class: "note" }, "No code is shown in this run. Start `lsp-completions inspect --with-code` to see prompts and what models said."));
}

async function showCode(request, place) {
  const answer = await fetch(`code/${request.pid}/${request.number}`);
  const said = await answer.json();
  if (chosen !== request.id) return;
  if (!answer.ok) return place.replaceChildren(made("p", { class: "note" }, said.message));
  const steps = made("div", {});
  let before = null;
  for (const step of said.steps) {
    steps.append(made("h3", {}, step.name), compared(before, step.text));
    before = step.text;
  }
  if (!said.steps.length) steps.append(made("p", { class: "note" }, "No model had a say in it."));
  said.shown.forEach((text, number) => {
    const pre = made("pre", {}, number ? "" : made("span", { class: "before" }, said.before ?? ""), made("ins", {}, text));
    steps.append(made("h3", {}, number ? `other suggestion ${number}` : "shown"), pre);
  });
  const prompt = made("div", {}, made("h3", {}, "prompt"));
  prompt.append(said.prompt === null ? made("p", { class: "note" }, said.faded ? "It is not kept any more." : "None was made.") : made("pre", { class: "prompt", tabindex: "0" }, said.prompt));
  place.replaceChildren(made("div", { class: "code" }, prompt, steps));
  const shown = prompt.querySelector("pre");
  if (shown) shown.scrollTop = shown.scrollHeight;
}

// A text, and what of the text before it is gone.
function compared(before, text) {
  const pre = made("pre");
  if (before === null) return pre.append(text || "(nothing)"), pre;
  let start = 0, end = 0;
  const shorter = Math.min(before.length, text.length);
  while (start < shorter && before[start] === text[start]) start += 1;
  while (end < shorter - start && before[before.length - 1 - end] === text[text.length - 1 - end]) end += 1;
  pre.append(text.slice(0, start));
  if (start < before.length - end) pre.append(made("del", {}, before.slice(start, before.length - end)));
  if (start < text.length - end) pre.append(made("ins", {}, text.slice(start, text.length - end)));
  pre.append(text.slice(text.length - end));
  return pre;
}

// ---- the last 30 days

async function statistics() {
  const answer = await fetch("statistics").catch(() => null);
  if (!answer?.ok) return;
  const said = await answer.json();
  if (said.message || !said.requests) {
    at("groups").replaceChildren(made("p", {}, said.message ?? "Nothing was counted in the last 30 days, or the setting statistics is false."));
    return;
  }
  const figure = (name, value, more) => made("div", {}, made("p", {}, name), made("strong", {}, value), made("p", {}, more));
  const percent = (part, whole) => (whole ? `${Math.round((100 * part) / whole)} %` : "–");
  const kept = said.kept.at(-1), main = said.models[0];
  at("figures").replaceChildren(
    figure("Suggestions", said.suggestions.toLocaleString("en"), `in ${said.days} days`),
    figure("Accepted", percent(said.accepted, said.suggestions), `${said.accepted.toLocaleString("en")}, and ${said.typedThrough.toLocaleString("en")} typed as suggested`),
    figure("Still there after 10 minutes", kept.share === null ? "–" : `${Math.round(100 * kept.share)} %`, `of the text of ${kept.known.toLocaleString("en")} accepted`),
    figure("Usual wait", told(main?.medianMilliseconds), `one in ten over ${told(main?.slowMilliseconds)}`),
  );
  const table = made("table", {}, made("tr", {}, ...["", "shown", "accepted", "wait"].map((each) => made("th", { scope: "col" }, each))));
  for (const group of [...said.models.slice(0, 2), ...said.languages.slice(0, 4)]) {
    table.append(made("tr", {}, made("td", { title: group.name }, group.name.split(/::|\//).at(-1)), made("td", {}, group.suggestions.toLocaleString("en")),
      made("td", {}, percent(group.accepted, group.suggestions)), made("td", {}, told(group.medianMilliseconds))));
  }
  at("groups").replaceChildren(table);
  perDay = said.perDay;
  draw();
}

// ---- keys

addEventListener("keydown", (event) => {
  const typing = event.target instanceof HTMLInputElement && event.target.type === "search";
  if (event.key === "Escape") {
    if (chosen !== null) close();
    else if (typing) { event.target.value = ""; draw(); event.target.blur(); }
  } else if (event.key === "/" && !typing) {
    event.preventDefault();
    at("find").focus();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    if (event.target.closest?.("pre")) return;
    const buttons = [...document.querySelectorAll("#requests button")];
    const now = buttons.indexOf(document.activeElement);
    const next = now < 0 ? 0 : now + (event.key === "ArrowDown" ? 1 : -1);
    const button = buttons[Math.max(0, Math.min(buttons.length - 1, next))];
    if (!button) return;
    event.preventDefault();
    button.focus();
    if (chosen !== null) open(button.parentElement.dataset.id);
  }
});
at("find").addEventListener("input", draw);
at("passing").addEventListener("change", draw);
addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

showsCode = (await (await fetch("about")).json()).code;
listen();
statistics();
setInterval(statistics, RENEW);
