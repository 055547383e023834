'use strict';
// The page of one run, and the parts that a comparison shares with it.

const RunPage = (() => {
  // Sections get a heading, an anchor and a place in the contents.
  function section(main, id, title) {
    const node = element('section', {id, 'aria-labelledby': `${id}-title`},
      element('h2', {id: `${id}-title`}, title));
    main.append(node);
    document.getElementById('contents').append(element('a', {href: `#${id}`}, title));
    return node;
  }

  function grid(parent) {
    const node = element('div', {class: 'grid'});
    parent.append(node);
    return node;
  }

  function describe(run) {
    const {setup} = run.summary;
    const devices = setup.tensor_parallel_size > 1 ? `${setup.tensor_parallel_size} × ` : '';
    return `${setup.model} on ${devices}${setup.device}, ` +
      `${[setup.engine, setup.engine_version].filter(Boolean).join(' ')}, ` +
      `${Format.integer(run.summary.requests.arrived)} requests, seed ${setup.seed}`;
  }

  // "23 % lower to 11 % higher", as measured runs were beside simulated ones.
  function deviation([low, high]) {
    const size = (share) => Math.abs(Math.round(share));
    if (Math.round(low) < 0 && Math.round(high) > 0) {
      return `${size(low)} % lower to ${size(high)} % higher`;
    }
    const isLower = Math.round(low) < 0;
    const ends = (isLower ? [high, low] : [low, high]).map(size);
    return `${ends[0] === ends[1] ? ends[0] : ends.join(' to ')} % ${isLower ? 'lower' : 'higher'}`;
  }

  function errorBand(run, metric) {
    const range = run.summary.expected_error[`${metric}_percent`];
    return Array.isArray(range) ? `measured ${deviation(range)}` : '';
  }

  // The basis of the range.
  function accuracyBasis(error) {
    if (!error.measured_runs) return 'not measured; with constants fitted on other devices';
    const runs = `${error.measured_runs} measured run${error.measured_runs === 1 ? '' : 's'}`;
    return `${runs} of ${error.situation === 'same model' ? 'this model' : 'other models'}`;
  }

  function tile(label, value, unit, detail, isBad) {
    return element('div', {class: isBad ? 'bad' : null}, element('dt', {}, label),
      element('dd', {class: 'value'}, value,
        unit ? element('span', {class: 'unit'}, ` ${unit}`) : null),
      detail ? element('dd', {class: 'detail'}, detail) : null);
  }

  function latencyTile(run, name, label) {
    const {metrics} = run.summary;
    const [value, unit] = Format.milliseconds(metrics[`median_${name}_ms`]).split(' ');
    const tail = `P99 ${Format.milliseconds(metrics[`p99_${name}_ms`])}`;
    const band = errorBand(run, `mean_${name}_ms`);
    return tile(`${label}, median`, value, unit, band ? `${tail}; mean: ${band}` : tail);
  }

  function headline(run) {
    const {metrics, requests, memory, preemptions, oom} = run.summary;
    const throughput = (name, label) => tile(label, Format.number(metrics[name]),
      Format.metric(name).unit, errorBand(run, name));
    const tiles = [throughput('output_throughput', 'Output throughput'),
      throughput('request_throughput', 'Request throughput')];
    if (metrics.request_goodput !== null && metrics.request_goodput !== undefined) {
      const share = metrics.request_throughput > 0
        ? metrics.request_goodput / metrics.request_throughput : 0;
      tiles.push(tile('Goodput', Format.number(metrics.request_goodput), 'requests/s',
        `${Format.percent(share)} of finished requests meet the SLO`));
    }
    const others = ['rejected', 'cancelled', 'lost_to_oom', 'lost_to_fault', 'unfinished']
      .filter((name) => requests[name] > 0)
      .map((name) => `${Format.integer(requests[name])} ${name.replaceAll('_', ' ')}`);
    const ooms = oom.reduce((sum, one) => sum + (one.count ?? 1), 0);
    tiles.push(latencyTile(run, 'ttft', 'TTFT'), latencyTile(run, 'tpot', 'TPOT'),
      latencyTile(run, 'e2el', 'E2EL'),
      tile('Finished', Format.integer(requests.finished), 'requests',
        others.length ? others.join(', ') : `all of ${Format.integer(requests.arrived)}`,
        requests.finished < requests.arrived),
      tile('KV pool, peak', ...Format.percent(memory.peak_utilisation).split(' '),
        `of ${Format.integer(memory.kv_tokens)} tokens`),
      tile('Preemptions', Format.integer(preemptions), ''),
      tile('Out of memory', Format.integer(ooms), ooms === 1 ? 'time' : 'times',
        [...new Set(oom.map((one) => one.kind.replaceAll('_', ' ')))].join(', '), ooms > 0));
    return element('dl', {class: 'figures'}, ...tiles);
  }

  const TITLES = {holds: 'Holds', tight: 'Tight', does_not_hold: 'Does not hold',
    does_not_start: 'Does not start'};

  // What stops traffic that is not served; of other causes the reason speaks.
  const BINDS = {pool: 'the KV pool is full', batch_limit: 'the batch is full',
    prefill: 'computing prompts (prefill) is too slow',
    decode: 'writing answers (decode) is too slow'};

  // One sentence before all figures; results of a version without it have none.
  function verdict({verdict: word, reason, binds}, name) {
    if (!TITLES[word]) return null;
    const isBad = word === 'does_not_hold' || word === 'does_not_start';
    return element('p', {class: `verdict${isBad ? ' bad' : word === 'tight' ? ' tight' : ''}`},
      element('strong', {}, `${name ? `${name}: ` : ''}${TITLES[word]}`),
      `: ${reason}${BINDS[binds] ? `; ${BINDS[binds]}` : ''}`);
  }

  function alert(title, texts, isBad) {
    if (!texts.length) return null;
    return element('div', {class: isBad ? 'alert bad' : 'alert'}, element('h3', {}, title),
      element('ul', {}, ...texts.map((text) => element('li', {}, text))));
  }

  function oomTexts(run) {
    return run.summary.oom.slice(0, 5).map((one) => {
      const wanted = one.wanted_bytes !== undefined && one.free_bytes !== undefined
        ? `: wanted ${Format.gib(one.wanted_bytes)}, ${Format.gib(one.free_bytes)} free` : '';
      const count = one.count > 1 ? `, ${Format.integer(one.count)} times` : '';
      return `${one.kind.replaceAll('_', ' ')} at ${Format.seconds(one.time_s)}${count}` +
        `${wanted}${one.cause ? `. ${one.cause}` : ''}`;
    });
  }

  // A request that can never run is no lack of memory.
  function oomTitle(run) {
    return run.summary.oom.every((one) => one.kind === 'rejected_too_long')
      ? 'Requests rejected' : 'Memory ran out';
  }

  function refusedTexts(run) {
    return (run.summary.refused || []).slice(0, 5).map((one) => {
      const requests = one.count === 1 ? 'request is' : 'requests are';
      return `${Format.integer(one.count)} ${requests} longer than the engine accepts ` +
        `(max_model_len), first at ${Format.seconds(one.time_s)}: ` +
        `${Format.integer(one.wanted_tokens)} tokens with max_tokens`;
    });
  }

  function versionNote(run, page) {
    const written = run.summary.headroom_version;
    return written === page.headroom_version ? []
      : [`${run.directory} was written by headroom ${written}, this page by ` +
        `${page.headroom_version}.`];
  }

  const STATISTICS = ['mean', 'median', 'std', 'p90', 'p95', 'p99'];

  function latencyTable(run) {
    const {metrics} = run.summary;
    const rows = ['ttft', 'tpot', 'itl', 'e2el'].filter((name) => `mean_${name}_ms` in metrics)
      .map((name) => [name.toUpperCase(), ...STATISTICS.map((s) => metrics[`${s}_${name}_ms`])]);
    return Table.create([{name: 'Latency', csv: 'latency'}, ...STATISTICS.map((s) => ({
      name: Format.metric(`${s}_ttft_ms`).label.replace(' TTFT', ''), unit: 'ms', number: true,
      csv: `${s}_ms`}))], rows, {name: 'Latencies of finished requests'});
  }

  // Numbers at any depth of an object: [['a.b', value]...].
  function flat(object, prefix = '') {
    return Object.entries(object).flatMap(([key, value]) => {
      if (Array.isArray(value)) return value.map((one, i) => [`${prefix}${key}[${i}]`, one]);
      if (value !== null && typeof value === 'object') return flat(value, `${prefix}${key}.`);
      return [[`${prefix}${key}`, value]];
    });
  }

  const FIGURE_COLUMNS = [{name: 'Figure', csv: 'figure', code: true},
    {name: 'Value', csv: 'value', number: true, format: (value, row) =>
      typeof value === 'number' ? Format.value(row[0].split('.').pop(), value) : String(value)}];

  function allFigures(run) {
    const skipped = ['warnings', 'oom', 'windows', 'headroom_version', 'scenario', 'digest'];
    const kept = Object.fromEntries(Object.entries(run.summary)
      .filter(([key]) => !skipped.includes(key)));
    return Table.folded('All figures of summary.json', () =>
      Table.create(FIGURE_COLUMNS, flat(kept), {name: 'summary.json', search: true}));
  }

  function classesTable(run) {
    const classes = Object.entries(run.summary.classes || {});
    if (!classes.length) return null;
    const names = ['request_throughput', 'output_throughput', 'request_goodput', 'median_ttft_ms',
      'p99_ttft_ms', 'median_tpot_ms', 'p99_tpot_ms', 'p99_e2el_ms'];
    const columns = [{name: 'Class', csv: 'class'},
      {name: 'Finished', unit: 'requests', number: true, csv: 'finished'},
      ...names.map((name) => ({name: Format.metric(name).label, unit: Format.metric(name).unit,
        number: true, csv: name}))];
    return Table.create(columns, classes.map(([name, one]) => [name, one.requests.finished,
      ...names.map((metric) => one.metrics[metric])]), {name: 'Classes of requests'});
  }

  function windowsTable(run) {
    const {windows} = run.summary;
    const parts = ['warmup', 'steady', 'drain'].filter((name) => windows[name]);
    const metrics = ['output_throughput', 'median_ttft_ms', 'p99_ttft_ms', 'median_tpot_ms'];
    const columns = [{name: 'Window', csv: 'window'},
      {name: 'From', unit: 's', number: true, csv: 'start_s'},
      {name: 'To', unit: 's', number: true, csv: 'end_s'},
      {name: 'Arrivals', unit: '1/s', number: true, csv: 'arrival_rate'},
      {name: 'Finishes', unit: '1/s', number: true, csv: 'finish_rate'},
      ...metrics.map((name) => ({name: Format.metric(name).label, unit: Format.metric(name).unit,
        number: true, csv: name}))];
    return Table.create(columns, parts.map((name) => {
      const one = windows[name];
      // A window without length has no rates, one without requests no latencies.
      const isLong = one.end_s - one.start_s > 1e-6;
      const isUsed = one.metrics && one.metrics.completed > 0;
      return [name, one.start_s, one.end_s, isLong ? one.arrival_rate : null,
        isLong ? one.finish_rate : null,
        ...metrics.map((metric) => isUsed ? one.metrics[metric] : null)];
    }), {name: windows.stationary ? 'Windows of the run (stationary)'
      : 'Windows of the run (not stationary: the backlog grows)'});
  }

  function oomTable(run) {
    if (!run.summary.oom.length) {
      return element('p', {class: 'note'}, 'Memory never ran out.');
    }
    const bytes = (value) => Format.gib(value);
    const columns = [{name: 'Kind', csv: 'kind'},
      {name: 'First at', unit: 's', number: true, csv: 'time_s'},
      {name: 'Times', number: true, csv: 'count', format: Format.integer},
      {name: 'Wanted', number: true, csv: 'wanted_bytes', format: bytes},
      {name: 'Free', number: true, csv: 'free_bytes', format: bytes},
      {name: 'Replica', number: true, csv: 'replica'},
      {name: 'First request', number: true, csv: 'first_request', format: (v) => v ?? '–'},
      {name: 'Cause and state', csv: 'cause'}];
    const isState = (key) => /^(held_bytes\.|kv_|sampled|largest)/.test(key);
    const rest = (one) => flat(one).filter(([key]) => isState(key))
      .map(([key, value]) => `${key.replace('held_bytes.', '').replaceAll('_', ' ')} ` +
        `${key.startsWith('held') ? Format.gib(value) : Format.integer(value)}`);
    return Table.create(columns, run.summary.oom.map((one) => [one.kind, one.time_s,
      one.count ?? 1, one.wanted_bytes, one.free_bytes, one.replica, one.first_request,
      [one.cause, rest(one).join(', ')].filter(Boolean).join('. ')]), {name: 'Out of memory'});
  }

  function eventsTable(run) {
    const {events} = run;
    if (!events.total) {
      return element('p', {class: 'note'}, 'No preemptions, rejections or refusals.');
    }
    const columns = events.columns.map((name) => ({name: name === 'time_s' ? 'Time'
      : name.replaceAll('_', ' '), unit: {time_s: 's', tokens: 'tokens'}[name],
    number: !['kind', 'oom'].includes(name), csv: name,
    format: name === 'time_s' ? null : (value) => value === null ? '–' : String(value)}));
    const some = events.rows.length < events.total
      ? `Events (the first 100 of each kind, ${Format.integer(events.total)} in all)` : 'Events';
    return Table.create(columns, events.rows, {name: some, search: true});
  }

  function settingsTable(run) {
    const columns = [{name: 'Value of', csv: 'pointer', code: true},
      {name: 'Is', csv: 'value', code: true, format: (value) => JSON.stringify(value)},
      {name: 'Set by', csv: 'set_by', format: (text, row) => row[3] ? `you: ${text}` : text}];
    return Table.create(columns, run.settings, {name: 'Resolved scenario', search: true,
      rowClass: (row) => row[3] ? 'given' : ''});
  }

  function errorsTable(run) {
    const error = run.summary.expected_error;
    const rows = Object.entries(error).filter(([, value]) => Array.isArray(value))
      .map(([name, [low, high]]) =>
        [Format.metric(name.replace(/_percent$/, '')).label, low, high]);
    if (!rows.length) {
      return element('p', {class: 'note'}, 'No measured run is similar enough to estimate ' +
        'the error of these figures.');
    }
    return Table.create([{name: 'Figure', csv: 'figure'},
      {name: 'Measured against simulated, from', unit: '%', number: true, csv: 'low_percent',
        format: Format.signed},
      {name: 'to', unit: '%', number: true, csv: 'high_percent', format: Format.signed}], rows,
    {name: `Accuracy: ${accuracyBasis(error)}`});
  }

  function assumptions(run) {
    const {setup, workload} = run.summary;
    const rows = [['Step times', `${setup.cost_level}, ${setup.calibration}` +
      (setup.uncalibrated ? ' (not measured on this device and engine)' : '')],
    ['Source of the calibration', setup.calibration_source],
    ['Scheduler', setup.scheduler], ['KV allocator', setup.kv_allocator],
    ['Memory budget rule', setup.budget_rule],
    ['max_tokens', workload.max_tokens_rule],
    ['Trace', workload.trace ? `${workload.trace} (${workload.trace_format}), SHA-256 ` +
      workload.trace_sha256 : ''],
    ['Client latency', setup.client_latency_ms > 0
      ? `${Format.milliseconds(setup.client_latency_ms)} in every TTFT and E2EL` +
        (setup.client_prompt_token_us > 0
          ? `, ${setup.client_prompt_token_us} µs more for each prompt token` : '') : ''],
    ['Digest of the run', run.summary.digest]].filter(([, value]) => value);
    return Table.create([{name: 'Assumption', csv: 'assumption'}, {name: 'Is', csv: 'value'}], rows,
      {name: 'Basis of the figures'});
  }

  function fileName(name) {
    const plain = name.replaceAll(/[^A-Za-z0-9._-]+/g, '_').replace(/^\.+/, '').slice(0, 40);
    return `${plain || 'scenario'}.json`;
  }

  function save(name, text) {
    return element('button', {type: 'button', onclick: () => {
      const url = URL.createObjectURL(new Blob([text], {type: 'application/json'}));
      element('a', {href: url, download: name}).click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    }}, `Save ${name}`);
  }

  // A file that gives the results again, and the command.
  function reproduce(parent, {file, content, command}) {
    const text = `${JSON.stringify(content, null, 2)}\n`;
    parent.append(
      element('p', {class: 'note'}, `Save this text as ${file}; the same version of headroom ` +
        'reproduces the results byte for byte.'),
      element('pre', {class: 'command'}, command),
      element('div', {class: 'actions'}, Clipboard.button('Copy command', () => command),
        save(file, text), Clipboard.button('Copy file', () => text)),
      element('details', {}, element('summary', {}, file), element('pre', {}, text)));
  }

  // Whether the files record what the user set.
  function isKnown(run) {
    return Object.keys(run.scenario).length > 0;
  }

  function reproduceRun(parent, run) {
    if (!isKnown(run)) return;
    const file = fileName(run.name);
    const {trace, trace_sha256: sha256} = run.summary.workload;
    if (trace) {
      parent.append(element('p', {class: 'note'}, `It replays the trace ${trace}, SHA-256 ` +
        `${sha256}, which must be at the path given in the file.`));
    }
    reproduce(parent, {file, content: run.scenario,
      command: `headroom run ${file} -o ${file.replace(/\.json$/, '')}`});
  }

  function figures(main, run) {
    const latency = grid(section(main, 'latency', 'Latency and throughput'));
    Figures.add(latency, RunCharts.latency(run));
    Figures.add(latency, RunCharts.throughput(run));
    main.lastChild.append(latencyTable(run), ...[classesTable(run)].filter(Boolean),
      windowsTable(run));
    const memory = grid(section(main, 'memory', 'Memory'));
    Figures.add(memory, RunCharts.memory(run));
    Figures.add(memory, RunCharts.budget([run]));
    const engine = grid(section(main, 'engine', 'Queue and steps'));
    Figures.add(engine, RunCharts.queue(run));
    Figures.add(engine, RunCharts.stepTime([run]));
    const requests = section(main, 'requests', 'Requests');
    Figures.add(requests, RunCharts.scatter(run));
    const {columns, rows} = RunCharts.requestTable(run, run.requests.slowest);
    requests.append(Table.folded(`The ${Format.integer(rows.length)} slowest requests`, () =>
      Table.create(columns, rows, {name: 'Slowest requests', search: true})));
  }

  function show(main, page) {
    const [run] = page.runs;
    main.append(element('h1', {}, page.title),
      element('p', {class: 'subtitle'}, describe(run)),
      ...[verdict(run.summary)].filter(Boolean), headline(run));
    const oom = alert(oomTitle(run), oomTexts(run), true);
    const refused = alert('Requests refused', refusedTexts(run));
    const warnings = alert('Warnings', [...run.summary.warnings, ...versionNote(run, page)]);
    main.append(...[oom, refused, warnings].filter(Boolean));
    if (run.summary.started) {
      figures(main, run);
    } else {
      Figures.add(section(main, 'memory', 'Memory'), RunCharts.budget([run]));
    }
    section(main, 'events', 'Events').append(oomTable(run), eventsTable(run));
    section(main, 'scenario', 'Scenario').append(settingsTable(run), assumptions(run),
      errorsTable(run), allFigures(run));
    if (isKnown(run)) reproduceRun(section(main, 'reproduce', 'Reproduce'), run);
  }

  return {show, section, grid, describe, headline, alert, tile, oomTexts, oomTitle, oomTable,
    versionNote, reproduce, reproduceRun, fileName, flat, errorBand, accuracyBasis, save, verdict,
    TITLES};
})();
