// Answers of this page itself: a worker runs hfinspect in Pyodide. An answerer has `answer`, `take`,
// `cancel` and `shelf`; the other one is by_server.js.
const FIRST = "Loading Python (8 MB, once)", AGAIN = "Starting Python again";

export class Answerer {
  constructor({base, settings, note, fail}) {
    Object.assign(this, {base, settings, note, fail});
    this.count = this.places = 0;
    this.waiting = new Map();  // what the worker was asked, in order -> its message and who waits
    this.taken = [];  // files that are mounted, and where
    this.start(FIRST);
  }

  start(said) {
    // A worker of a blob obeys this page's policy: it reaches the Hub and its storage, nobody else.
    const code = new Blob([`import ${JSON.stringify(`${this.base}worker.js`)};`], {type: "text/javascript"});
    const address = URL.createObjectURL(code);
    const worker = this.worker = new Worker(address, {type: "module"});
    this.state = "starting";
    this.ready = new Promise((done) => { worker.onmessage = ({data}) => {
      if (worker !== this.worker) return;
      if (data.ready) {
        URL.revokeObjectURL(address);
        this.state = "ready";
        this.note("");
        return done();
      }
      if ("note" in data) return this.note(data.note);
      if ("failed" in data) return this.unstarted(data.failed, "check the network, and ask again");
      if ("fatal" in data) return this.ended(data.fatal, data.id);
      this.waiting.get(data.id)?.done(data);
      this.waiting.delete(data.id);
    }; });
    worker.onerror = worker.onmessageerror = ({message}) => {
      if (worker !== this.worker) return;
      if (this.state === "ready") this.ended(message || "an answer cannot be read", this.waiting.keys().next().value);
      else this.unstarted("the page cannot start Python", "reload the page, or use a newer browser");
    };
    worker.postMessage({begin: {base: this.base, endpoint: this.settings.endpoint, said}});
    for (const mounted of this.taken) worker.postMessage(mounted);
  }

  // The next question tries once more.
  unstarted(wrong, hint) {
    this.worker.terminate();
    this.waiting.clear();
    this.state = "failed";
    this.fail(wrong, hint);
  }

  // Python is past use, by what it did for the question `id` or, without one, between questions. What
  // waits behind that question is asked again, of a new worker.
  ended(reason, id) {
    const asked = this.waiting.get(id);
    this.waiting.delete(id);
    this.worker.terminate();
    this.start(asked ? AGAIN : `Python broke down (${reason}) and starts again`);
    for (const {message} of this.waiting.values()) this.worker.postMessage(message);
    asked?.done({answer: {
      error: `Python broke down on this question (${reason}) and was started again`,
      hint: "ask something else; please report it with what you typed",
    }});
  }

  async call(question) {
    if (this.state === "failed") this.start(AGAIN);
    await this.ready;
    const message = {...question, id: ++this.count};
    return new Promise((done) => {
      this.waiting.set(message.id, {message, done});
      this.worker.postMessage(message);
    });
  }

  // -> {answer, took: milliseconds, heap: bytes}
  answer(question, note) { return this.call({question, note}); }

  // Files that the user chose -> the path of their folder. Another worker mounts them again.
  async take(files) {
    const place = `/files${this.places++}`;
    const {answer} = await this.call({files, place});
    if (answer) return answer;
    this.taken.push({files, place});
    return {place};
  }

  // Python cannot be interrupted: it starts anew.
  cancel() {
    this.worker.terminate();
    this.waiting.clear();
    this.start(AGAIN);
  }

  async shelf() { return []; }
}
