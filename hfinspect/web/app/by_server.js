// Answers of `hfinspect serve`, the server that this page is from. Its token came behind the # of the
// address, and leaves it at once; this tab keeps it until it is closed.
const KEPT = "hfinspect-token";

function token() {
  const found = /^#token=([\w-]+)/.exec(location.hash);
  if (!found) return sessionStorage.getItem(KEPT) ?? "";
  sessionStorage.setItem(KEPT, found[1]);
  const rest = location.hash.slice(found[0].length).replace(/^&/, "");
  history.replaceState(null, "", `${location.pathname}${rest ? `#${rest}` : ""}`);
  return found[1];
}

export class Answerer {
  constructor({base, note}) {
    Object.assign(this, {base, note, token: token(), count: 0, dropped: new Map()});
    this.page = crypto.randomUUID();
    addEventListener("pagehide", () => this.cancel());
  }

  async ask(path, body, more = {}) {
    const reply = await fetch(`${this.base}${path}`, {
      method: "POST", body, headers: {Authorization: `Bearer ${this.token}`}, ...more,
    });
    return reply.json();
  }

  async answer(question, note) {
    this.note(note);
    this.cancel();
    const mine = this.running = `${this.page}.${++this.count}`;
    const started = performance.now(), files = this.dropped.get(/^\/[\w-]+/.exec(question.target)?.[0]);
    const finished = new AbortController();
    if (files) this.#lend(files, finished.signal);
    try {
      const answer = await this.ask(`answer?${mine}`, JSON.stringify(question));
      return {answer, took: performance.now() - started};
    } catch {
      return {answer: {error: "the server does not answer", hint: "start it again: hfinspect serve"}};
    } finally {
      finished.abort();
      if (this.running === mine) this.running = "";
    }
  }

  cancel() {
    if (this.running) this.ask(`cancel?${this.running}`, "", {keepalive: true}).catch(() => {});
    this.running = "";
  }

  async shelf() {
    try { return await this.ask("shelf", ""); } catch { return []; }
  }

  // The server asks for the parts of a dropped file that it reads; the file itself is not sent.
  async take(files) {
    const list = files.map(({name, file}) => ({name, size: file.size}));
    const found = await this.ask("drop", JSON.stringify(list));
    if (found.place) this.dropped.set(found.place, {place: found.place, files: new Map(files.map(({name, file}) => [name, file]))});
    return found;
  }

  async #lend({place, files}, signal) {
    let part = "", id = "";
    while (!signal.aborted) {
      try {
        const wanted = await this.ask(`part?${place.slice(1)}.${id}`, part, {signal});
        if (wanted.error) return;
        part = id = "";
        if (wanted.name === undefined) continue;
        id = wanted.id;
        part = files.get(wanted.name)?.slice(wanted.start, wanted.stop) ?? "";
      } catch { return; }
    }
  }
}
