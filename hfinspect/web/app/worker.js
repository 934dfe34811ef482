// Runs hfinspect in Pyodide: one question after the other, each answered by hfinspect.web.answering.
let python, answering, reach, mounted = 0, prepared = false;
let started;
const begun = new Promise((done) => { started = done; });

const note = (text) => postMessage({note: text});

async function inflated(url) {
  const reply = await fetch(url);
  if (!reply.ok) throw new Error(`${url}: status ${reply.status}`);
  const stream = reply.body.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function begin({base, endpoint}) {
  note("Loading Python (8 MB, once)");
  const packed = inflated(`${base}hfinspect.bin`);
  packed.catch(() => {});  // it is awaited below, perhaps after another error
  const {loadPyodide} = await import(`${base}pyodide/pyodide.mjs`);
  const env = {HOME: "/home/pyodide"};
  if (endpoint) env.HF_ENDPOINT = endpoint;
  python = await loadPyodide({indexURL: `${base}pyodide/`, env});
  python.unpackArchive(await packed, "zip");
  answering = python.pyimport("hfinspect.web.answering");
  reach = answering.Reach.callKwargs({opened: answering.OpenModels()});
  started();
  postMessage({ready: true});
}

// Files that were dropped are a folder whose bytes are read by slices when they are wanted.
function mount(files) {
  const place = `/files${mounted++}`;
  python.FS.mkdirTree(place);
  const blobs = files.map(({name, file}) => ({name, data: file}));
  python.FS.mount(python.FS.filesystems.WORKERFS, {blobs}, place);
  return place;
}

const lastLine = (error) => String(error.message || error).trim().split("\n").at(-1);

onmessage = async ({data}) => {
  if (data.begin) {
    try { return await begin(data.begin); }
    catch (error) { return postMessage({failed: `Python cannot be loaded: ${lastLine(error)}`}); }
  }
  await begun;
  try {
    if (data.files) return postMessage({id: data.id, place: mount(data.files)});
    note(data.note || "");
    const since = performance.now();
    const answer = JSON.parse(answering.answer(JSON.stringify(data.question), reach));
    postMessage({id: data.id, answer, took: performance.now() - since, heap: python._module.HEAPU8.length});
    if (!prepared) setTimeout(() => answering.prepare());  // for the other tabs, while it is read
    prepared = true;
  } catch (error) {
    postMessage({id: data.id, answer: {
      error: `a bug of hfinspect: ${lastLine(error)}`,
      hint: "please report it with what you typed",
    }});
  }
};
