// Runs hfinspect in Pyodide: one question after the other, each answered by hfinspect.web.answering.
let base, python, answering, mounted = 0;

const say = (text) => postMessage({said: text});

async function inflated(url) {
  const reply = await fetch(url);
  if (!reply.ok) throw new Error(`${url}: status ${reply.status}`);
  const stream = reply.body.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function begin(settings) {
  base = settings.base;
  say("Python is being loaded (8 MB, once)");
  const packed = inflated(`${base}hfinspect.bin`);
  const {loadPyodide} = await import(`${base}pyodide/pyodide.mjs`);
  const env = {HOME: "/home/pyodide"};
  if (settings.endpoint) env.HF_ENDPOINT = settings.endpoint;
  python = await loadPyodide({indexURL: `${base}pyodide/`, env});
  python.unpackArchive(await packed, "zip");
  answering = python.pyimport("hfinspect.web.answering");
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

onmessage = async ({data}) => {
  try {
    if (data.begin) return await begin(data.begin);
    if (data.files) return postMessage({id: data.id, place: mount(data.files)});
    say(data.said || "");
    const started = performance.now();
    const text = answering.answer(JSON.stringify(data.question));
    postMessage({id: data.id, answer: JSON.parse(text), took: performance.now() - started});
  } catch (error) {
    const lines = String(error.message || error).trim().split("\n");
    postMessage({id: data.id, answer: {
      error: `a bug of hfinspect: ${lines[lines.length - 1]}`,
      hint: "please report it with what you typed",
    }});
  }
};
