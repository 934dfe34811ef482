// Runs hfinspect in Pyodide: one question after the other, each answered by hfinspect.web.answering.
let python, answering, reach, passing, prepared = false;
let started;
const begun = new Promise((done) => { started = done; });

const note = (text) => postMessage({note: text});

async function inflated(url) {
  const reply = await fetch(url);
  if (!reply.ok) throw new Error(`${url}: status ${reply.status}`);
  const stream = reply.body.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function begin({base, endpoint, said}) {
  note(said);
  const packed = inflated(`${base}hfinspect.bin`);
  packed.catch(() => {});  // it is awaited below, perhaps after another error
  const {loadPyodide} = await import(`${base}pyodide/pyodide.mjs`);
  const env = {HOME: "/home/pyodide"};
  if (endpoint) env.HF_ENDPOINT = endpoint;
  python = await loadPyodide({indexURL: `${base}pyodide/`, env});
  passing = [python.ffi.PythonError, python.FS.ErrnoError];
  python.unpackArchive(await packed, "zip");
  answering = python.pyimport("hfinspect.web.answering");
  reach = answering.Reach.callKwargs({opened: answering.OpenModels()});
  started();
  postMessage({ready: true});
}

// Files that were dropped are a folder whose bytes are read by slices when they are wanted.
function mount(files, place) {
  python.FS.mkdirTree(place);
  const blobs = files.map(({name, file}) => ({name, data: file}));
  python.FS.mount(python.FS.filesystems.WORKERFS, {blobs}, place);
}

const lastLine = (error) => String(error.message || error).trim().split("\n").at(-1).slice(0, 300);

// Python goes on after an exception of its own, but for one: memory that it has taken is never given
// back. After any other error, as of a stack that has no room left, it answers nothing more.
const isFatal = (error) => error.type === "MemoryError" || !passing.some((kind) => error instanceof kind);

function prepare() {
  try { answering.prepare(); }
  catch (error) { if (isFatal(error)) postMessage({fatal: lastLine(error)}); }
}

// As an error that nobody catches it reaches the page, which starts another worker.
onmessageerror = () => { throw new Error("a message cannot be read"); };

onmessage = async ({data}) => {
  if (data.begin) {
    try { return await begin(data.begin); }
    catch (error) { return postMessage({failed: `Python cannot be loaded: ${lastLine(error)}`}); }
  }
  await begun;
  try {
    if (data.files) {
      mount(data.files, data.place);
      return postMessage({id: data.id});
    }
    note(data.note || "");
    const since = performance.now();
    const answer = JSON.parse(answering.answer(JSON.stringify(data.question), reach));
    postMessage({id: data.id, answer, took: performance.now() - since, heap: python._module.HEAPU8.length});
    if (!prepared) setTimeout(prepare);  // for the other tabs, while it is read
    prepared = true;
  } catch (error) {
    if (isFatal(error)) return postMessage({id: data.id, fatal: lastLine(error)});
    postMessage({id: data.id, answer: {
      error: `a bug of hfinspect: ${lastLine(error)}`,
      hint: "please report it with what you typed",
    }});
  }
};
