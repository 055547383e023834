'use strict';
// The scenario document of a side, from what was chosen.

const Scenarios = (() => {
  // Shaped like the Azure 2023 conversation trace (scenarios/demo.json).
  const SIGMA = {prompt: 0.8, output: 1.0};
  const MOST = {prompt: 12, output: 16};  // times the median
  const USERS_S = 600;                    // simulated time of a closed loop
  const POINT_REQUESTS = 2000;            // of a point of a curve
  const TARGETS = {ttft_ms: 1000, tpot_ms: 50};

  function lengths(name, traffic) {
    const median = traffic[name];
    if (traffic.spread === 'equal') return {law: 'fixed', tokens: median};
    return {law: 'lognormal', median, sigma: SIGMA[name], max: median * MOST[name]};
  }

  function workload(traffic) {
    const most = traffic.spread === 'equal' ? traffic.output : traffic.output * MOST.output;
    const law = {prompt: lengths('prompt', traffic), output: lengths('output', traffic),
      max_tokens: {rule: 'value', value: most}};
    if (traffic.load === 'users') {
      return {closed_loop: {users: traffic.users, think_time: {law: 'exponential', mean_s: 10},
        start_within_s: 10}, duration_s: USERS_S, ...law};
    }
    return {arrivals: {process: 'poisson', request_rate: traffic.rate},
      num_requests: traffic.requests, ...law};
  }

  // Sets a dotted path in nested objects.
  function put(document, path, value) {
    const names = path.split('.');
    const last = names.pop();
    let at = document;
    for (const name of names) {
      if (typeof at[name] === 'string') at[name] = {name: at[name]};
      at[name] ??= {};
      at = at[name];
    }
    at[last] = value;
  }

  // Without traffic. `given`: the document of a pasted command, whose values stay where the side
  // has none of its own. `engine`: how the side's engine spells its options.
  function system(side, given, engine) {
    const document = {name: 'playground', seed: 1, ...structuredClone(given || {})};
    if (!given) document.model = side.config ? configPath(side) : side.model;
    document.device ??= side.device;
    if (side.environment !== 'native') document.environment ??= side.environment;
    if (!given && engine) put(document, 'engine.name', engine.name);
    if (side.count > 1 && !given) put(document, 'engine.tensor_parallel_size', side.count);
    const own = [['share_option', side.share / 100], ['batch_option', side.batch],
      ['length_option', side.length]];
    for (const [option, value] of own) {
      if (value > 0 && engine?.[option]) put(document, engine[option], value);
    }
    return document;
  }

  // The path at which a dropped config.json lies for the simulator: one for each text.
  function configPath(side) {
    let hash = 0;
    for (const letter of side.config) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
    return `/config-${hash.toString(16)}.json`;
  }

  function whole(side, given, engine, traffic) {
    return {...system(side, given, engine), workload: workload(traffic), slo: TARGETS,
      output: {timeline_interval_s: 1}};
  }

  // The same at another load, shorter: a point of a curve needs no ten minutes.
  function atLoad(document, load) {
    const other = structuredClone(document);
    const {arrivals, closed_loop: loop} = other.workload;
    if (loop) {
      loop.users = load;
      other.workload.duration_s = USERS_S / 4;
    } else {
      arrivals.request_rate = load;
      other.workload.num_requests = Math.min(POINT_REQUESTS, other.workload.num_requests);
    }
    return other;
  }

  // Loads around the chosen one, or around what is `served` of it per second where that is less, of
  // a fixed grid: a curve keeps its points while the load moves.
  function loadsAround(traffic, served) {
    const chosen = traffic.load === 'users' ? traffic.users : Math.min(traffic.rate, served);
    const middle = Math.round(2 * Math.log2(Math.max(chosen, 1 / 64)));
    const loads = Array.from({length: 11}, (_, i) => 2 ** ((middle + i - 6) / 2));
    if (traffic.load === 'rate') return loads.map((load) => Number(load.toPrecision(3)));
    return [...new Set(loads.map((load) => Math.max(1, Math.round(load))))];
  }

  // A file for `headroom sweep`: what `json` says, a scenario as the simulator writes it, at these
  // loads.
  function study(name, json, loads) {
    const base = JSON.parse(json);
    const path = base.workload.closed_loop ? 'workload.closed_loop.users'
      : 'workload.arrivals.request_rate';
    return `${JSON.stringify({name, base, vary: [{path, values: loads}]}, null, 2)}\n`;
  }

  return {TARGETS, system, whole, atLoad, loadsAround, configPath, study};
})();
