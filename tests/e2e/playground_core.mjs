// The simulator of a playground as its worker runs it, without a browser:
//   node playground_core.mjs PLAYGROUND < requests
// One request (playground/core/calls.hpp) on each line; its answer is printed on one line, with the
// time it took in "ms". Kernel times are loaded when a request needs them.

import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {gunzipSync} from 'node:zlib';

const folder = process.argv[2];

function packed(name) {
  const script = readFileSync(join(folder, 'data', `${name}.js`), 'utf8');
  return gunzipSync(Buffer.from(/, '([^']*)'/.exec(script)[1], 'base64'));
}

let receive = null;   // the worker's handler
let answered = null;  // takes its next message
const worker = {
  addEventListener: (name, handler) => { receive = (data) => handler({data}); },
  postMessage: (data) => answered(data),
};
const script = new Function('require', '__filename', '__dirname', 'self',
  packed('core.script').toString());
script(createRequire(import.meta.url), join(folder, 'core.js'), folder, worker);

function ask(message) {
  return new Promise((resolve) => {
    answered = resolve;
    receive(message);
  });
}

await ask({start: packed('core.wasm')});
const stubs = JSON.parse(packed('kernels').toString());
for (const [file, text] of Object.entries(stubs)) receive({times: file, text});

async function answerTo(request) {
  const {answer, ms} = await ask({id: 0, request});
  const {error} = answer;
  if (error?.kind !== 'unreadable' || !error.origin.startsWith('kernels/')) return {...answer, ms};
  const file = error.origin.slice('kernels/'.length);
  const section = packed(`${file.replace(/\.txt$/, '')}.${error.value.replace(' ', '.')}`)
    .toString();
  const line = section.slice(0, section.indexOf('\n') + 1);
  stubs[file] = stubs[file].replace(line, () => section);
  receive({times: file, text: stubs[file]});
  return answerTo(request);
}

for await (const line of createInterface({input: process.stdin})) {
  console.log(JSON.stringify(await answerTo(JSON.parse(line))));
}
