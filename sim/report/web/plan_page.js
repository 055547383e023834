'use strict';
// The page of a planned fleet: what it costs, which alternatives work, and why the rest do not.

const PlanPage = (() => {
  const dollars = (value) => value === null || value === undefined ? '–'
    : `$ ${value >= 100 ? Format.integer(value) : value.toFixed(value < 1 ? 3 : 2)}`;
  const words = (text) => text.replaceAll('_', ' ');

  // Smaller is better in all but quality.
  const MEASURES = {
    ttft: {title: 'p99 TTFT', axis: 'p99 TTFT (ms)', value: (fleet) => fleet.as_planned.p99_ttft_ms,
      text: Format.milliseconds, limit: 'p99_ttft_ms'},
    tpot: {title: 'p99 TPOT', axis: 'p99 TPOT (ms)', value: (fleet) => fleet.as_planned.p99_tpot_ms,
      text: Format.milliseconds, limit: 'p99_tpot_ms'},
    energy: {title: 'energy', axis: 'J per output token',
      value: (fleet) => fleet.joules_per_output_token,
      text: (value) => `${Format.number(value)} J`},
    quality: {title: 'quality', axis: 'quality', value: (fleet) => fleet.quality,
      text: Format.number},
  };

  // Targets on other latencies than the two that are always shown.
  const otherTargets = (answer) => Object.keys(answer.slo)
    .filter((metric) => metric !== 'p99_ttft_ms' && metric !== 'p99_tpot_ms');
  const targetTitle = (metric) => {
    const [figure, of] = metric.replace(/_ms$/, '').split('_');
    return `${figure.charAt(0).toUpperCase()}${figure.slice(1)} ${of.toUpperCase()}`;
  };

  function headline(answer, chosen) {
    const tile = RunPage.tile;
    if (!chosen) {
      return element('dl', {class: 'figures'}, tile('Fleets that meet the targets', '0', '',
        `of ${answer.fleets.length} candidates`, true));
    }
    const planned = chosen.as_planned;
    const [ttft, ttftUnit] = Format.milliseconds(planned.p99_ttft_ms).split(' ');
    const [tpot, tpotUnit] = Format.milliseconds(planned.p99_tpot_ms).split(' ');
    const limit = (metric) => answer.slo[metric] === undefined ? ''
      : `target ${Format.milliseconds(answer.slo[metric])}; ` +
        `${Format.milliseconds(chosen.without_spares[metric])} without spares`;
    return element('dl', {class: 'figures'},
      tile('Cheapest fleet', dollars(chosen.cost_per_hour), 'per hour', chosen.name),
      tile('Replicas', Format.integer(chosen.replicas), '',
        `${chosen.needed_replicas} needed, on ${chosen.instances} × ${chosen.instance}`),
      tile('Output tokens', dollars(chosen.cost_per_million_output_tokens), 'per million',
        `${dollars(chosen.cost_per_thousand_requests)} per 1,000 requests`),
      ...otherTargets(answer).map((metric) => tile(targetTitle(metric),
        ...Format.milliseconds(planned.targets[metric].mean).split(' '),
        `target ${Format.milliseconds(answer.slo[metric])}; ` +
        `${Format.milliseconds(chosen.without_spares.targets[metric].mean)} without spares`)),
      tile('P99 TTFT', ttft, ttftUnit, limit('p99_ttft_ms')),
      tile('P99 TPOT', tpot, tpotUnit, limit('p99_tpot_ms')),
      tile('Energy', Format.number(chosen.joules_per_output_token), 'J/output token',
        chosen.power_assumed ? 'power partly assumed' : ''),
      tile('Rolling restart', ...Format.seconds(chosen.rolling_restart_s).split(' '),
        'one replica after another'));
  }

  function fleetTip(fleet) {
    return Chart.tip(fleet.name, [{label: 'Cost', value: `${dollars(fleet.cost_per_hour)}/h`},
      {label: 'Replicas', value: Format.integer(fleet.replicas)},
      ...Object.values(MEASURES).filter((one) => one.value(fleet) !== null)
        .map((one) => ({label: one.title, value: one.text(one.value(fleet))}))]);
  }

  function scatter(answer, met, measure) {
    const models = [...new Set(met.map((fleet) => fleet.model))];
    const option = (ctx) => {
      const series = models.map((model, i) => {
        const color = ctx.colors.series[i % ctx.colors.series.length];
        return {type: 'scatter', name: model, color,
          data: met.filter((fleet) => fleet.model === model).map((fleet) => ({
            value: [fleet.cost_per_hour, measure.value(fleet)], fleet,
            symbolSize: fleet.on_front ? 11 : 8,
            itemStyle: {color: fleet.on_front ? color : ctx.colors.surface, borderColor: color,
              borderWidth: 2}}))};
      });
      const limit = answer.slo[measure.limit];
      if (limit !== undefined) {
        series[0].markLine = {silent: true, symbol: 'none', data: [{yAxis: limit}],
          label: {formatter: 'target', position: 'insideEndTop', color: ctx.colors.muted},
          lineStyle: {color: ctx.colors.muted, type: 'dashed'}};
      }
      return Chart.option(ctx, {series, legend: Chart.legend(ctx, models),
        grid: Chart.grid(ctx, {top: models.length > 1 ? 48 : 30}),
        xAxis: Chart.xAxis(ctx, 'cost ($ per hour)', {min: 0}),
        yAxis: Chart.yAxis(ctx, measure.axis, {min: measure.limit ? 0 : undefined,
          scale: !measure.limit, max: limit === undefined ? undefined
            : Math.max(limit * 1.1, ...met.map(measure.value))}),
        tooltip: {trigger: 'item', formatter: (one) => fleetTip(one.data.fleet)}});
    };
    return {title: `Cost and ${measure.title}`, height: 320,
      note: 'One point per candidate, at the size it needs. Filled: no other fleet beats it in ' +
        'every respect.',
      label: () => `Cost against ${measure.title} of ${met.length} fleets.`, option,
      table: () => ({columns: [{name: 'Fleet', csv: 'fleet'},
        {name: 'Cost', unit: '$/h', number: true, csv: 'cost_per_hour'},
        {name: measure.axis, number: true, csv: measure.title}],
      rows: met.map((fleet) => [fleet.name, fleet.cost_per_hour, measure.value(fleet)])})};
  }

  function metTable(answer, met) {
    const targets = otherTargets(answer);
    const columns = [{name: 'Fleet', csv: 'fleet', isWide: true},
      {name: 'Front', csv: 'on_front', format: (value) => value ? 'yes' : ''},
      {name: 'Quality', number: true, csv: 'quality'},
      {name: 'Replicas', number: true, csv: 'replicas', format: Format.integer},
      {name: 'needed', number: true, csv: 'needed_replicas', format: Format.integer},
      {name: 'Instances', number: true, csv: 'instances', format: Format.integer},
      {name: 'Cost', unit: '$/h', number: true, csv: 'cost_per_hour'},
      {name: 'Output tokens', unit: '$/M', number: true, csv: 'cost_per_million_output_tokens'},
      {name: 'Requests', unit: '$/1,000', number: true, csv: 'cost_per_thousand_requests'},
      ...targets.map((metric) => ({name: targetTitle(metric), unit: 'ms', number: true,
        csv: metric})),
      {name: 'P99 TTFT', unit: 'ms', number: true, csv: 'p99_ttft_ms'},
      {name: 'P99 TPOT', unit: 'ms', number: true, csv: 'p99_tpot_ms'},
      {name: 'Energy', unit: 'J/token', number: true, csv: 'joules_per_output_token'},
      {name: 'Busy', number: true, csv: 'busy_share', format: Format.percent},
      {name: 'At least', number: true, csv: 'least_replicas', format: Format.integer}];
    return Table.create(columns, met.map((fleet) => [fleet.name, fleet.on_front, fleet.quality,
      fleet.replicas, fleet.needed_replicas, fleet.instances, fleet.cost_per_hour,
      fleet.cost_per_million_output_tokens, fleet.cost_per_thousand_requests,
      ...targets.map((metric) => fleet.as_planned.targets[metric].mean),
      fleet.as_planned.p99_ttft_ms, fleet.as_planned.p99_tpot_ms, fleet.joules_per_output_token,
      fleet.as_planned.busy_share, fleet.bounds.least_replicas]),
    {name: 'Fleets that meet the targets', sort: {column: 6, descending: false}, search: true});
  }

  function outTable(answer) {
    const rows = answer.fleets.filter((fleet) => fleet.fate !== 'met')
      .map((fleet) => [fleet.name, words(fleet.fate), fleet.reason]);
    if (!rows.length) return null;
    return Table.create([{name: 'Candidate', csv: 'candidate'},
      {name: 'Left out for', csv: 'fate', mark: () => 'bad'},
      {name: 'Why', csv: 'reason', isWide: true}], rows, {name: 'Left out', search: true});
  }

  function sensitivity(answer) {
    const row = (fleet, what, one) => [fleet.name, what, one.replicas, one.cost_per_hour,
      one.cost_per_hour === null ? null
        : Math.round((one.cost_per_hour / fleet.cost_per_hour - 1) * 100)];
    const rows = answer.finalists.map((i) => answer.fleets[i]).flatMap((fleet) => [
      [fleet.name, 'as planned', fleet.replicas, fleet.cost_per_hour, 0],
      ...(fleet.growth || []).map((one) => row(fleet, `traffic × ${one.factor}`, one)),
      ...(fleet.slower_steps ? [row(fleet, 'steps ' +
        `${Format.number((fleet.slower_steps.factor - 1) * 100)} % slower (slow end of the ` +
        'expected error)', fleet.slower_steps)] : [])]);
    return Table.create([{name: 'Fleet', csv: 'fleet'}, {name: 'If', csv: 'circumstance'},
      {name: 'Replicas', number: true, csv: 'replicas', format: (value) =>
        value === null ? 'more than max_replicas' : Format.integer(value)},
      {name: 'Cost', unit: '$/h', number: true, csv: 'cost_per_hour'},
      {name: 'More', unit: '%', number: true, csv: 'more_percent', format: (value) =>
        value === null ? '–' : Format.signed(value)}], rows,
    {name: 'If assumptions change: the cheapest fleet of each model'});
  }

  function runIt(parent, answer, chosen) {
    if (chosen.command) {
      parent.append(element('p', {class: 'note'}, `Each of the ${chosen.replicas} replicas:` +
        (chosen.not_a_flag.length ? ` (no flag for ${chosen.not_a_flag.join(', ')})` : '')),
      element('pre', {class: 'command'}, chosen.command),
      element('div', {class: 'actions'}, Clipboard.button('Copy command', () => chosen.command)));
    }
    RunPage.reproduce(parent, {file: 'fleet.json', content: answer.scenario,
      command: 'headroom run fleet.json'});
  }

  function subtitle(answer) {
    const slo = Object.entries(answer.slo).map(([metric, limit]) =>
      `${Format.metric(metric).label} ≤ ${Format.milliseconds(limit)}`).join(', ');
    const survives = [answer.failures > 0
      ? `with ${answer.failures} replica${answer.failures === 1 ? '' : 's'} failed` : '',
      answer.rolling_restart ? 'in a rolling restart' : ''].filter(Boolean).join(' or ');
    return `${Format.number(answer.traffic.request_rate)} requests/s; ${slo}` +
      `${survives ? `; kept ${survives}` : ''}; ${answer.fleets.length} candidates, ` +
      `${Format.integer(answer.simulations)} simulations`;
  }

  function show(main, page) {
    const {answer} = page;
    const met = answer.fleets.filter((fleet) => fleet.fate === 'met');
    const chosen = answer.chosen === null ? null : answer.fleets[answer.chosen];
    main.append(element('h1', {}, page.title),
      element('p', {class: 'subtitle'}, `${answer.description} ${subtitle(answer)}`),
      ...[RunPage.verdict(answer)].filter(Boolean), headline(answer, chosen),
      RunPage.alert('Assumptions', answer.assumptions));
    if (met.length) {
      const charts = RunPage.grid(RunPage.section(main, 'front', 'Trade-offs'));
      for (const measure of Object.values(MEASURES)) {
        if (met.every((fleet) => measure.value(fleet) !== null)) {
          Figures.add(charts, scatter(answer, met, measure));
        }
      }
    }
    const candidates = RunPage.section(main, 'candidates', 'Candidates');
    candidates.append(...[met.length ? metTable(answer, met) : null, outTable(answer)].filter(Boolean));
    if (!chosen) return;
    RunPage.section(main, 'sensitivity', 'Sensitivity').append(sensitivity(answer));
    runIt(RunPage.section(main, 'run', 'Run it'), answer, chosen);
  }

  return {show};
})();
