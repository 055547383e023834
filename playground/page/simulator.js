'use strict';
// The simulator: one worker, one request at a time, kernel times loaded when a request needs them.

const Simulator = (() => {
  let worker = null;
  let running = null;       // the request that the worker has
  const waiting = [];       // those behind it, the most urgent first
  const tables = new Map(); // file of kernel times -> its text up to the sections, and these
  let next = 0;

  // {facts, sections: [{line, name, text}]} of a file whose sections are not loaded.
  function tableOf(stub) {
    const [facts, ...lines] = stub.split(/^(?=class )/m);
    return {facts, sections: lines.map((line) => {
      const [, kind, engine] = line.trim().split(' ');
      return {name: `${kind} ${engine}`, text: line};
    })};
  }

  function sendTable(file) {
    const {facts, sections} = tables.get(file);
    worker.postMessage({times: file, text: facts + sections.map((one) => one.text).join('')});
  }

  async function start() {
    const [wasm, script, stubs] = await Promise.all([Packed.load('core.wasm'),
      Packed.text('core.script'), Packed.text('kernels')]);
    const url = URL.createObjectURL(new Blob([script], {type: 'text/javascript'}));
    worker = new Worker(url);
    URL.revokeObjectURL(url);
    await new Promise((resolve, reject) => {
      worker.addEventListener('error', (event) => reject(new Error(event.message)));
      worker.addEventListener('message', ({data}) => data.ready ? resolve() : take(data));
      worker.postMessage({start: wasm}, [wasm.buffer]);
    });
    for (const [file, stub] of Object.entries(JSON.parse(stubs))) {
      tables.set(file, tableOf(stub));
      sendTable(file);
    }
  }

  function take({id, answer, ms}) {
    const request = running;
    if (request?.id !== id) return;
    const {error} = answer;
    if (error?.kind === 'unreadable' && error.origin.startsWith('kernels/')) {
      loadTimes(error.origin.slice('kernels/'.length), error.value).then(
        () => worker.postMessage({id, request: request.call}),
        (reason) => finish({error: {sentence: reason.message}}, 0));
    } else {
      finish(answer, ms);
    }
  }

  // What nearly every model needs is loaded together with what is asked for.
  const USUAL = ['linear', 'prefill_attention', 'decode_attention'];

  async function loadTimes(file, name) {
    const system = file.replace(/\.txt$/, '');
    const engine = name.split(' ')[1];
    const {sections} = tables.get(file);
    const wanted = sections.filter((one) => one.name === name || USUAL.some((kind) =>
      one.name === `${kind} ${engine}` || engine === 'all' && one.name.startsWith(`${kind} `)));
    await Promise.all(wanted.map(async (one) => {
      one.text = await Packed.text(`${system}.${one.name.replace(' ', '.')}`);
    }));
    sendTable(file);
  }

  function finish(answer, ms) {
    const request = running;
    running = null;
    request.resolve(answer.error ? Promise.reject(answer.error) : {...answer, ms});
    goOn();
  }

  function goOn() {
    if (running || waiting.length === 0) return;
    running = waiting.shift();
    worker.postMessage({id: running.id, request: running.call});
  }

  // The answer to `request` (playground/core/calls.hpp). Rejects with {sentence, ...}. A request of
  // the same `channel` that still waits is dropped: its promise resolves to null.
  function call(request, {channel = '', priority = 0} = {}) {
    return new Promise((resolve) => {
      if (channel) drop(channel);
      waiting.push({id: next++, call: request, channel, priority, resolve});
      waiting.sort((a, b) => a.priority - b.priority || a.id - b.id);
      goOn();
    });
  }

  function drop(channel) {
    for (let i = waiting.length - 1; i >= 0; --i) {
      if (waiting[i].channel === channel) waiting.splice(i, 1)[0].resolve(null);
    }
  }

  // A file that scenarios may name.
  function write(path, text) {
    worker.postMessage({file: path, text});
  }

  return {start, call, drop, write};
})();
