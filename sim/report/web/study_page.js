'use strict';
// The page of a study.

const StudyPage = (() => {
  const {words} = StudyCharts;

  // A study that only searches makes no runs of its points.
  const hasRuns = (study) => Number(study.total_runs) > 0;

  function headline(study) {
    const {rows} = study;
    const count = (test) => rows.filter(test).length;
    const points = RunPage.tile('Points', Format.integer(rows.length), '',
      study.varying.map((axis) => `${axis.values.length} × ${axis.label}`).join(', '));
    if (!hasRuns(study)) {
      return element('dl', {class: 'figures'}, points, ...StudySearches.tiles(study));
    }
    const runs = rows.reduce((sum, row) => sum + row.status.done + row.status.failed, 0);
    const failed = rows.reduce((sum, row) => sum + row.status.failed, 0);
    const tiles = [
      points,
      RunPage.tile('Runs', Format.integer(runs), '', Number(study.total_runs) > runs
        ? `of ${Format.integer(Number(study.total_runs))}: the study is not finished`
        : `${study.replications} replication${study.replications === 1 ? '' : 's'} of each point`),
      RunPage.tile('Failed', Format.integer(failed), 'runs', '', failed > 0),
      RunPage.tile('Not stationary', Format.integer(count(StudyCharts.isUnsteady)), 'points',
        'latency percentiles withheld'),
      RunPage.tile('Out of memory', Format.integer(count((row) => row.oom.length > 0)), 'points',
        [...new Set(rows.flatMap((row) => row.oom))].map(words).join(', '))];
    return element('dl', {class: 'figures'}, ...tiles);
  }

  // How many points keep up with their traffic, before all figures.
  function verdict(study) {
    if (!hasRuns(study)) return null;
    const {rows} = study;
    const first = (row) => study.varying.length
      ? `, the first with ${StudyCharts.name(study, row, study.varying)}` : '';
    const overloaded = rows.filter(StudyCharts.isUnsteady);
    const idle = rows.filter((row) => row.oom.includes('startup'));
    const kept = rows.length - overloaded.length - idle.length;
    const added = (found, one, many) => found.length === 0 ? ''
      : `; ${Format.integer(found.length)} ${found.length === 1 ? one : many}${first(found[0])}`;
    return element('p', {class: 'verdict'}, `${Format.integer(kept)} of ` +
      `${Format.integer(rows.length)} points keep up with their traffic` +
      added(overloaded, 'is overloaded', 'are overloaded') +
      added(idle, 'does not start', 'do not start'));
  }

  // "12 of 40 points", or nothing when it is all of them.
  function share(study, points) {
    return points.length === study.rows.length ? ''
      : ` (${Format.integer(points.length)} of ${Format.integer(study.rows.length)} points)`;
  }

  function warnings(study) {
    return RunPage.alert('Warnings', study.warnings.map(({value, points}) =>
      `${value}${share(study, points)}`));
  }

  function errorsTable(study) {
    if (!study.errors.length) return null;
    return Table.create([{name: 'Run', number: true, csv: 'run', format: String},
      {name: 'Point', csv: 'point', format: (row) =>
        StudyCharts.name(study, study.rows[row], study.varying)},
      {name: 'Error', csv: 'error', mark: () => 'bad'}], study.errors,
    {name: 'Runs that failed', search: true});
  }

  function pointsTable(parent, study) {
    const FEW = 10;
    const box = element('div');
    const draw = (metrics) => box.replaceChildren(
      StudyCharts.pointsTable(study, study.rows, metrics, 'All points'));
    draw(study.metrics.slice(0, FEW));
    parent.append(box);
    if (study.metrics.length > FEW) {
      const button = element('button', {type: 'button', onclick: () => {
        draw(study.metrics);
        button.remove();
      }}, `Show all ${study.metrics.length} metrics`);
      parent.append(element('div', {class: 'actions'}, button));
    }
    if (study.left_out.length) {
      parent.append(element('p', {class: 'note'}, 'To keep the page small these metrics are only in ' +
        `the database: ${study.left_out.join(', ')}.`));
    }
  }

  // Budgets of the points, as runs that RunCharts.budget can draw; equal ones stand once.
  function budgets(study) {
    const MOST = 6;
    const found = study.budgets.filter(({value}) => value.capacity_bytes !== null)
      .sort((a, b) => a.points[0] - b.points[0]);
    const telling = study.varying.filter((axis) => found.every(({points}) =>
      new Set(points.map((point) => study.rows[point].values[axis.at])).size === 1));
    return found.slice(0, MOST).map(({value, points}, i) => ({
      name: StudyCharts.name(study, study.rows[points[0]], telling) || `budget ${i + 1}`,
      summary: {memory: value}}));
  }

  function expected(study) {
    const ranges = study.expected_errors.flatMap(({value, points}) => Object.entries(value)
      .filter(([, range]) => Array.isArray(range)).map(([metric, [low, high]]) =>
        [Format.metric(metric.replace(/_percent$/, '')).label, RunPage.accuracyBasis(value), low, high,
          points.length]));
    if (!ranges.length) return null;
    return Table.create([{name: 'Figure', csv: 'figure'}, {name: 'Basis', csv: 'situation'},
      {name: 'Measured against simulated, from', unit: '%', number: true, csv: 'low_percent',
        format: Format.signed},
      {name: 'to', unit: '%', number: true, csv: 'high_percent', format: Format.signed},
      {name: 'Points', number: true, csv: 'points'}], ranges, {name: 'Accuracy'});
  }

  function figures(main, study) {
    const charts = RunPage.section(main, 'curves', 'Curves');
    if (!study.varying.length || !study.metrics.length) {
      charts.append(element('p', {class: 'note'}, 'Nothing varies in this study, or no run has ' +
        'a figure, so there is no chart.'));
      return;
    }
    StudyCharts.explorer(charts, study);
    StudyCharts.curve(charts, study);
    if (study.varying.length > 1) StudyCharts.heatMap(charts, study);
  }

  // What it varies, and what it searches.
  function subject(study) {
    const paths = [...study.varying.map((axis) => axis.path),
      ...study.searches.map((search) => search.detail.path).filter(Boolean)];
    return [...new Set(paths)].join(', ');
  }

  function show(main, page) {
    const study = StudyCharts.model(page.study);
    const version = study.headroom_version && study.headroom_version !== page.headroom_version
      ? `, written by headroom ${study.headroom_version}` : '';
    main.append(element('h1', {}, page.title), element('p', {class: 'subtitle'},
      `A study of ${subject(study)}${version}`),
    ...[verdict(study)].filter(Boolean), headline(study),
    ...[warnings(study)].filter(Boolean));
    StudySearches.show(main, study);
    if (hasRuns(study)) {
      figures(main, study);
      const points = RunPage.section(main, 'points', 'Points');
      points.append(...[errorsTable(study)].filter(Boolean));
      pointsTable(points, study);
    }
    const known = budgets(study);
    if (known.length) {
      Figures.add(RunPage.section(main, 'memory', 'Memory'), RunCharts.budget(known));
    }
    const errors = expected(study);
    if (errors) RunPage.section(main, 'assumptions', 'Assumptions').append(errors);
    if (study.study) {
      const file = RunPage.fileName(study.name || 'study');
      RunPage.reproduce(RunPage.section(main, 'reproduce', 'Reproduce'), {file,
        content: study.study, command: `headroom sweep ${file}`});
    }
  }

  return {show};
})();
