'use strict';
// Several runs side by side, each compared with the first one.

const ComparisonPage = (() => {
  // Runs with the same name are labelled with their folders.
  function named(runs) {
    const count = (name) => runs.filter((run) => run.name === name).length;
    const folder = (path) => path.replace(/\/+$/, '').split('/').pop();
    return runs.map((run) => {
      if (count(run.name) === 1) return run;
      const twins = runs.filter((one) => folder(one.directory) === folder(run.directory));
      return {...run, name: twins.length === 1 ? folder(run.directory) : run.directory};
    });
  }

  const METRICS = ['request_throughput', 'output_throughput', 'request_goodput', 'median_ttft_ms',
    'p99_ttft_ms', 'median_tpot_ms', 'p99_tpot_ms', 'p99_itl_ms', 'median_e2el_ms', 'p99_e2el_ms'];

  function values(run) {
    const {metrics, requests, memory, engine} = run.summary;
    const rows = METRICS.filter((name) => metrics[name] !== null && metrics[name] !== undefined)
      .map((name) => [name, metrics[name]]);
    for (const name of ['finished', 'rejected', 'cancelled', 'lost_to_oom', 'lost_to_fault',
      'unfinished']) {
      if (name in requests) rows.push([name, requests[name]]);  // older results have fewer
    }
    const ooms = run.summary.oom.reduce((sum, one) => sum + (one.count ?? 1), 0);
    return new Map([...rows, ['preemptions', run.summary.preemptions], ['oom_count', ooms],
      ['kv_tokens', memory.kv_tokens], ['peak_utilisation', memory.peak_utilisation],
      ['busy_s', engine.busy_s], ['steps', engine.steps]]);
  }

  // Every figure of every run, and how far it is from the first run's.
  function figuresTable(runs) {
    const all = runs.map(values);
    const names = [...new Set(all.flatMap((one) => [...one.keys()]))]
      .filter((name) => all.some((one) => one.get(name)));
    const columns = [{name: 'Figure', csv: 'figure', format: Format.title}];
    runs.forEach((run, i) => {
      columns.push({name: run.name, number: true, csv: run.name,
        format: (value, row) => Format.value(row[0], value)});
      if (i > 0) {
        columns.push({name: 'Change', unit: '%', number: true, csv: `${run.name} (change, %)`,
          format: (value) => value === null ? '–' : `${Format.signed(value)} %`});
      }
    });
    const change = (value, base) => base > 0 && value !== undefined
      ? 100 * (value / base - 1) : null;
    return Table.create(columns, names.map((name) => [name, ...all.flatMap((one, i) => i === 0
      ? [one.get(name)] : [one.get(name), change(one.get(name), all[0].get(name))])]),
    {name: `Figures (change against ${runs[0].name})`});
  }

  function differencesTable(runs) {
    const maps = runs.map((run) => new Map(run.settings.map(([pointer, value, by]) =>
      [pointer, [value, by]])));
    const text = (map, pointer) => map.has(pointer) ? JSON.stringify(map.get(pointer)[0]) : null;
    const pointers = [...new Set(maps.flatMap((map) => [...map.keys()]))].filter((pointer) =>
      new Set(maps.map((map) => text(map, pointer))).size > 1);
    if (!pointers.length) {
      return element('p', {class: 'note'}, 'All values of the scenarios are equal.');
    }
    const columns = [{name: 'Value of', csv: 'pointer', code: true},
      ...runs.map((run) => ({name: run.name, csv: run.name, code: true}))];
    return Table.create(columns, pointers.map((pointer) => [pointer,
      ...maps.map((map) => text(map, pointer))]), {name: 'What differs', search: true});
  }

  // A point per run: more throughput to the right, less latency below.
  function throughputLatency(runs) {
    const point = (run) => [run.summary.metrics.output_throughput, run.summary.metrics.p99_ttft_ms];
    const heights = runs.map((run) => point(run)[1]);
    const isWide = Math.min(...heights) > 0 && Math.max(...heights) / Math.min(...heights) > 60;
    return {
      title: 'Throughput and latency',
      note: 'Output throughput against the 99th percentile of TTFT; better is right and below.',
      height: 300,
      label: () => runs.map((run) => `${run.name}: ${Format.number(point(run)[0])} tokens/s, P99 ` +
        `TTFT ${Format.milliseconds(point(run)[1])}`).join('; '),
      option: (ctx) => Chart.option(ctx, {
        legend: Chart.legend(ctx, runs.map((run) => run.name), {show: ctx.narrow}),
        grid: Chart.grid(ctx, {top: 34, bottom: 40, right: ctx.narrow ? 16 : 90}),
        xAxis: Chart.xAxis(ctx, 'output throughput (tokens/s)', {min: 0}),
        yAxis: Chart.yAxis(ctx, 'P99 TTFT (ms)', isWide ? {type: 'log'} : {min: 0}),
        tooltip: {trigger: 'item', formatter: (item) => Chart.tip(item.seriesName, [
          {label: 'output', value: `${Format.number(item.value[0])} tokens/s`},
          {label: 'P99 TTFT', value: Format.milliseconds(item.value[1])}])},
        series: runs.map((run, i) => ({type: 'scatter', name: run.name, symbolSize: 11,
          color: ctx.colors.series[i], data: [point(run)], label: {show: !ctx.narrow,
            position: 'right', formatter: '{a}', color: ctx.colors.text, fontSize: 12}})),
      }),
      table: () => ({columns: [{name: 'Run', csv: 'run'},
        {name: 'Output', unit: 'tokens/s', number: true, csv: 'output_throughput'},
        {name: 'P99 TTFT', unit: 'ms', number: true, csv: 'p99_ttft_ms'}],
      rows: runs.map((run) => [run.name, ...point(run)])}),
    };
  }

  // One quantity of the timelines, a line per run.
  function overTime(runs, {title, note, column, unit, relative}) {
    const end = Math.max(...runs.map((run) => run.summary.end_s));
    const points = (run) => {
      const {columns, rows} = run.timeline;
      const time = columns.indexOf('time_s');
      const at = columns.indexOf(column);
      const capacity = columns.indexOf('kv_capacity_tokens');
      return rows.map((row) => [row[time],
        relative ? 100 * row[at] / Math.max(1, row[capacity]) : row[at]]);
    };
    return {
      title, note, height: 280,
      label: () => `${title} of ${runs.map((run) => run.name).join(', ')}.`,
      option: (ctx) => {
        const axis = Chart.timeAxis(ctx, end);
        return Chart.option(ctx, {
          legend: Chart.legend(ctx, runs.map((run) => run.name), {show: true}),
          grid: Chart.grid(ctx, {top: 34, bottom: 40}),
          xAxis: axis.axis,
          yAxis: Chart.yAxis(ctx, unit, relative ? {max: 100} : {minInterval: 1}),
          tooltip: {trigger: 'axis', formatter: (items) => Chart.tip(
            Format.seconds(items[0].value[0] * axis.unit.seconds), items.map((item) => ({
              color: item.color, label: item.seriesName,
              value: `${Format.number(item.value[1])} ${relative ? '%' : unit}`})))},
          series: runs.map((run, i) => Chart.line(run.name,
            points(run).map(([time, value]) => [axis.scaled(time), value]), ctx.colors.series[i])),
        });
      },
      table: () => ({columns: [{name: 'Run', csv: 'run'},
        {name: 'Time', unit: 's', number: true, csv: 'time_s'},
        {name: title, unit: relative ? '%' : unit, number: true, csv: column}],
      rows: runs.flatMap((run) => points(run).map((point) => [run.name, ...point]))}),
    };
  }

  function notes(main, runs, page) {
    for (const run of runs) {
      const oom = RunPage.alert(`${RunPage.oomTitle(run)}: ${run.name}`, RunPage.oomTexts(run),
        true);
      if (oom) main.append(oom);
    }
    const all = new Map();
    for (const run of runs) {
      for (const text of [...run.summary.warnings, ...RunPage.versionNote(run, page)]) {
        all.set(text, [...(all.get(text) || []), run.name]);
      }
    }
    const texts = [...all].map(([text, names]) =>
      names.length === runs.length ? text : `${names.join(', ')}: ${text}`);
    const warnings = RunPage.alert('Warnings', texts);
    if (warnings) main.append(warnings);
  }

  function show(main, page) {
    const runs = named(page.runs);
    main.append(element('h1', {}, page.title), element('p', {class: 'subtitle'},
      runs.map((run) => `${run.name}: ${RunPage.describe(run)}`).join(' · ')));
    main.append(...runs.map((run) => RunPage.verdict(run.summary, run.name)).filter(Boolean));
    notes(main, runs, page);
    RunPage.section(main, 'figures', 'Figures').append(figuresTable(runs));
    const latency = RunPage.grid(RunPage.section(main, 'latency', 'Latency'));
    Figures.add(latency, throughputLatency(runs));
    RunCharts.LATENCIES.forEach((_, i) => Figures.add(latency, RunCharts.latencyOf(runs, i)));
    const memory = RunPage.grid(RunPage.section(main, 'memory', 'Memory'));
    Figures.add(memory, overTime(runs, {title: 'KV in use', column: 'kv_used_tokens', unit: '%',
      relative: true, note: 'Tokens written, as a share of each run\'s own pool.'}));
    Figures.add(memory, RunCharts.budget(runs));
    runs.forEach((run, i) =>
      Figures.add(memory, RunCharts.memory(run, `KV memory: ${run.name}`, i > 0)));
    const engine = RunPage.grid(RunPage.section(main, 'engine', 'Queue and steps'));
    Figures.add(engine, overTime(runs, {title: 'Waiting requests', column: 'waiting_requests',
      unit: 'requests', note: 'Requests in the queue.'}));
    Figures.add(engine, RunCharts.stepTime(runs));
    const scenario = RunPage.section(main, 'scenario', 'Scenarios');
    scenario.append(differencesTable(runs));
    for (const run of runs) {
      scenario.append(element('h3', {}, run.name), RunPage.oomTable(run));
      RunPage.reproduceRun(scenario, run);
    }
  }

  return {show, named};
})();
