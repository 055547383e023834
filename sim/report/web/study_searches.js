'use strict';
// What the searches of a study found: edges over what was varied, fronts among all points, and a
// table of both.

const StudySearches = (() => {
  const {words} = StudyCharts;
  const isBad = (status) => status === 'not_monotone' || status === 'failed';
  const isFront = (search) => search.kind === 'pareto';
  const pointName = (study, search) =>
    StudyCharts.name(study, study.rows[search.row], study.varying);

  // Lists by key, in order of the first of each.
  function grouped(list, key) {
    const groups = new Map();
    for (const one of list) groups.set(key(one), [...(groups.get(key(one)) || []), one]);
    return [...groups.values()];
  }

  function tiles(study) {
    const count = (test) => study.searches.filter((one) => test(one.status)).length;
    const runs = study.searches.reduce((sum, one) =>
      sum + (one.detail.values || []).reduce((all, value) => all + value.runs, 0), 0);
    return [
      RunPage.tile('Searches', Format.integer(study.searches.length), '',
        [...new Set(study.searches.map((one) => one.name))].join(', ')),
      RunPage.tile('Runs', Format.integer(runs), '', 'made by the searches'),
      RunPage.tile('No edge inside', Format.integer(count((status) =>
        status === 'all_pass' || status === 'none_passes')), 'searches', 'of the range given'),
      RunPage.tile('Contradictory', Format.integer(count(isBad)), 'searches', 'or failed',
        count(isBad) > 0)];
  }

  // What the next value beyond the answer fails by; empty where there is none.
  function nextFailure({detail, value, low, high}) {
    const next = value === low ? high : low;
    const near = (detail.values || []).find((one) =>
      next !== null && Math.abs(one.value - next) <= 1e-5 * Math.abs(next));
    return near && near.why ? `${Format.number(next)}: ${near.why}` : '';
  }

  // What a search says beside its numbers: why the next value fails, and where it contradicts
  // itself.
  function note(search) {
    const {detail, status} = search;
    if (detail.error) return detail.error;
    if (status === 'dominated') return `beaten by point ${Format.integer(detail.dominated_by)}`;
    const list = (values) => values.map(Format.number).join(', ');
    const notes = [];
    if ((detail.passes_beyond || []).length) {
      notes.push(`passes again at ${list(detail.passes_beyond)}`);
    }
    if ((detail.fails_before || []).length) notes.push(`fails at ${list(detail.fails_before)}`);
    return [...notes, nextFailure(search)].filter(Boolean).join('; ');
  }

  function table(study, searches, title) {
    return Table.create([{name: 'Search', csv: 'search'}, {name: 'Of', csv: 'of'},
      {name: 'Point', csv: 'point'}, {name: 'Value', number: true, csv: 'value'},
      {name: 'Low', number: true, csv: 'low'}, {name: 'High', number: true, csv: 'high'},
      {name: 'Status', csv: 'status', format: words, mark: (status) => isBad(status) ? 'bad' : ''},
      {name: 'Note', csv: 'note', isWide: true}],
    searches.map((one) => [one.name,
      one.detail.path || Object.keys(one.detail.means || {}).join(', '), pointName(study, one),
      one.value, one.low, one.high, one.status, note(one)]),
    {name: title, search: searches.length > 20});
  }

  // Lines of found values over the axis with most values; one per search and other axes.
  function edgeLines(study, searches, axis) {
    const others = study.varying.filter((one) => one !== axis);
    const names = new Set(searches.map((one) => one.name));
    return grouped(searches, (one) => JSON.stringify([one.name,
      others.map((other) => study.rows[one.row].values[other.at])])).map((found) => ({
      found,
      name: [names.size > 1 ? found[0].name : '',
        StudyCharts.name(study, study.rows[found[0].row], others)].filter(Boolean).join(', ') ||
        found[0].name}));
  }

  // All lines at one place of the axis.
  function edgeTip(axis, items) {
    return Chart.tip(`${axis.label} ${items[0].axisValueLabel}`, items.map((item) => {
      const {search} = item.data;
      const failure = nextFailure(search);
      return {color: item.color, label: item.seriesName, value:
        `${Format.number(search.value)} (${words(search.status)}${failure ? `; ${failure}` : ''})`};
    }));
  }

  // Hollow: contradictory. A search without an answer has no point.
  function edgeOption(ctx, study, searches, axis) {
    const lines = edgeLines(study, searches, axis);
    return Chart.option(ctx, {
      legend: Chart.legend(ctx, lines.map((line) => line.name)),
      grid: Chart.grid(ctx, {top: 48, bottom: 40}),
      xAxis: Chart.xAxis(ctx, Format.settingTitle(axis.path), {type: 'category', data: axis.names,
        axisLabel: {formatter: (text) => text}}),
      yAxis: Chart.yAxis(ctx, Format.settingTitle(searches[0].detail.path), {min: 0}),
      tooltip: {trigger: 'axis', formatter: (items) => edgeTip(axis, items)},
      series: lines.map(({name, found}, i) => {
        const color = ctx.colors.series[i % ctx.colors.series.length];
        return {type: 'line', name, color, lineStyle: {width: 1.75}, emphasis: {disabled: true},
          data: found.filter((one) => one.value !== null).map((one) => ({search: one,
            value: [study.rows[one.row].values[axis.at], one.value], symbol: 'circle',
            symbolSize: 8, itemStyle: {color: isBad(one.status) ? ctx.colors.surface : color,
              borderColor: color, borderWidth: isBad(one.status) ? 2 : 0}}))};
      }),
    });
  }

  function edges(parent, study, searches) {
    const [axis] = [...study.varying].sort((a, b) => b.values.length - a.values.length);
    const MOST_LINES = 12;
    if (!axis || edgeLines(study, searches, axis).length > MOST_LINES) return;
    const path = Format.settingTitle(searches[0].detail.path);
    const isLargest = searches[0].kind.startsWith('max');
    Figures.add(parent, {
      title: `${isLargest ? 'Largest' : 'Smallest'} ${searches[0].detail.path} that passes`,
      wide: true, height: 340,
      note: 'The last value tried that meets the limits; the next one fails. ' +
        'Hollow: values beyond it also pass, or a run failed.',
      label: () => `${path} over ${axis.path}.`,
      option: (ctx) => edgeOption(ctx, study, searches, axis)});
  }

  function frontOption(ctx, study, searches) {
    const [x, y] = Object.keys(searches.find((one) => one.detail.means).detail.means);
    const measured = searches.filter((one) => one.detail.means && x in one.detail.means &&
      y in one.detail.means);
    const place = (one) => ({search: one, value: [one.detail.means[x], one.detail.means[y]]});
    const front = measured.filter((one) => one.status === 'front').map(place)
      .sort((a, b) => a.value[0] - b.value[0]);
    const [color] = ctx.colors.series;
    const tip = ({search}) => Chart.tip(pointName(study, search), [
      ...[x, y].map((metric) => ({label: Format.metric(metric).label,
        value: Format.value(metric, search.detail.means[metric])})),
      {label: note(search) || words(search.status), value: ''}]);
    return Chart.option(ctx, {
      legend: Chart.legend(ctx, ['front', 'dominated']),
      grid: Chart.grid(ctx, {top: 48, bottom: 40}),
      xAxis: Chart.xAxis(ctx, Format.title(x), {scale: true}),
      yAxis: Chart.yAxis(ctx, Format.title(y), {scale: true}),
      tooltip: {trigger: 'item', formatter: (item) => tip(item.data)},
      series: [
        {type: 'line', name: 'front', color, step: false, lineStyle: {width: 1.75}, symbolSize: 9,
          symbol: 'circle', emphasis: {disabled: true}, data: front},
        {type: 'scatter', name: 'dominated', color: ctx.colors.muted, symbolSize: 6,
          data: measured.filter((one) => one.status === 'dominated').map(place)}],
    });
  }

  function front(parent, study, searches) {
    if (!searches.some((one) => one.status === 'front')) return;
    const metrics = Object.keys(searches.find((one) => one.detail.means).detail.means);
    Figures.add(parent, {
      title: `${searches[0].name}: ` +
        metrics.map((metric) => Format.metric(metric).label).join(' against '),
      wide: true, height: 380,
      note: 'On the line: no other point of the study is as good in both and better in one.',
      label: () => `Pareto front of ${metrics.join(' and ')}.`,
      option: (ctx) => frontOption(ctx, study, searches)});
  }

  function show(main, study) {
    if (!study.searches.length) return;
    const section = RunPage.section(main, 'searches', 'Searches');
    const values = study.searches.filter((one) => !isFront(one));
    for (const list of grouped(values, (one) => `${one.detail.path} ${one.kind}`)) {
      edges(section, study, list);
    }
    for (const list of grouped(study.searches.filter(isFront), (one) => one.name)) {
      front(section, study, list);
    }
    section.append(table(study, study.searches, 'Searches'));
  }

  return {show, tiles};
})();
