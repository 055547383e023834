'use strict';
// What a user takes along: the link, the scenario, the command, a picture.

const Share = (() => {
  function save(name, blob) {
    const url = URL.createObjectURL(blob);
    const link = element('a', {href: url, download: name});
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  function image(url) {
    return new Promise((resolve, reject) => {
      const picture = new Image();
      picture.addEventListener('load', () => resolve(picture));
      picture.addEventListener('error', () => reject(new Error('a chart cannot be drawn')));
      picture.src = url;
    });
  }

  function svgUrl(svg) {
    const text = new XMLSerializer().serializeToString(svg);
    return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  }

  // The verdicts and all charts, one below the other.
  async function png() {
    const MARGIN = 24;
    const TITLE = 34;
    const lines = [...document.querySelectorAll('.verdict')].map((node) => node.textContent);
    const charts = await Promise.all(Figures.pictures().filter(({svg}) => svg)
      .map(async ({title, svg}) => ({title, picture: await image(svgUrl(svg))})));
    const width = Math.max(640, ...charts.map(({picture}) => picture.width)) + 2 * MARGIN;
    const height = lines.length * TITLE + 2 * MARGIN +
      charts.reduce((sum, {picture}) => sum + picture.height + TITLE + MARGIN, 0);
    const canvas = element('canvas', {width: 2 * width, height: 2 * height});
    const pen = canvas.getContext('2d');
    pen.scale(2, 2);
    const {surface, text} = Theme.colors();
    pen.fillStyle = surface;
    pen.fillRect(0, 0, width, height);
    pen.fillStyle = text;
    let y = MARGIN;
    const write = (words, weight) => {
      pen.font = `${weight} 15px ${getComputedStyle(document.body).fontFamily}`;
      pen.fillText(words, MARGIN, y + 18, width - 2 * MARGIN);
      y += TITLE;
    };
    for (const line of lines) write(line, 600);
    for (const {title, picture} of charts) {
      write(title, 600);
      pen.drawImage(picture, MARGIN, y);
      y += picture.height + MARGIN;
    }
    return new Promise((resolve) => { canvas.toBlob(resolve, 'image/png'); });
  }

  const saveJson = (name, text) => save(name, new Blob([text], {type: 'application/json'}));

  // `documents()`: [{name, loads, json, command, no_flags}...], one for each side.
  function show(place, written, documents) {
    const scenario = element('button', {type: 'button', onclick: async () => {
      for (const one of await documents()) saveJson(`${one.name}.json`, one.json);
    }}, 'Scenario');
    const study = element('button', {type: 'button', onclick: async () => {
      const all = await documents();
      for (const {name, json, loads} of all.filter((one) => one.loads.length)) {
        saveJson(`${name}-study.json`, Scenarios.study(`${name}-study`, json, loads));
      }
      written.replaceChildren(element('p', {class: 'note'}, all.every((one) => one.loads.length)
        ? `The curve as a study: headroom sweep ${all[0].name}-study.json`
        : 'A trace is one load: there is no curve to save.'));
    }}, 'Study');
    const command = element('button', {type: 'button', onclick: async () => {
      const all = await documents();
      written.replaceChildren(...all.map((one) => element('pre', {},
        one.command || `No command of this engine is known (${one.name}).`)),
      ...all.filter((one) => one.command && one.no_flags.length).map((one) => element('p',
        {class: 'note'}, `No flag says: ${one.no_flags.join(', ')}.`)));
    }}, 'Serve command');
    const picture = element('button', {type: 'button', onclick: async () =>
      save('headroom.png', await png())}, 'PNG');
    place.replaceChildren(Clipboard.button('Copy link', () => location.href), scenario, study,
      command, picture);
  }

  return {show, png};
})();
