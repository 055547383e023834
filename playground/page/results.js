'use strict';
// The results: a verdict, figures and charts, each replaced when a new answer is there. `sides` is
// a list of {key, name, summary, charts, capacity, points, error, notes}; what is not known yet is
// null.

const Results = (() => {
  const places = {};  // by name: an element whose content is replaced
  const figures = {}; // by name: a figure, once it was drawn
  const seen = {};    // by name: what was drawn last, as text

  function place(parent, name, attributes = {}) {
    places[name] = element('div', attributes);
    parent.append(places[name]);
  }

  function start(main) {
    main.append(element('h1', {}, 'Playground'), element('p', {class: 'subtitle'},
      'Pick a system and its traffic. The simulator runs in this page; nothing leaves it.'));
    place(main, 'answer', {'aria-live': 'polite'});
    places.answer.append(element('p', {class: 'note'}, 'Loading the simulator …'));
    for (const [id, title] of [['load', 'Load'], ['latency', 'Latency'], ['memory', 'Memory'],
      ['fits', 'What fits']]) {
      places[id] = RunPage.grid(RunPage.section(main, id, title));
    }
    place(places.fits, 'contexts');
    place(RunPage.section(main, 'change', 'What to change'), 'change');
    place(main.parentElement, 'glance', {id: 'glance', 'aria-hidden': 'true'});
    const share = RunPage.section(main, 'share', 'Share');
    place(share, 'share', {class: 'actions'});
    place(share, 'written', {'aria-live': 'polite'});
  }

  // Whether `what` is other than when this was asked of `name` before: most changes of the traffic
  // leave the memory as it is.
  function isNew(name, what) {
    const text = JSON.stringify(what);
    if (seen[name] === text) return false;
    seen[name] = text;
    return true;
  }

  // The figure `name` in `parent` shows `spec`; none: it goes.
  function draw(parent, name, spec) {
    if (!spec) {
      if (figures[name]) figures[name].node.hidden = true;
    } else if (figures[name]) {
      figures[name].node.hidden = false;
      figures[name].replace(spec);
    } else {
      figures[name] = Figures.add(places[parent], spec);
    }
  }

  function describe({setup}) {
    const ranks = setup.tensor_parallel_size > 1 ? `${setup.tensor_parallel_size} × ` : '';
    return `${setup.model} on ${ranks}${setup.device}, ` +
      [setup.engine, setup.engine_version].filter(Boolean).join(' ');
  }

  function accuracy({expected_error: error}) {
    return error ? `Accuracy: ${RunPage.accuracyBasis(error)}.` : '';
  }

  function answerOf(side, isOnly) {
    const title = isOnly ? null : element('h2', {}, side.name);
    if (side.error) {
      return element('div', {}, title, RunPage.alert('This cannot be simulated',
        [side.error.sentence], true));
    }
    if (!side.summary) return element('div', {}, title);
    const {summary} = side;
    return element('div', {class: side.isOld ? 'old' : null}, title,
      element('p', {class: 'subtitle'}, describe(summary)), RunPage.verdict(summary),
      summary.started ? RunPage.headline({summary}) : null,
      element('p', {class: 'note'}, accuracy(summary)),
      RunPage.alert('Read from what you pasted', side.notes || []),
      RunPage.alert('Warnings', summary.warnings));
  }

  // One line for windows in which the answer is out of sight while a slider moves.
  function glanceAt({name, summary, error}, isOnly) {
    const whose = isOnly ? '' : `${name}: `;
    if (error || !summary) return element('p', {}, error ? `${whose}${error.sentence}` : '');
    const word = element('strong', {}, `${whose}${RunPage.TITLES[summary.verdict]}`);
    if (!summary.started) return element('p', {}, word);
    const {metrics, memory} = summary;
    const tail = (name) => Format.milliseconds(metrics[`p99_${name}_ms`]);
    return element('p', {}, word, ` · p99 TTFT ${tail('ttft')} · TPOT ${tail('tpot')} · KV ` +
      Format.percent(memory.peak_utilisation));
  }

  // The verdicts and figures.
  function showAnswers(sides) {
    places.answer.className = sides.length > 1 ? 'beside' : '';
    places.answer.replaceChildren(...sides.map((side) => answerOf(side, sides.length === 1)));
    places.glance.replaceChildren(...sides.map((side) => glanceAt(side, sides.length === 1)));
  }

  // The charts of runs.
  function showRuns(sides) {
    const known = sides.filter((side) => side.summary && !side.error)
      .map((side) => ({...side.charts, name: side.name, summary: side.summary,
        scenario: {slo: Scenarios.TARGETS}}));
    const started = known.filter((run) => run.summary.started && run.latency);
    const [first, second] = started;
    draw('latency', 'latency', first && !second ? {...RunCharts.latency(first), wide: true} : null);
    RunCharts.LATENCIES.forEach(([metric], i) => draw('latency', metric,
      second ? RunCharts.latencyOf(started, i) : null));
    for (const key of ['a', 'b']) {
      const side = sides.find((one) => one.key === key);
      const run = started.find((one) => one.name === side?.name);
      const title = sides.length > 1 ? `KV memory over time, ${side?.name}` : 'KV memory over time';
      draw('memory', `kv-${key}`, run ? RunCharts.memory(run, title, key === 'b') : null);
    }
    if (isNew('budget', known.map(({name, summary}) => [name, summary.memory.budget_bytes]))) {
      draw('memory', 'budget', known.length ? RunCharts.budget(known) : null);
    }
    if (figures.budget) figures.budget.node.style.order = 1;  // behind what comes with B
  }

  // What fits, without traffic.
  function showCapacity(sides) {
    const known = sides.filter((side) => side.capacity && !side.error);
    if (!isNew('fits', [sides.length, known.map(({name, capacity}) => [name, capacity])])) return;
    for (const key of ['a', 'b']) {
      const side = known.find((one) => one.key === key);
      draw('fits', `map-${key}`, side ? PlaygroundCharts.fitMap({...side,
        only: sides.length === 1}) : null);
    }
    places.contexts.className = sides.length > 1 ? 'wide' : '';
    if (!known.length) return places.contexts.replaceChildren();
    const {columns, rows} = PlaygroundCharts.contextTable(known);
    places.contexts.replaceChildren(
      ...known.map((side) => element('p', {}, capacitySentence(side, sides.length === 1))),
      Table.create(columns, rows, {name: 'Users by context'}));
  }

  function capacitySentence({name, capacity}, isOnly) {
    const whose = isOnly ? '' : `${name}: `;
    if (capacity.verdict !== 'starts') {
      return `${whose}the engine does not start. ${capacity.reason}`;
    }
    const {memory} = capacity;
    return `${whose}${Format.gib(memory.kv_pool_bytes)} of ${Format.gib(memory.capacity_bytes)} ` +
      `per device hold ${Format.integer(memory.kv_tokens)} KV tokens, ` +
      `${Format.integer(memory.kv_bytes_per_token)} bytes each.`;
  }

  function showCurves(sides, unit) {
    const known = sides.filter((side) => !side.error);
    const any = known.some((side) => side.points.length);
    for (const metric of ['ttft', 'tpot']) {
      draw('load', metric, any ? PlaygroundCharts.curve(known, metric, unit) : null);
    }
  }

  return {start, showAnswers, showRuns, showCapacity, showCurves, places};
})();
