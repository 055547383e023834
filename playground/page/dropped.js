'use strict';
// What a dropped file is: a model's config.json, a trace of requests, or what someone runs. It
// stays in this page.

const Dropped = (() => {
  const MIB = 2 ** 20;
  const MOST = {config: MIB, source: MIB, trace: 64 * MIB};

  async function textOf(file) {
    if (!file.name.endsWith('.gz')) return file.text();
    return new Response(file.stream().pipeThrough(new DecompressionStream('gzip'))).text();
  }

  function kindOf(name, text) {
    if (/\.(jsonl|csv)$/.test(name)) return 'trace';
    const first = text.trimStart()[0];
    if (first !== '{') return first === '[' ? 'trace' : 'source';
    const document = JSON.parse(text);
    return document.model_type || document.architectures ? 'config' : 'trace';
  }

  // {kind: 'config', 'source' or 'trace', name, text}. Error: it is too large, or no JSON.
  async function read(file) {
    const check = (bytes, most) => {
      if (bytes > most) {
        throw new Error(`${Format.number(bytes / MIB)} MiB: expected at most ${most / MIB} MiB`);
      }
    };
    check(file.size, MOST.trace);
    const name = file.name.replace(/\.gz$/, '').replace(/[^\w.-]/g, '_');
    const text = await textOf(file);
    const kind = kindOf(name, text);
    check(text.length, MOST[kind]);
    return {kind, name, text: kind === 'config' ? JSON.stringify(JSON.parse(text)) : text.trim()};
  }

  return {read};
})();
