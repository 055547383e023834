'use strict';
// The form: two systems and their traffic. It writes into the state and says when it did.

const Controls = (() => {
  const steps = (from, to, each) => {
    const values = [];
    for (let at = from; at <= to * 1.0001; at *= each) values.push(Number(at.toPrecision(2)));
    return [...new Set(values)];
  };
  const doubled = (from, to) => {
    const values = [];
    for (let at = from; at <= to; at *= 2) values.push(at, ...(at * 1.5 < to ? [at * 1.5] : []));
    return values;
  };
  const tokens = (value) => value >= 1024 && value % 512 === 0
    ? `${value / 1024}k tokens` : `${Format.integer(value)} tokens`;
  const SLIDERS = {
    rate: {label: 'Arrivals', values: steps(0.25, 200, 1.12), text: (v) => `${v} requests/s`},
    users: {label: 'Users', values: steps(1, 5000, 1.15).map(Math.round),
      text: (v) => `${Format.integer(v)}, 10 s between requests`},
    prompt: {label: 'Prompt, median', values: steps(16, 65536, 1.2).map(Math.round), text: tokens},
    output: {label: 'Output, median', values: steps(1, 8192, 1.25).map(Math.round), text: tokens},
    share: {label: 'Memory share', values: [0, ...Array.from({length: 50}, (_, i) => i + 50)],
      text: (v) => v ? `${v} %` : 'the engine’s'},
    batch: {label: 'Batch limit', values: [0, ...doubled(1, 4096).map(Math.round)],
      text: (v) => v ? `${Format.integer(v)} requests` : 'the engine’s'},
    length: {label: 'Longest request', values: [0, ...doubled(1024, 1048576)],
      text: (v) => v ? tokens(v) : 'the model’s'},
  };
  const COUNTS = [1, 2, 4, 8, 16];
  let ids = 0;

  function nearest(values, wanted) {
    return values.reduce((best, value, i) =>
      Math.abs(value - wanted) < Math.abs(values[best] - wanted) ? i : best, 0);
  }

  // A label over a control with an id of its own.
  function field(label, control, shown = null) {
    control.id ||= `field-${++ids}`;
    return element('div', {class: 'field'},
      element('label', {for: control.id}, label), shown, control);
  }

  // `isKnown`: whether the system has what it sets.
  function slider(name, target, changed, isKnown = true) {
    const {label, values, text} = SLIDERS[name];
    const output = element('output', {});
    const input = element('input', {type: 'range', disabled: !isKnown, min: 0, max: values.length - 1, step: 1,
      value: nearest(values, target[name]), 'data-name': name});
    const show = () => {
      output.textContent = isKnown ? text(target[name]) : 'not in this engine';
      input.setAttribute('aria-valuetext', output.textContent);
    };
    input.addEventListener('input', () => {
      target[name] = values[Number(input.value)];
      show();
      changed();
    });
    show();
    return field(label, input, output);
  }

  function select(label, name, target, options, changed, disabled = false) {
    const input = element('select', {disabled, 'data-name': name});
    for (const [value, text] of options) {
      input.append(element('option', {value, selected: String(value) === String(target[name])},
        text));
    }
    input.addEventListener('change', () => {
      target[name] = typeof target[name] === 'number' ? Number(input.value) : input.value;
      changed();
    });
    return field(label, input);
  }

  const named = (names) => names.map((name) => [name, name]);

  function modelField(side, names, changed, redraw) {
    const list = element('datalist', {id: `models-${++ids}`},
      ...names.models.map((name) => element('option', {value: name})));
    const input = element('input', {type: 'text', list: list.id, spellcheck: 'false',
      autocomplete: 'off', disabled: Boolean(side.source || side.config), 'data-name': 'model',
      value: side.config ? 'config.json' : side.model});
    input.addEventListener('change', () => {
      side.model = input.value.trim();
      changed();
    });
    input.addEventListener('focus', () => input.select());
    const file = element('input', {type: 'file', accept: '.json,application/json',
      class: 'visually-hidden', tabindex: '-1'});
    file.addEventListener('change', async () => {
      if (!file.files[0]) return;
      const {kind, text} = await Dropped.read(file.files[0]);
      if (kind !== 'config') return;
      Object.assign(side, {config: text, source: ''});
      redraw();
    });
    const button = element('button', {type: 'button', onclick: () => {
      if (side.config) {
        side.config = '';
        redraw();
      } else {
        file.click();
      }
    }}, side.config ? 'From the list' : 'config.json…');
    return element('div', {class: 'with-button'}, field('Model', input), list, file, button);
  }

  function sourceField(side, redraw) {
    const area = element('textarea', {rows: 3, spellcheck: 'false', 'data-name': 'source',
      placeholder: 'a serve command, docker run …, or a compose file'});
    area.value = side.source;
    area.addEventListener('change', () => {
      side.source = area.value.trim();
      redraw();
    });
    return element('details', {open: Boolean(side.source)},
      element('summary', {}, 'Paste what you run'), field('Command or compose file', area));
  }

  function systemFields(state, key, names, changed, redraw) {
    const side = state[key];
    const given = Boolean(side.source);
    const engines = names.engines.map((engine, i) => [i ? engine.name : '', engine.name]);
    const engine = names.engines.find((one) => one.name === side.engine) || names.engines[0];
    const has = (name) => given || Boolean(engine[`${name}_option`]);
    const title = state.b ? `System ${key.toUpperCase()}` : 'System';
    return element('fieldset', {'data-side': key}, element('legend', {}, title),
      modelField(side, names, changed, redraw),
      element('div', {class: 'pair'},
        select('Device', 'device', side, named(names.devices), changed),
        select('Count', 'count', side, COUNTS.map((n) => [n, `× ${n}`]), changed, given)),
      element('div', {class: 'pair'},
        select('Engine', 'engine', side, engines, redraw, given),
        select('Environment', 'environment', side, named(names.environments), changed)),
      ...['length', 'batch', 'share'].map((name) => slider(name, side, changed, has(name))),
      sourceField(side, redraw));
  }

  function traceFields(state, redraw) {
    return element('fieldset', {}, element('legend', {}, 'Traffic'),
      element('p', {}, `the requests of ${state.trace.name}`),
      element('button', {type: 'button', 'data-name': 'no-trace', onclick: () => {
        state.trace = null;
        redraw();
      }}, 'Generate requests instead'));
  }

  function trafficFields(state, changed, redraw) {
    const {traffic} = state;
    if (state.trace) return traceFields(state, redraw);
    return element('fieldset', {}, element('legend', {}, 'Traffic'),
      element('div', {class: 'pair'},
        select('Load', 'load', traffic, [['rate', 'by rate'], ['users', 'by users']], redraw),
        select('Lengths', 'spread', traffic, [['chat', 'spread as in chat'],
          ['equal', 'all equal']], changed)),
      slider(traffic.load === 'users' ? 'users' : 'rate', traffic, changed),
      slider('prompt', traffic, changed), slider('output', traffic, changed));
  }

  function compareButton(state, redraw) {
    return element('button', {type: 'button', 'data-name': 'compare', onclick: () => {
      state.b = state.b ? null : {...state.a};
      redraw();
    }}, state.b ? 'Remove B' : 'Compare with a second system');
  }

  // Draws the form of `state`; `changed` is called after each change.
  function show(form, state, names, changed) {
    const redraw = () => {
      show(form, state, names, changed);
      changed();
    };
    form.replaceChildren(
      systemFields(state, 'a', names, changed, redraw),
      ...(state.b ? [systemFields(state, 'b', names, changed, redraw)] : []),
      compareButton(state, redraw),
      trafficFields(state, changed, redraw));
  }

  return {show};
})();
