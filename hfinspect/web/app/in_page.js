// Answers of this page itself: a worker runs hfinspect in Pyodide. An answerer has `ready`, `answer`,
// `take`, `cancel` and `shelf`; the other one is by_server.js.
export class Answerer {
  constructor({base, settings, note, fail}) {
    Object.assign(this, {base, settings, note, fail, taken: []});
    this.keepsToken = false;
    this.start();
  }

  start() {
    // A worker of a blob obeys this page's policy: it reaches the Hub and its storage, nobody else.
    const code = new Blob([`import ${JSON.stringify(`${this.base}worker.js`)};`], {type: "text/javascript"});
    const address = URL.createObjectURL(code);
    this.waiting = new Map();
    this.count = 0;
    this.worker = new Worker(address, {type: "module"});
    this.ready = new Promise((done) => { this.worker.onmessage = ({data}) => {
      if (data.ready) { URL.revokeObjectURL(address); return done(); }
      if ("note" in data) return this.note(data.note);
      if (data.failed) return this.fail(data.failed, "check the network, and reload the page");
      this.waiting.get(data.id)?.(data);
      this.waiting.delete(data.id);
    }; });
    this.worker.onerror = () => this.fail("the page cannot start Python", "reload the page, or use a newer browser");
    this.worker.postMessage({begin: {base: this.base, endpoint: this.settings.endpoint}});
    for (const files of this.taken) this.worker.postMessage({files});
  }

  call(message) {
    const id = ++this.count;
    return new Promise((done) => { this.waiting.set(id, done); this.worker.postMessage({...message, id}); });
  }

  // -> {answer, took: milliseconds, heap: bytes}
  async answer(question, note) {
    await this.ready;
    return this.call({question, note});
  }

  // Files that the user chose -> the path of their folder. After a cancel they are mounted again.
  async take(files) {
    await this.ready;
    const {place, answer} = await this.call({files});
    if (answer) return answer;
    this.taken.push(files);
    return {place};
  }

  // Python cannot be interrupted: it starts anew.
  cancel() {
    this.worker.terminate();
    this.start();
  }

  async shelf() { return []; }
}
