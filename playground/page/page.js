'use strict';
// From what was chosen to what is shown. Answers may be of an older choice while a slider moves;
// the last choice is always answered.

const Page = (() => {
  const CONTEXTS = [1, 2, 4, 8, 16, 32, 64, 128, 256].map((k) => k * 1024);
  const SIDES = ['a', 'b'];
  const KEPT_POINTS = 400;
  const FRAME_MS = 16;

  let state = State.parse(location.hash);
  let names = null;
  const shown = {a: emptySide('a'), b: emptySide('b')};
  const points = new Map();   // of curves, by the text of their scenario
  const sources = new Map();  // what pasted texts mean
  const written = new Set();  // files that the simulator has
  const drawing = new Set();  // parts of DRAW
  const turns = {a: 0, b: 0};  // of each side: which choice is the last
  let traces = 0;             // that were dropped
  const page = document.documentElement;  // says to tests what was answered

  function emptySide(key) {
    return {key, name: key.toUpperCase(), summary: null, charts: null, capacity: null, points: [],
      error: null, notes: []};
  }

  const keys = () => SIDES.filter((key) => state[key]);
  const sides = () => keys().map((key) => shown[key]);

  function drawSoon(...parts) {
    if (drawing.size === 0) requestAnimationFrame(drawNext);
    for (const part of parts) drawing.add(part);
  }

  const DRAW = {
    answer: () => Results.showAnswers(sides()),
    runs: () => Results.showRuns(sides()),
    curves: () => Results.showCurves(sides(),
      state.traffic.load === 'users' ? 'users' : 'requests/s'),
    capacity: () => Results.showCapacity(sides()),
  };

  // As many parts as a frame has time for, the answer first: a slider that is moved meanwhile is not
  // held up. The first charts take long, so the first answer is shown without them.
  function drawNext() {
    const end = performance.now() + FRAME_MS;
    do {
      drawPart(Object.keys(DRAW).find((one) => drawing.has(one)));
    } while (drawing.size > 0 && page.dataset.drawn && performance.now() < end);
    if (drawing.size > 0) requestAnimationFrame(drawNext);
  }

  function drawPart(part) {
    drawing.delete(part);
    DRAW[part]();
    if (part === 'answer' && sides().every((side) => side.summary || side.error)) {
      page.dataset.answers = Number(page.dataset.answers || 0) + 1;
      page.dataset.answeredMs ??= Math.round(performance.now());
    }
    if (part === 'runs') page.dataset.drawn = Number(page.dataset.drawn || 0) + 1;
  }

  // The document of what was pasted, or null.
  async function given(side) {
    if (!side.source) return null;
    if (!sources.has(side.source)) {
      const isCompose = /^\s*services\s*:/m.test(side.source);
      const answer = await Simulator.call({do: 'from',
        [isCompose ? 'compose' : 'command']: side.source});
      sources.set(side.source, {document: JSON.parse(answer.scenario), notes: [
        ...answer.unknown_flags.map((flag) => `unknown, left out: ${flag}`), ...answer.notes]});
    }
    return sources.get(side.source);
  }

  async function documentOf(key) {
    const side = state[key];
    const source = await given(side);
    shown[key].notes = source?.notes || [];
    if (side.config && !written.has(Scenarios.configPath(side))) {
      Simulator.write(Scenarios.configPath(side), side.config);
      written.add(Scenarios.configPath(side));
    }
    const name = source ? source.document.engine?.name : side.engine;
    const engine = names.engines.find((one) => one.name === name) ||
      (source ? null : names.engines[0]);
    return Scenarios.whole(side, source?.document, engine, state.traffic);
  }

  async function answer(key) {
    const side = shown[key];
    const turn = ++turns[key];
    try {
      const document = await documentOf(key);
      if (turn !== turns[key]) return;
      await Promise.all([capacity(key, document), runs(key, document)]);
    } catch (error) {
      if (turn !== turns[key]) return;
      side.error = error.sentence ? error : {sentence: String(error.message || error)};
      drawSoon(...Object.keys(DRAW));
    }
  }

  // What every request has.
  function asked(document) {
    return {scenario: JSON.stringify(document), ...(state.trace ? {trace: state.trace.path} : {})};
  }

  // Whether this is the answer, and not one to a later choice.
  async function run(key, document) {
    const found = await Simulator.call({do: 'run', charts: true, ...asked(document)},
      {channel: `run.${key}`, priority: 0});
    if (!found) return false;
    Object.assign(shown[key], {summary: JSON.parse(found.summary), error: null,
      charts: found.charts || null});
    page.dataset.runMs = Math.round(found.ms);
    drawSoon('answer', 'runs');
    return true;
  }

  async function runs(key, document) {
    if (!await run(key, document)) return;
    if (shown[key].summary.started && !state.trace) return curve(key, document);
    shown[key].points = [];
    drawSoon('curves');
  }

  async function capacity(key, document) {
    const found = await Simulator.call({do: 'capacity', contexts: CONTEXTS,
      ...asked(document)}, {channel: `capacity.${key}`, priority: 1});
    if (!found) return;
    [shown[key].capacity] = [].concat(JSON.parse(found.json));
    drawSoon('capacity');
  }

  // Points of the curve come one by one; those that are known stand at once.
  async function curve(key, document) {
    const loads = loadsOf(key);
    const wanted = loads.map((load) => JSON.stringify(Scenarios.atLoad(document, load)));
    const collect = () => {
      shown[key].points = wanted.map((text) => points.get(text)).filter(Boolean);
      drawSoon('curves');
    };
    collect();
    await Promise.all(wanted.map(async (text, i) => {
      if (points.has(text)) return Simulator.drop(`curve.${key}.${i}`);
      const found = await Simulator.call({do: 'run', scenario: text},
        {channel: `curve.${key}.${i}`, priority: 2});
      if (!found) return;
      const {started, metrics, expected_error: error} = JSON.parse(found.summary);
      if (points.size > KEPT_POINTS) points.clear();
      if (started) points.set(text, {load: loads[i], metrics, error});
      collect();
    }));
  }

  function changed() {
    const text = State.text(state);
    history.replaceState(null, '', text ? `#${text}` : location.pathname + location.search);
    for (const key of keys()) answer(key);
    for (const key of SIDES.filter((one) => !state[one] && shown[one].summary)) {
      for (const what of ['run', 'capacity']) Simulator.drop(`${what}.${key}`);
      shown[key] = emptySide(key);
      drawSoon(...Object.keys(DRAW));
    }
  }

  // The loads of a side's curve; a trace has one load alone.
  function loadsOf(key) {
    return state.trace ? []
      : Scenarios.loadsAround(state.traffic, shown[key].summary?.metrics.request_throughput || 0);
  }

  async function documents() {
    return Promise.all(keys().map(async (key) => ({
      name: keys().length > 1 ? `playground-${key}` : 'playground', loads: loadsOf(key),
      ...await Simulator.call({do: 'scenario', ...asked(await documentOf(key))})})));
  }

  async function asks() {
    return Promise.all(keys().map(async (key) => ({name: keys().length > 1 ? shown[key].name : '',
      request: {do: 'ask', ...asked(await documentOf(key))}})));
  }

  function showForm() {
    Controls.show(document.getElementById('setup'), state, names, changed);
  }

  function again() {
    showForm();
    changed();
  }

  async function dropped(event) {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    try {
      const {kind, text, name} = await Dropped.read(file);
      if (kind === 'trace') {
        state.trace = {name, path: `/${traces++}-${name}`};
        Simulator.write(state.trace.path, text);
      } else {
        Object.assign(state.a, kind === 'config' ? {config: text, source: ''} : {source: text});
      }
      again();
    } catch (error) {
      fail(`${file.name}: ${error.message}`);
    }
  }

  function fail(sentence) {
    Results.places.answer.replaceChildren(RunPage.alert('This cannot be read', [sentence], true));
  }

  async function start() {
    Theme.start();
    Theme.onChange(Figures.redraw);
    Results.start(document.getElementById('main'));
    try {
      await Simulator.start();
      names = await Simulator.call({do: 'names'});
    } catch (error) {
      fail(`The simulator does not start here: ${error.message || error.sentence}`);
      return;
    }
    showForm();
    Advice.show(Results.places.change, asks);
    Share.show(Results.places.share, Results.places.written, documents);
    document.addEventListener('dragover', (event) => event.preventDefault());
    document.addEventListener('drop', dropped);
    window.addEventListener('hashchange', () => {
      state = State.parse(location.hash);
      again();
    });
    document.getElementById('footer').append(element('p', {},
      `headroom ${names.version}. Simulated, not measured; charts by Apache ECharts ` +
      `${echarts.version} (Apache License 2.0).`));
    changed();
  }

  return {start};
})();

Page.start();
