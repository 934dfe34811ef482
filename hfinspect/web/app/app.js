// The page: a form, tabs, and a worker that answers. What comes from a model is text, or a page of its
// own in a sandbox.
const $ = (id) => document.getElementById(id);
const KINDS = {report: "Report", memory: "Memory", explain: "Where from", audit: "Audit", compare: "Compare"};
const FIELDS = ["on", "context", "engine", "batch", "other", "set"];
const base = new URL(".", document.baseURI).href;
const settings = await (await fetch("settings.json")).json();

let worker, ready, waiting = new Map(), number = 0, shown = "report", target = null, label = "";
let answers = new Map();

function start() {
  // A worker of a blob obeys this page's policy: it reaches the Hub and its storage, nobody else.
  const code = new Blob([`import ${JSON.stringify(`${base}worker.js`)};`], {type: "text/javascript"});
  worker = new Worker(URL.createObjectURL(code), {type: "module"});
  ready = new Promise((done) => { worker.onmessage = ({data}) => {
    if (data.ready) return done();
    if ("said" in data) return said(data.said);
    waiting.get(data.id)?.(data);
    waiting.delete(data.id);
  }; });
  worker.onerror = () => failed("the page cannot start Python", "reload the page, or use a newer browser");
  worker.postMessage({begin: {base, endpoint: settings.endpoint}});
}

function call(message) {
  const id = ++number;
  return new Promise((done) => { waiting.set(id, done); worker.postMessage({...message, id}); });
}

function said(text) { $("said").textContent = text; }

function busy(on) {
  for (const name of ["busy", "cancel"]) $(name).hidden = !on;
  document.body.setAttribute("aria-busy", on);
}

function failed(wrong, hint = "") {
  $("error").hidden = false;
  $("wrong").textContent = wrong;
  $("hint").textContent = hint;
  said("");
}

function question(kind) {
  const found = {kind, target};
  if (label !== target) found.name = label;
  for (const name of FIELDS) {
    const value = $(name).value.trim();
    if (!value) continue;
    found[name] = name === "set" ? value.split(/\s+/) : name === "batch" ? Number(value) : value;
  }
  if (kind !== "memory") for (const name of ["on", "context", "engine", "batch"]) delete found[name];
  if (kind === "compare") delete found.set;
  if ($("token").value && typeof target === "string") found.token = $("token").value;
  return found;
}

async function show(kind) {
  if (target === null) return;
  shown = kind;
  tabs();
  if (kind === "compare" && !$("other").value.trim()) {
    $("more").open = true;
    $("other").focus();
    return failed("Compare needs another model", "type its name above");
  }
  const asked = question(kind), key = JSON.stringify(asked);
  $("error").hidden = true;
  $("wrong").textContent = $("hint").textContent = "";
  remember();
  let found = answers.get(key);
  if (!found) {
    busy(true);
    const before = number;
    await ready;
    const where = typeof target === "string" && !target.startsWith("/files") ? "the Hub is being read" : "it is being read";
    found = await call({question: asked, said: where});
    if (number !== before + 1) return;  // somebody wants something else by now
    busy(false);
    said(found.took ? `answered in ${(found.took / 1000).toFixed(found.took < 1000 ? 2 : 1)} s` : "");
    found = found.answer;
    if (!found.error) answers.set(key, found);
  } else said("");
  if (found.error) { $("page").hidden = $("saves").hidden = true; return failed(found.error, found.hint); }
  $("page").hidden = $("saves").hidden = false;
  $("page").srcdoc = found.html;
  $("page").title = `${KINDS[kind]} of ${label}`;
  document.title = `${label}: ${KINDS[kind]} - hfinspect`;
  saves(found);
}

function saves(found) {
  const name = label.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "") || "model";
  const kinds = {html: "text/html", json: "application/json", svg: "image/svg+xml", card: "text/markdown"};
  for (const [kind, type] of Object.entries(kinds)) {
    const link = $(`save-${kind}`);
    link.hidden = !found[kind];
    if (!found[kind]) continue;
    URL.revokeObjectURL(link.href);
    link.href = URL.createObjectURL(new Blob([found[kind]], {type}));
    link.download = `${name}-${shown}.${kind === "card" ? "md" : kind}`;
  }
}

