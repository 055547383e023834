'use strict';
// Everything that a user chose, and its text in the address. What is as at first is left out,
// and so is a dropped trace, {name, path}.

const State = (() => {
  const SIDE = {model: 'llama-3.1-8b', config: '', device: 'h100-sxm', count: 1, engine: '',
    environment: 'native', share: 0, batch: 0, length: 16384, source: ''};
  const TRAFFIC = {load: 'rate', rate: 12, users: 100, prompt: 1000, output: 130, spread: 'chat',
    requests: 7200};
  const LOADS = ['rate', 'users'];
  const SPREADS = ['chat', 'equal'];

  function write(into, prefix, values, first) {
    for (const [name, value] of Object.entries(values)) {
      if (value !== first[name]) into.set(prefix + name, value);
    }
  }

  function text(state) {
    const into = new URLSearchParams();
    write(into, '', state.a, SIDE);
    write(into, '', state.traffic, TRAFFIC);
    if (state.b) {
      into.set('b', '');
      write(into, 'b.', state.b, SIDE);
    }
    return into.toString();
  }

  // A value of the address where it is of the right sort, else the first one.
  function read(from, prefix, first) {
    const values = {...first};
    for (const [name, usual] of Object.entries(first)) {
      const given = from.get(prefix + name);
      if (given === null) continue;
      if (typeof usual === 'string') {
        values[name] = given;
      } else if (Number.isFinite(Number(given)) && Number(given) >= 0) {
        values[name] = Number(given);
      }
    }
    return values;
  }

  function parse(hash) {
    const from = new URLSearchParams(hash.replace(/^#/, ''));
    const traffic = read(from, '', TRAFFIC);
    if (!LOADS.includes(traffic.load)) traffic.load = TRAFFIC.load;
    if (!SPREADS.includes(traffic.spread)) traffic.spread = TRAFFIC.spread;
    return {a: read(from, '', SIDE), b: from.has('b') ? read(from, 'b.', SIDE) : null, traffic,
      trace: null};
  }

  return {text, parse};
})();
