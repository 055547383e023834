'use strict';
// From what was chosen to what is shown. Answers may be of an older choice while a slider moves;
// the last choice is always answered.

const Page = (() => {
  const CONTEXTS = [1, 2, 4, 8, 16, 32, 64, 128, 256].map((k) => k * 1024);
  const SIDES = ['a', 'b'];
  const KEPT_POINTS = 400;

  let state = State.parse(location.hash);
  let names = null;
  const shown = {a: emptySide('a'), b: emptySide('b')};
  const points = new Map();   // of curves, by the text of their scenario
  const sources = new Map();  // what pasted texts mean
  const written = new Set();  // files that the simulator has
  const drawing = new Set();  // what is drawn in the next frame
  const page = document.documentElement;  // says to tests what was answered

  function emptySide(key) {
    return {key, name: key.toUpperCase(), summary: null, charts: null, capacity: null, points: [],
      error: null, notes: []};
  }

  const keys = () => SIDES.filter((key) => state[key]);
  const sides = () => keys().map((key) => shown[key]);

  function drawSoon(what) {
    if (drawing.size === 0) requestAnimationFrame(drawNow);
    drawing.add(what);
  }

  function drawNow() {
    const all = [...drawing];
    drawing.clear();
    if (all.includes('runs')) Results.showRuns(sides());
    if (all.includes('capacity')) Results.showCapacity(sides());
    if (all.includes('curves')) {
      Results.showCurves(sides(), state.traffic.load === 'users' ? 'users' : 'requests/s');
    }
    if (all.includes('runs') && sides().every((side) => side.summary || side.error)) {
      page.dataset.answers = Number(page.dataset.answers || 0) + 1;
      page.dataset.answeredMs ??= Math.round(performance.now());
    }
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
    try {
      const document = await documentOf(key);
      await Promise.all([run(key, document), capacity(key, document), curve(key, document)]);
    } catch (error) {
      side.error = error.sentence ? error : {sentence: String(error.message || error)};
      for (const what of ['runs', 'capacity', 'curves']) drawSoon(what);
    }
  }

  async function run(key, document) {
    const found = await Simulator.call({do: 'run', scenario: JSON.stringify(document),
      charts: true}, {channel: `run.${key}`, priority: 0});
    if (!found) return;
    Object.assign(shown[key], {summary: JSON.parse(found.summary), error: null,
      charts: found.charts || null});
    page.dataset.runMs = Math.round(found.ms);
    drawSoon('runs');
  }

  async function capacity(key, document) {
    const found = await Simulator.call({do: 'capacity', scenario: JSON.stringify(document),
      contexts: CONTEXTS}, {channel: `capacity.${key}`, priority: 1});
    if (!found) return;
    [shown[key].capacity] = [].concat(JSON.parse(found.json));
    drawSoon('capacity');
  }

  // Points of the curve come one by one; those that are known stand at once.
  async function curve(key, document) {
    const loads = Scenarios.loadsAround(state.traffic);
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
    for (const key of SIDES.filter((one) => !state[one])) {
      for (const what of ['run', 'capacity']) Simulator.drop(`${what}.${key}`);
      shown[key] = emptySide(key);
    }
    for (const what of ['runs', 'capacity', 'curves']) drawSoon(what);
  }

  async function documents() {
    return Promise.all(keys().map(async (key) => ({
      name: keys().length > 1 ? `playground-${key}` : 'playground',
      ...await Simulator.call({do: 'scenario',
        scenario: JSON.stringify(await documentOf(key))})})));
  }

  function showForm() {
    Controls.show(document.getElementById('setup'), state, names, changed);
  }

  // A config.json, a compose file or a command in a file, dropped anywhere.
  async function dropped(event) {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    const side = state.a;
    const again = () => {
      showForm();
      changed();
    };
    if (file.size > 2 ** 20) {
      fail(`${file.name} has ${Format.number(file.size / 2 ** 20)} MiB: expected a config.json, a ` +
        'compose file or a command of at most 1 MiB');
      return;
    }
    const text = await file.text();
    try {
      if (text.trimStart().startsWith('{')) {
        Controls.dropConfig(side, text, again);
      } else {
        side.source = text.trim();
        again();
      }
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
    Share.show(Results.places.share, Results.places.written, documents);
    document.addEventListener('dragover', (event) => event.preventDefault());
    document.addEventListener('drop', dropped);
    window.addEventListener('hashchange', () => {
      state = State.parse(location.hash);
      showForm();
      changed();
    });
    document.getElementById('footer').append(element('p', {},
      `headroom ${names.version}. Simulated, not measured; charts by Apache ECharts ` +
      `${echarts.version} (Apache License 2.0).`));
    changed();
  }

  return {start};
})();

Page.start();
