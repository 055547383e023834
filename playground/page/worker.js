'use strict';
// The simulator in its thread. Behind core.js, in one script.
//
// Messages in: {start: wasm bytes}, {file: path, text}, {times: name, text} and {id, request}.
// Out: {ready: true} once, then {id, answer, ms} for each request, in order.

/* global HeadroomCore */

let core = null;

function withText(text, use) {
  const size = core.lengthBytesUTF8(text) + 1;
  const at = core._malloc(size);
  core.stringToUTF8(text, at, size);
  try {
    return use(at);
  } finally {
    core._free(at);
  }
}

function call(request) {
  return JSON.parse(withText(JSON.stringify(request),
    (at) => core.UTF8ToString(core._headroom_call(at))));
}

function setTimes(name, text) {
  withText(name, (atName) => withText(text, (atText) =>
    core._headroom_set_kernel_times(atName, atText)));
}

self.addEventListener('message', async ({data}) => {
  if (data.start) {
    core = await HeadroomCore({wasmBinary: data.start});
    self.postMessage({ready: true});
  } else if (data.file) {
    core.FS.writeFile(data.file, data.text);
  } else if (data.times) {
    setTimes(data.times, data.text);
  } else {
    const before = performance.now();
    const answer = call(data.request);
    self.postMessage({id: data.id, answer, ms: performance.now() - before});
  }
});
