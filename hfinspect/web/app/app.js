// The page: a form, tabs, and an answerer. What comes from a model is text, or a page of its own in a
// sandbox.
const $ = (id) => document.getElementById(id);
const KINDS = {report: "Report", memory: "Memory", explain: "Where from", audit: "Audit", compare: "Compare"};
const SIZES = ["on", "context", "engine", "batch", "image", "images", "video", "audio"];  // of memory alone
const FIELDS = [...SIZES, "other", "set"], NUMBERS = ["batch", "images"];
const SAVED = {html: "text/html", json: "application/json", svg: "image/svg+xml", card: "text/markdown"};
const MAX_SHOWN = 100;  // models of the shelf at once
const ALLOWED = "allow-scripts allow-popups allow-popups-to-escape-sandbox";  // of a page in a frame
const base = new URL(".", document.baseURI).href;
const settings = await (await fetch(`${base}settings.json`)).json();
const {Answerer} = await import(settings.answerer === "server" ? "./by_server.js" : "./in_page.js");

let shown = "report", target = null, label = "", turn = 0, answers = new Map();
const answerer = new Answerer({base, settings, note, fail});

function note(text) { $("said").textContent = text; }

function busy(on) {
  for (const name of ["busy", "cancel"]) $(name).hidden = !on;
  document.body.setAttribute("aria-busy", on);
}

function fail(wrong, hint = "") {
  busy(false);
  $("error").hidden = false;
  $("wrong").textContent = wrong;
  $("hint").textContent = hint;
  note("");
}

function forget() {
  $("error").hidden = true;
  $("wrong").textContent = $("hint").textContent = "";
}

const isFile = () => typeof target === "string" && /^\/(files\d|dropped-)/.test(target);

function question(kind) {
  const asked = {kind, target};
  if (label !== target) asked.name = label;
  for (const name of FIELDS) {
    const value = $(name).value.trim();
    if (value) asked[name] = name === "set" ? value.split(/\s+/) : NUMBERS.includes(name) ? Number(value) : value;
  }
  if (kind !== "memory") for (const name of SIZES) delete asked[name];
  if (!asked.image) delete asked.images;
  if (kind !== "compare") delete asked.other;
  if (kind === "compare" || kind === "audit") delete asked.set;
  if ($("token").value && typeof target === "string" && !isFile()) asked.token = $("token").value;
  return asked;
}

async function show(kind) {
  if (target === null) return;
  shown = kind;
  drawTabs();
  forget();
  if (kind === "compare" && !$("other").value.trim()) {
    $("more").open = true;
    $("other").focus();
    clear();
    return fail("Compare needs another model", "type its name above and press Enter");
  }
  const asked = question(kind), key = JSON.stringify(asked), mine = ++turn;
  remember();
  let answer = answers.get(key);
  if (answer) { busy(false); note(""); }
  else {
    busy(true);
    const reply = await answerer.answer(asked, isFile() || typeof target !== "string" ? "Reading the files" : "Reading from the Hub");
    if (mine !== turn) return;  // somebody wants something else by now
    busy(false);
    answer = reply.answer;
    if (reply.heap) $("said").title = `Python holds ${(reply.heap / 1e6).toFixed()} MB`;
    note(answer.error ? "" : `answered in ${(reply.took / 1000).toFixed(reply.took < 1000 ? 2 : 1)} s`);
    if (!answer.error) answers.set(key, answer);
  }
  if (answer.error) {
    clear();
    return fail(answer.error, answer.hint);
  }
  draw(answer.html, `${KINDS[kind]} of ${label}`);
  if ($("panel").getBoundingClientRect().top > innerHeight * 0.75) $("tabs").scrollIntoView();
  document.title = `${label}: ${KINDS[kind]} - hfinspect`;
  offer(answer);
}

