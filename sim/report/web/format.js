'use strict';
// How numbers are written: three digits, a unit, thousands in groups. Names of metrics and their
// units. Nothing here touches the page.

const Format = (() => {
  const GIB = 2 ** 30;
  const grouped = new Intl.NumberFormat('en', {maximumFractionDigits: 0});

  // Three significant digits; whole from 100 on, in groups of three from 1,000 on.
  function number(value) {
    if (value === null || value === undefined || Number.isNaN(value)) return '–';
    const size = Math.abs(value);
    if (size >= 99.95) return grouped.format(value);
    if (Number.isInteger(value)) return String(value);
    if (size < 1e-4) return value.toExponential(1);
    return String(Number(value.toPrecision(3)));
  }

  function integer(value) {
    return value === null || value === undefined ? '–' : grouped.format(value);
  }

  // For the ticks of an axis: 20k, 1.5M.
  function tick(value) {
    const size = Math.abs(value);
    if (size >= 1e9) return `${number(value / 1e9)}G`;
    if (size >= 1e6) return `${number(value / 1e6)}M`;
    if (size >= 1e4) return `${number(value / 1e3)}k`;
    return number(value);
  }

  function milliseconds(value) {
    if (value === null || value === undefined) return '–';
    return Math.abs(value) >= 1e4 ? seconds(value / 1e3) : `${number(value)} ms`;
  }

  function seconds(value) {
    if (value === null || value === undefined) return '–';
    const size = Math.abs(value);
    if (size >= 3 * 3600) return `${number(value / 3600)} h`;
    if (size >= 600) return `${number(value / 60)} min`;
    if (size > 0 && size < 1) return `${number(value * 1e3)} ms`;
    return `${number(value)} s`;
  }

  function percent(share) {
    if (share === null || share === undefined) return '–';
    return `${number(Math.round(share * 1000) / 10)} %`;
  }

  function gib(bytes) {
    if (bytes === null || bytes === undefined) return '–';
    if (Math.abs(bytes) < GIB / 10) return `${number(bytes / 2 ** 20)} MiB`;
    return `${number(bytes / GIB)} GiB`;
  }

  // For differences in per cent: whole from 10 on.
  function signed(value) {
    const size = Math.abs(value);
    const text = number(size >= 10 ? Math.round(size) : Math.round(size * 10) / 10);
    return `${value < 0 && text !== '0' ? '−' : '+'}${text}`;
  }

  // The unit that suits times up to `most` seconds on an axis.
  function timeUnit(most) {
    if (most >= 3 * 3600) return {name: 'h', seconds: 3600};
    if (most >= 900) return {name: 'min', seconds: 60};
    if (most > 0 && most < 0.5) return {name: 'ms', seconds: 1e-3};
    return {name: 's', seconds: 1};
  }

  const known = {
    request_throughput: ['Request throughput', 'requests/s'],
    output_throughput: ['Output throughput', 'tokens/s'],
    total_token_throughput: ['Prompt + output throughput', 'tokens/s'],
    request_goodput: ['Goodput', 'requests/s'],
    arrival_rate: ['Arrival rate', 'requests/s'],
    finish_rate: ['Finish rate', 'requests/s'],
    duration: ['Duration', 's'],
    completed: ['Completed', 'requests'],
    arrived: ['Arrived', 'requests'],
    finished: ['Finished', 'requests'],
    rejected: ['Rejected', 'requests'],
    cancelled: ['Cancelled', 'requests'],
    unfinished: ['Unfinished', 'requests'],
    lost_to_oom: ['Lost to OOM', 'requests'],
    lost_to_fault: ['Lost to faults', 'requests'],
    total_input_tokens: ['Prompt tokens', 'tokens'],
    total_output_tokens: ['Output tokens', 'tokens'],
    preemptions: ['Preemptions', ''],
    oom_count: ['Out of memory', 'times'],
  };
  const statistics = {mean: 'Mean', median: 'Median', std: 'Std', p90: 'P90', p95: 'P95',
    p99: 'P99'};
  const suffixes = [['_ms', 'ms'], ['_s', 's'], ['_bytes', 'bytes'], ['_tokens', 'tokens'],
    ['_requests', 'requests'], ['_percent', '%'], ['_per_s', '1/s']];

  // Whether more of it is better when choosing between points.
  function isCost(name) {
    return /_ms$|^(rejected|cancelled|unfinished|lost_to_\w+|preemptions|oom_count)$/.test(name);
  }

  function isShare(name) {
    return /(_share|utilisation|^mean_(used|reserved|cached)$|_fragmentation)$/.test(name);
  }

  // Label and unit of a metric by its name in result files.
  function metric(name) {
    if (known[name]) return {label: known[name][0], unit: known[name][1]};
    const latency = /^(mean|median|std|p90|p95|p99)_(ttft|tpot|itl|e2el)_ms$/.exec(name);
    if (latency) {
      return {label: `${statistics[latency[1]]} ${latency[2].toUpperCase()}`, unit: 'ms'};
    }
    const words = (text) => (text.charAt(0).toUpperCase() + text.slice(1).replaceAll('_', ' '))
      .replace(/\bkv\b/i, 'KV');
    if (isShare(name)) return {label: words(name.replace(/_share$/, '')), unit: '%'};
    const suffix = suffixes.find(([end]) => name.endsWith(end));
    if (suffix) return {label: words(name.slice(0, -suffix[0].length)), unit: suffix[1]};
    return {label: words(name), unit: ''};
  }

  function title(name) {
    const {label, unit} = metric(name);
    return unit ? `${label} (${unit})` : label;
  }

  // A value of a metric with its unit.
  function value(name, amount) {
    if (amount === null || amount === undefined) return '–';
    if (isShare(name)) return percent(amount);
    const {unit} = metric(name);
    if (unit === 'ms') return milliseconds(amount);
    if (unit === 's') return seconds(amount);
    if (unit === 'bytes') return gib(amount);
    return unit ? `${number(amount)} ${unit}` : number(amount);
  }

  // What a value of a scenario is called on an axis or in a legend.
  function setting(json) {
    if (typeof json === 'number') return number(json);
    if (typeof json === 'string') return json;
    if (json && typeof json === 'object' && typeof json.name === 'string') return json.name;
    return JSON.stringify(json);
  }

  // Names of an axis' values. Objects of one name are told apart by the keys in which they differ.
  function settings(values) {
    const names = values.map(setting);
    const keysOf = (value) => value && typeof value === 'object' ? Object.keys(value) : [];
    return values.map((value, i) => {
      const twins = values.filter((_, k) => names[k] === names[i]);
      if (twins.length === 1) return names[i];
      const differs = (key) => new Set(twins.map((one) => JSON.stringify(one[key]))).size > 1;
      const told = keysOf(value).filter(differs).map((key) => `${key} ${setting(value[key])}`);
      return [names[i], ...told].join(' ');
    });
  }

  const settingUnits = [[/request_rate|rps$/, 'requests/s'], [/tokens|_len$|context|prompt|output/,
    'tokens'], [/users$/, 'users'],
  [/concurrency|num_seqs|num_requests|max_batch_size/, 'requests'],
  [/_gib$/, 'GiB'], [/_ms$/, 'ms'], [/_s$/, 's']];

  // The unit of what a study varies, by the name of the value; '' where it has none.
  function settingUnit(path) {
    const name = path.split(/[./]/).pop();
    const known = settingUnits.find(([pattern]) => pattern.test(name));
    return known ? known[1] : '';
  }

  function settingTitle(path) {
    const unit = settingUnit(path);
    return unit ? `${path} (${unit})` : path;
  }

  return {number, integer, tick, milliseconds, seconds, percent, gib, signed, timeUnit, metric,
    title, value, setting, settings, settingUnit, settingTitle, isCost, isShare, GIB};
})();