function tabs() {
  const list = $("tabs");
  list.hidden = target === null;
  list.replaceChildren(...Object.entries(KINDS).map(([kind, text]) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `tab-${kind}`;
    tab.textContent = text;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", "panel");
    tab.setAttribute("aria-selected", kind === shown);
    tab.tabIndex = kind === shown ? 0 : -1;
    tab.onclick = () => show(kind);
    return tab;
  }));
  $("panel").setAttribute("aria-labelledby", `tab-${shown}`);
}

$("tabs").onkeydown = (event) => {
  const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
  if (!step) return;
  const kinds = Object.keys(KINDS);
  const next = kinds[(kinds.indexOf(shown) + step + kinds.length) % kinds.length];
  show(next);
  $(`tab-${next}`).focus();
};

// ---- links: #org/name&on=RTX+4090&context=32k&tab=memory

function remember() {
  if (typeof target !== "string" || target.startsWith("/files")) return history.replaceState(null, "", base);
  const parts = [encodeURIComponent(target).replaceAll("%2F", "/").replaceAll("%40", "@").replaceAll("%3A", ":")];
  for (const name of FIELDS) {
    const value = $(name).value.trim();
    if (value) parts.push(`${name}=${encodeURIComponent(value).replaceAll("%20", "+")}`);
  }
  if (shown !== "report") parts.push(`tab=${shown}`);
  history.replaceState(null, "", `${base}#${parts.join("&")}`);
}

function follow() {
  const [name, ...rest] = decodeURIComponent("").concat(location.hash.slice(1)).split("&");
  if (!name) return;
  const values = new URLSearchParams(rest.join("&"));
  for (const field of FIELDS) $(field).value = values.get(field) ?? "";
  $("more").open = FIELDS.some((field) => $(field).value);
  let model = name;
  try { model = decodeURIComponent(name); } catch { /* as it stands */ }
  $("model").value = model;
  shown = values.get("tab") in KINDS ? values.get("tab") : "report";
  ask(model, model);
}

function ask(model, name) {
  target = model;
  label = name;
  show(shown);
}

$("ask").onsubmit = (event) => {
  event.preventDefault();
  const model = $("model").value.trim(), config = $("config").value.trim();
  if (!model && config) return ask({config}, "the config");
  if (!model && target !== null) return show(shown);
  if (!model) return failed("no model", "type org/name, choose a file, or write a config");
  ask(model, model);
};

$("cancel").onclick = () => {
  worker.terminate();
  waiting.clear();
  number += 2;
  busy(false);
  said("cancelled");
  start();
};

$("link").onclick = async () => {
  try { await navigator.clipboard.writeText(location.href); said("the link is copied"); }
  catch { said(location.href); }
};

// ---- files of the user

async function take(list) {
  const files = list.filter(({name}) => !name.split("/").some((part) => part.startsWith(".")));
  if (!files.length) return failed("no files", "drop .safetensors, .gguf, .bin or config.json");
  busy(true);
  await ready;
  const {place, answer} = await call({files});
  busy(false);
  if (answer) return failed(answer.error, answer.hint);
  const roots = new Set(files.map(({name}) => name.split("/")[0]));
  const inside = roots.size === 1 && files.some(({name}) => name.includes("/")) ? `/${[...roots][0]}` : "";
  const alone = files.length === 1 ? `/${files[0].name}` : inside;
  $("model").value = "";
  ask(place + alone, files.length === 1 ? files[0].name : [...roots][0]);
}

const named = (files) => [...files].map((file) => ({name: file.webkitRelativePath || file.name, file}));
$("files").onchange = () => take(named($("files").files));
$("folder").onchange = () => take(named($("folder").files));

async function entries(item, path = "") {
  if (item.isFile) {
    const file = await new Promise((done, fail) => item.file(done, fail));
    return [{name: path + item.name, file}];
  }
  const reader = item.createReader(), found = [];
  for (;;) {
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!some.length || found.length > 20000) return found;
    for (const one of some) found.push(...await entries(one, `${path}${item.name}/`));
  }
}

addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
addEventListener("drop", async (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const items = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!items.length) return take(named(event.dataTransfer.files));
  const found = [];
  for (const item of items) found.push(...await entries(item));
  take(found);
});

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
start();
ready.then(() => { if ($("said").textContent.startsWith("Python")) said(""); });
follow();
document.documentElement.dataset.started = "yes";
