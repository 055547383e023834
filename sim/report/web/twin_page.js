'use strict';
// A server as it was measured, beside its model: figures, distributions, what was fitted, how far
// to trust it, and what is left before something breaks.

const TwinPage = (() => {
  const LATENCIES = {ttft_ms: 'TTFT', tpot_ms: 'TPOT', e2el_ms: 'E2EL'};
  const TILES = ['mean_ttft_ms', 'mean_tpot_ms', 'mean_e2el_ms', 'output_throughput'];
  const errorText = (share) => share === null ? '–' : `${Format.signed(share * 100)} %`;
  const errorOf = ({measured, simulated}) => simulated / measured - 1;

  function tile(run, name) {
    const found = run.metrics[name];
    if (!found) return null;
    const {label, unit} = Format.metric(name);
    return RunPage.tile(label, Format.number(found.measured), unit,
      `measured; predicted ${Format.number(found.simulated)} (${errorText(errorOf(found))})`);
  }

  // What is left before a target or the pool breaks.
  function left({load_kind: kind, load, largest_load: most, largest_users: users,
    kv_tokens: free, kv_pool_tokens: pool}) {
    const edge = (found) => found && found.largest !== null;
    return [
      edge(most) ? RunPage.tile(`Largest ${kind}`, Format.number(most.largest), '',
        `asked ${Format.number(load)}; ${most.why}`) : null,
      edge(users) ? RunPage.tile('Largest users', Format.number(users.largest), '', users.why)
        : null,
      RunPage.tile('KV tokens free', Format.integer(free), '',
        `of ${Format.integer(pool)}, at the fullest moment of this traffic`)];
  }

  function distribution(run, key) {
    const curve = (values) => values.map((value, i) =>
      [value, values.length > 1 ? 100 * i / (values.length - 1) : 100]);
    const title = LATENCIES[key];
    const option = (ctx) => Chart.option(ctx, {
      series: [Chart.line('measured', curve(run.measured[key]), ctx.colors.series[0]),
        Chart.line('predicted', curve(run.simulated[key]), ctx.colors.series[1])],
      legend: Chart.legend(ctx, ['measured', 'predicted']), grid: Chart.grid(ctx, {top: 48}),
      xAxis: Chart.xAxis(ctx, `${title} (ms)`, {type: 'value', scale: true}),
      yAxis: Chart.yAxis(ctx, '% of requests', {max: 100}),
      tooltip: {trigger: 'axis'}});
    return {title, height: 280, note: 'Share of requests within this time.',
      label: () => `${title}: distribution, measured and predicted.`, option,
      table: () => ({columns: [{name: 'Client', csv: 'client'},
        {name: title, unit: 'ms', number: true, csv: key}],
      rows: ['measured', 'simulated'].flatMap((who) =>
        run[who][key].map((value) => [who, value]))})};
  }

  function figures(run) {
    const rows = Object.entries(run.metrics).map(([name, found]) => [Format.title(name),
      found.measured, found.simulated, errorOf(found),
      found.simulated_before === null ? null : found.simulated_before / found.measured - 1]);
    const role = run.fitted_on ? 'chose the constants' : 'seen by no fit';
    return Table.create([{name: 'Figure', csv: 'figure', isWide: true},
      {name: 'Measured', number: true, csv: 'measured'},
      {name: 'Predicted', number: true, csv: 'predicted'},
      {name: 'Error', number: true, csv: 'error_share', format: errorText},
      {name: 'Error before the fit', number: true, csv: 'error_before_share', format: errorText}],
    rows, {name: `${run.label}: ${role}`});
  }

  function constants(page) {
    const rows = page.constants.map((row) => [row.key, row.before, row.value, row.interval,
      !row.identified ? 'these runs do not determine it: unchanged'
        : row.at_limit ? 'at the limit of what was ever measured' : '']);
    return Table.create([{name: 'Constant', csv: 'constant', isWide: true},
      {name: 'Before', number: true, csv: 'before'}, {name: 'Fitted', number: true, csv: 'fitted'},
      {name: '95 % ±', number: true, csv: 'interval'}, {name: 'Note', csv: 'note', isWide: true}],
    rows, {name: `Constants, from ${page.started_from}`});
  }

  function show(main, page) {
    const traffic = page.runs[page.runs.length - 1];
    const {server} = page;
    const engine = [server.engine, server.version].filter(Boolean).join(' ');
    main.append(element('h1', {}, page.title),
      element('p', {class: 'subtitle'}, `${server.url}${engine ? `, ${engine}` : ''}; measured ` +
        `${server.measured_utc}: ${Format.integer(traffic.requests)} requests of your traffic in ` +
        `${Format.seconds(traffic.duration_s)}.`),
      element('dl', {class: 'figures'}, ...TILES.map((name) => tile(traffic, name))));
    const headroom = RunPage.section(main, 'headroom', 'Headroom left');
    headroom.append(element('dl', {class: 'figures'}, ...left(page.left)),
      element('pre', {class: 'answer'}, page.answer));
    const trust = RunPage.section(main, 'trust', 'How far to trust it');
    trust.append(element('p', {}, page.trust));
    const charts = RunPage.grid(RunPage.section(main, 'latencies', 'Measured beside predicted'));
    for (const key of Object.keys(LATENCIES)) {
      if (traffic.measured[key].length) Figures.add(charts, distribution(traffic, key));
    }
    RunPage.section(main, 'figures', 'Figures').append(
      ...[...page.runs].reverse().map((run) => figures(run)));
    RunPage.section(main, 'constants', 'What was fitted').append(constants(page));
    if (traffic.notes.length) {
      RunPage.section(main, 'notes', 'Notes on the measurement').append(
        element('ul', {}, ...traffic.notes.map((note) => element('li', {}, note))));
    }
  }

  return {show};
})();
