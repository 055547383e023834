'use strict';
// How close replays came to measured runs: scores by engine, device and class of models, every run
// beside its measurement, and what was left out.

const AccuracyPage = (() => {
  const METRICS = {
    mean_ttft_ms: {title: 'TTFT, mean', unit: 'ms'},
    median_ttft_ms: {title: 'TTFT, median', unit: 'ms'},
    mean_tpot_ms: {title: 'TPOT, mean', unit: 'ms'},
    mean_e2el_ms: {title: 'E2EL, mean', unit: 'ms'},
    output_throughput: {title: 'Output throughput', unit: 'tokens/s'},
  };
  const WORST = 25;
  const errorText = (share) => share === null ? '–' : `${Format.signed(share * 100)} %`;

  function median(values) {
    const sorted = [...values].sort((a, b) => a - b);
    const half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }

  // The runs in which `metric` was measured.
  function measured(runs, metric) {
    return runs.filter((run) => run.metrics[metric] !== undefined)
      .map((run) => ({run, ...run.metrics[metric]}));
  }

  function tile(runs, metric) {
    const all = measured(runs, metric);
    if (!all.length) return null;
    const sizes = all.map((one) => Math.abs(one.error_share));
    const mean = sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
    const bias = median(all.map((one) => one.error_share));
    return RunPage.tile(METRICS[metric].title, ...Format.percent(median(sizes)).split(' '),
      `off at the median; mean ${Format.percent(mean)}, bias ${errorText(bias)}, ` +
      `${Format.integer(all.length)} runs`);
  }

  function scatter(runs, metric) {
    const all = measured(runs, metric);
    const {title, unit} = METRICS[metric];
    const engines = [...new Set(all.map((one) => one.run.engine))].sort();
    const values = all.flatMap((one) => [one.measured, one.simulated]);
    const ends = [Math.min(...values) / 1.2, Math.max(...values) * 1.2];
    const tip = ({run, measured: was, simulated, error_share: error}) => Chart.tip(run.label,
      [{label: 'Measured', value: `${Format.number(was)} ${unit}`},
        {label: 'Simulated', value: `${Format.number(simulated)} ${unit}`},
        {label: 'Error', value: errorText(error)}]);
    const option = (ctx) => {
      const series = engines.map((engine, i) => ({type: 'scatter', name: engine, symbolSize: 6,
        color: ctx.colors.series[i % ctx.colors.series.length], itemStyle: {opacity: .65},
        data: all.filter((one) => one.run.engine === engine)
          .map((one) => ({value: [one.measured, one.simulated], one}))}));
      series.push({...Chart.line('equal', [[ends[0], ends[0]], [ends[1], ends[1]]],
        ctx.colors.muted), silent: true});
      const log = {type: 'log', min: ends[0], max: ends[1],
        axisLabel: {formatter: Format.tick, showMinLabel: false, showMaxLabel: false}};
      return Chart.option(ctx, {series, legend: Chart.legend(ctx, engines),
        grid: Chart.grid(ctx, {top: engines.length > 1 ? 48 : 30}),
        xAxis: Chart.xAxis(ctx, `measured (${unit})`, log),
        yAxis: Chart.yAxis(ctx, `simulated (${unit})`, log),
        tooltip: {trigger: 'item', formatter: (point) => tip(point.data.one)}});
    };
    return {title, height: 320, note: 'One point per run; on the line they are equal.',
      label: () => `${title}: simulated against measured, ${all.length} runs.`, option,
      table: () => ({columns: [{name: 'Run', csv: 'run'}, {name: 'Measured', unit, number: true,
        csv: 'measured'}, {name: 'Simulated', unit, number: true, csv: 'simulated'}],
      rows: all.map((one) => [one.run.label, one.measured, one.simulated])})};
  }

  function scores(rows, first, name) {
    const columns = [...first.map((column) => ({name: column.name, csv: column.key})),
      {name: 'Metric', csv: 'metric', format: (metric) => METRICS[metric].title},
      {name: 'Runs', number: true, csv: 'runs', format: Format.integer},
      {name: 'Mean', number: true, csv: 'mean_absolute_error_share', format: Format.percent},
      {name: 'Median', number: true, csv: 'median_absolute_error_share', format: Format.percent},
      {name: 'Bias', number: true, csv: 'median_error_share', format: errorText},
      {name: 'Worst', number: true, csv: 'worst_error_share', format: errorText},
      {name: 'In range', number: true, csv: 'in_range_share', format: Format.percent}];
    return Table.create(columns, rows.map((row) => [...first.map((column) => row[column.key]),
      row.metric, row.runs, row.mean_absolute_error_share, row.median_absolute_error_share,
      row.median_error_share, row.worst_error_share, row.runs_with_expected_range
        ? row.runs_in_expected_range / row.runs_with_expected_range : null]),
    {name, search: true});
  }

  function worst(runs, metric) {
    const rows = measured(runs, metric)
      .sort((a, b) => Math.abs(b.error_share) - Math.abs(a.error_share)).slice(0, WORST)
      .map((one) => [one.run.label, one.run.situation, one.measured, one.simulated,
        one.error_share]);
    const {title, unit} = METRICS[metric];
    return Table.create([{name: 'Run', csv: 'run', isWide: true},
      {name: 'Constants', csv: 'constants'},
      {name: 'Measured', unit, number: true, csv: 'measured'},
      {name: 'Simulated', unit, number: true, csv: 'simulated'},
      {name: 'Error', number: true, csv: 'error_share', format: errorText}], rows,
    {name: `${title}: the ${rows.length} furthest off`});
  }

  function leftOut(excluded) {
    const reasons = new Map();
    for (const {why} of excluded) reasons.set(why, (reasons.get(why) || 0) + 1);
    return Table.create([{name: 'Why', csv: 'why', isWide: true},
      {name: 'Runs', number: true, csv: 'runs', format: Format.integer}],
    [...reasons].sort((a, b) => b[1] - a[1]), {name: 'Measured, not replayed'});
  }

  function show(main, page) {
    const {runs, classes, scores: situations, excluded} = page.validation;
    const present = Object.keys(METRICS).filter((metric) => measured(runs, metric).length);
    const when = page.date ? ` As of ${page.date}.` : '';
    main.append(element('h1', {}, page.title),
      element('p', {class: 'subtitle'}, `${Format.integer(runs.length)} measured runs replayed, ` +
        `${Format.integer(excluded.length)} left out by name. Error: simulated / measured − 1.` +
        when),
      element('dl', {class: 'figures'}, ...present.map((metric) => tile(runs, metric))));
    const charts = RunPage.grid(RunPage.section(main, 'runs', 'Runs'));
    for (const metric of present) Figures.add(charts, scatter(runs, metric));
    RunPage.section(main, 'classes', 'By engine, device and models').append(scores(classes,
      [{name: 'Engine', key: 'engine'}, {name: 'Device', key: 'device'},
        {name: 'Models', key: 'model_class'}], 'Scores'));
    RunPage.section(main, 'constants', 'By where the constants come from').append(scores(situations,
      [{name: 'Constants', key: 'situation'}], 'Scores'));
    RunPage.section(main, 'worst', 'Furthest off').append(
      ...present.map((metric) => worst(runs, metric)));
    if (excluded.length) {
      RunPage.section(main, 'left-out', 'Left out').append(leftOut(excluded));
    }
  }

  return {show};
})();
