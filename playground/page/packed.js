'use strict';
// The page's data: gzip files as scripts, because a page from a disk may load nothing else.

const Packed = (() => {
  const loads = new Map();  // name -> {promise, resolve, reject}

  // Called by the scripts in data/.
  function put(name, base64) {
    loads.get(name).resolve(unpacked(base64));
  }

  async function unpacked(base64) {
    const letters = atob(base64);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < bytes.length; ++i) bytes[i] = letters.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  // The bytes of data/`name`, read once.
  function load(name) {
    if (!loads.has(name)) {
      const waiting = {};
      waiting.promise = new Promise((resolve, reject) => Object.assign(waiting, {resolve, reject}));
      loads.set(name, waiting);
      const script = document.createElement('script');
      script.src = `data/${name}.js`;
      script.addEventListener('error', () => {
        loads.delete(name);
        waiting.reject(new Error(`${script.src} cannot be loaded`));
      });
      document.head.append(script);
    }
    return loads.get(name).promise;
  }

  async function text(name) {
    return new TextDecoder().decode(await load(name));
  }

  return {put, load, text};
})();
