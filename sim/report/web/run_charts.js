'use strict';
// The charts of one run, each as a spec for Figures.add. Comparisons draw some of them for several
// runs: `runs` is a list everywhere, and a run's colour is its place in it.

const RunCharts = (() => {
  const column = (table, name) => table.columns.indexOf(name);

  const LATENCIES = [['ttft_ms', 'TTFT', 'time to first token'],
    ['tpot_ms', 'TPOT', 'time per output token after the first'],
    ['e2el_ms', 'E2EL', 'end-to-end latency']];

  // [[latency, share %]...]; on a logarithmic axis there is no 0.
  function cdf(run, metric) {
    const {levels} = run.latency;
    return run.latency[metric].values.map((value, i) => [value, levels[i]])
      .filter(([value]) => value > 0);
  }

  function atLevel(run, metric, level) {
    const {values} = run.latency[metric];
    return values.length ? values[run.latency.levels.indexOf(level)] : null;
  }

  function logAxis(ctx, name) {
    return Chart.xAxis(ctx, name, {type: 'log', splitLine: {show: true}});
  }

  // The name of a line beside its median, where lines are few and far apart.
  function labelled(line) {
    const middle = line.points.findIndex(([, level]) => level >= 50);
    const label = {show: true, formatter: line.name, color: line.color, fontSize: 12, distance: 6,
      position: line.side};
    return line.points.map((value, i) => i !== middle || !line.side ? value
      : {value, itemStyle: {opacity: 1, color: 'transparent'}, label});
  }

  // lines: {name, color, points, side}; `side`: of its median, for the line's name.
  // A line at the target of a latency, in the colour of its curve.
  function targetMark(ctx, {name, color, target}) {
    if (!(target > 0)) return {};
    return {markLine: {silent: true, symbol: ['none', 'none'], animation: false,
      lineStyle: {color, type: 'dashed', width: 1.5},
      label: {formatter: `${name} target`, color, fontSize: 12, position: 'insideEndTop',
        backgroundColor: ctx.colors.surface, padding: [2, 4]},
      data: [{xAxis: target}]}};
  }

  function cdfOption(ctx, lines, xName) {
    const shown = lines.filter((line) => line.points.length);
    return Chart.option(ctx, {
      legend: Chart.legend(ctx, shown.map((line) => line.name), {
        show: !shown.every((line) => line.side),
        itemStyle: {opacity: 1}}),
      grid: Chart.grid(ctx, {top: 34, bottom: 40}),
      xAxis: logAxis(ctx, xName),
      yAxis: Chart.yAxis(ctx, '% of requests', {max: 100}),
      tooltip: {trigger: 'item', formatter: (item) => Chart.tip(item.seriesName, [
        {label: `${Format.number(item.value[1])} % within`,
          value: Format.milliseconds(item.value[0])}])},
      series: shown.map((line) => Chart.line(line.name, labelled(line), line.color, {
        triggerLineEvent: true, symbol: 'circle', symbolSize: 9, showSymbol: true,
        itemStyle: {opacity: 0}, ...targetMark(ctx, line)})),
    });
  }

  function quantileTable(runs, metrics) {
    const levels = [0, 10, 25, 50, 75, 90, 95, 99, 99.9, 100];
    const columns = [{name: 'Share within', unit: '%', number: true, csv: 'percent'}];
    for (const run of runs) {
      for (const [metric, name] of metrics) {
        const of = runs.length > 1 ? `${name}, ${run.name}` : name;
        columns.push({name: of, unit: 'ms', number: true, csv: `${of} (ms)`});
      }
    }
    const rows = levels.map((level) => [level,
      ...runs.flatMap((run) => metrics.map(([metric]) => atLevel(run, metric, level)))]);
    return {columns, rows};
  }

  function latency(run) {
    return {
      title: 'Latency',
      note: `Share of the ${Format.integer(run.latency.ttft_ms.count)} finished requests within ` +
        'a latency. Exact quantiles over all of them; logarithmic axis.',
      height: 320,
      label: () => `Distributions of latency: ${LATENCIES.map(([metric, name]) =>
        `${name} median ${Format.milliseconds(atLevel(run, metric, 50))}, ` +
        `99 % within ${Format.milliseconds(atLevel(run, metric, 99))}`).join('; ')}.`,
      option: (ctx) => cdfOption(ctx, LATENCIES.map(([metric, name], i) => ({name,
        side: metric === 'tpot_ms' ? 'left' : 'right', color: ctx.colors.series[i],
        points: cdf(run, metric), target: run.scenario.slo?.[metric]})), 'latency (ms)'),
      table: () => quantileTable([run], LATENCIES),
    };
  }

  function latencyOf(runs, at) {
    const [metric, name, words] = LATENCIES[at];
    return {
      title: name,
      note: `Share of finished requests within a ${words}.`,
      height: 280,
      label: () => `Distributions of ${name}: ${runs.map((run) => `${run.name} median ` +
        Format.milliseconds(atLevel(run, metric, 50))).join('; ')}.`,
      option: (ctx) => cdfOption(ctx, runs.map((run, i) => ({name: run.name,
        color: ctx.colors.series[i], points: cdf(run, metric)})), `${name} (ms)`),
      table: () => quantileTable(runs, [LATENCIES[at]]),
    };
  }

  function throughput(run) {
    const {bin_s: bin, arrived_per_s: arrived, finished_per_s: finished,
      output_tokens_per_s: tokens} = run.throughput;
    const end = run.summary.end_s;
    const middle = (i) => (i + 0.5) * bin;
    return {
      title: 'Throughput over time',
      note: `Means over ${Format.seconds(bin)}. The tokens of an answer are spread evenly from ` +
        'its first to its last.',
      height: 320,
      label: () => 'Output tokens per second, and requests that arrive and finish per second, ' +
        `over ${Format.seconds(end)}; over the run ${Format.value('output_throughput',
          run.summary.metrics.output_throughput)}.`,
      option: (ctx) => {
        const time = Chart.timeAxis(ctx, end, {gridIndex: 1});
        const points = (values) => values.map((value, i) => [time.scaled(middle(i)), value]);
        const {colors} = ctx;
        return Chart.option(ctx, {
          legend: Chart.legend(ctx, ['arrived', 'finished'], {top: 168}),
          grid: [Chart.grid(ctx, {height: 110}), Chart.grid(ctx, {top: 198, bottom: 40})],
          xAxis: [Chart.xAxis(ctx, '', {...time.axis, name: '', gridIndex: 0,
            axisLabel: {show: false}}), time.axis],
          yAxis: [Chart.yAxis(ctx, 'output tokens/s', {splitNumber: 3}),
            Chart.yAxis(ctx, 'requests/s', {gridIndex: 1, splitNumber: 2})],
          axisPointer: {link: [{xAxisIndex: 'all'}]},
          tooltip: {trigger: 'axis', formatter: (items) => Chart.tip(
            Format.seconds(items[0].value[0] * time.unit.seconds), items.map((item) => ({
              color: item.color, label: item.seriesName, value: `${Format.number(item.value[1])} ` +
                (item.seriesIndex === 0 ? 'tokens/s' : 'requests/s')})))},
          series: [Chart.line('output', points(tokens), colors.blue),
            Chart.line('arrived', points(arrived), colors.gray, {xAxisIndex: 1, yAxisIndex: 1}),
            Chart.line('finished', points(finished), colors.green,
              {xAxisIndex: 1, yAxisIndex: 1})],
        });
      },
      table: () => ({columns: [{name: 'From', unit: 's', number: true, csv: 'from_s'},
        {name: 'Output', unit: 'tokens/s', number: true, csv: 'output_tokens_per_s'},
        {name: 'Arrived', unit: '1/s', number: true, csv: 'arrived_per_s'},
        {name: 'Finished', unit: '1/s', number: true, csv: 'finished_per_s'}],
      rows: tokens.map((value, i) => [i * bin, value, arrived[i], finished[i]])}),
    };
  }

  // Times of OOM as vertical lines; those of one kind in one place stand once.
  function oomMarks(run, ctx, scaled) {
    const marks = run.summary.oom.map((oom) => [oom.time_s, oom.kind]);
    for (const [time] of run.timeline.oom) {
      if (!marks.some(([known]) => known === time)) marks.push([time, '']);
    }
    return {silent: false, symbol: ['none', 'none'], animation: false,
      lineStyle: {color: ctx.colors.red, type: 'solid', width: 1.5},
      label: {formatter: (mark) => mark.name.replaceAll('_', ' '), color: ctx.colors.red,
        fontSize: 12, position: 'insideStartBottom', backgroundColor: ctx.colors.surface,
        padding: [2, 4], borderRadius: 2},
      data: marks.slice(0, 60).map(([time, kind], i) => ({name: i < 4 ? kind : '',
        xAxis: scaled(time)}))};
  }

  const KV_PARTS = [['kv_used_tokens', 'used', 'blue'],
    ['kv_reserved_tokens', 'reserved', 'orange'], ['kv_internal_tokens', 'internal waste', 'red'],
    ['kv_external_tokens', 'external waste', 'purple'], ['kv_cached_tokens', 'cached', 'sky']];

  // `others`: of a comparison's further runs, which need no second explanation.
  function memory(run, title = 'KV memory over time', others = false) {
    const {timeline} = run;
    const end = run.summary.end_s;
    const time = column(timeline, 'time_s');
    const capacity = column(timeline, 'kv_capacity_tokens');
    const parts = KV_PARTS.filter(([name, , ]) => name === 'kv_used_tokens' ||
      timeline.rows.some((row) => row[column(timeline, name)] > 0));
    const thinned = timeline.rows.length < timeline.samples
      ? ` Of ${Format.integer(timeline.samples)} samples, those with the fullest pool or longest ` +
        `queue are shown (${Format.integer(timeline.rows.length)}).` : '';
    const whole = Math.max(1, ...timeline.rows.map((row) => row[capacity]));
    return {
      title,
      note: (others ? '' : 'Tokens of the KV pool: used are written, reserved are held for ' +
        'future tokens, internal waste is held but never written, external waste is free ' +
        `outside the largest hole, cached is free but can still be reused.`) + thinned,
      height: 300,
      label: () => `KV memory over time: at most ${Format.percent(
        run.summary.memory.peak_utilisation)} of ${Format.integer(whole)} tokens in use; ` +
        `${run.summary.oom.length} kinds of out-of-memory.`,
      option: (ctx) => {
        const axis = Chart.timeAxis(ctx, end);
        const series = parts.map(([name, label, tone]) => {
          const at = column(timeline, name);
          return Chart.line(label, timeline.rows.map((row) => [axis.scaled(row[time]), row[at]]),
            ctx.colors[tone], {stack: 'kv', lineStyle: {width: 0}, areaStyle: {opacity: .9,
              color: ctx.colors[tone]}, step: false});
        });
        series.push(Chart.line('capacity', [[0, whole], [axis.scaled(end), whole]],
          ctx.colors.muted, {lineStyle: {width: 1, color: ctx.colors.muted, type: 'dashed'},
            silent: true, markLine: oomMarks(run, ctx, axis.scaled)}));
        return Chart.option(ctx, {
          legend: Chart.legend(ctx, [...parts.map(([, label]) => label), 'capacity']),
          grid: Chart.grid(ctx, {top: ctx.narrow ? 52 : 34, bottom: 40}),
          xAxis: axis.axis,
          yAxis: Chart.yAxis(ctx, ctx.narrow ? 'tokens' : 'KV tokens', {max: whole,
            axisLabel: {showMaxLabel: true}}),
          tooltip: {trigger: 'axis', formatter: (items) => Chart.tip(
            Format.seconds(items[0].value[0] * axis.unit.seconds),
            items.filter((item) => item.seriesName !== 'capacity').map((item) => ({
              color: item.color, label: item.seriesName,
              value: `${Format.integer(item.value[1])} (${Format.percent(
                item.value[1] / whole)})`})))},
          series,
        });
      },
      table: () => timelineTable(run),
    };
  }

  function timelineTable(run) {
    const units = {time_s: 's'};
    return {columns: run.timeline.columns.map((name) => ({
      name: name.replace(/_(s|requests|tokens)$/, '').replaceAll('_', ' ').replace('kv', 'KV'),
      unit: units[name] || (name.endsWith('tokens') ? 'tokens' : 'requests'), number: true,
      csv: name})), rows: run.timeline.rows};
  }

  const EVENTS = [['preempted', 'preemptions', 'orange'], ['rejected', 'rejections', 'purple'],
    ['cancelled', 'cancellations', 'sky'], ['placement_refused', 'placements refused', 'gray'],
    ['oom', 'OOM', 'red']];

  function queue(run) {
    const {timeline, events} = run;
    const end = run.summary.end_s;
    const at = (name) => column(timeline, name);
    const kinds = EVENTS.filter(([kind]) => events.bins[kind]);
    const total = (kind) => events.counts[kind] || 0;
    return {
      title: 'Queue and preemptions',
      note: kinds.length
        ? `Requests in the batch and in the queue; below, events in each ${Format.seconds(
          events.bin_s)}.`
        : 'Requests in the batch and in the queue. Nothing was preempted, rejected or cancelled.',
      height: kinds.length ? 340 : 250,
      label: () => `Running and waiting requests over time; ${kinds.map(([kind, name]) =>
        `${Format.integer(total(kind))} ${name}`).join(', ') || 'no preemptions'}.`,
      option: (ctx) => queueOption(ctx, run, kinds, Chart.timeAxis(ctx, end), at),
      table: () => timelineTable(run),
    };
  }

  function queueOption(ctx, run, kinds, axis, at) {
    const {timeline, events} = run;
    const {colors} = ctx;
    const points = (name) => timeline.rows.map((row) => [axis.scaled(row[at('time_s')]),
      row[at(name)]]);
    const lines = [Chart.line('running', points('running_requests'), colors.blue, {step: 'end'}),
      Chart.line('waiting', points('waiting_requests'), colors.red, {step: 'end',
        markLine: oomMarks(run, ctx, axis.scaled)})];
    const bars = kinds.map(([kind, name, tone]) => ({type: 'bar', name, stack: 'events',
      color: colors[tone], barWidth: '100%', barGap: '-100%', xAxisIndex: 1, yAxisIndex: 1,
      data: events.bins[kind].map((count, i) => [axis.scaled((i + 0.5) * events.bin_s), count])}));
    const two = kinds.length > 0;
    return Chart.option(ctx, {
      legend: [Chart.legend(ctx, ['running', 'waiting']),
        Chart.legend(ctx, kinds.map(([, name]) => name), {show: two, top: 196})],
      grid: two ? [Chart.grid(ctx, {height: 140}), Chart.grid(ctx, {top: 228, bottom: 40})]
        : [Chart.grid(ctx, {bottom: 40})],
      xAxis: two ? [{...axis.axis, name: '', axisLabel: {show: false}},
        {...axis.axis, gridIndex: 1}] : [axis.axis],
      yAxis: [Chart.yAxis(ctx, 'requests', {minInterval: 1}),
        ...(two ? [Chart.yAxis(ctx, 'events', {gridIndex: 1, minInterval: 1, splitNumber: 2})]
          : [])],
      axisPointer: {link: [{xAxisIndex: 'all'}]},
      tooltip: {trigger: 'axis', formatter: (items) => Chart.tip(
        Format.seconds(items[0].value[0] * axis.unit.seconds), items.map((item) => ({
          color: item.color, label: item.seriesName, value: Format.integer(item.value[1])})))},
      series: [...lines, ...bars],
    });
  }

  const OUTCOMES = [['finished', 'blue', 'circle'], ['rejected', 'red', 'diamond'],
    ['cancelled', 'purple', 'triangle'], ['lost_to_oom', 'orange', 'rect'],
    ['lost_to_fault', 'green', 'pin'], ['unfinished', 'gray', 'emptyCircle']];

  function scatter(run) {
    const {requests} = run;
    const at = (name) => column(requests, name);
    const drawn = requests.sample;
    const label = (outcome) => outcome.replaceAll('_', ' ');
    const present = OUTCOMES.filter(([outcome]) =>
      drawn.some((row) => row[at('outcome')] === outcome));
    // Without a first token: how long the request was there.
    const height = (row) => row[at('ttft_ms')] ?? row[at('e2el_ms')];
    const some = drawn.length < requests.total
      ? `${Format.integer(drawn.length)} requests drawn of ` +
        `${Format.integer(requests.total)}. ` : '';
    return {
      title: 'Prompt length and time to first token',
      note: `${some}Requests without a first token are drawn at the time when they left.`,
      height: 320,
      label: () => `Prompt tokens against time to first token of ${drawn.length} requests.`,
      option: (ctx) => Chart.option(ctx, {
        legend: Chart.legend(ctx, present.map(([outcome]) => label(outcome))),
        grid: Chart.grid(ctx, {top: 34, bottom: 40}),
        xAxis: Chart.xAxis(ctx, 'prompt (tokens)', {splitLine: {show: true}}),
        yAxis: Chart.yAxis(ctx, 'TTFT (ms)', {type: 'log'}),
        tooltip: {trigger: 'item', formatter: (item) => {
          const row = item.data[2];
          return Chart.tip(`request ${row[at('index')]}: ${label(row[at('outcome')])}`, [
            {label: 'prompt', value: `${Format.integer(row[at('prompt_tokens')])} tokens`},
            {label: 'output', value: `${Format.integer(row[at('output_tokens')])} tokens`},
            {label: 'TTFT', value: Format.milliseconds(row[at('ttft_ms')])},
            {label: 'E2EL', value: Format.milliseconds(row[at('e2el_ms')])},
            {label: 'arrived at', value: Format.seconds(row[at('arrival_s')])},
            {label: 'preemptions', value: Format.integer(row[at('preemptions')])}]);
        }},
        series: present.map(([outcome, tone, symbol]) => ({type: 'scatter', name: label(outcome),
          symbol, symbolSize: outcome === 'finished' ? 4 : 7, color: ctx.colors[tone],
          itemStyle: {opacity: outcome === 'finished' ? .55 : .9},
          data: drawn.filter((row) => row[at('outcome')] === outcome && height(row) > 0)
            .map((row) => [row[at('prompt_tokens')], height(row), row])})),
      }),
      table: () => requestTable(run, requests.sample),
    };
  }

  function requestTable(run, rows) {
    const names = {index: ['Request', ''], arrival_s: ['Arrived', 's'], class: ['Class', ''],
      prompt_tokens: ['Prompt', 'tokens'], output_tokens: ['Output', 'tokens'],
      ttft_ms: ['TTFT', 'ms'], tpot_ms: ['TPOT', 'ms'], e2el_ms: ['E2EL', 'ms'],
      preemptions: ['Preemptions', ''], outcome: ['Outcome', '']};
    const classes = Object.keys(run.summary.classes || {});
    return {columns: run.requests.columns.map((name) => ({name: names[name][0],
      unit: names[name][1], number: name !== 'outcome' && name !== 'class', csv: name,
      format: name === 'index' ? String
        : name === 'class' ? (value) => classes[value] ?? String(value) : null})), rows};
  }

  // One horizontal bar per entry and run, the value written behind it. entries: {name, values}.
  function bars(ctx, entries, runs, format, xName) {
    const one = runs.length === 1;
    const names = entries.map((entry) => entry.name);
    return Chart.option(ctx, {
      legend: Chart.legend(ctx, runs.map((run) => run.name)),
      grid: Chart.grid(ctx, {top: one ? 4 : 30, bottom: 4, right: 132}),
      xAxis: {...Chart.xAxis(ctx, '', {axisLabel: {show: false}, min: 0}),
        axisLine: {show: false}},
      yAxis: Chart.yAxis(ctx, '', {type: 'category', data: names, inverse: true,
        axisLabel: {formatter: (text) => text, color: ctx.colors.text, interval: 0},
        splitLine: {show: false}}),
      tooltip: {trigger: 'item', formatter: (item) => Chart.tip(names[item.dataIndex], [
        {color: item.color, label: one ? xName : item.seriesName,
          value: format(item.value, item.seriesIndex)}])},
      series: runs.map((run, i) => ({type: 'bar', name: run.name, color: ctx.colors.series[i],
        barMaxWidth: 18, barGap: '10%', data: entries.map((entry) => entry.values[i]),
        label: {show: true, position: 'right', color: ctx.colors.muted, fontSize: 12,
          formatter: (item) => format(item.value, i)}})),
    });
  }

  const barsHeight = (entries, runs) => 16 + (runs.length > 1 ? 26 : 0) +
    entries.length * Math.max(26, 9 + 16 * runs.length);

  // The names in any of `objects` whose value is not 0 everywhere, as entries for `bars`.
  function entriesOf(objects, isLargestFirst) {
    const names = [...new Set(objects.flatMap((object) => Object.keys(object)))];
    const entries = names.map((name) => ({name: name.replaceAll('_', ' ').replace('kv', 'KV'),
      values: objects.map((object) => object[name] || 0)}))
      .filter((entry) => entry.values.some((value) => value > 0));
    const most = (entry) => Math.max(...entry.values);
    return isLargestFirst ? entries.sort((a, b) => most(b) - most(a)) : entries;
  }

  function budget(runs) {
    const memories = runs.map((run) => run.summary.memory);
    const entries = entriesOf(memories.map((memory) => memory.budget_bytes), true);
    const share = (value, i) => Format.percent(value / memories[i].capacity_bytes);
    return {
      title: 'Device memory by purpose',
      note: `The start-up budget of each device: ${[...new Set(memories.map((memory) =>
        Format.gib(memory.capacity_bytes)))].join(' and ')} in all.`,
      height: () => barsHeight(entries, runs),
      label: () => `Device memory by purpose: ${entries.map((entry) => `${entry.name} ` +
        entry.values.map((value) => Format.gib(value)).join(' and ')).join(', ')}.`,
      option: (ctx) => bars(ctx, entries, runs, (value, i) => `${Format.gib(value)}, ` +
        `${share(value, i)}`, 'memory'),
      table: () => ({columns: [{name: 'Purpose'}, ...runs.map((run) => ({number: true,
        name: runs.length > 1 ? run.name : 'Memory', unit: 'GiB',
        csv: runs.length > 1 ? `${run.name} (GiB)` : 'gib'}))],
      rows: entries.map((entry) => [entry.name, ...entry.values.map((v) => v / Format.GIB)])}),
    };
  }

  // Share of the time in which a run's replicas were there that their steps took.
  function busyNote({engine, end_s, fleet}) {
    const seconds = fleet ? fleet.replica_seconds ?? fleet.replicas * end_s : end_s;
    const share = Format.percent(engine.busy_s / seconds);
    return fleet ? `the engines were busy ${share} of their time.`
      : `the engine was busy ${share} of the time.`;
  }

  function stepTime(runs) {
    const engines = runs.map((run) => run.summary.engine);
    const entries = entriesOf(engines.map((engine) => engine.time_s), true);
    return {
      title: 'Where the step time goes',
      note: runs.length > 1 ? 'Simulated time of all steps by cost term.'
        : `${Format.integer(engines[0].steps)} steps took ${Format.seconds(engines[0].busy_s)}, ` +
          `by cost term; ${busyNote(runs[0].summary)}`,
      height: () => barsHeight(entries, runs),
      label: () => `Step time by cost term: ${entries.map((entry) => `${entry.name} ` +
        entry.values.map((value) => Format.seconds(value)).join(' and ')).join(', ')}.`,
      option: (ctx) => bars(ctx, entries, runs, (value, i) => `${Format.seconds(value)}, ` +
        `${Format.percent(value / engines[i].busy_s)}`, 'time'),
      table: () => ({columns: [{name: 'Cost term'}, ...runs.map((run) => ({number: true,
        name: runs.length > 1 ? run.name : 'Time', unit: 's',
        csv: runs.length > 1 ? `${run.name} (s)` : 'time_s'}))],
      rows: entries.map((entry) => [entry.name, ...entry.values])}),
    };
  }

  return {latency, latencyOf, throughput, memory, queue, scatter, requestTable, budget, stepTime,
    LATENCIES};
})();
