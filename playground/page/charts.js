'use strict';
// Charts that only the playground has: latency against throughput, and what fits at once. `sides`
// is a list of {name, points, capacity}; a side's colour is its place in it.

const PlaygroundCharts = (() => {
  // [[x, low], [x, high - low]] of the measured runs beside the simulated mean.
  function band(points, metric) {
    const edges = points.filter((point) => point.error?.[`mean_${metric}_ms_percent`])
      .map((point) => {
        const [low, high] = point.error[`mean_${metric}_ms_percent`];
        const mean = point.metrics[`mean_${metric}_ms`];
        return [point.metrics.output_throughput, mean * (1 + low / 100), mean * (1 + high / 100)];
      });
    return [...edges.map(([x, low]) => [x, low]),
      ...edges.map(([x, , high]) => [x, high]).reverse()];
  }

  // The band as a polygon; points are in order of load, so that a curve may bend back.
  function bandSeries(side, metric, color) {
    const outline = band(side.points, metric);
    return {type: 'custom', silent: true, name: `${side.key} band`, z: 1, clip: true,
      data: outline.length ? [0] : [], renderItem: (params, api) => ({type: 'polygon',
        shape: {points: outline.map((point) => api.coord(point))},
        style: {fill: color, opacity: .16}})};
  }

  // The name of a line: of which system, where there are two.
  const lineName = (side, sides, statistic) =>
    sides.length > 1 ? `${side.name} ${statistic}` : statistic;

  function curveSeries(ctx, side, sides, metric) {
    const color = ctx.colors.series[sides.indexOf(side)];
    const at = (statistic) => side.points.map((point) => ({value: [
      point.metrics.output_throughput, point.metrics[`${statistic}_${metric}_ms`]], point}));
    const own = {symbol: 'circle', symbolSize: 6, showSymbol: true, clip: true};
    return [bandSeries(side, metric, color),
      Chart.line(lineName(side, sides, 'mean'), at('mean'), color, own),
      Chart.line(lineName(side, sides, 'p99'), at('p99'), color, {...own, symbolSize: 4,
        lineStyle: {width: 1.5, type: 'dashed', color}})];
  }

  function bandNote(sides) {
    const runs = sides.flatMap((side) => side.points).find((point) => point.error?.measured_runs);
    return runs ? `Shaded: where the mean of ${Format.integer(runs.error.measured_runs)} ` +
      `measured runs of ${runs.error.situation === 'same model' ? 'this model' : 'other models'} ` +
      'lay beside the simulated one.' : 'No measured runs are like these: there is no band.';
  }

  // metric: 'ttft' or 'tpot'.
  function curve(sides, metric, unit) {
    const name = metric.toUpperCase();
    const drawn = sides.filter((side) => side.points.length);
    return {
      title: `${name} against throughput`,
      note: `Each point is a run at another load. ${bandNote(drawn)}`,
      height: 320,
      label: () => `${name} against output tokens per second: ${drawn.map((side) =>
        `${side.name} up to ${Format.number(Math.max(...side.points.map((point) =>
          point.metrics.output_throughput)))} tokens/s`).join('; ')}.`,
      option: (ctx) => Chart.option(ctx, {
        legend: Chart.legend(ctx, drawn.flatMap((side) => ['mean', 'p99'].map((one) =>
          lineName(side, sides, one))), {icon: undefined, itemWidth: 24}),  // as the lines are
        grid: Chart.grid(ctx, {top: ctx.narrow && sides.length > 1 ? 52 : 34, bottom: 40}),
        xAxis: Chart.xAxis(ctx, 'output tokens/s', {splitLine: {show: true}}),
        yAxis: Chart.yAxis(ctx, `${name} (ms)`, {type: 'log'}),
        tooltip: {trigger: 'item', formatter: (item) => pointTip(item, metric, unit)},
        series: drawn.flatMap((side) => curveSeries(ctx, side, sides, metric))
          .concat({type: 'line', data: [], markLine: {silent: true, symbol: ['none', 'none'],
            animation: false, lineStyle: {color: ctx.colors.muted, type: 'dotted'},
            label: {formatter: 'target', color: ctx.colors.muted, position: 'insideEndTop'},
            data: drawn.length ? [{yAxis: Scenarios.TARGETS[`${metric}_ms`]}] : []}}),
      }),
      table: () => ({columns: [{name: 'System'}, {name: 'Load', unit, number: true},
        {name: 'Output', unit: 'tokens/s', number: true}, {name: `${name} mean`, unit: 'ms',
          number: true}, {name: `${name} p99`, unit: 'ms', number: true}],
      rows: drawn.flatMap((side) => side.points.map((point) => [side.name, point.load,
        point.metrics.output_throughput, point.metrics[`mean_${metric}_ms`],
        point.metrics[`p99_${metric}_ms`]]))}),
    };
  }

  function pointTip(item, metric, unit) {
    const {point} = item.data;
    return Chart.tip(`${Format.number(point.load)} ${unit}`, [
      {label: 'output', value: `${Format.number(point.metrics.output_throughput)} tokens/s`},
      {label: 'mean', value: Format.milliseconds(point.metrics[`mean_${metric}_ms`])},
      {label: 'p99', value: Format.milliseconds(point.metrics[`p99_${metric}_ms`])}]);
  }

  const CONCURRENCIES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];
  const STATES = [['fits', 'all run at once'], ['batch', 'some wait for the batch'],
    ['pool', 'some wait for memory'], ['never', 'does not fit or is refused']];

  // What happens to `count` requests of a context that arrive together.
  function stateOf(context, count) {
    if (count <= context.max_concurrent) return 0;
    if (context.max_concurrent === 0) return 3;
    return context.limited_by === 'blocks' ? 2 : 1;
  }

  const LIMITS = {blocks: 'the KV pool', max_num_seqs: 'the batch', does_not_fit: 'does not fit',
    max_model_len: 'too long for the engine'};
  const limitText = (name) => LIMITS[name] || name.replaceAll('_', ' ');
  const contextText = (count) => count % 1024 === 0 ? `${count / 1024}k` : String(count);

  function fitMap(side) {
    const {contexts} = side.capacity;
    const cells = contexts.flatMap((context, x) => CONCURRENCIES.map((count, y) =>
      [x, y, stateOf(context, count)]));
    return {
      title: `What fits at once${side.only ? '' : `, ${side.name}`}`,
      note: 'Requests of one length, prompt and output together, that are there at the same time.',
      height: 330,
      label: () => `Requests that fit at once: ${contexts.map((context) =>
        `${Format.integer(context.max_concurrent)} of ${contextText(context.tokens)} tokens`)
        .join(', ')}.`,
      option: (ctx) => {
        const {colors} = ctx;
        const tones = [colors.blue, colors.sky, colors.orange, colors.line];
        return Chart.option(ctx, {
          grid: Chart.grid(ctx, {top: 30, bottom: 70}),
          xAxis: Chart.xAxis(ctx, 'tokens of a request', {type: 'category',
            data: contexts.map((context) => contextText(context.tokens)),
            axisLabel: {formatter: (text) => text}}),
          yAxis: Chart.yAxis(ctx, 'requests', {type: 'category', data: CONCURRENCIES.map(String),
            axisLabel: {formatter: (text) => text}, splitLine: {show: false}}),
          visualMap: {type: 'piecewise', orient: 'horizontal', left: 'center', bottom: 0,
            selectedMode: false, itemWidth: 12, itemHeight: 12, itemGap: 10,
            textStyle: {color: colors.muted, fontSize: 12},
            pieces: STATES.map(([name, text], value) => ({value, color: tones[value],
              label: ctx.narrow ? name : text}))},
          tooltip: {trigger: 'item', formatter: (item) => cellTip(contexts[item.value[0]],
            CONCURRENCIES[item.value[1]], item.value[2])},
          series: [{type: 'heatmap', data: cells, itemStyle: {borderColor: colors.surface,
            borderWidth: 1}, emphasis: {itemStyle: {borderColor: colors.text}}}],
        });
      },
      table: () => contextTable([side]),
    };
  }

  function cellTip(context, count, state) {
    return Chart.tip(`${Format.integer(count)} × ${contextText(context.tokens)} tokens`, [
      {label: STATES[state][1], value: ''},
      {label: 'at once', value: Format.integer(context.max_concurrent)},
      {label: 'limit', value: limitText(context.limited_by)}]);
  }

  // Users by context, of all sides.
  function contextTable(sides) {
    const one = sides.length === 1;
    return {columns: [{name: 'Context', unit: 'tokens', number: true},
      ...sides.flatMap((side) => [{name: one ? 'At once' : `${side.name}, at once`,
        unit: 'requests', number: true}, {name: one ? 'Limit' : `${side.name}, limit`}])],
    rows: sides[0].capacity.contexts.map((context, i) => [context.tokens,
      ...sides.flatMap((side) => [side.capacity.contexts[i].max_concurrent,
        limitText(side.capacity.contexts[i].limited_by)])])};
  }

  return {curve, fitMap, contextTable};
})();
