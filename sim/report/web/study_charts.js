'use strict';
// A study: any metric over any axis, a heat map over two axes, and the table of all points.

const StudyCharts = (() => {
  // What a kind of OOM is called in a cell, one letter each.
  const OOM_LETTERS = {startup: 'S', rejected_too_long: 'L', runtime_device: 'D',
    fragmentation: 'F', thrash: 'T', runtime_host: 'H', cgroup_kill: 'C', host_freeze: 'Z',
    kv_cells: 'K'};
  const words = (kind) => kind.replaceAll('_', ' ');

  // The study's data, with values that the charts use repeatedly.
  function model(study) {
    const short = (path) => {
      const parts = path.split(/[./]/).filter(Boolean);
      const last = parts[parts.length - 1];
      const twins = study.axes.filter((axis) => axis.path.split(/[./]/).pop() === last);
      const isVague = /^(name|tokens|value|min|max|median|sigma|count|id)$/.test(last);
      return twins.length > 1 || isVague ? parts.slice(-2).join('.') : last;
    };
    const axes = study.axes.map((axis, i) => ({...axis, at: i, label: short(axis.path),
      numeric: axis.values.every((value) => typeof value === 'number'),
      names: Format.settings(axis.values)}));
    const rows = study.points.map((values, i) => ({i, values, status: study.status[i],
      oom: Object.keys(study.oom[i] || {}), ooms: study.oom[i] || {}}));
    const mean = (metric, row) => study.values[metric].mean[row.i];
    const range = (metric, row) => study.values[metric].low
      ? [study.values[metric].low[row.i], study.values[metric].high[row.i]] : null;
    // An axis that advances together with one before it (`zip`) is no choice of its own.
    const follows = (axis) => axes.slice(0, axis.at).some((before) => {
      const pairs = new Set(study.points.map((point) => JSON.stringify(
        [point[before.at], point[axis.at]])));
      return before.values.length === axis.values.length && pairs.size === axis.values.length;
    });
    const varying = axes.filter((axis) => axis.values.length > 1 && !follows(axis));
    return {...study, axes, varying, rows, mean, range};
  }

  const hasFailed = (row) => row.status.done === 0;
  const isUnsteady = (row) => row.status.not_stationary > 0;
  const name = (study, row, axes) => axes.map((axis) => row.values[axis.at] === null ? null
    : `${axis.label} ${axis.names[row.values[axis.at]]}`).filter(Boolean).join(', ');

  function state(row) {
    const texts = [];
    if (row.status.failed) texts.push(`${row.status.failed} failed`);
    if (row.status.not_stationary) texts.push('not stationary');
    for (const [kind, count] of Object.entries(row.ooms)) {
      texts.push(`OOM: ${words(kind)}${count > 1 ? ` × ${Format.integer(count)}` : ''}`);
    }
    return texts.join('; ');
  }

  function select(label, options, chosen, onchange) {
    const node = element('select', {onchange: () => onchange(node.value)},
      ...options.map(([value, text]) => element('option', {value,
        selected: String(value) === String(chosen)}, text)));
    return element('label', {}, label, node);
  }

  // A choice of axes and metrics; axes that are not drawn are held at one value, or give the best
  // point of each place.
  class Choice {
    constructor(study, picks) {
      this.study = study;
      this.picks = picks;   // name -> axis number, or -1
      this.held = new Map();
      this.box = element('div', {class: 'controls'});
      this.metrics = {};
      for (const axis of study.varying) this.held.set(axis.at, -1);
    }

    axis(pick) {
      return this.study.axes[this.picks[pick]] || null;
    }

    isDrawn(axis) {
      return Object.values(this.picks).includes(axis.at);
    }

    rows() {
      return this.study.rows.filter((row) => this.study.varying.every((axis) =>
        this.isDrawn(axis) || this.held.get(axis.at) === -1 ||
        row.values[axis.at] === this.held.get(axis.at)));
    }

    // The best row by the metric; one that has no value only when all have none.
    best(rows, metric) {
      const cost = Format.isCost(metric);
      return rows.reduce((best, row) => {
        if (!best) return row;
        const [a, b] = [this.study.mean(metric, best), this.study.mean(metric, row)];
        if (b === null) return best;
        return a === null || (cost ? b < a : b > a) ? row : best;
      }, null);
    }

    // spec: {metrics: {pick: label}, axes: {pick: [label, optional]}}
    controls(spec, update) {
      const {study} = this;
      const redraw = () => {
        this.box.replaceChildren(...nodes());
        update();
      };
      const nodes = () => [
        ...Object.entries(spec.metrics).map(([pick, label]) => select(label,
          study.metrics.map((one) => [one, Format.title(one)]), this.metrics[pick], (value) => {
            this.metrics[pick] = value;
            redraw();
          })),
        ...Object.entries(spec.axes).map(([pick, [label, optional]]) => select(label,
          [...(optional ? [[-1, 'none']] : []), ...study.varying.map((axis) =>
            [axis.at, axis.label])], this.picks[pick], (value) => {
            const other = Object.keys(this.picks).find((one) =>
              one !== pick && this.picks[one] === Number(value));
            if (other && Number(value) !== -1) this.picks[other] = this.picks[pick];
            this.picks[pick] = Number(value);
            redraw();
          })),
        ...study.varying.filter((axis) => !this.isDrawn(axis)).map((axis) => select(axis.label,
          [[-1, 'best of all'], ...axis.names.map((text, i) => [i, text])],
          this.held.get(axis.at), (value) => {
            this.held.set(axis.at, Number(value));
            redraw();
          }))];
      this.box.replaceChildren(...nodes());
      return this.box;
    }
  }

  // Axes in the order in which a picture is likely to show them.
  function preferred(study, patterns) {
    const free = study.varying.filter((axis) => axis.values.length > 1);
    return [...free].sort((a, b) => {
      const rank = (axis) => {
        const at = patterns.findIndex((pattern) => pattern.test(axis.path));
        return at === -1 ? patterns.length : at;
      };
      return rank(a) - rank(b) || b.numeric - a.numeric || b.values.length - a.values.length;
    });
  }

  // Few enough to distinguish as lines.
  const isFew = (axis) => axis.values.length <= 12;

  const has = (study, wanted) => wanted.find((one) => study.metrics.includes(one)) ||
    study.metrics[0];

  // Rows by value on the series axis: [{name, rows}...].
  function split(study, rows, axis) {
    if (!axis) return [{name: 'all points', rows}];
    return axis.values.map((_, i) => ({name: `${axis.label} ${axis.names[i]}`,
      short: axis.names[i],
      rows: rows.filter((row) => row.values[axis.at] === i)})).filter((one) => one.rows.length);
  }

  function grouped(rows, key) {
    const groups = new Map();
    for (const row of rows) {
      const group = groups.get(key(row));
      if (group) {
        group.push(row);
      } else {
        groups.set(key(row), [row]);
      }
    }
    return groups;
  }

  // One row per place on `axis`, in its order.
  function along(choice, rows, axis, metric) {
    const places = grouped(rows, (row) => row.values[axis.at]);
    return axis.values.map((_, i) => choice.best(places.get(i) || [], metric)).filter(Boolean);
  }

  function pointTip(study, row, metrics) {
    const lines = metrics.map((metric) => {
      const range = study.range(metric, row);
      const value = Format.value(metric, study.mean(metric, row));
      return {label: Format.metric(metric).label, value: range && range[0] !== range[1]
        ? `${value} (${Format.number(range[0])} to ${Format.number(range[1])})` : value};
    });
    const said = state(row);
    return Chart.tip(name(study, row, study.varying),
      [...lines, ...(said ? [{label: said, value: ''}] : [])]);
  }

  // Points on a line from which on they are drawn small.
  const DENSE = 60;

  // Hollow: not stationary. Diamond: something ran out of memory.
  function symbolOf(ctx, row, color, isDense) {
    const unsteady = isUnsteady(row);
    const size = row.oom.length ? 10 : 7;
    return {symbol: row.oom.length ? 'diamond' : 'circle', symbolSize: isDense ? size / 2 : size,
      itemStyle: {color: unsteady ? ctx.colors.surface : color, borderColor: color,
        borderWidth: unsteady ? 2 : 0}};
  }

  const LEGEND = 'Hollow: not stationary. Diamond: memory ran out. Cross: no value (failed, did ' +
    'not start, or withheld).';

  // A bar from the lowest to the highest replication.
  function spread(study, name, rows, metric, color, place) {
    const bars = rows.map((row) => [place(row), study.range(metric, row)])
      .filter(([, range]) => range && range[0] !== null && range[0] !== range[1]);
    return {type: 'custom', name, color, silent: true, tooltip: {show: false}, z: 1,
      data: bars.map(([x, [low, high]]) => [x, low, high]), encode: {x: 0, y: [1, 2]},
      renderItem: (params, api) => {
        const [x, top] = api.coord([api.value(0), api.value(2)]);
        const [, bottom] = api.coord([api.value(0), api.value(1)]);
        const line = (x1, y1, x2, y2) => ({type: 'line', shape: {x1, y1, x2, y2},
          style: {stroke: color, lineWidth: 1.25}});
        return {type: 'group', children: [line(x, top, x, bottom), line(x - 4, top, x + 4, top),
          line(x - 4, bottom, x + 4, bottom)]};
      }};
  }

  // Points without a value, on the floor of the chart.
  function crosses(study, name, rows, metric, color, place, floor) {
    return {type: 'scatter', name, color, symbolSize: 9, z: 4,
      symbol: 'path://M0,1L1,0L5,4L9,0L10,1L6,5L10,9L9,10L5,6L1,10L0,9L4,5Z',
      data: rows.filter((row) => study.mean(metric, row) === null)
        .map((row) => ({value: [place(row), floor], row}))};
  }

  function scaleOf(values) {
    const least = Math.min(...values);
    return least > 0 && Math.max(...values) / least >= 60 ? 'log' : 'value';
  }

  // The lowest value of an axis of `values`: of a logarithmic one the power of ten below them.
  function floorOf(values) {
    return scaleOf(values) === 'log' ? 10 ** Math.floor(Math.log10(Math.min(...values))) : 0;
  }

  function metricAxis(ctx, metric) {
    return Chart.yAxis(ctx, Format.title(metric), {axisLabel: {formatter: (value) =>
      Format.isShare(metric) ? Format.number(100 * value) : Format.tick(value)}});
  }

  // Room for the names of lines at their ends.
  const linesGrid = (ctx, parts) => Chart.grid(ctx, {top: 48, bottom: 40,
    right: ctx.narrow || parts.length < 2 ? 16 : 110});

  function explorerOption(ctx, study, choice) {
    const {metric} = choice.metrics;
    const x = choice.axis('x');
    const parts = split(study, choice.rows(), choice.axis('series'))
      .map((part) => ({...part, rows: along(choice, part.rows, x, metric)}));
    const numeric = x.numeric;
    const place = (row) => numeric ? x.values[row.values[x.at]] : row.values[x.at];
    const type = numeric ? scaleOf(x.values) : 'category';
    const heights = parts.flatMap((part) => part.rows.map((row) => study.mean(metric, row)))
      .filter((value) => value !== null);
    const floor = floorOf(heights);
    const series = parts.flatMap((part, i) => {
      const color = ctx.colors.series[i % ctx.colors.series.length];
      return [{type: 'line', name: part.name, color, lineStyle: {width: 1.75,
        type: i < ctx.colors.series.length ? 'solid' : 'dashed'}, connectNulls: false,
      emphasis: {disabled: true},
      ...(parts.length > 1 ? Chart.endLabel(ctx, color, part.short) : {}),
      data: part.rows.map((row) => ({value: [place(row), study.mean(metric, row)], row,
        ...symbolOf(ctx, row, color, part.rows.length > DENSE)}))},
      ...(study.replications > 1
        ? [spread(study, part.name, part.rows, metric, color, place)] : []),
      crosses(study, part.name, part.rows, metric, color, place, floor)];
    });
    return Chart.option(ctx, {
      legend: Chart.legend(ctx, parts.map((part) => part.name), {show: parts.length > 1}),
      grid: linesGrid(ctx, parts),
      xAxis: Chart.xAxis(ctx, Format.settingTitle(x.path), numeric ? {type}
        : {type, data: x.names, axisLabel: {formatter: (text) => text}}),
      yAxis: {...metricAxis(ctx, metric), type: scaleOf(heights),
        ...(floor > 0 ? {min: floor} : {})},
      tooltip: {trigger: 'item', formatter: (item) => pointTip(study, item.data.row, [metric])},
      series,
    });
  }

  const asPercent = (share) => share === null ? '–' : Format.number(100 * share);

  function pointColumns(study, metrics) {
    return [...study.axes.map((axis) => ({name: axis.label, csv: axis.path,
      number: axis.numeric, unit: Format.settingUnit(axis.path), format: Format.setting})),
    {name: 'State', csv: 'state', isWide: true, mark: (text) => text ? 'bad' : ''},
    ...metrics.map((metric) => ({name: Format.metric(metric).label, csv: metric, number: true,
      unit: Format.metric(metric).unit, format: Format.isShare(metric) ? asPercent : null}))];
  }

  const pointRow = (study, row, metrics) => [
    ...study.axes.map((axis) => row.values[axis.at] === null ? null
      : axis.values[row.values[axis.at]]), state(row),
    ...metrics.map((metric) => study.mean(metric, row))];

  function pointsTable(study, rows, metrics, title) {
    return Table.create(pointColumns(study, metrics),
      rows.map((row) => pointRow(study, row, metrics)), {name: title, search: true});
  }

  const replicationNote = (study) => study.replications > 1
    ? `Means over ${study.replications} replications; bars reach from the lowest to the highest.`
    : '';

  function explorer(parent, study) {
    const [x, ...others] = preferred(study, [/rate|concurrency|users/, /num_seqs|batch/,
      /context|prompt|model_len/]);
    const series = others.find(isFew);
    const choice = new Choice(study, {x: x.at, series: series ? series.at : -1});
    choice.metrics.metric = has(study, ['p99_ttft_ms', 'output_throughput']);
    const figure = Figures.add(parent, {
      title: 'Any metric over any axis', wide: true,
      note: `${replicationNote(study)} ${LEGEND}`,
      height: 380,
      controls: choice.controls({metrics: {metric: 'Metric'},
        axes: {x: ['Horizontal axis', false], series: ['Lines', true]}}, () => figure.update()),
      label: () => `${Format.title(choice.metrics.metric)} over ${choice.axis('x').path}.`,
      option: (ctx) => explorerOption(ctx, study, choice),
      table: () => ({columns: pointColumns(study, [choice.metrics.metric]),
        rows: choice.rows().map((row) => pointRow(study, row, [choice.metrics.metric]))}),
    });
  }

  function curveOption(ctx, study, choice) {
    const {x: across, y: up} = choice.metrics;
    const axis = choice.axis('along');
    const parts = split(study, choice.rows(), choice.axis('series')).map((part) => ({...part,
      rows: along(choice, part.rows, axis, up).filter((row) => study.mean(across, row) !== null &&
        study.mean(up, row) !== null)}));
    const heights = parts.flatMap((part) => part.rows.map((row) => study.mean(up, row)));
    return Chart.option(ctx, {
      legend: Chart.legend(ctx, parts.map((part) => part.name), {show: parts.length > 1}),
      grid: linesGrid(ctx, parts),
      xAxis: Chart.xAxis(ctx, Format.title(across), {min: 0}),
      yAxis: {...metricAxis(ctx, up), type: scaleOf(heights)},
      tooltip: {trigger: 'item', formatter: (item) =>
        pointTip(study, item.data.row, [across, up])},
      series: parts.map((part, i) => {
        const color = ctx.colors.series[i % ctx.colors.series.length];
        return {type: 'line', name: part.name, color, lineStyle: {width: 1.75},
          emphasis: {disabled: true},
      ...(parts.length > 1 ? Chart.endLabel(ctx, color, part.short) : {}),
          data: part.rows.map((row) => ({value: [study.mean(across, row), study.mean(up, row)], row,
            ...symbolOf(ctx, row, color, part.rows.length > DENSE)}))};
      }),
    });
  }

  function curve(parent, study) {
    const [along, ...others] = preferred(study, [/rate|concurrency|users/, /num_seqs|batch/]);
    const series = others.find(isFew);
    const choice = new Choice(study, {along: along.at, series: series ? series.at : -1});
    choice.metrics.x = has(study, ['output_throughput', 'request_throughput']);
    choice.metrics.y = has(study, ['p99_ttft_ms', 'p99_e2el_ms', 'median_ttft_ms']);
    const figure = Figures.add(parent, {
      title: 'Throughput and latency', wide: true,
      note: 'One metric against another, a point per value of the axis. Points without a value ' +
        `of either are left out. ${LEGEND.split('Cross')[0]}`,
      height: 380,
      controls: choice.controls({metrics: {x: 'Horizontal', y: 'Vertical'},
        axes: {along: ['A point per', false], series: ['Lines', true]}}, () => figure.update()),
      label: () => `${Format.title(choice.metrics.y)} against ${Format.title(choice.metrics.x)}.`,
      option: (ctx) => curveOption(ctx, study, choice),
      table: () => ({columns: pointColumns(study, [choice.metrics.x, choice.metrics.y]),
        rows: choice.rows().map((row) => pointRow(study, row, [choice.metrics.x,
          choice.metrics.y]))}),
    });
  }

  const letters = (row) => row.oom.map((kind) => OOM_LETTERS[kind] || '?').join('');

  function heatCells(study, choice) {
    const {metric} = choice.metrics;
    const [x, y] = [choice.axis('x'), choice.axis('y')];
    return [...grouped(choice.rows(), (row) => `${row.values[x.at]} ${row.values[y.at]}`).values()]
      .map((rows) => choice.best(rows, metric))
      .filter((row) => row.values[x.at] !== null && row.values[y.at] !== null)
      .map((row) => ({value: [row.values[x.at], row.values[y.at], study.mean(metric, row) ?? '-'],
        row}));
  }

  // Cells without a value, hatched: lines at 45 degrees, cut off at the cell's edges.
  function hatches(ctx, cells) {
    const GAP = 7;
    return {type: 'custom', silent: true, tooltip: {show: false}, z: 3,
      data: cells.filter((cell) => cell.value[2] === '-').map((cell) => cell.value.slice(0, 2)),
      renderItem: (params, api) => {
        const [x, y] = api.coord([api.value(0), api.value(1)]);
        const [width, height] = api.size([1, 1]).map((size) => Math.max(1, size - 2));
        const shape = {x: x - width / 2, y: y - height / 2, width, height};
        const lines = [];
        for (let at = GAP; at < width + height; at += GAP) {
          const from = Math.min(at, width);
          const to = Math.min(at, height);
          lines.push({type: 'line', style: {stroke: ctx.colors.muted, lineWidth: 1, opacity: .7},
            shape: {x1: shape.x + from, y1: shape.y + at - from, x2: shape.x + at - to,
              y2: shape.y + to}});
        }
        return {type: 'group', children: [{type: 'rect', shape,
          style: {fill: 'transparent', stroke: ctx.colors.line}}, ...lines]};
      }};
  }

  // Pixels of a row of cells.
  const rowHeight = (axis) => Math.max(3, Math.min(34, 720 / axis.values.length));

  function heatOption(ctx, study, choice) {
    const {metric} = choice.metrics;
    const [x, y] = [choice.axis('x'), choice.axis('y')];
    const cells = heatCells(study, choice);
    const values = cells.map((cell) => cell.value[2]).filter((value) => value !== '-');
    const low = Math.min(...values, Infinity);
    const high = Math.max(...values, -Infinity);
    const {heat} = ctx.colors;
    // Colours by decades where values span two of them.
    const shade = scaleOf(values) === 'log' ? Math.log10 : (value) => value;
    const isDeep = (value) => (shade(value) - shade(low)) / (shade(high) - shade(low) || 1) > .55;
    const text = (value) => value === '-' ? ''
      : Format.isShare(metric) ? Format.percent(value) : Format.tick(value);
    const wide = ctx.width / x.values.length > 44 && rowHeight(y) >= 18;
    return Chart.option(ctx, {
      legend: {show: false},
      grid: Chart.grid(ctx, {top: 36, bottom: 78}),
      xAxis: Chart.xAxis(ctx, Format.settingTitle(x.path), {type: 'category', data: x.names,
        axisLabel: {formatter: (name) => name}}),
      yAxis: Chart.yAxis(ctx, Format.settingTitle(y.path), {type: 'category', data: y.names,
        splitLine: {show: false}, axisLabel: {formatter: (name) => name}}),
      visualMap: {min: values.length ? shade(low) : 0, max: values.length ? shade(high) : 1,
        dimension: 3, seriesIndex: 0,
        calculable: false, orient: 'horizontal', left: 'center', bottom: 0, itemWidth: 12,
        itemHeight: Math.min(240, ctx.width / 2), inRange: {color: heat},
        outOfRange: {color: ctx.colors.line}, textStyle: {color: ctx.colors.muted},
        text: [text(high), text(low)]},
      tooltip: {trigger: 'item', formatter: (item) => pointTip(study, item.data.row, [metric])},
      series: [{type: 'heatmap', data: cells.map((cell) => ({...cell,
        value: [...cell.value, cell.value[2] === '-' ? '-' : shade(cell.value[2])], label: {
        color: cell.value[2] === '-' ? ctx.colors.text
          : isDeep(cell.value[2]) === !Theme.isDark() ? '#ffffff' : '#10202c'}})),
      itemStyle: {borderColor: ctx.colors.surface, borderWidth: rowHeight(y) >= 18 ? 2 : 0},
      emphasis: {itemStyle: {borderColor: ctx.colors.text, borderWidth: 1}},
      label: {show: true, fontSize: 12, textBorderWidth: 0, formatter: (item) => {
        const mark = rowHeight(y) >= 18 ? letters(item.data.row) : '';
        const value = wide ? text(item.value[2]) : '';
        return mark ? `${value} {mark|${mark}}` : value;
      }, rich: {mark: {color: '#ffffff', backgroundColor: '#b3470a', padding: [1, 4],
        borderRadius: 3, fontSize: 11, fontWeight: 600, textBorderColor: 'transparent'}}}},
      hatches(ctx, cells)],
    });
  }

  function heatMap(parent, study) {
    const [x] = preferred(study, [/context|prompt|model_len/, /rate|num_seqs/]);
    const [y] = preferred(study, [/concurrency|users|num_seqs/, /rate/])
      .filter((axis) => axis !== x);
    if (!y) return;
    const choice = new Choice(study, {x: x.at, y: y.at});
    choice.metrics.metric = has(study, ['output_throughput', 'request_throughput']);
    const kinds = [...new Set(study.rows.flatMap((row) => row.oom))];
    const named = (some) => some.map((kind) =>
      `${OOM_LETTERS[kind] || '?'} ${words(kind)}`).join(', ');
    const isOom = (kind) => kind !== 'rejected_too_long';
    const ooms = named(kinds.filter(isOom));
    const tooLong = named(kinds.filter((kind) => !isOom(kind)));
    const legend = (ooms && `Memory ran out: ${ooms}. `) +
      (tooLong && `Requests longer than the engine can run: ${tooLong}. `);
    const figure = Figures.add(parent, {
      title: 'Heat map over two axes', wide: true,
      note: `${legend}Hatched: no value.`,
      height: () => 130 + Math.max(100, choice.axis('y').values.length *
        rowHeight(choice.axis('y'))),
      controls: choice.controls({metrics: {metric: 'Metric'},
        axes: {x: ['Horizontal axis', false], y: ['Vertical axis', false]}}, () => figure.update()),
      label: () => `${Format.title(choice.metrics.metric)} over ${choice.axis('x').path} and ` +
        `${choice.axis('y').path}.`,
      option: (ctx) => heatOption(ctx, study, choice),
      table: () => ({columns: pointColumns(study, [choice.metrics.metric]),
        rows: heatCells(study, choice).map(({row}) => pointRow(study, row,
          [choice.metrics.metric]))}),
    });
  }

  return {model, name, state, hasFailed, isUnsteady, explorer, curve, heatMap, pointsTable, words};
})();