// Each answer has a frame of its own: in Chromium a sandboxed frame that was once not displayed keeps
// the height 0 for every page that follows.
function draw(html, title) {
  const page = document.createElement("iframe");
  page.id = "page";
  page.title = title;
  page.setAttribute("sandbox", ALLOWED);
  page.srcdoc = html;
  $("panel").replaceChildren(page);
  $("saves").hidden = false;
}

function clear() {
  $("panel").replaceChildren();
  $("saves").hidden = true;
}

function offer(answer) {
  const name = label.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "") || "model";
  for (const [kind, type] of Object.entries(SAVED)) {
    const link = $(`save-${kind}`);
    link.hidden = !answer[kind];
    URL.revokeObjectURL(link.href);
    if (!answer[kind]) continue;
    link.href = URL.createObjectURL(new Blob([answer[kind]], {type}));
    link.download = `${name}-${shown}.${kind === "card" ? "md" : kind}`;
  }
  $("link").hidden = typeof target !== "string" || isFile();
}

// ---- tabs

const tabs = Object.entries(KINDS).map(([kind, text]) => {
  const tab = document.createElement("button");
  tab.type = "button";
  tab.id = `tab-${kind}`;
  tab.textContent = text;
  tab.setAttribute("role", "tab");
  tab.setAttribute("aria-controls", "panel");
  tab.onclick = () => show(kind);
  return [kind, tab];
});
$("tabs").append(...tabs.map(([, tab]) => tab));

function drawTabs() {
  $("tabs").hidden = target === null;
  for (const [kind, tab] of tabs) {
    tab.setAttribute("aria-selected", kind === shown);
    tab.tabIndex = kind === shown ? 0 : -1;
  }
  $("panel").setAttribute("aria-labelledby", `tab-${shown}`);
}

$("tabs").onkeydown = (event) => {
  const kinds = Object.keys(KINDS), at = kinds.indexOf(shown), last = kinds.length - 1;
  const next = {ArrowRight: (at + 1) % kinds.length, ArrowLeft: (at + last) % kinds.length, Home: 0, End: last}[event.key];
  if (next === undefined) return;
  event.preventDefault();
  $(`tab-${kinds[next]}`).focus();
  show(kinds[next]);
};

// ---- links: #org/name&on=RTX+4090&context=32k&tab=memory

function remember() {
  if (typeof target !== "string" || isFile()) return history.replaceState(null, "", base);
  const parts = [encodeURIComponent(target).replaceAll("%2F", "/").replaceAll("%40", "@").replaceAll("%3A", ":")];
  for (const name of FIELDS) {
    const value = $(name).value.trim();
    if (value) parts.push(`${name}=${encodeURIComponent(value).replaceAll("%20", "+")}`);
  }
  if (shown !== "report") parts.push(`tab=${shown}`);
  history.replaceState(null, "", `${base}#${parts.join("&")}`);
}

function follow() {
  const [name, ...rest] = location.hash.slice(1).split("&");
  if (!name) return;
  const values = new URLSearchParams(rest.join("&"));
  for (const field of FIELDS) $(field).value = values.get(field) ?? "";
  $("more").open = FIELDS.some((field) => $(field).value);
  let model = name;
  try { model = decodeURIComponent(name); } catch { /* as it stands */ }
  $("model").value = model;
  shown = Object.hasOwn(KINDS, values.get("tab")) ? values.get("tab") : "report";
  ask(model, model);
}

function ask(model, name) {
  target = model;
  label = name;
  return show(shown);
}

$("ask").onsubmit = (event) => {
  event.preventDefault();
  const model = $("model").value.trim(), config = $("config").value.trim();
  if (model) return ask(model, model === target ? label : model);
  if (config) return ask({config}, target?.config === config ? label : "the config");
  if (target !== null) return show(shown);
  fail("no model", "type org/name, choose a file, or write a config");
};

$("cancel").onclick = () => {
  turn++;
  answerer.cancel();
  busy(false);
  note("cancelled");
};

$("link").onclick = async () => {
  try { await navigator.clipboard.writeText(location.href); note("the link is copied"); }
  catch { note(location.href); }
};

// ---- files of the user

async function take(list) {
  const files = list.filter(({name}) => !name.split("/").some((part) => part.startsWith(".")));
  forget();
  if (!files.length) return fail("no files", "drop .safetensors, .gguf, .bin or config.json");
  const mine = ++turn;
  busy(true);
  const {place, error, hint} = await answerer.take(files);
  if (mine !== turn) return;
  if (error) return fail(error, hint);
  const roots = new Set(files.map(({name}) => name.split("/")[0]));
  const inside = roots.size === 1 && files.some(({name}) => name.includes("/")) ? `/${[...roots][0]}` : "";
  const alone = files.length === 1 ? `/${files[0].name}` : inside;
  $("model").value = "";
  if (shown === "compare") shown = "report";
  ask(place + alone, files.length === 1 ? files[0].name : [...roots][0]);
}

const named = (files) => [...files].map((file) => ({name: file.webkitRelativePath || file.name, file}));
for (const id of ["files", "folder"]) $(id).onchange = () => { take(named($(id).files)); $(id).value = ""; };

async function entries(item, path = "") {
  if (item.isFile) {
    const file = await new Promise((done, wrong) => item.file(done, wrong));
    return [{name: path + item.name, file}];
  }
  const reader = item.createReader(), inside = [];
  for (;;) {
    const some = await new Promise((done, wrong) => reader.readEntries(done, wrong));
    if (!some.length || inside.length > 20000) return inside;
    for (const one of some) inside.push(...await entries(one, `${path}${item.name}/`));
  }
}

addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
addEventListener("drop", async (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const items = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!items.length) return take(named(event.dataTransfer.files));
  const inside = [];
  try { for (const item of items) inside.push(...await entries(item)); }
  catch (error) { return fail(`the browser cannot read it: ${error.message}`, "check its permissions"); }
  take(inside);
});

// ---- the models of this machine, where a server knows them

function size(bytes) {
  if (bytes === null) return "";
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), 4);
  return `${Number((bytes / 1000 ** power).toPrecision(3))} ${["B", "kB", "MB", "GB", "TB"][power]}`;
}

function drawShelf(models) {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const fitting = models.filter(({name}) => words.every((word) => name.toLowerCase().includes(word)));
  $("models").replaceChildren(...fitting.slice(0, MAX_SHOWN).map(({name, target: path, place, nbytes}) => {
    const row = document.createElement("li"), button = document.createElement("button"), more = document.createElement("span");
    button.type = "button";
    button.textContent = name;
    button.onclick = () => {
      $("shelf").open = false;
      $("model").value = path;
      if (shown === "compare") shown = "report";
      ask(path, name);
    };
    more.textContent = ` ${size(nbytes)}${place === "cache" ? " in the Hub's cache" : ""}`;
    row.append(button, more);
    return row;
  }));
  const left = fitting.length - MAX_SHOWN;
  $("count").textContent = left > 0 ? `and ${left} more: type to see fewer`
    : fitting.length ? "" : models.length ? "no model has such a name" : "none";
}

async function openShelf() {
  const models = await answerer.shelf();
  if (models.error) return fail(models.error, models.hint);
  $("search").oninput = () => drawShelf(models);
  drawShelf(models);
}

// ---- beginning

for (const name of settings.engines) $("engine").add(new Option(name === "logical" ? "any (the least)" : name, name === "logical" ? "" : name));
for (const name of settings.cards) $("cards").append(new Option(name, name));
for (const [name, config] of Object.entries(settings.examples)) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = name;
  button.onclick = () => {
    $("model").value = "";
    $("config").value = JSON.stringify(config, null, 1);
    shown = "report";
    ask({config: $("config").value}, name);
  };
  $("examples").append(button, " ");
}
addEventListener("hashchange", follow);
if (settings.answerer === "server") openShelf();
follow();
document.documentElement.dataset.started = "yes";
